//! Settings with a few allowed words. The SDK checks types and bounds; the allowed words are the
//! judge's own affair, so it checks here, once in `prepare` and again when it reads.

use portcullis_plugin::settings::Settings;
use portcullis_plugin::types::{Error, Severity};

/// The severities by name.
pub const SEVERITIES: &[(&str, Severity)] = &[
    ("low", Severity::Low),
    ("medium", Severity::Medium),
    ("high", Severity::High),
    ("critical", Severity::Critical),
];

/// The scale of a pattern's thresholds, in thousandths, by the name of its sensitivity.
pub const SENSITIVITIES: &[(&str, u32)] = &[("low", 1500), ("medium", 1000), ("high", 670)];

/// Returns the value of the word at `key`.
///
/// # Errors
/// Fails with `invalid-setting` for a word that is not one of `words`.
pub fn one_of<T: Copy>(settings: &Settings, key: &str, words: &[(&str, T)]) -> Result<T, Error> {
    let given = settings.text(key)?;
    let found = words.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        Error::setting(
            key,
            &["is `", given, "`, should be one of `", &names(words).join("`, `"), "`"].concat(),
        )
    })
}

/// Returns the list at `key`, each entry one of `words`.
///
/// # Errors
/// Fails with `invalid-setting` for an entry that is not one of `words`.
pub fn some_of<'a>(
    settings: &'a Settings,
    key: &str,
    words: &[&str],
) -> Result<&'a [String], Error> {
    let given = settings.texts(key)?;
    match given.iter().find(|entry| !words.contains(&entry.as_str())) {
        None => Ok(given),
        Some(entry) => Err(Error::setting(
            key,
            &["holds `", entry, "`, known are `", &words.join("`, `"), "`"].concat(),
        )),
    }
}

/// Returns a threshold scaled by a sensitivity, rounded to the nearest whole number.
#[must_use]
pub const fn stretched(threshold: u32, sensitivity: u32) -> u32 {
    threshold.saturating_mul(sensitivity).saturating_add(500) / 1000
}

fn names<'a, T>(words: &[(&'a str, T)]) -> Vec<&'a str> {
    words.iter().map(|(word, _)| *word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::descriptor::Spec;
    use portcullis_plugin::types::Setting;

    const SPECS: &[Spec] =
        &[Spec::text("severity", "medium", ""), Spec::texts("disabled", &[], "")];

    #[test]
    fn words_are_known_or_named() {
        let cases = [
            (Setting::new("severity", "high"), Ok(Severity::High)),
            (
                Setting::new("severity", "High"),
                Err("is `High`, should be one of `low`, `medium`, `high`, `critical`"),
            ),
            (Setting::new("severity", ""), Err("is ``")),
            (Setting::new("disabled", ["a", "c"]), Err("holds `c`, known are `a`, `b`")),
            (Setting::new("disabled", ["a", "b"]), Ok(Severity::Medium)),
        ];
        for (setting, expected) in cases {
            let settings = Settings::check(SPECS, std::slice::from_ref(&setting))
                .expect("the types are right");
            let read = one_of(&settings, "severity", SEVERITIES)
                .and_then(|severity| some_of(&settings, "disabled", &["a", "b"]).map(|_| severity));
            match (read, expected) {
                (Ok(severity), Ok(wanted)) => assert_eq!(severity, wanted),
                (Err(error), Err(part)) => {
                    assert!(error.message().contains(part), "{}", error.message())
                }
                (read, _) => panic!("{setting:?}: {read:?}"),
            }
        }
    }

    #[test]
    fn thresholds_stretch() {
        for (threshold, sensitivity, expected) in
            [(3, 1500, 5), (3, 1000, 3), (3, 670, 2), (300, 1500, 450), (300, 670, 201)]
        {
            assert_eq!(stretched(threshold, sensitivity), expected);
        }
    }
}
