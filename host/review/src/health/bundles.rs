//! The required bundles: checks that each is installed, matches its lock and is trusted, and when
//! that expires.

use super::finding::{Check, HealthFinding, Level, or_ok};
use crate::bundles::locks::{LockTexts, RequiredBundle};
use crate::bundles::receipt::PluginPin;
use crate::bundles::{Policies, open_store, verify};
use crate::plugin_specs::OURS;
use anyhow::Result;
use portcullis_bundle::BundleStore;
use portcullis_config::Config;
use portcullis_config::clock::format_utc;
use portcullis_config::paths::Paths;
use portcullis_core::fault::OnFault;
use portcullis_store::Home;

/// The time before an expiry at which it is reported, since it will stop every action: two weeks,
/// in milliseconds.
const AHEAD: u64 = 14 * 24 * 60 * 60 * 1000;

/// The result of the check.
pub(super) struct BundleHealth {
    /// The findings; empty if nothing is locked here.
    pub findings: Vec<HealthFinding>,
    /// True if a hook loads no plugin because of a problem here.
    pub refuses: bool,
}

/// Checks the bundles that are locked here.
pub(super) fn check(places: &Paths, home: &Home, config: &Config, now: u64) -> BundleHealth {
    // A hook does not read a component again that it verified before: the component's plugins then
    // fail one by one.
    let hook = verify::verified_plugins(places, home, now, verify::ReceiptPolicy::None);
    let findings = check_locked(places, config, hook.as_deref().ok(), now);
    let refuses = hook.is_err() && super::worst_level(&findings) == Level::Problem;
    BundleHealth { findings, refuses }
}

fn check_locked(
    places: &Paths,
    config: &Config,
    loaded: Option<&[PluginPin]>,
    now: u64,
) -> Vec<HealthFinding> {
    let found = || -> Result<_> {
        let wanted = LockTexts::read_texts(places)?.required_bundles()?;
        Ok(if wanted.is_empty() {
            None
        } else {
            Some((wanted, Policies::read_policies(places)?, open_store(places)?))
        })
    };
    match found() {
        Ok(None) => Vec::new(),
        Ok(Some((wanted, policies, store))) => {
            let judge = |wanted: &RequiredBundle| {
                let meaning = meaning(wanted.locked.name.as_str(), config, loaded);
                check_bundle(&store, wanted, &policies, meaning, now)
            };
            let findings = wanted.iter().filter_map(judge).collect();
            or_ok(findings, Check::Bundles, format!("{} locked, all verified", wanted.len()))
        }
        Err(error) => vec![HealthFinding::problem(
            Check::Bundles,
            format!("{error:#}: each action is refused"),
            "fix what it names",
        )],
    }
}

/// Describes the effect on actions of a bundle that does not pass. `loaded`: the plugins that a
/// hook still tries to load.
fn meaning(bundle: &str, config: &Config, loaded: Option<&[PluginPin]>) -> &'static str {
    let Some(loaded) = loaded else { return "each action is refused" };
    let default = if bundle == OURS { OnFault::Block } else { OnFault::Ask };
    let policies = loaded
        .iter()
        .filter(|plugin| plugin.bundle == bundle)
        .map(|plugin| config.plugins.get(&plugin.name).and_then(|said| said.on_fault))
        .map(|said| said.unwrap_or(default));
    match policies.max_by_key(|policy| policy.to_verdict()) {
        Some(OnFault::Block) | None => "each action is refused",
        Some(OnFault::Ask) => "a person is asked about each action",
        Some(OnFault::Warn) => "actions run without its plugins",
    }
}

fn check_bundle(
    store: &BundleStore,
    wanted: &RequiredBundle,
    policies: &Policies,
    meaning: &str,
    now: u64,
) -> Option<HealthFinding> {
    let name = &wanted.locked.name;
    match verify::verify_bundle(store, wanted, policies, now) {
        Err(error) => {
            let fix = format!(
                "`portcullis bundle verify {name}` says what is missed; `bundle install` and \
                 `bundle update` fix it, or `bundle remove`"
            );
            Some(HealthFinding::problem(Check::Bundles, format!("{error:#}: {meaning}"), fix))
        }
        Ok((_, _, judged)) => {
            let until = judged.until.filter(|until| until.saturating_sub(now) < AHEAD)?;
            let what = format!(
                "`{name} {}` is trusted until {} UTC: then each action is refused",
                wanted.locked.version,
                format_utc(until)
            );
            Some(HealthFinding::warning(
                Check::Bundles,
                what,
                "get a version, or signatures, that last: `portcullis bundle update`",
            ))
        }
    }
}
