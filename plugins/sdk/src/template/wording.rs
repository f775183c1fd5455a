//! The choice of a message's text: the operator's if there is one, else the plugin's own.

use super::{Values, fill, fill_lines};
use crate::descriptor::Spec;
use crate::intervention::{Context, Issue, Situation};
use crate::settings::Settings;
use crate::text::{cut, rfc3339};
use crate::types::{Error, Setting, SettingValue};

/// The host's limit for one message, in bytes.
const MESSAGE: usize = 4096;

/// The sources of an intervention's texts.
///
/// The operator's words come from two places: the plugin's own settings (`templates.ISSUE`, see
/// [`Wording::SETTING`]), which are checked when they are loaded, and the templates that the host
/// passes with each issue, which begin with `prefix`. In both, a name is an issue's, `rule:*` for
/// any rule, or `default` for any issue that the plugin has no words for. If all lines of a text
/// name something absent, so that nothing of it is left, the next text is used.
///
/// ```
/// use portcullis_plugin::intervention::*;
/// use portcullis_plugin::template::{Values, Wording};
/// use portcullis_plugin::testing;
///
/// const WORDS: Wording = Wording { kind: "nudge", prefix: "nudge.", texts: &[("loop", "{summary}!")], default: "stop", extra: &["attempts"] };
/// const SPECS: &[Spec] = &[Wording::SETTING];
///
/// let refused = WORDS.prepare(SPECS, &[Setting::new("templates.loop", "{atempts}")]).unwrap_err();
/// assert_eq!(refused.message(), "setting `templates.loop`: line 1: unknown placeholder `{atempts}`; did you mean `{attempts}`?");
///
/// let settings = Settings::read(&WORDS.prepare(SPECS, &[])?)?;
/// let (issue, situation, context) = (testing::issue("loop", Severity::Low, "again"), testing::situation(), testing::context());
/// let message = WORDS.message(&settings, &issue, &situation, &context, Values::of(&issue, &situation, &context))?;
/// assert_eq!(message, "[portcullis nudge | loop | 2026-01-01T12:00:00.000Z]\nagain!");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// The intervention's type, as messages name it.
    pub kind: &'static str,
    /// The prefix of the host's template names for this intervention: the type and a dot, or
    /// nothing.
    pub prefix: &'static str,
    /// The plugin's own texts by issue; `rule:*` is for every rule.
    pub texts: &'static [(&'static str, &'static str)],
    /// The plugin's own text for any other issue.
    pub default: &'static str,
    /// Placeholders beyond those of [`Values::of`].
    pub extra: &'static [&'static str],
}

/// ```
/// use portcullis_plugin::intervention::*;
/// use portcullis_plugin::template::{Values, Wording};
/// use portcullis_plugin::testing;
///
/// const WORDS: Wording =
///     Wording { kind: "nudge", prefix: "", texts: &[("loop", "again: {summary}"), ("advice", "try something else")], default: "stop", extra: &[] };
/// let settings = Settings::read(&WORDS.prepare(&[Wording::SETTING], &[])?)?;
/// let (issue, situation, context) = (testing::issue("loop", Severity::Low, "make"), testing::situation(), testing::context());
/// let values = Values::of(&issue, &situation, &context);
/// assert_eq!(WORDS.text(&settings, "loop", &situation, values.clone())?, "again: make");
/// assert_eq!(WORDS.text(&settings, "goal_drift", &situation, values.clone())?, "stop");
/// let text = WORDS.parts(&settings, &["loop", "advice"], &situation, values.clone())?;
/// assert_eq!(text, "again: make\ntry something else");
/// assert!(WORDS.headed(&issue, &context, &text).starts_with("[portcullis nudge | loop | "));
/// assert!(WORDS.message(&settings, &issue, &situation, &context, values)?.ends_with("]\nagain: make"));
/// # Ok::<(), Error>(())
/// ```
impl Wording {
    /// The setting with the operator's words.
    pub const SETTING: Spec = Spec::text(
        "templates.*",
        "",
        "your words for an issue, by its name, `rule:*` or `default`",
    );

    /// Checks the settings against the declared ones, and every template among them; returns them
    /// as bytes.
    ///
    /// # Errors
    /// Fails with `invalid-setting` for a setting that cannot be used, an unknown placeholder, or
    /// an unbalanced brace.
    pub fn prepare(&self, declared: &[Spec], given: &[Setting]) -> Result<Vec<u8>, Error> {
        let settings = Settings::check(declared, given)?;
        let mut known = Values::names();
        known.know(self.extra);
        for (name, text) in templates(&settings) {
            fill_lines(text, &known)
                .map_err(|reason| Error::setting(&format!("templates.{name}"), &reason))?;
        }
        Ok(settings.to_bytes())
    }

    /// Returns the message for an issue, with its head.
    ///
    /// # Errors
    /// Fails if the operator's template that is chosen has an unknown placeholder.
    pub fn message(
        &self,
        settings: &Settings,
        issue: &Issue,
        situation: &Situation,
        context: &Context,
        values: Values,
    ) -> Result<String, Error> {
        Ok(self.headed(issue, context, &self.text(settings, &issue.name, situation, values)?))
    }

    /// Formats a text as a message: headed by type, issue and time, and cut to the host's limit.
    #[must_use]
    pub fn headed(&self, issue: &Issue, context: &Context, text: &str) -> String {
        let head = format!(
            "[portcullis {} | {} | {}]",
            self.kind,
            one_word(&issue.name),
            rfc3339(context.now)
        );
        cut(&format!("{head}\n{text}"), MESSAGE)
    }

    /// Returns the text for a name, an issue's or one of the plugin's own, without a head.
    ///
    /// # Errors
    /// Fails as [`Wording::message`] does.
    pub fn text(
        &self,
        settings: &Settings,
        name: &str,
        situation: &Situation,
        mut values: Values,
    ) -> Result<String, Error> {
        values.know(self.extra);
        let rule = name.strip_prefix("rule:").map(|_| "rule:*");
        let mine = |wanted: &str| self.texts.iter().find(|(known, _)| *known == wanted).copied();
        let theirs = |wanted: &str| self.theirs(settings, situation, wanted);
        let own = mine(name).or_else(|| mine(rule?));
        let candidates = theirs(name)
            .into_iter()
            .chain(rule.map(theirs).into_iter().flatten())
            .chain(own.map(|(name, text)| (name.to_owned(), text)))
            .chain(theirs("default"));
        for (name, template) in candidates {
            let text = fill(&name, template, &values)?;
            if !text.is_empty() {
                return Ok(text);
            }
        }
        fill("default", self.default, &values)
    }

    /// Joins the texts of several names, one below the other.
    ///
    /// # Errors
    /// Fails as [`Wording::message`] does.
    pub fn parts(
        &self,
        settings: &Settings,
        names: &[&str],
        situation: &Situation,
        values: Values,
    ) -> Result<String, Error> {
        let texts: Result<Vec<String>, Error> =
            names.iter().map(|name| self.text(settings, name, situation, values.clone())).collect();
        Ok(texts?.join("\n"))
    }

    /// Returns the operator's texts of one name, those of the settings first, each with the name to
    /// report in an error.
    fn theirs<'a>(
        &self,
        settings: &'a Settings,
        situation: &'a Situation,
        wanted: &str,
    ) -> Vec<(String, &'a str)> {
        let set = templates(settings)
            .filter(|(name, _)| *name == wanted)
            .map(|(name, text)| (format!("templates.{name}"), text));
        let passed = situation
            .templates
            .iter()
            .filter(|template| template.name.strip_prefix(self.prefix) == Some(wanted));
        set.chain(passed.map(|template| (template.name.clone(), template.value.as_str()))).collect()
    }
}

fn templates(settings: &Settings) -> impl Iterator<Item = (&str, &str)> {
    settings.table("templates").filter_map(|(name, value)| {
        if let SettingValue::Text(text) = value { Some((name, text.as_str())) } else { None }
    })
}

/// Sanitizes a pattern's name, which comes from a plugin and must not break the message's head.
fn one_word(name: &str) -> String {
    let word: String = name
        .chars()
        .map(|character| {
            if character.is_alphanumeric() || "_-:.".contains(character) { character } else { '_' }
        })
        .collect();
    cut(&word, 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::types::Severity;

    const WORDS: Wording = Wording {
        kind: "nudge",
        prefix: "nudge.",
        texts: &[("loop", "own loop"), ("rule:*", "own rule {rule}")],
        default: "own default",
        extra: &["times"],
    };
    const SPECS: &[Spec] = &[Wording::SETTING];

    fn said(issue: &str, set: &[(&str, &str)], passed: &[(&str, &str)]) -> Result<String, String> {
        let given: Vec<Setting> = set
            .iter()
            .map(|(name, text)| Setting::new(&format!("templates.{name}"), *text))
            .collect();
        let settings =
            Settings::read(&WORDS.prepare(SPECS, &given).map_err(|error| error.message())?)
                .map_err(|error| error.message())?;
        let mut situation = testing::situation();
        situation.templates = passed.iter().map(|template| (*template).into()).collect();
        let (issue, context) =
            (testing::issue(issue, Severity::Low, "a summary"), testing::context());
        let values = Values::of(&issue, &situation, &context);
        let message = WORDS
            .message(&settings, &issue, &situation, &context, values)
            .map_err(|error| error.message())?;
        Ok(message.split_once('\n').map(|(_, text)| text.to_owned()).unwrap_or_default())
    }

    #[test]
    fn the_operators_words_come_first() {
        type Templates = &'static [(&'static str, &'static str)];
        let cases: &[(&str, Templates, Templates, Result<&str, &str>)] = &[
            ("loop", &[], &[], Ok("own loop")),
            ("odd", &[], &[], Ok("own default")),
            ("rule:a", &[], &[], Ok("own rule a")),
            ("loop", &[("loop", "set")], &[("nudge.loop", "passed")], Ok("set")),
            ("loop", &[], &[("nudge.loop", "passed")], Ok("passed")),
            ("loop", &[], &[("loop", "not ours")], Ok("own loop")),
            ("loop", &[("default", "set")], &[("nudge.default", "passed")], Ok("own loop")),
            ("odd", &[("default", "set")], &[("nudge.default", "passed")], Ok("set")),
            ("odd", &[], &[("nudge.default", "passed")], Ok("passed")),
            ("rule:a", &[("rule:*", "any {rule}")], &[("nudge.rule:a", "one")], Ok("one")),
            ("rule:a", &[("rule:*", "any {rule}")], &[], Ok("any a")),
            ("loop", &[("loop", "{times}")], &[("nudge.loop", "")], Ok("own loop")),
            (
                "loop",
                &[("loop", "x\n{tmes}")],
                &[],
                Err(
                    "setting `templates.loop`: line 2: unknown placeholder `{tmes}`; did you mean `{times}`?",
                ),
            ),
            (
                "odd",
                &[("loop", "}")],
                &[],
                Err(
                    "setting `templates.loop`: line 1: a `}` without its `{`; write `}}` for the brace itself",
                ),
            ),
            ("odd", &[("default", "{evidence.any}{step}")], &[], Ok("own default")),
            (
                "loop",
                &[],
                &[("nudge.loop", "{tmes}")],
                Err(
                    "template `nudge.loop`, line 1: unknown placeholder `{tmes}`; did you mean `{times}`?",
                ),
            ),
            ("odd", &[], &[("nudge.loop", "{tmes}")], Ok("own default")),
        ];
        for (issue, set, passed, expected) in cases {
            assert_eq!(
                said(issue, set, passed).as_deref().map_err(String::as_str),
                *expected,
                "{issue} {set:?} {passed:?}"
            );
        }
    }

    #[test]
    fn a_head_is_one_line() {
        let (situation, context) = (testing::situation(), testing::context());
        let settings = Settings::read(&WORDS.prepare(SPECS, &[]).expect("no settings are fine"))
            .expect("they are its own");
        for (name, head) in [
            ("a]\n[b", "[portcullis nudge | a___b | 2026"),
            (&*"x".repeat(200), "[portcullis nudge | xxx"),
        ] {
            let issue = testing::issue(name, Severity::Low, &"y".repeat(9000));
            let message = Wording { default: "{summary}", ..WORDS }
                .message(
                    &settings,
                    &issue,
                    &situation,
                    &context,
                    Values::of(&issue, &situation, &context),
                )
                .expect("the words are known");
            assert!(
                message.starts_with(head)
                    && message.lines().count() == 2
                    && message.len() <= MESSAGE,
                "{message}"
            );
        }
    }
}
