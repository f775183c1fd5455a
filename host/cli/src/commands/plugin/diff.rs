//! `portcullis plugin diff`: compares two versions of a plugin by what they are, what they ask for
//! and what they find, and judges whether the new version's number says as much.
//!
//! ```text
//! two components -> list_changes ----+
//! cases          -> both are played -+-> the least step of the version -> the step that was taken
//! material       -> both are tried --+
//! ```
//!
//! The exit code is 1 if the number says less than what changed. host/docs/plugins.md has the rules.

mod level;

use super::subject::Subject;
use crate::bundles::changes::{Changes, list_changes};
use crate::commands::bundle::vet::{MaterialPaths, Verdicts, compare_verdicts};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{differ, paint};
use level::{VersionJudgement, judge_version};
use portcullis_author::cases::{Case, CaseResult, CaseRunner, finding};
use portcullis_bundle::{About, Bundle, NewComponent};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_engine::read_component;
use portcullis_review::bundles::{describe_component, list_exports};
use portcullis_review::reviewer::code_cache;
use portcullis_store::Home;
use semver::Version;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The most cases whose differences are shown in full.
const SHOWN_CASES: usize = 5;

#[derive(clap::Args)]
pub struct Arguments {
    /// The old version: a component, or the folder of a plugin's project
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new version
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Play these cases with both versions (default: `cases.toml` of the new version's project)
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// Compare the verdicts on labelled actions, in the format of `eval`: a file, or a folder's
    /// `.jsonl` and `.json` files
    #[arg(long, value_name = "FILE|DIR")]
    corpus: Vec<PathBuf>,
    /// Compare the results of recorded sessions, in the formats of `replay`: a file, or a folder's
    /// `.jsonl` and `.json` files
    #[arg(long, value_name = "FILE|DIR")]
    session: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One of the two versions.
struct PluginVersion {
    subject: Subject,
    bundle: Bundle,
}

/// A case that the two versions answer differently.
struct ChangedCase<'c> {
    case: &'c Case,
    old: String,
    new: String,
}

pub fn run_diff(arguments: &Arguments) -> Result<CommandExit> {
    let new = PluginVersion::read_version(&arguments.new, arguments.cases.as_deref())?;
    let old = PluginVersion::read_version(&arguments.old, None)?;
    check_names(&old, &new)?;
    let places = Paths::from_environment()?;
    let cases = new.read_cases(arguments.cases.is_some())?;
    let changed = compare_cases(&cases, &old, &new, &places)?;
    let material =
        MaterialPaths::from_recordings(arguments.corpus.clone(), arguments.session.clone());
    let verdicts = (!material.is_empty())
        .then(|| compare_verdicts(&old.bundle, &new.bundle, &material, &places.without_project()))
        .transpose()?;
    let changes = list_changes(old.bundle.about(), new.bundle.about());
    let behaves = !changed.is_empty() || verdicts.as_ref().is_some_and(Verdicts::is_changed);
    let judged = judge_version((old.version(), new.version()), &changes, behaves);
    let report = Report { changes, cases: cases.len(), changed, verdicts, judged };
    let text = if arguments.json { format!("{}\n", report.json()) } else { report.text() };
    paint::print_text(&text);
    Ok(CommandExit::of_check(report.judged.is_enough()))
}

impl PluginVersion {
    fn read_version(path: &Path, cases: Option<&Path>) -> Result<Self> {
        let subject = Subject::find_subject(path, cases)?;
        let shown = one_line(&subject.file.to_string_lossy(), 400);
        let bytes = read_component(&subject.file).with_context(|| format!("`{shown}`"))?;
        let component = describe_component(&bytes, None)
            .or_else(|_| describe_component(&bytes, Some(&subject.name)))
            .with_context(|| format!("`{shown}`"))?;
        let about = About {
            name: "compared/plugin".parse()?,
            version: Version::new(0, 0, 0),
            description: String::new(),
            licence: String::new(),
            source: String::new(),
            components: vec![component],
        };
        let exports = list_exports(&bytes)?;
        let parts = [NewComponent { bytes: &bytes, exports: &exports }];
        let bundle =
            Bundle::from_components(about, &parts).with_context(|| format!("`{shown}`"))?;
        Ok(Self { subject, bundle })
    }

    /// Returns the plugin's name and version as its component says.
    fn plugin(&self) -> (&str, &str) {
        let plugin = self.bundle.about().plugins().next();
        plugin.map_or(("", ""), |(_, plugin)| (&plugin.name, &plugin.version))
    }

    fn version(&self) -> &str {
        self.plugin().1
    }

    /// Reads the cases; a component alone has none unless they are named.
    fn read_cases(&self, named: bool) -> Result<Vec<Case>> {
        match self.subject.cases() {
            Ok((path, text)) => self.subject.read_cases(&path, &text),
            Err(error) if named => Err(error),
            Err(_) => Ok(Vec::new()),
        }
    }
}

fn check_names(old: &PluginVersion, new: &PluginVersion) -> Result<()> {
    let ((was, _), (is, _)) = (old.plugin(), new.plugin());
    if was == is {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "these are two plugins, `{}` and `{}`",
        one_line(was, 64),
        one_line(is, 64)
    ))
    .with_hint("name two versions of one plugin"))
}

/// Plays each case with both versions.
fn compare_cases<'c>(
    cases: &'c [Case],
    old: &PluginVersion,
    new: &PluginVersion,
    places: &Paths,
) -> Result<Vec<ChangedCase<'c>>> {
    let home = Home::open_root(&places.state)?;
    let caches = || code_cache(&home);
    let config = Config::builtin_only(places);
    let runner = |version: &PluginVersion| {
        let Subject { file, name, inspection, .. } = &version.subject;
        CaseRunner::new(file, (name, inspection.kind), &config, &caches)
    };
    let (mut before, mut after) = (runner(old), runner(new));
    let mut changed = Vec::new();
    for case in cases {
        let play = |runner: &mut CaseRunner<'_>| -> Result<String> {
            let played = runner
                .play_case(case)
                .with_context(|| format!("the case `{}`", one_line(&case.name, 200)))?;
            Ok(render_answers(&played))
        };
        let (old, new) = (play(&mut before)?, play(&mut after)?);
        if old != new {
            changed.push(ChangedCase { case, old, new });
        }
    }
    Ok(changed)
}

/// Writes all findings of a case, so that two runs can be compared. What a plugin logs is no
/// finding.
fn render_answers(played: &CaseResult) -> String {
    let mut text = String::new();
    for (number, step) in played.steps.iter().chain(&played.export).enumerate() {
        let findings: Vec<_> = step
            .findings
            .iter()
            .filter(|finding| !finding.is_log())
            .map(|finding| finding.0.clone())
            .collect();
        if !findings.is_empty() {
            let _ = writeln!(text, "step {}", number + 1);
            text.push_str(&finding::render_findings("finding", &findings));
        }
    }
    text
}

/// Everything that is printed.
struct Report<'c> {
    changes: Changes,
    cases: usize,
    changed: Vec<ChangedCase<'c>>,
    verdicts: Option<Verdicts>,
    judged: VersionJudgement,
}

impl Report<'_> {
    fn json(&self) -> Value {
        let case = |changed: &ChangedCase<'_>| {
            json!({
                "name": changed.case.name,
                "line": changed.case.place.0,
                "old": changed.old,
                "new": changed.new,
            })
        };
        json!({
            "changes": self.changes,
            "cases": {
                "played": self.cases,
                "changed": self.changed.iter().map(case).collect::<Vec<_>>(),
            },
            "verdicts": self.verdicts,
            "version": self.judged,
        })
    }

    fn text(&self) -> String {
        let mut text = self.changes.text();
        if text.is_empty() {
            text.push_str("the components are the same\n");
        }
        if self.cases > 0 {
            let _ = writeln!(
                text,
                "\n{}: {} answered differently",
                count_noun(self.cases as u64, "case"),
                self.changed.len()
            );
        }
        for changed in self.changed.iter().take(SHOWN_CASES) {
            let _ = writeln!(text, "  {}", paint::bold(one_line(&changed.case.name, 200)));
            for line in differ::inline_diff(&changed.old, &changed.new).lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        if self.changed.len() > SHOWN_CASES {
            let more = self.changed.len() - SHOWN_CASES;
            let _ = writeln!(text, "  and {more} more; `--json` has them all");
        }
        if let Some(verdicts) = &self.verdicts {
            let _ = write!(text, "\n{}", verdicts.text());
        }
        let _ = write!(text, "\n{}", self.judged.text());
        text
    }
}
