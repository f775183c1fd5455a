//! The presentation of a bundle that is installed or may be.

use crate::bundles::changes::Changes;
use crate::bundles::install::InstallPlan;
use crate::paint;
use portcullis_bundle::{About, Digest, KeyId};
use portcullis_core::text::one_line;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A bundle that was checked, for JSON output.
#[derive(Serialize)]
pub struct ReportedBundle<'a> {
    name: &'a str,
    version: String,
    digest: Digest,
    from: Option<&'a str>,
    change: Option<&'a str>,
    signers: &'a BTreeSet<KeyId>,
    until: Option<u64>,
    grants: Vec<&'a str>,
    plugins: Vec<&'a str>,
    locked_before: Option<String>,
    changes: Option<&'a Changes>,
}

impl<'a> ReportedBundle<'a> {
    /// Creates the description of a bundle and its changes.
    pub fn from_plan(ready: &'a InstallPlan) -> Self {
        let (bundle, about) = (&ready.fetched.bundle, ready.fetched.bundle.about());
        Self {
            name: about.name.as_str(),
            version: about.version.to_string(),
            digest: bundle.index().digest(),
            from: ready.fetched.from.as_deref(),
            change: Some(ready.fetched.change.as_str()).filter(|change| !change.is_empty()),
            signers: &ready.judged.signers,
            until: ready.judged.until,
            grants: grants(about),
            plugins: about.plugins().map(|(_, plugin)| plugin.name.as_str()).collect(),
            locked_before: ready.locked.as_ref().map(ToString::to_string),
            changes: ready.changes.as_ref(),
        }
    }
}

/// Formats a bundle that may be installed.
pub fn format_plan(ready: &InstallPlan) -> String {
    let (bundle, about) = (&ready.fetched.bundle, ready.fetched.bundle.about());
    let mut text = String::new();
    let from = ready
        .fetched
        .from
        .as_deref()
        .map(|from| format!(" from {}", one_line(from, 300)))
        .unwrap_or_default();
    let _ = writeln!(text, "{} {}{from}", paint::bold(about.name.as_str()), about.version);
    let _ = writeln!(text, "  {}", paint::dim(bundle.index().digest()));
    if !ready.fetched.change.is_empty() {
        let _ = writeln!(text, "  changes: {}", one_line(&ready.fetched.change, 1000));
    }
    for (_, plugin) in about.plugins() {
        let _ = writeln!(
            text,
            "  {}  {}  {}",
            one_line(&plugin.name, 64),
            plugin.kind,
            paint::dim(one_line(&plugin.description, 120))
        );
    }
    let grants = grants(about);
    let _ = match grants.as_slice() {
        [] => writeln!(text, "  asks for no grant"),
        lines => writeln!(
            text,
            "  asks for {}; each is given only where your configuration grants it",
            lines.join(", ")
        ),
    };
    let _ = match ready.judged.until {
        Some(until) => {
            writeln!(text, "  {}, until {} UTC", paint::good("trusted"), paint::time(until))
        }
        None => writeln!(text, "  {}", paint::good("trusted")),
    };
    for unread in &ready.fetched.unread {
        let _ = writeln!(
            text,
            "  {}",
            paint::dim(format!("a signature was ignored: {}", one_line(&unread.why, 200)))
        );
    }
    match (&ready.locked, &ready.changes) {
        (Some(locked), Some(changes)) if !changes.is_empty() => {
            let _ = write!(text, "what changes from {locked}:\n{}", changes.text());
        }
        (Some(locked), None) => {
            let _ = writeln!(
                text,
                "  {}",
                paint::warn(format!(
                    "{locked} is locked but not installed, so the changes are unknown"
                ))
            );
        }
        _ => {}
    }
    text
}

/// Returns the grant lines that its plugins request, without repetitions.
fn grants(about: &About) -> Vec<&str> {
    let all: BTreeSet<&str> = about
        .components
        .iter()
        .flat_map(|component| &component.wants.grants)
        .map(String::as_str)
        .collect();
    all.into_iter().collect()
}
