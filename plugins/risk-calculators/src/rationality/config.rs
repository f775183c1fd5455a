//! The numbers of the judgement, each a setting.

use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::{FromSettings, Settings};
use portcullis_plugin::types::Error;

/// The settings, read once a call. Scores are in thousandths.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) ordinary: u16,
    pub(super) new_path: u16,
    pub(super) repeats: u16,
    pub(super) cheaper_known: u16,
    pub(super) step_missing: u16,
    pub(super) repeats_after: u32,
    pub(super) look_back: u64,
}

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::score(
            "alignment.ordinary",
            700,
            "ordinary work in the project that shares no word with a goal",
        ),
        Spec::score("progression.new_path", 700, "a step that nothing before led to"),
        Spec::score(
            "progression.repeats",
            300,
            "a change that was made before, or that keeps failing",
        ),
        Spec::score("efficiency.cheaper_known", 500, "a cheaper way is known"),
        Spec::score("completeness.step_missing", 500, "a needed earlier step is missing"),
        Spec::integer(
            "repeats_after",
            3,
            "how often a command has to end the same way before doing it again is a repetition",
        )
        .between(1, 1000),
        Spec::integer("look_back", 12, "past steps that are looked at").between(0, 16),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            ordinary: settings.score("alignment.ordinary")?,
            new_path: settings.score("progression.new_path")?,
            repeats: settings.score("progression.repeats")?,
            cheaper_known: settings.score("efficiency.cheaper_known")?,
            step_missing: settings.score("completeness.step_missing")?,
            repeats_after: u32::try_from(settings.integer("repeats_after")?).unwrap_or(u32::MAX),
            look_back: settings.integer("look_back")?.unsigned_abs(),
        })
    }
}
