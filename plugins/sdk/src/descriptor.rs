//! The plugin's metadata, readable without running the plugin.
//!
//! The descriptor is computed while the plugin is compiled and is embedded in the component as one
//! JSON object in the custom section [`SECTION`], so that a host or a person can read it from the
//! file. Kind and WIT version are not decided here: the host reads them from the exports, and the
//! kind in the descriptor is only there to be compared with them.
//!
//! ```json
//! {"name":"protect-migrations","version":"0.1.0","description":"...","kind":"risk-calculator",
//!  "reads":["action"],"severity":"high",
//!  "settings":[{"key":"folders","type":"texts","default":["migrations"],"description":"..."}]}
//! ```
//!
//! `severity` is absent if none is declared; `minimum` and `maximum` accompany `default` if a
//! setting is bounded. A key that ends with `.*` stands for every key of that table.

use crate::json::Sink;
use crate::types::Severity;

/// The custom section's name.
pub const SECTION: &str = "portcullis-descriptor";

/// A plugin's metadata.
///
/// ```
/// use portcullis_plugin::descriptor::{Descriptor, Reads, Spec};
///
/// const DESCRIPTOR: Descriptor = Descriptor::new("quiet-hours", "0.1.0", "Asks before deployments at night.")
///     .reads(&[Reads::Action, Reads::Context])
///     .settings(&[Spec::integer("from_hour", 22, "first quiet hour, UTC").between(0, 23)]);
/// assert_eq!(DESCRIPTOR.name, "quiet-hours");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Lower-case letters, digits and hyphens, beginning with a letter; at most 64 bytes.
    pub name: &'static str,
    /// The plugin's own version.
    pub version: &'static str,
    /// One sentence that describes the plugin.
    pub description: &'static str,
    /// The inputs that it reads.
    pub reads: &'static [Reads],
    /// The worst severity that it ever reports.
    pub severity: Option<Severity>,
    /// Every setting that it knows.
    pub settings: &'static [Spec],
}

/// An input of a plugin. A host may leave inputs that nobody reads out of a cache key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The action, its facts and its outcome.
    Action,
    /// The context of the action: goals, limits, repetition, time.
    Context,
    /// The outcome of the action. A pattern that names this is asked only about actions that have
    /// ended, which avoids the cost of asking it before each action.
    Outcome,
    /// Earlier steps.
    History,
    /// The actions of all agents of the session. A pattern that names this has one state for the
    /// whole session, against which each agent's actions are checked; without it every agent has
    /// its own. Steps are numbered throughout the session; the history is still the acting agent's.
    Session,
    /// An issue and the situation around it.
    Issue,
    /// Records of the journal.
    Records,
}

/// ```
/// use portcullis_plugin::descriptor::{Descriptor, Reads, Spec};
/// use portcullis_plugin::types::Severity;
///
/// const PLUGIN: Descriptor = Descriptor::new("late", "0.1.0", "Notices work at night.")
///     .reads(&[Reads::Context])
///     .severity(Severity::Low)
///     .settings(&[Spec::integer("from_hour", 22, "first hour of the night").between(0, 23)]);
/// assert!(PLUGIN.is_well_formed() && !Descriptor::new("Late!", "0.1.0", "").is_well_formed());
///
/// // What `export!` puts into the component.
/// const JSON: [u8; PLUGIN.json_len("pattern")] = PLUGIN.json("pattern");
/// assert!(JSON.starts_with(br#"{"name":"late","version":"0.1.0","#));
/// ```
impl Descriptor {
    /// Describes a plugin that reads the action alone and has no settings.
    ///
    /// `version` is mostly `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub const fn new(name: &'static str, version: &'static str, description: &'static str) -> Self {
        Self { name, version, description, reads: &[Reads::Action], severity: None, settings: &[] }
    }

    /// Sets the inputs that it reads.
    #[must_use]
    pub const fn reads(self, reads: &'static [Reads]) -> Self {
        Self { reads, ..self }
    }

    /// Sets the worst severity that it ever reports.
    #[must_use]
    pub const fn severity(self, severity: Severity) -> Self {
        Self { severity: Some(severity), ..self }
    }

    /// Sets the settings that it accepts; the others are refused.
    #[must_use]
    pub const fn settings(self, settings: &'static [Spec]) -> Self {
        Self { settings, ..self }
    }

    /// Returns true if the name is valid in configuration, file names and records.
    #[must_use]
    pub const fn is_well_formed(&self) -> bool {
        let (Some((first, mut rest)), 1..=64) =
            (self.name.as_bytes().split_first(), self.name.len())
        else {
            return false;
        };
        while let Some((byte, tail)) = rest.split_first() {
            if !matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-') {
                return false;
            }
            rest = tail;
        }
        first.is_ascii_lowercase() && !self.version.is_empty() && !self.description.is_empty()
    }

    /// Returns the length in bytes of the descriptor as JSON.
    #[must_use]
    pub const fn json_len(&self, kind: &str) -> usize {
        let mut sink = Sink { room: &mut [], at: 0 };
        self.write(kind, &mut sink);
        sink.at
    }

    /// Returns the descriptor as JSON; `N` is the result of [`Descriptor::json_len`].
    #[must_use]
    pub const fn json<const N: usize>(&self, kind: &str) -> [u8; N] {
        let mut bytes = [0; N];
        self.write(kind, &mut Sink { room: &mut bytes, at: 0 });
        bytes
    }

    const fn write(&self, kind: &str, out: &mut Sink<'_>) {
        out.raw("{\"name\":");
        out.text(self.name);
        out.raw(",\"version\":");
        out.text(self.version);
        out.raw(",\"description\":");
        out.text(self.description);
        out.raw(",\"kind\":");
        out.text(kind);
        out.raw(",\"reads\":[");
        let mut reads = self.reads;
        while let Some((one, rest)) = reads.split_first() {
            out.text(one.as_str());
            out.comma(!rest.is_empty());
            reads = rest;
        }
        out.raw("]");
        if let Some(severity) = self.severity {
            out.raw(",\"severity\":");
            out.text(severity.as_str());
        }
        out.raw(",\"settings\":[");
        let mut settings = self.settings;
        while let Some((one, rest)) = settings.split_first() {
            one.write(out);
            out.comma(!rest.is_empty());
            settings = rest;
        }
        out.raw("]}");
    }
}

/// ```
/// use portcullis_plugin::descriptor::Reads;
///
/// assert_eq!(Reads::Outcome.as_str(), "outcome");
/// ```
impl Reads {
    /// Returns the name in the descriptor.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Context => "context",
            Self::Outcome => "outcome",
            Self::History => "history",
            Self::Session => "session",
            Self::Issue => "issue",
            Self::Records => "records",
        }
    }
}

/// One setting: its name, its default (which determines its type), its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name, with dots between tables; `limits.*` matches every key of the table `limits`.
    pub key: &'static str,
    /// The value if the operator sets none.
    pub default: Default,
    /// The smallest and largest allowed number: the value itself for an integer or decimal,
    /// thousandths for a score.
    pub bounds: Option<(i64, i64)>,
    /// A description in words.
    pub description: &'static str,
}

/// A setting's default, which determines its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A text.
    Text(&'static str),
    /// A whole number.
    Integer(i64),
    /// A number; three decimals of a default are kept.
    Decimal(f64),
    /// A share from 0 to 1, held in whole thousandths.
    Score(u16),
    /// Yes or no.
    Flag(bool),
    /// A list of texts.
    Texts(&'static [&'static str]),
}

/// ```
/// use portcullis_plugin::descriptor::{Default, Spec};
///
/// const SETTINGS: &[Spec] = &[
///     Spec::text("word", "frob", "the word to look for"),
///     Spec::integer("most", 3, "how often").between(1, 10),
///     Spec::decimal("factor", 1.5, "how much more"),
///     Spec::score("threshold", 300, "from which on; 0.3 in the configuration"),
///     Spec::flag("strict", false, "whether to ask at once"),
///     Spec::texts("folders", &["src"], "where to look"),
/// ];
/// assert_eq!(SETTINGS[1].bounds, Some((1, 10)));
/// assert_eq!(SETTINGS[3].default, Default::Score(300));
/// ```
impl Spec {
    /// Declares a text.
    #[must_use]
    pub const fn text(key: &'static str, default: &'static str, description: &'static str) -> Self {
        Self { key, default: Default::Text(default), bounds: None, description }
    }

    /// Declares a whole number.
    #[must_use]
    pub const fn integer(key: &'static str, default: i64, description: &'static str) -> Self {
        Self { key, default: Default::Integer(default), bounds: None, description }
    }

    /// Declares a number.
    #[must_use]
    pub const fn decimal(key: &'static str, default: f64, description: &'static str) -> Self {
        Self { key, default: Default::Decimal(default), bounds: None, description }
    }

    /// Declares a share from 0 to 1; `default` is in thousandths.
    #[must_use]
    pub const fn score(key: &'static str, default: u16, description: &'static str) -> Self {
        Self { key, default: Default::Score(default), bounds: Some((0, 1000)), description }
    }

    /// Declares a yes-or-no setting.
    #[must_use]
    pub const fn flag(key: &'static str, default: bool, description: &'static str) -> Self {
        Self { key, default: Default::Flag(default), bounds: None, description }
    }

    /// Declares a list of texts.
    #[must_use]
    pub const fn texts(
        key: &'static str,
        default: &'static [&'static str],
        description: &'static str,
    ) -> Self {
        Self { key, default: Default::Texts(default), bounds: None, description }
    }

    /// Sets the smallest and the largest allowed number (of a score: thousandths).
    #[must_use]
    pub const fn between(self, least: i64, greatest: i64) -> Self {
        Self { bounds: Some((least, greatest)), ..self }
    }

    const fn write(&self, out: &mut Sink<'_>) {
        out.raw("{\"key\":");
        out.text(self.key);
        out.raw(",\"type\":");
        out.text(self.default.type_name());
        out.raw(",\"default\":");
        self.default.write(out);
        if let Some((least, greatest)) = self.bounds {
            let scale = if matches!(self.default, Default::Score(_)) { 1 } else { 1000 };
            out.raw(",\"minimum\":");
            out.thousandths(least.saturating_mul(scale));
            out.raw(",\"maximum\":");
            out.thousandths(greatest.saturating_mul(scale));
        }
        out.raw(",\"description\":");
        out.text(self.description);
        out.raw("}");
    }
}

/// ```
/// use portcullis_plugin::descriptor::Default;
///
/// assert_eq!(Default::Score(300).type_name(), "decimal");
/// assert_eq!(Default::Texts(&["src"]).type_name(), "texts");
/// ```
impl Default {
    /// Returns the type's name in the descriptor and in messages.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "integer",
            Self::Decimal(_) | Self::Score(_) => "decimal",
            Self::Flag(_) => "flag",
            Self::Texts(_) => "texts",
        }
    }

    const fn write(&self, out: &mut Sink<'_>) {
        match self {
            Self::Text(text) => out.text(text),
            Self::Integer(number) => out.integer(*number),
            Self::Decimal(number) => out.thousandths(crate::settings::thousandths(*number)),
            Self::Score(thousandths) => out.thousandths(*thousandths as i64),
            Self::Flag(true) => out.raw("true"),
            Self::Flag(false) => out.raw("false"),
            Self::Texts(texts) => {
                out.raw("[");
                let mut texts = *texts;
                while let Some((one, rest)) = texts.split_first() {
                    out.text(one);
                    out.comma(!rest.is_empty());
                    texts = rest;
                }
                out.raw("]");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Descriptor = Descriptor::new("a-plugin", "1.2.3", "Says \"no\",\n\\ and ü.")
        .reads(&[Reads::Action, Reads::Context])
        .severity(Severity::High)
        .settings(&[
            Spec::texts("folders", &["a", "b\t"], "which"),
            Spec::integer("limit", -7, "how many").between(-10, 10),
            Spec::decimal("factor", 1.5, "how much").between(0, 4),
            Spec::score("share", 300, "of all"),
            Spec::flag("strict", true, ""),
            Spec::text("words.*", "", "each"),
        ]);

    #[test]
    fn json_is_exact() {
        const LEN: usize = FULL.json_len("pattern");
        const JSON: [u8; LEN] = FULL.json::<LEN>("pattern");
        let expected = concat!(
            r#"{"name":"a-plugin","version":"1.2.3","description":"Says \"no\",\u000a\\ and ü.","kind":"pattern","#,
            r#""reads":["action","context"],"severity":"high","settings":["#,
            r#"{"key":"folders","type":"texts","default":["a","b\u0009"],"description":"which"},"#,
            r#"{"key":"limit","type":"integer","default":-7,"minimum":-10,"maximum":10,"description":"how many"},"#,
            r#"{"key":"factor","type":"decimal","default":1.5,"minimum":0,"maximum":4,"description":"how much"},"#,
            r#"{"key":"share","type":"decimal","default":0.3,"minimum":0,"maximum":1,"description":"of all"},"#,
            r#"{"key":"strict","type":"flag","default":true,"description":""},"#,
            r#"{"key":"words.*","type":"text","default":"","description":"each"}]}"#,
        );
        assert_eq!(std::str::from_utf8(&JSON).unwrap(), expected);
    }

    #[test]
    fn names_are_checked() {
        for (name, good) in [
            ("a", true),
            ("no-2", true),
            ("", false),
            ("2a", false),
            ("A", false),
            ("a_b", false),
            ("a/b", false),
        ] {
            assert_eq!(Descriptor::new(name, "1", "x").is_well_formed(), good, "`{name}`");
        }
        assert!(!Descriptor::new("a", "", "x").is_well_formed());
        assert!(!Descriptor::new("a", "1", "").is_well_formed());
    }
}
