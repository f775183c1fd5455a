//! The limits of a run: the command line takes precedence over the files, but neither over the
//! organisation's.

use super::Arguments;
use crate::error::{Error, Result};
use portcullis_config::at_home;
use portcullis_config::paths::Paths;
use portcullis_config::running::{LimitDefault, RunDefaults};
use portcullis_run::RunLimits;
use std::path::PathBuf;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// The terms of one run.
pub struct RunSettings {
    /// The limits of its resources.
    pub limits: RunLimits,
    /// The time a person may take for an answer.
    pub answer: Option<Duration>,
    /// The grace period of a stop.
    pub grace: Duration,
    /// True if it is confined.
    pub confine: bool,
    /// Additional writable paths under confinement, each with the source that names it.
    pub writable: Vec<(PathBuf, &'static str)>,
}

impl RunSettings {
    /// Combines command line and files.
    ///
    /// # Errors
    /// Fails if the command line exceeds what the organisation allows.
    pub fn from_arguments(
        arguments: &Arguments,
        files: &RunDefaults,
        places: &Paths,
    ) -> Result<Self> {
        let time =
            number(("--time", "run.time_seconds"), arguments.time, files.time_seconds, 1000)?;
        let answer = number(
            ("--answer-time", "run.answer_seconds"),
            arguments.answer_time,
            files.answer_seconds,
            1000,
        )?;
        let grace = number(("--grace", "run.grace_ms"), arguments.grace, files.grace_ms, 1)?;
        let limits = RunLimits {
            time: time.map(Duration::from_millis),
            memory: number(("--memory", "run.memory_mb"), arguments.memory, files.memory_mb, MIB)?,
            processes: number(
                ("--processes", "run.processes"),
                arguments.processes,
                files.processes,
                1,
            )?,
            tokens: number(("--tokens", "run.tokens"), arguments.tokens, files.tokens, 1)?,
            output: number(
                ("--output-bytes", "run.output_mb"),
                arguments.output_bytes,
                files.output_mb,
                MIB,
            )?,
        };
        let (answer, grace) =
            (answer.map(Duration::from_millis), Duration::from_millis(grace.unwrap_or_default()));
        let confine = arguments.confine.unwrap_or(files.confine);
        Ok(Self {
            limits,
            answer,
            grace,
            confine,
            writable: writable(arguments, files, places, confine)?,
        })
    }
}

/// Returns a number in the unit of its option; `unit` is the size of the files' unit.
fn number(
    (option, key): (&str, &str),
    said: Option<u64>,
    files: LimitDefault,
    unit: u64,
) -> Result<Option<u64>> {
    match (said, files.most) {
        (Some(said), Some(most)) if said > most.saturating_mul(unit) => Err(Error::refused(
            format!("`{option}` is more than your organisation allows (`{key} = {most}`)"),
        )
        .with_hint("write less, or leave it out")),
        (Some(said), _) => Ok(Some(said)),
        (None, _) => Ok(files.value.map(|value| value.saturating_mul(unit))),
    }
}

fn writable(
    arguments: &Arguments,
    files: &RunDefaults,
    places: &Paths,
    confine: bool,
) -> Result<Vec<(PathBuf, &'static str)>> {
    if files.confine_held && !confine {
        return Err(Error::refused(
            "`--confine=false` is not allowed: your organisation has every \
             agent confined (`run.confine = true`)",
        )
        .with_hint("leave it out"));
    }
    if files.writable_held && !arguments.writable.is_empty() {
        return Err(Error::refused(
            "`--writable` is not allowed: your organisation says where \
             agents write (`run.writable`)",
        )
        .with_hint("leave it out"));
    }
    if !confine && !arguments.writable.is_empty() {
        return Err(Error::invalid(
            "`--writable` is for a confined agent, which writes nowhere else",
        )
        .with_hint("add `--confine`, or leave it out"));
    }
    let said = arguments.writable.iter().map(|path| (path.clone(), "leave `--writable` out"));
    let written = files
        .writable
        .iter()
        .map(|path| (at_home(path, &places.person), "take it out of `run.writable`"));
    Ok(said.chain(written).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::run::Arguments;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: Arguments,
    }

    /// Returns the terms of a command line, given files with two hours and 4 MiB of output; `most`
    /// is the organisation's maximum of the latter.
    fn terms(words: &[&str], most: Option<u64>, held: bool) -> Result<RunSettings, String> {
        let line = Line::try_parse_from([&["run"], words, &["--", "claude"]].concat()).unwrap();
        let files = RunDefaults {
            time_seconds: LimitDefault { value: Some(7200), most },
            memory_mb: LimitDefault { value: Some(512), most: None },
            output_mb: LimitDefault { value: Some(4), most: None },
            answer_seconds: LimitDefault { value: Some(60), most: None },
            grace_ms: LimitDefault { value: Some(300), most: None },
            confine: held,
            confine_held: held,
            writable: vec!["~/shared".to_owned()],
            writable_held: held,
            ..RunDefaults::default()
        };
        let places = Paths {
            person: "/home/me".into(),
            config: "/c".into(),
            state: "/s".into(),
            managed: "/m".into(),
            project: None,
            environment: portcullis_agents::HookEnvironment::of_process(),
            handed: None,
        };
        RunSettings::from_arguments(&line.run, &files, &places).map_err(|error| error.in_line())
    }

    #[test]
    fn the_command_line_goes_before_the_files_but_not_before_the_organisation() {
        for (words, most, held, expected) in [
            (&[][..], None, false, Ok(7200)),
            (&["--time", "3h"], None, false, Ok(10800)),
            (&["--time", "3h"], Some(7200), false, Err("`run.time_seconds = 7200`")),
            (&["--time", "2h"], Some(7200), false, Ok(7200)),
            (&["--time", "1s"], Some(7200), false, Ok(1)),
            (&["--confine=false"], None, false, Ok(7200)),
            (&["--confine=false"], None, true, Err("`run.confine = true`")),
            (&["--writable", "/"], None, false, Err("add `--confine`")),
            (&["--confine", "--writable", "/"], None, false, Ok(7200)),
            (&["--writable", "/"], None, true, Err("`run.writable`")),
        ] {
            let time = terms(words, most, held).map(|terms| terms.limits.time.unwrap().as_secs());
            match (&time, expected) {
                (Ok(time), Ok(expected)) => assert_eq!(*time, expected, "{words:?}"),
                (Err(error), Err(part)) => assert!(
                    error.contains(part) && error.contains("leave it out"),
                    "{words:?}: {error}"
                ),
                _ => panic!("{words:?}: {time:?}"),
            }
        }
    }

    #[test]
    fn units_are_those_of_the_limits() {
        let terms = terms(&["--output-bytes", "10MB", "--confine"], None, false).unwrap();
        assert_eq!(
            (terms.limits.memory, terms.limits.output, terms.limits.tokens),
            (Some(512 << 20), Some(10_000_000), None)
        );
        assert_eq!(
            (terms.answer, terms.grace),
            (Some(Duration::from_secs(60)), Duration::from_millis(300))
        );
        assert_eq!(
            terms.writable,
            [(PathBuf::from("/home/me/shared"), "take it out of `run.writable`")]
        );
    }
}
