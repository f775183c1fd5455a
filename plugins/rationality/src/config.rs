//! The numbers of the judgement, each a setting.

use portcullis_plugin::descriptor::Spec;
use portcullis_plugin::settings::Settings;
use portcullis_plugin::types::Error;

/// Every setting with its default.
pub(crate) const SPECS: &[Spec] = &[
    Spec::score(
        "alignment.ordinary",
        700,
        "ordinary work in the project that shares no word with a goal",
    ),
    Spec::score("progression.new_path", 700, "a step that nothing before led to"),
    Spec::score("progression.repeats", 300, "a change that was made before, or that keeps failing"),
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

/// The settings, read once a call. Scores are in thousandths.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) ordinary: u16,
    pub(crate) new_path: u16,
    pub(crate) repeats: u16,
    pub(crate) cheaper_known: u16,
    pub(crate) step_missing: u16,
    pub(crate) repeats_after: u32,
    pub(crate) look_back: u64,
}

impl Config {
    /// Takes the numbers out of checked settings.
    ///
    /// # Errors
    /// Fails if the settings are not this plugin's.
    pub(crate) fn read(settings: &Settings) -> Result<Self, Error> {
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
