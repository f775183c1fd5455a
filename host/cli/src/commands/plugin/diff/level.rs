//! The step of a version that a change needs, by Semantic Versioning: a user of the plugin must not
//! be surprised by a smaller one.

use crate::bundles::changes::{Changes, FieldChange, PluginChange};
use crate::paint;
use portcullis_core::text::one_line;
use semver::Version;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// The steps of a version, from the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionStep {
    /// Nothing changed.
    None,
    /// Nothing changed that a user of the plugin sees.
    Patch,
    /// It finds other things, or can be set in more ways.
    Minor,
    /// It asks for more, or a configuration that worked no longer does.
    Major,
}

/// The judgement of a new version's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionJudgement {
    /// The old version, as its component says.
    old: String,
    /// The new version, as its component says.
    new: String,
    /// The least step that the changes need.
    needed: VersionStep,
    /// Why they need that step.
    because: Vec<String>,
    /// The step from the old version to the new one; none if one of them is no version, or if the
    /// new one is older.
    taken: Option<VersionStep>,
    /// The lowest version that would do, if this one does not.
    would_do: Option<Version>,
}

/// Judges the new version's number by the changes; `behaves` is true if the plugin answers
/// differently.
pub fn judge_version(
    (old, new): (&str, &str),
    changes: &Changes,
    behaves: bool,
) -> VersionJudgement {
    let mut reasons: Vec<(VersionStep, String)> = Vec::new();
    for grant in &changes.grants.new {
        reasons.push((VersionStep::Major, format!("it asks for a new grant: {grant}")));
    }
    changes.changed.iter().for_each(|plugin| list_reasons(plugin, &mut reasons));
    for plugin in &changes.removed {
        reasons.push((VersionStep::Major, format!("the plugin `{}` is gone", plugin.name)));
    }
    for plugin in &changes.added {
        reasons.push((VersionStep::Minor, format!("the plugin `{}` is new", plugin.name)));
    }
    if behaves {
        reasons.push((VersionStep::Minor, "it answers differently".to_owned()));
    }
    let needed = reasons.iter().map(|(step, _)| *step).max().unwrap_or(VersionStep::None);
    let because =
        reasons.into_iter().filter(|(step, _)| *step == needed).map(|(_, why)| why).collect();
    let versions = Version::parse(old).ok().zip(Version::parse(new).ok());
    let taken = versions.as_ref().and_then(|(old, new)| measure_step(old, new));
    let would_do = versions
        .filter(|_| taken.is_none_or(|taken| taken < needed))
        .map(|(old, _)| next_version(&old, needed));
    VersionJudgement { old: old.to_owned(), new: new.to_owned(), needed, because, taken, would_do }
}

/// Adds what changed in a plugin that both versions have.
fn list_reasons(plugin: &PluginChange, reasons: &mut Vec<(VersionStep, String)>) {
    for field in &plugin.plugin {
        match field.what.as_str() {
            "kind" => reasons.push((VersionStep::Major, "it is of another kind".to_owned())),
            "world" => {
                reasons.push((VersionStep::Major, "it is built for another interface".to_owned()));
            }
            "digest" => reasons.push((VersionStep::Patch, "its bytes differ".to_owned())),
            _ => {}
        }
    }
    reasons.extend(plugin.schema.iter().filter_map(setting_reason));
    for import in &plugin.imports.new {
        reasons.push((VersionStep::Minor, format!("it imports {import}")));
    }
}

/// Returns what the change of a declared setting needs.
fn setting_reason(change: &FieldChange) -> Option<(VersionStep, String)> {
    let name = one_line(&change.what, 128);
    let (old, new) = match (&change.old, &change.new) {
        (Some(old), Some(new)) => (old, new),
        (Some(_), None) => {
            return Some((VersionStep::Major, format!("the setting `{name}` is gone")));
        }
        (None, _) => return Some((VersionStep::Minor, format!("the setting `{name}` is new"))),
    };
    let differs = |key: &str| old.get(key) != new.get(key);
    if differs("type") {
        return Some((VersionStep::Major, format!("the setting `{name}` has another type")));
    }
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_f64);
    let is_narrower =
        |key: &str, is_tighter: fn(f64, f64) -> bool| match (number(old, key), number(new, key)) {
            (None, Some(_)) => true,
            (Some(old), Some(new)) => is_tighter(new, old),
            (_, None) => false,
        };
    if is_narrower("minimum", |new, old| new > old) || is_narrower("maximum", |new, old| new < old)
    {
        return Some((VersionStep::Major, format!("the setting `{name}` allows fewer values")));
    }
    if differs("default") || differs("minimum") || differs("maximum") {
        return Some((
            VersionStep::Minor,
            format!("the setting `{name}` has another default or bound"),
        ));
    }
    None
}

/// Returns the step from one version to another; none if the other is older. Before 1.0.0 the
/// second number counts as the first, and the third as the second.
fn measure_step(old: &Version, new: &Version) -> Option<VersionStep> {
    if new < old {
        return None;
    }
    let triple = |version: &Version| (version.major, version.minor, version.patch);
    Some(if old.pre != new.pre && triple(old) == triple(new) {
        // A pre-release promises nothing.
        VersionStep::Major
    } else if triple(old) == triple(new) {
        VersionStep::None
    } else if old.major != new.major || (old.major == 0 && old.minor != new.minor) {
        VersionStep::Major
    } else if old.minor != new.minor || old.major == 0 {
        VersionStep::Minor
    } else {
        VersionStep::Patch
    })
}

fn next_version(old: &Version, needed: VersionStep) -> Version {
    let Version { major, minor, patch, .. } = *old;
    match (needed, major) {
        (VersionStep::None, _) => Version::new(major, minor, patch),
        (VersionStep::Major, 0) | (VersionStep::Minor, 1..) => Version::new(major, minor + 1, 0),
        (VersionStep::Major, _) => Version::new(major + 1, 0, 0),
        (VersionStep::Minor, 0) | (VersionStep::Patch, _) => Version::new(major, minor, patch + 1),
    }
}

impl VersionJudgement {
    /// Returns true if the new version's number says as much as changed.
    pub const fn is_enough(&self) -> bool {
        match self.taken {
            Some(taken) => taken as u8 >= self.needed as u8,
            None => false,
        }
    }

    pub fn text(&self) -> String {
        let (old, new) = (one_line(&self.old, 40), one_line(&self.new, 40));
        let needed = match self.needed {
            VersionStep::None => "nothing changed",
            VersionStep::Patch => "a patch",
            VersionStep::Minor => "a minor version",
            VersionStep::Major => "a major version",
        };
        let mut text = format!("{needed}: {}\n", join_reasons(&self.because));
        let line = match (&self.would_do, self.is_enough()) {
            (_, true) => paint::good(format!("{old} -> {new} says as much")),
            (Some(next), false) => {
                paint::bad(format!("{old} -> {new} says less than that: name it {next} or higher"))
            }
            (None, false) => paint::bad(format!(
                "`{old}` or `{new}` is no version: give both three numbers, such as 1.0.0"
            )),
        };
        let _ = writeln!(text, "{line}");
        text
    }
}

fn join_reasons(because: &[String]) -> String {
    if because.is_empty() {
        "the bytes are equal".to_owned()
    } else {
        one_line(&because.join("; "), 400)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_step_between_two_versions() {
        use VersionStep::{Major, Minor, None as Same, Patch};
        for (old, new, expected) in [
            ("1.2.3", "1.2.3", Some(Same)),
            ("1.2.3", "1.2.4", Some(Patch)),
            ("1.2.3", "1.3.0", Some(Minor)),
            ("1.2.3", "2.0.0", Some(Major)),
            ("1.2.3", "1.2.2", None),
            ("0.2.3", "0.2.4", Some(Minor)),
            ("0.2.3", "0.3.0", Some(Major)),
            ("0.2.3", "1.0.0", Some(Major)),
            ("1.0.0-rc.1", "1.0.0", Some(Major)),
        ] {
            let [was, is] = [old, new].map(|text| Version::parse(text).unwrap());
            assert_eq!(measure_step(&was, &is), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn the_next_version_is_enough_and_the_one_before_it_is_not() {
        for old in ["0.0.0", "0.2.3", "1.0.0", "1.2.3", "4.0.9"] {
            let old = Version::parse(old).unwrap();
            for needed in [VersionStep::Patch, VersionStep::Minor, VersionStep::Major] {
                let next = next_version(&old, needed);
                assert!(measure_step(&old, &next) >= Some(needed), "{old} {needed:?}: {next}");
                assert!(next > old, "{old} {needed:?}: {next}");
            }
        }
    }

    #[test]
    fn a_setting_that_changes_needs_a_step() {
        let number = |minimum: u8, maximum: u8, default: u8| {
            json!({ "key": "a", "type": "integer", "minimum": minimum, "maximum": maximum,
                    "default": default, "description": "a number" })
        };
        let text = json!({ "key": "a", "type": "text", "default": "", "description": "a text" });
        let reworded = |mut value: Value| {
            value["description"] = "a better text".into();
            value
        };
        for (old, new, expected) in [
            (Some(number(1, 5, 2)), None, Some(VersionStep::Major)),
            (None, Some(number(1, 5, 2)), Some(VersionStep::Minor)),
            (Some(number(1, 5, 2)), Some(text.clone()), Some(VersionStep::Major)),
            (Some(number(1, 5, 2)), Some(number(2, 5, 2)), Some(VersionStep::Major)),
            (Some(number(1, 5, 2)), Some(number(1, 4, 2)), Some(VersionStep::Major)),
            (Some(number(1, 5, 2)), Some(number(0, 9, 2)), Some(VersionStep::Minor)),
            (Some(number(1, 5, 2)), Some(number(1, 5, 3)), Some(VersionStep::Minor)),
            (Some(text.clone()), Some(reworded(text)), None),
        ] {
            let change = FieldChange { what: "a".to_owned(), old, new };
            let step = setting_reason(&change).map(|(step, _)| step);
            assert_eq!(step, expected, "{change:?}");
        }
    }
}
