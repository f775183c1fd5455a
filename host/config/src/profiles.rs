//! Profiles: named sets of values that take the place of the defaults.
//!
//! A profile stands below every file, so that each key that a file sets takes precedence. One that
//! the organisation chose holds like its own keys.

pub use crate::keys::PROFILE_NAMES;
use crate::parse::{KeyValue, parse_document};

/// The key that names the profile.
pub const PROFILE: &str = "profile";

/// Returns the values of a profile, in the order of its text; none for an unknown name.
#[must_use]
pub fn profile_values(name: &str) -> Vec<KeyValue> {
    let text = match name {
        "relaxed" => include_str!("../profiles/relaxed.toml"),
        "strict" => include_str!("../profiles/strict.toml"),
        _ => return Vec::new(),
    };
    let (document, ..) = parse_document(text);
    document.said
}

/// The key that names how long things are kept.
pub const RETENTION: &str = "audit.retention";

/// Returns the values of a retention, which stand where those of a profile do; none for an unknown
/// name.
#[must_use]
pub fn retention_values(name: &str) -> Vec<KeyValue> {
    let text = match name {
        "regulated" => include_str!("../profiles/regulated.toml"),
        _ => return Vec::new(),
    };
    let (document, ..) = parse_document(text);
    document.said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ProjectScope;
    use portcullis_engine::SettingValue as Value;

    #[test]
    fn profiles_are_correct_and_differ_from_the_defaults() {
        for text in [
            include_str!("../profiles/relaxed.toml"),
            include_str!("../profiles/strict.toml"),
            include_str!("../profiles/regulated.toml"),
        ] {
            let (document, problems, _) = parse_document(text);
            assert!(problems.is_empty(), "{problems:?}");
            assert!(document.pipelines.is_empty());
            for said in &document.said {
                assert_ne!(Some(&said.value), (said.key.default)().as_ref(), "{}", said.path);
            }
        }
        assert!(profile_values("balanced").is_empty() && retention_values("default").is_empty());
    }

    /// A threshold is lower the stricter the profile is.
    #[test]
    fn each_profile_is_stricter_than_the_one_before() {
        let value = |name: &str, path: &str| {
            let own = profile_values(name).into_iter().find(|said| said.path == path);
            own.map(|said| said.value)
                .or_else(|| crate::keys::find_by_name(path).and_then(|key| (key.default)()))
        };
        let paths = PROFILE_NAMES.iter().flat_map(|name| profile_values(name));
        let paths: Vec<KeyValue> =
            paths.filter(|said| said.key.project == ProjectScope::Least).collect();
        assert!(!paths.is_empty());
        for said in paths {
            let all: Vec<f64> = PROFILE_NAMES
                .iter()
                .filter_map(|name| match value(name, &said.path) {
                    Some(Value::Decimal(number)) => Some(number),
                    _ => None,
                })
                .collect();
            assert!(
                all.len() == PROFILE_NAMES.len() && all.is_sorted_by(|mild, strict| mild >= strict),
                "{}: {all:?}",
                said.path
            );
        }
    }
}
