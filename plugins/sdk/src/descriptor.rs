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
use crate::settings::{FromSettings, Settings};
use crate::types::{Error, Setting, Severity};

pub use crate::spec::{Default, Spec};

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
    /// Refuses values that types and bounds do not exclude; accepts all, unless set by
    /// [`Descriptor::config`].
    pub check: fn(&Settings) -> Result<(), Error>,
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
///
/// [`FromSettings`] has a whole plugin with a type for its settings:
///
/// ```
/// use portcullis_plugin::descriptor::{Descriptor, Spec};
/// use portcullis_plugin::settings::{FromSettings, Settings};
/// use portcullis_plugin::types::{Error, Setting};
///
/// struct Even(i64);
///
/// impl FromSettings for Even {
///     const SPECS: &'static [Spec] = &[Spec::integer("steps", 10, "how many, an even number")];
///
///     fn from_settings(settings: &Settings) -> Result<Self, Error> {
///         let steps = settings.integer("steps")?;
///         if steps % 2 == 0 { Ok(Self(steps)) } else { Err(Error::setting("steps", "should be even")) }
///     }
/// }
///
/// const PLUGIN: Descriptor = Descriptor::new("even", "0.1.0", "Looks at every other step.").config::<Even>();
/// assert_eq!(Even::from_prepared(&PLUGIN.prepare(&[Setting::new("steps", 4)])?)?.0, 4);
/// assert_eq!(PLUGIN.prepare(&[Setting::new("steps", 5)]).unwrap_err().message(), "setting `steps`: should be even");
/// # Ok::<(), Error>(())
/// ```
impl Descriptor {
    /// Describes a plugin that reads the action alone and has no settings.
    ///
    /// `version` is mostly `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub const fn new(name: &'static str, version: &'static str, description: &'static str) -> Self {
        Self {
            name,
            version,
            description,
            reads: &[Reads::Action],
            severity: None,
            settings: &[],
            check: accept,
        }
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

    /// Sets the settings that it accepts, as a type of its own; the others, and values that the
    /// type refuses, are refused.
    #[must_use]
    pub const fn config<C: FromSettings>(self) -> Self {
        Self { settings: C::SPECS, check: check::<C>, ..self }
    }

    /// Checks the operator's settings and returns them as bytes: the default `prepare` of every
    /// kind of plugin.
    ///
    /// # Errors
    /// Fails with `invalid-setting` for a setting that is unknown, given twice, of the wrong type,
    /// out of bounds, or refused by the type of [`Descriptor::config`].
    pub fn prepare(&self, given: &[Setting]) -> Result<Vec<u8>, Error> {
        let settings = Settings::check(self.settings, given)?;
        (self.check)(&settings)?;
        Ok(settings.to_bytes())
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

const fn accept(_: &Settings) -> Result<(), Error> {
    Ok(())
}

fn check<C: FromSettings>(settings: &Settings) -> Result<(), Error> {
    C::from_settings(settings).map(drop)
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
