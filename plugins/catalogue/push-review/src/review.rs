//! Words what is about to be pushed: how much, which files need a reviewer, and how serious it is.

use crate::config::Config;
use crate::globs::{matches_part, matches_path};
use crate::memory::{Change, Memory};
use crate::moments::{Kind, Moment};
use portcullis_plugin::pattern::{Detection, Evidence, Score, Severity};
use portcullis_plugin::text::cut;

/// The most files that the summary names.
const MOST_NAMED: usize = 3;
/// The most files in the evidence.
const MOST_EVIDENCE: usize = 12;
/// The longest name that is shown, in bytes.
const LONGEST_SHOWN: usize = 80;

/// Returns true if a path needs a reviewer.
pub fn is_protected(config: &Config, place: &str) -> bool {
    config.protected.iter().any(|glob| matches_path(glob, place))
}

/// Returns what there is to say about the moments of an action, if they need somebody.
pub fn review(
    moments: &[Moment],
    memory: &Memory,
    config: &Config,
    step: u64,
) -> Option<Detection> {
    let moment = moments.iter().max_by_key(|moment| (is_shared(moment, config), moment.kind))?;
    let protected: Vec<&Change> =
        memory.files.iter().filter(|change| is_protected(config, &change.place)).collect();
    let severity = find_severity(moment, memory, config, !protected.is_empty())?;
    let (confidence, impact): (Score, Score) = match severity {
        Severity::Low => (700, 100),
        Severity::Medium => (800, 300),
        _ => (900, 600),
    };
    let first =
        protected.first().or(memory.files.first().as_ref()).map_or(step, |change| change.step);
    let summary = describe(moment, memory, config, &protected);
    let mut detection = Detection::new("push_review", severity, &summary)
        .sure(confidence, impact)
        .since(first.min(step));
    for change in protected.iter().take(MOST_EVIDENCE) {
        let evidence = Evidence::path(cut(&change.place, LONGEST_SHOWN)).at_step(change.step);
        detection = detection.because(evidence);
    }
    detection = detection.because(Evidence::new("size", describe_size(memory)).at_step(step));
    if !moment.branch.is_empty() {
        detection = detection.because(Evidence::new("branch", cut(&moment.branch, LONGEST_SHOWN)));
    }
    Some(detection)
}

/// Returns true if a moment concerns a branch that others build on.
fn is_shared(moment: &Moment, config: &Config) -> bool {
    let named = config.branches.iter().any(|glob| matches_part(glob, &moment.branch));
    moment.all || (named && !matches!(moment.kind, Kind::Tag | Kind::Request))
}

fn find_severity(
    moment: &Moment,
    memory: &Memory,
    config: &Config,
    has_protected: bool,
) -> Option<Severity> {
    let shared = is_shared(moment, config);
    let (added, removed) = memory.lines();
    let is_large = memory.count() > config.most_files || added + removed > config.most_lines;
    let needs = has_protected || is_large;
    match moment.kind {
        Kind::ForcedMerge => Some(Severity::High),
        Kind::Force | Kind::Delete | Kind::LeasedForce if shared => Some(Severity::High),
        Kind::Push | Kind::Merge if shared && has_protected => Some(Severity::High),
        Kind::Merge if has_protected => Some(Severity::High),
        Kind::Push if shared => Some(Severity::Medium),
        Kind::Force | Kind::Merge | Kind::Tag => Some(Severity::Medium),
        _ if needs => Some(Severity::Medium),
        _ => config.every_push.then_some(Severity::Low),
    }
}

fn describe(moment: &Moment, memory: &Memory, config: &Config, protected: &[&Change]) -> String {
    let branch = cut(&moment.branch, LONGEST_SHOWN);
    let to = match (branch.as_str(), moment.all, is_shared(moment, config)) {
        (_, true, _) => " of all branches".to_owned(),
        ("", ..) => String::new(),
        (name, _, true) => format!(" to the shared branch {name}"),
        (name, ..) => format!(" to {name}"),
    };
    let what = match moment.kind {
        Kind::Request => format!("this asks for a merge{to}"),
        Kind::Push => format!("this is a push{to}"),
        Kind::LeasedForce => format!("this is a forced push with a lease{to}"),
        Kind::Force => {
            format!("this is a forced push{to}, which replaces what others have put there")
        }
        Kind::Delete => {
            format!("this deletes {}", if branch.is_empty() { "a branch" } else { &branch })
        }
        Kind::Tag if branch.is_empty() => {
            "this publishes tags, and what is built from them".to_owned()
        }
        Kind::Tag => format!("this publishes {branch}, and what is built from it"),
        Kind::Merge => format!("this merges a request{to}"),
        Kind::ForcedMerge => "this merges a request past its checks and reviewers".to_owned(),
    };
    let size = describe_size(memory);
    match protected {
        [] => format!(
            "{what}; since the last push the session changed {size}; have a person look at it first"
        ),
        _ => {
            let names: Vec<String> = protected
                .iter()
                .take(MOST_NAMED)
                .map(|change| cut(&change.place, LONGEST_SHOWN / 2))
                .collect();
            let more = protected.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{what}; of {size} these need a reviewer: {}{more}", names.join(", "))
        }
    }
}

/// Returns the size in words: `3 files, 40 lines more and 2 less`.
fn describe_size(memory: &Memory) -> String {
    let count = memory.count();
    let (added, removed) = memory.lines();
    let files = match count {
        0 => return "nothing that is known".to_owned(),
        1 => "1 file".to_owned(),
        _ => format!("{count} files"),
    };
    let is_exact = memory.more == 0 && memory.files.iter().all(|change| !change.uncounted);
    let known = if is_exact { "" } else { ", as far as known" };
    let lines = if added == 1 { "line" } else { "lines" };
    format!("{files} ({added} {lines} added, {removed} removed{known})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::pattern::{FromSettings, Settings};

    #[test]
    fn moments_have_their_severity() {
        let config = Config::from_settings(&Settings::check(Config::SPECS, &[]).unwrap()).unwrap();
        let moment = |kind, branch: &str| Moment { kind, branch: branch.into(), all: false };
        let mut touched = Memory::default();
        let place = ".github/workflows/ci.yml".to_owned();
        let change = Change {
            place,
            step: 2,
            deleted: false,
            protected: true,
            uncounted: false,
            added: 1,
            removed: 0,
        };
        touched.add(change);
        for (moment, memory, severity) in [
            (moment(Kind::Push, "topic"), &Memory::default(), None),
            (moment(Kind::Push, "topic"), &touched, Some(Severity::Medium)),
            (moment(Kind::Push, "main"), &Memory::default(), Some(Severity::Medium)),
            (moment(Kind::Push, "release/2"), &touched, Some(Severity::High)),
            (moment(Kind::LeasedForce, "topic"), &Memory::default(), None),
            (moment(Kind::LeasedForce, "main"), &Memory::default(), Some(Severity::High)),
            (moment(Kind::Request, "main"), &Memory::default(), None),
            (moment(Kind::Request, "main"), &touched, Some(Severity::Medium)),
            (moment(Kind::ForcedMerge, ""), &Memory::default(), Some(Severity::High)),
        ] {
            let found = review(std::slice::from_ref(&moment), memory, &config, 5);
            assert_eq!(found.map(|detection| detection.severity), severity, "{moment:?}");
        }
    }
}
