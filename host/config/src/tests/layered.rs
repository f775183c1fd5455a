//! Organisation, person and project: the value in force, and its owner.

use super::arbitrary::document;
use super::{PERSON, config, file, settled};
use crate::Patterns;
use crate::keys::toml_text;
use crate::layers::{IgnoreReason, Layer, LayerContext, MergedSettings, merge_layers};
use crate::running::{LimitDefault, RunDefaults};
use crate::{Checkpoints, Config, keys};
use portcullis_core::policy::{DecisionPolicy, InterventionPolicy, LimitPolicy};
use portcullis_core::score::Score;
use portcullis_engine::SettingValue as Value;
use portcullis_store::Durability;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Formats a value, its owner, and the reason why the project's value does not count.
fn describe_setting(settled: &MergedSettings, path: &str) -> String {
    let entry = settled.entries.get(path);
    let value = entry
        .map(|entry| entry.said.value.clone())
        .or_else(|| settled.value_of(keys::find_by_name(path)?));
    let value = value.map(|value| toml_text(&value)).unwrap_or_default();
    let origin = entry.map_or("default".to_owned(), |entry| {
        let tightened = if entry.origin.tightened { " tightened" } else { "" };
        let pipeline =
            entry.origin.pipeline.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{pipeline}{tightened}", entry.origin.layer.as_str())
    });
    let ignored: Vec<String> = settled
        .ignored
        .iter()
        .filter(|ignored| ignored.path == path)
        .map(|ignored| format!(" {:?}", ignored.why))
        .collect();
    format!("{value} {origin}{}", ignored.concat())
}

#[test]
fn the_organisation_goes_before_the_person_and_the_project_only_tightens() {
    let limit = |number: u32| format!("[limits]\nfile_operations = {number}");
    let (ten, fifty, five_hundred) = (limit(10), limit(50), limit(500));
    let scratch = |folders: &str| format!("[scope]\nscratch = [{folders}]");
    let (strict, relaxed) = ("profile = \"strict\"", "profile = \"relaxed\"");
    let own_high = format!("{strict}\n[risk]\ncritical = 0.9");
    let (loose, tight) = ("[risk]\ncritical = 0.97", "[risk]\nmedium = 0.4");
    let narrow = scratch("\"/tmp/build\", \"/etc\", \"/var\"");
    let two = scratch("\"/tmp\", \"/var/tmp\"");
    let off = "[plugins.scope-creep]\nenabled = false\n[plugins.mine]\nenabled = false";
    let on = "[plugins.scope-creep]\nenabled = true\n[plugins.mine]\nenabled = true";
    #[rustfmt::skip]
    let rows: &[([&str; 3], bool, &str, &str)] = &[
        (["", "", ""], false, "limits.file_operations", "100 default"),
        (["", &fifty, ""], false, "limits.file_operations", "50 user"),
        ([&ten, &fifty, ""], false, "limits.file_operations", "10 managed Overridden(Managed)"),
        ([&fifty, &ten, ""], false, "limits.file_operations", "50 managed Overridden(Managed)"),
        ([&fifty, &fifty, ""], false, "limits.file_operations", "50 managed"),
        // A profile stands below every file of its owner, and one of the organisation's holds.
        (["", strict, ""], false, "risk.critical", "0.85 profile"),
        (["", &own_high, ""], false, "risk.critical", "0.9 user"),
        ([strict, "", ""], false, "risk.critical", "0.85 managed"),
        ([strict, loose, ""], false, "risk.critical", "0.85 managed Overridden(Managed)"),
        ([&own_high, loose, ""], false, "risk.critical", "0.9 managed Overridden(Managed)"),
        (["", strict, loose], false, "risk.critical", "0.85 profile Untrusted"),
        (["", relaxed, tight], false, "risk.medium", "0.4 project tightened"),
        (["", strict, loose], true, "risk.critical", "0.97 project"),
        (["", "", strict], true, "profile", "\"balanced\" default Owner"),
        // A project's smaller number takes precedence over everybody's, a larger one over nobody's.
        (["", "", &ten], false, "limits.file_operations", "10 project tightened"),
        (["", &fifty, &ten], false, "limits.file_operations", "10 project tightened"),
        ([&fifty, "", &ten], false, "limits.file_operations", "10 project tightened"),
        (["", "", &five_hundred], false, "limits.file_operations", "100 default Untrusted"),
        (["", &fifty, &five_hundred], false, "limits.file_operations", "50 user Untrusted"),
        (["", &ten, &ten], false, "limits.file_operations", "10 user"),
        // With trust it counts if nobody else sets the key.
        (["", "", &five_hundred], true, "limits.file_operations", "500 project"),
        (["", &fifty, &five_hundred], true, "limits.file_operations", "50 user Overridden(User)"),
        ([&fifty, "", &five_hundred], true, "limits.file_operations", "50 managed Overridden(Managed)"),
        ([&fifty, "", &ten], true, "limits.file_operations", "10 project tightened"),
        // A limit is stricter than none.
        (["", "", "run.tokens = 5"], false, "run.tokens", "5 project tightened"),
        (["", "run.tokens = 7", "run.tokens = 9"], false, "run.tokens", "7 user Untrusted"),
        (["run.tokens = 6", "run.tokens = 7", "run.tokens = 5"], false, "run.tokens", "5 project tightened Overridden(Managed)"),
        (["", "", "run.confine = true"], false, "run.confine", "true project tightened"),
        (["run.confine = true", "run.confine = false", "run.confine = false"], true, "run.confine", "true managed Overridden(Managed) Overridden(Managed)"),
        (["", "", "run.writable = [\"/\"]"], false, "run.writable", "[] default Untrusted"),
        // Words and flags.
        (["", "", "durability = \"full\""], false, "durability", "\"full\" project tightened"),
        (["", "durability = \"full\"", "durability = \"process\""], false, "durability", "\"full\" user Untrusted"),
        (["", "hold_settings = false", "hold_settings = true"], false, "hold_settings", "true project tightened"),
        (["", "", "hold_settings = false"], false, "hold_settings", "true default Untrusted"),
        (["", "", "hold_settings = false"], true, "hold_settings", "false project"),
        (["", "", "mode = \"observe\""], false, "mode", "\"blocking\" default Untrusted"),
        (["", "", "mode = \"blocking\""], false, "mode", "\"blocking\" default"),
        (["", "", "mode = \"observe\""], true, "mode", "\"observe\" project"),
        (["mode = \"blocking\"", "mode = \"observe\"", ""], false, "mode", "\"blocking\" managed Overridden(Managed)"),
        (["mode = \"blocking\"", "", "mode = \"observe\""], true, "mode", "\"blocking\" managed Overridden(Managed)"),
        // Lists.
        (["", &two, &narrow], false, "scope.scratch", "[\"/tmp/build\", \"/var/tmp\"] project tightened Untrusted"),
        (["", &two, &scratch("")], false, "scope.scratch", "[] project tightened"),
        (["", &two, &scratch("\"/\"")], false, "scope.scratch", "[\"/tmp\", \"/var/tmp\"] user Untrusted"),
        (["", &two, &scratch("\"/tmpx\"")], false, "scope.scratch", "[] project tightened Untrusted"),
        (["", "[mask]\npersonal = []", "[mask]\npersonal = [\"email\"]"], false, "mask.personal", "[\"email\"] project tightened"),
        (["", "", "[mask]\npersonal = [\"email\"]"], false, "mask.personal", "[\"email\", \"payment-card\", \"phone\", \"iban\", \"national-id\"] default Untrusted"),
        (["", "", "[scope]\nfolders = [\"/\"]"], false, "scope.folders", "[] default Untrusted"),
        // Plugins.
        (["", off, on], false, "plugins.scope-creep.enabled", "true project tightened"),
        (["", off, on], false, "plugins.mine.enabled", "false user Untrusted"),
        (["", "", off], false, "plugins.scope-creep.enabled", " default Untrusted"),
        (["", "", "[plugins.emergency-stop]\nenabled = false"], false, "plugins.emergency-stop.enabled", " default Untrusted"),
        (["", "", "interventions.emergency_stop = false"], false, "interventions.emergency_stop", "true default Untrusted"),
        (["", "", "interventions.emergency_stop = false"], true, "interventions.emergency_stop", "false project"),
        (["", "interventions.emergency_stop = false", "interventions.emergency_stop = true"], false, "interventions.emergency_stop", "true project tightened"),
        // Thresholds: lower ones of risk, higher ones of rationality.
        (["", "", "risk.high = 0.7"], false, "risk.high", "0.7 project tightened"),
        (["", "", "risk.high = 0.9"], false, "risk.high", "0.8 default Untrusted"),
        (["", "", "risk.high = 0.9"], true, "risk.high", "0.9 project"),
        (["risk.high = 0.75", "", "risk.high = 0.7"], true, "risk.high", "0.7 project tightened"),
        (["", "", "risk.critical = 1"], false, "risk.critical", "0.95 default Untrusted"),
        (["", "", "rationality.medium = 0.6"], false, "rationality.medium", "0.6 project tightened"),
        (["", "", "rationality.medium = 0.4"], false, "rationality.medium", "0.5 default Untrusted"),
        (["", "", "reviewer.first_time = false"], false, "reviewer.first_time", "false project tightened"),
        (["", "reviewer.first_time = false", "reviewer.first_time = true"], false, "reviewer.first_time", "false user Untrusted"),
        (["", "", "performance.async_threshold = 0.1"], false, "performance.async_threshold", "0.1 project tightened"),
        (["", "", "patterns.sensitivity = \"high\""], false, "patterns.sensitivity", "\"high\" project tightened"),
        (["", "", "patterns.sensitivity = \"low\""], false, "patterns.sensitivity", "\"medium\" default Untrusted"),
        (["", "patterns.enabled = [\"mine\"]", "patterns.enabled = [\"all\"]"], false, "patterns.enabled", "[\"mine\", \"all\"] project tightened Untrusted"),
        // Keys that only the organisation and the person can set, even with trust.
        (["", "", "reviewer.enabled = false"], false, "reviewer.enabled", "true default Owner"),
        (["", "", "reviewer.enabled = false"], true, "reviewer.enabled", "true default Owner"),
        (["reviewer.enabled = true", "reviewer.enabled = false", ""], false, "reviewer.enabled", "true managed Overridden(Managed)"),
        (["", "", "[plugins.risk]\nshadow = true"], true, "plugins.risk.shadow", " default Owner"),
        (["", "[plugins.risk]\nshadow = true", "[plugins.risk]\nshadow = false"], true, "plugins.risk.shadow", "true user Owner"),
        (["", "", "cache.enabled = false"], true, "cache.enabled", "true default Global"),
        (["", "", "audit.level = \"error\""], true, "audit.level", "\"info\" default Global"),
        // A project can narrow its own scope, but not values of others.
        (["", "", "scope.paths = [\"src/**\", \"/**\"]"], false, "scope.paths", "[\"src/**\"] project tightened Untrusted"),
        (["", "", "scope.paths = [\"/**\"]"], false, "scope.paths", "[] default Untrusted"),
        (["", "scope.paths = [\"lib/**\"]", "scope.paths = [\"src/**\"]"], false, "scope.paths", "[\"lib/**\"] user Untrusted"),
        (["", "", "[plugins.risk]\non_fault = \"warn\""], false, "plugins.risk.on_fault", " default Untrusted"),
        (["", "", "[plugins.risk.settings]\nscope = 0.0"], false, "plugins.risk.settings.scope", " default Untrusted"),
        (["", "[plugins.risk.settings]\nscope = 0.2", "[plugins.risk.settings]\nscope = 0.2"], false, "plugins.risk.settings.scope", "0.2 user"),
        (["", "", "[interventions.templates]\nloop = \"go on\""], false, "interventions.templates.loop", " default Untrusted"),
        // A project cannot set keys that apply to the whole installation.
        (["", "", "[audit]\nretention_days = 1"], false, "audit.retention_days", "30 default Global"),
        (["", "", "[audit]\nretention_days = 1"], true, "audit.retention_days", "30 default Global"),
        (["", "", "[audit]\nanchors = [\"/etc/passwd\"]"], true, "audit.anchors", "[] default Global"),
        (["", "", "notifications.channels.x.program = \"/bin/sh\""], false, "notifications.channels.x.program", " default Global"),
        (["", "", "notifications.channels.x.program = \"/bin/sh\""], true, "notifications.channels.x.program", " default Global"),
        (["", "notifications.channels.x.events = [\"block\"]", "notifications.channels.x.events = []"], true, "notifications.channels.x.events", "[\"block\"] user Global"),
    ];
    for (texts, trusted, path, expected) in rows {
        assert_eq!(
            describe_setting(&settled(*texts, *trusted), path),
            *expected,
            "{texts:?}, trusted {trusted}: {path}"
        );
    }
}

#[test]
fn the_first_pipeline_of_the_project_goes_before_the_file() {
    let home = tempfile::tempdir().unwrap();
    let person = home.path().join("me");
    let project = person.join("work/shop");
    fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink(&person, home.path().join("link")).unwrap();
    std::os::unix::fs::symlink(&project, person.join("elsewhere")).unwrap();
    let pipelines = "mode = \"blocking\"\ndurability = \"full\"\n\
        [pipelines.strict]\nprojects = [\"/srv/**\", \"~/work/secret\"]\nlimits.file_operations = 5\n\
        [pipelines.shop]\nprojects = [\"~/work/*\"]\nlimits.file_operations = 7\nmode = \"observe\"\n\
        [pipelines.all]\nprojects = [\"/**\"]\nlimits.file_operations = 9\n";
    let shop = person.join("work/shop");
    for (managed, own, project, trusted, named, path, expected) in [
        ("", pipelines, Some(shop.clone()), false, None, "limits.file_operations", "7 user shop"),
        ("", pipelines, Some(shop.clone()), false, None, "mode", "\"observe\" user shop"),
        ("", pipelines, Some(shop.clone()), false, None, "durability", "\"full\" user"),
        (
            "",
            pipelines,
            Some(person.join("work")),
            false,
            None,
            "limits.file_operations",
            "9 user all",
        ),
        (
            "",
            pipelines,
            Some(person.join("work/shop/deep")),
            false,
            None,
            "limits.file_operations",
            "9 user all",
        ),
        (
            "",
            pipelines,
            Some(person.join("elsewhere")),
            false,
            None,
            "limits.file_operations",
            "7 user shop",
        ),
        (
            "",
            pipelines,
            Some("/srv/a/b".into()),
            false,
            None,
            "limits.file_operations",
            "5 user strict",
        ),
        ("", pipelines, None, false, None, "limits.file_operations", "100 default"),
        ("", pipelines, None, false, Some("strict"), "limits.file_operations", "5 user strict"),
        (
            pipelines,
            "[limits]\nfile_operations = 3",
            Some(shop.clone()),
            false,
            None,
            "limits.file_operations",
            "7 managed shop Overridden(Managed)",
        ),
    ] {
        let files = [file(Layer::Managed, managed), file(Layer::User, own)];
        for person in [person.clone(), home.path().join("link")] {
            let context = LayerContext {
                person: &person.to_string_lossy(),
                project: project.as_deref(),
                trusted,
                pipeline: named,
            };
            assert_eq!(
                describe_setting(&merge_layers(&files, &context), path),
                expected,
                "{project:?} {path}"
            );
        }
    }
}

#[test]
fn a_project_has_pipelines_with_trust_only() {
    let text = "[pipelines.here]\nprojects = [\"/**\"]\nlimits.file_operations = 5";
    let untrusted = settled(["", "", text], false);
    assert_eq!(describe_setting(&untrusted, "limits.file_operations"), "100 default");
    assert_eq!(
        untrusted
            .ignored
            .iter()
            .map(|ignored| (ignored.path.as_str(), ignored.why))
            .collect::<Vec<_>>(),
        [("pipelines.here", IgnoreReason::Untrusted)]
    );
    assert_eq!(
        describe_setting(&settled(["", "", text], true), "limits.file_operations"),
        "5 project here"
    );
}

#[test]
fn folders_belong_to_the_file_that_names_them() {
    for (texts, trusted, expected) in [
        (["", "", ""], false, "/home/me/.config/portcullis/plugins"),
        (["", "plugins_dir = \"checks\"", ""], false, "/home/me/.config/portcullis/checks"),
        (["", "plugins_dir = \"~/checks\"", ""], false, "/home/me/checks"),
        (
            ["plugins_dir = \"checks\"", "plugins_dir = \"mine\"", ""],
            false,
            "/etc/portcullis/checks",
        ),
        (["", "", "plugins_dir = \"checks\""], false, "/home/me/.config/portcullis/plugins"),
        (["", "", "plugins_dir = \"checks\""], true, "/home/me/work/shop/.portcullis/checks"),
    ] {
        assert_eq!(config(texts, trusted).plugins_dir, Path::new(expected), "{texts:?}");
    }
}

fn no_looser(a: LimitPolicy, b: LimitPolicy) -> bool {
    a.file_operations <= b.file_operations
        && a.memory_mb <= b.memory_mb
        && a.execution_time_seconds <= b.execution_time_seconds
        && a.token_usage <= b.token_usage
}

/// Returns true if every score and either kind of a first time get at least as strict a verdict.
fn stricter(a: &DecisionPolicy, b: &DecisionPolicy) -> bool {
    let scores = || (0..=1000).step_by(5).map(Score::new);
    scores().all(|score| {
        a.risk.level_of(score) >= b.risk.level_of(score)
            && (!a.risk.is_negligible(score) || b.risk.is_negligible(score))
    }) && scores()
        .all(|score| a.rationality.level_of(Some(score)) <= b.rationality.level_of(Some(score)))
        && (!a.first_time || b.first_time)
}

/// Returns true if no limit of a run is higher or missing, and the organisation's values are still
/// in force.
fn runs_no_looser(a: &RunDefaults, b: &RunDefaults) -> bool {
    let limits = |said: &RunDefaults| {
        [
            said.time_seconds,
            said.memory_mb,
            said.tokens,
            said.processes,
            said.output_mb,
            said.answer_seconds,
            said.grace_ms,
        ]
    };
    let least = |limit: &LimitDefault| limit.value.unwrap_or(u64::MAX);
    limits(a).iter().zip(&limits(b)).all(|(a, b)| least(a) <= least(b) && a.most == b.most)
        && (a.confine || !b.confine)
        && (a.confine_held, a.writable_held, &a.writable)
            == (b.confine_held, b.writable_held, &b.writable)
}

fn watches(a: &Patterns, b: &Patterns) -> bool {
    let rank = |said: &Option<String>| {
        ["low", "medium", "high"]
            .iter()
            .position(|word| *word == said.as_deref().unwrap_or("medium"))
    };
    let all = |patterns: &Patterns, name: &String| {
        patterns.enabled.as_ref().is_none_or(|names| names.contains(name))
    };
    let enabled = a.enabled.is_none()
        || b.enabled.as_ref().is_some_and(|names| names.iter().all(|name| all(a, name)));
    enabled && rank(&a.sensitivity) >= rank(&b.sensitivity)
}

fn others(policy: &InterventionPolicy) -> InterventionPolicy {
    InterventionPolicy { disabled: Vec::new(), ..policy.clone() }
}

/// Returns true if each key of the builtin rules that a project may change is at least as strict.
fn rules_hold(a: &Config, b: &Config) -> bool {
    let said = |config: &Config, key: &str| {
        let settings =
            config.plugins.get("rules").map(|plugin| plugin.settings.clone()).unwrap_or_default();
        settings
            .into_iter()
            .find(|setting| setting.key == key)
            .map(|setting| setting.value)
            .or_else(|| (keys::find_by_name(&format!("rules.{key}"))?.default)())
    };
    let share = |config: &Config| match said(config, "limit_file_operations.warn_at") {
        Some(Value::Decimal(share)) => share,
        Some(Value::Integer(1)) => 1.0,
        _ => 0.0,
    };
    let stricter =
        |key: &str, strict: Value| said(a, key) == said(b, key) || said(a, key) == Some(strict);
    let others = [
        "disabled",
        "prevent_recursive_deletion.quarantine",
        "limit_file_operations.maximum",
        "warn_external_network.trusted_hosts",
    ];
    stricter("builtin", Value::Text("all".into()))
        && stricter("warn_external_network.fetching", Value::Flag(true))
        && share(a) <= share(b)
        && others.iter().all(|key| said(a, key) == said(b, key))
}

/// Returns the parts that are looser in `with` than in `without`.
fn looser(with: &Config, without: &Config) -> Vec<&'static str> {
    let (a, b) = (&with.policy, &without.policy);
    let at_home = |path: &str| {
        path.strip_prefix("~/").map_or_else(|| path.to_owned(), |below| format!("{PERSON}/{below}"))
    };
    let inside = |path: &String| {
        b.scope.scratch.iter().any(|folder| Path::new(&at_home(path)).starts_with(at_home(folder)))
    };
    let enabled = |config: &Config, name: &str| {
        config.plugins.get(name).and_then(|plugin| plugin.enabled) != Some(false)
    };
    let names = || with.plugins.keys().chain(without.plugins.keys());
    let same_but_enabled = |name: &String| {
        let of = |config: &Config| config.plugins.get(name).cloned().unwrap_or_default();
        of(with).on_fault == of(without).on_fault
            && of(with).shadow == of(without).shadow
            && of(with).grants == of(without).grants
            && (name == "rules" || of(with).settings == of(without).settings)
    };
    let checks = [
        ("mode", a.mode == b.mode),
        (
            "durability",
            with.durability == without.durability || with.durability == Durability::Full,
        ),
        ("plugins_dir", with.plugins_dir == without.plugins_dir),
        ("hold_settings", a.hold_settings || !b.hold_settings),
        ("scope.folders", a.scope.folders == b.scope.folders),
        ("scope.scratch", a.scope.scratch.iter().all(inside)),
        ("limits", no_looser(a.limits, b.limits)),
        ("thresholds", stricter(&a.decision, &b.decision)),
        ("async", a.async_threshold <= b.async_threshold),
        (
            "scope.paths",
            a.scope.paths == b.scope.paths
                || b.scope.paths.is_empty()
                    && a.scope.paths.iter().all(|glob| !glob.starts_with(['/', '~'])),
        ),
        ("detail", a.detail == b.detail),
        ("patterns", watches(&with.patterns, &without.patterns)),
        (
            "cache",
            (with.cache, with.max_review_time_ms) == (without.cache, without.max_review_time_ms),
        ),
        (
            "switched off",
            a.interventions.disabled.iter().all(|name| b.interventions.disabled.contains(name)),
        ),
        ("interventions", others(&a.interventions) == others(&b.interventions)),
        ("mask", b.mask.kinds.iter().all(|kind| a.mask.kinds.contains(kind))),
        ("mcp.hide", with.hidden_tools.contains(&without.hidden_tools)),
        ("mask.results", a.mask_results || !b.mask_results),
        ("audit", with.audit == without.audit),
        ("breaker", with.breaker == without.breaker),
        ("on_failure", a.on_failure >= b.on_failure),
        ("checkpoints", with.checkpoints.enabled || !without.checkpoints.enabled),
        (
            "checkpoints' bounds",
            Checkpoints { enabled: true, ..with.checkpoints }
                == Checkpoints { enabled: true, ..without.checkpoints },
        ),
        (
            "incidents",
            (with.incidents, with.quarantine_days) == (without.incidents, without.quarantine_days),
        ),
        (
            "notifications",
            (&with.channels, with.messages_days) == (&without.channels, without.messages_days),
        ),
        ("exports", with.exports == without.exports),
        ("run", runs_no_looser(&with.running, &without.running)),
        ("enabled", names().all(|name| enabled(with, name) || !enabled(without, name))),
        (
            "others enabled",
            names().all(|name| {
                portcullis_builtin::find(name).is_some()
                    || enabled(with, name) == enabled(without, name)
            }),
        ),
        ("plugins", names().all(same_but_enabled)),
        ("rules", rules_hold(with, without)),
        ("guarded", a.guarded == b.guarded),
        ("clients", a.clients == b.clients),
    ];
    checks.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_project_that_nobody_trusts_loosens_anything(managed in document(), own in document(), project in document()) {
        let (with, without) = (config([&managed, &own, &project], false), config([&managed, &own, ""], false));
        prop_assert_eq!(looser(&with, &without), Vec::<&str>::new(), "{}\n---\n{}\n---\n{}", managed, own, project);
    }

    /// Trust does not loosen the organisation's values either.
    #[test]
    fn no_trust_goes_before_the_organisation(managed in document(), project in document()) {
        let with = settled([&managed, "", &project], true);
        for (path, entry) in settled([&managed, "", ""], false).entries {
            let holds = &with.entries[&path];
            prop_assert!(holds.said.value == entry.said.value || holds.origin.tightened, "{}: {}\n---\n{}", path, managed, project);
        }
    }
}

/// Tests that the property above can fail: with trust, every key that a project may change loosens
/// something.
#[test]
fn looser_notices_every_key() {
    let without = config(["", "", ""], false);
    for (text, expected) in [
        ("mode = \"observe\"", "mode"),
        ("plugins_dir = \"x\"", "plugins_dir"),
        ("hold_settings = false", "hold_settings"),
        ("[scope]\nfolders = [\"/\"]", "scope.folders"),
        ("[scope]\nscratch = [\"/\"]", "scope.scratch"),
        ("[limits]\nfile_operations = 101", "limits"),
        ("limits.memory_mb = 32769", "limits"),
        ("limits.execution_time_seconds = 28801", "limits"),
        ("limits.token_usage = 5000001", "limits"),
        ("risk.negligible = 0.31", "thresholds"),
        ("risk.medium = 0.61", "thresholds"),
        ("risk.high = 0.81", "thresholds"),
        ("risk.critical = 0.96", "thresholds"),
        ("rationality.high = 0.79", "thresholds"),
        ("rationality.medium = 0.49", "thresholds"),
        ("performance.async_threshold = 0.31", "async"),
        ("scope.paths = [\"/**\"]", "scope.paths"),
        ("patterns.sensitivity = \"low\"", "patterns"),
        ("patterns.enabled = []", "patterns"),
        ("interventions.soft_correction = false", "switched off"),
        ("interventions.enabled = false", "switched off"),
        ("[interventions]\nmost = 0", "interventions"),
        ("interventions.effectiveness_threshold = 0.5", "interventions"),
        ("interventions.severity_weights.high = 0.1", "interventions"),
        ("interventions.score_thresholds.emergency_stop = 1.0", "interventions"),
        ("[mask]\npersonal = []", "mask"),
        ("run.grace_ms = 301", "run"),
        ("run.writable = [\"/\"]", "run"),
        ("[plugins.risk]\nenabled = false", "enabled"),
        ("[plugins.risk]\non_fault = \"warn\"", "plugins"),
        ("[plugins.risk.settings]\nscope = 0.0", "plugins"),
        ("rules.builtin = \"essential\"", "rules"),
        ("rules.disabled = [\"warn_external_network\"]", "rules"),
        ("rules.prevent_recursive_deletion.quarantine = \"gone\"", "rules"),
        ("rules.limit_file_operations.maximum = 1000", "rules"),
        ("rules.limit_file_operations.warn_at = 0.9", "rules"),
        ("rules.warn_external_network.trusted_hosts = [\"example.com\"]", "rules"),
    ] {
        assert_eq!(looser(&config(["", "", text], true), &without), [expected], "{text}");
    }
}
