//! Notices tests that are deleted, skipped or loosened while the goal is to make them pass.
//!
//! `../README.md` says exactly what it does; each module is a section of it.

mod goals;
mod memory;
mod runs;
mod tests_of;
mod texts;
mod weakening;

use memory::Memory;
use portcullis_plugin::pattern::*;
use portcullis_plugin::types::SettingValue;
use weakening::Weakening;

/// The plugin.
pub struct TestsWeakened;

const FOLDERS: &[&str] = &["test", "tests", "spec", "specs", "__tests__"];

impl Pattern for TestsWeakened {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "tests-weakened",
        env!("CARGO_PKG_VERSION"),
        "Notices tests that are deleted, skipped or loosened while the goal is to make them pass.",
    )
    .reads(&[Reads::Action, Reads::Context])
    .severity(Severity::High)
    .settings(&[Spec::texts("folders", FOLDERS, "names of folders that hold tests")]);

    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        let mut folders: Vec<String> = FOLDERS.iter().map(|name| (*name).to_owned()).collect();
        for setting in settings {
            match &setting.value {
                _ if setting.key != "folders" => {
                    return Err(Error::setting(
                        &setting.key,
                        "unknown: the only setting is folders",
                    ));
                }
                SettingValue::Texts(names) => folders.clone_from(names),
                _ => return Err(Error::setting(&setting.key, "it must be a list of texts")),
            }
        }
        Ok(folders.iter().flat_map(|name| [name.as_bytes(), b"\n"]).flatten().copied().collect())
    }

    fn detect(
        prepared: &[u8],
        state: &[u8],
        _: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        if let Some(outcome) = &action.outcome {
            let state = runs::ended(action, outcome);
            return Ok(Report { detections: Vec::new(), state });
        }
        let memory = Memory::read(state);
        let wanted = goals::want_tests_to_pass(&context.goals);
        if goals::ask_for_it(&context.goals) || !(wanted || memory.is_some()) {
            return Ok(Report::nothing());
        }
        let folders = String::from_utf8_lossy(prepared);
        let project =
            tests_of::Project { roots: &context.roots, folders: folders.lines().collect() };
        Ok(match weakening::of(action, &project) {
            Some(found) => detection(&found, wanted, memory.as_ref(), action.step).into(),
            None => Report::nothing(),
        })
    }
}

portcullis_plugin::export!(pattern: TestsWeakened);

fn detection(found: &Weakening, wanted: bool, failed: Option<&Memory>, step: u64) -> Detection {
    let name = found.thing.rsplit('/').next().unwrap_or_default();
    let names_it = found.kind.is_of_a_file()
        && failed.is_some_and(|run| texts::contains(run.shown, name.as_bytes()));
    let confidence = match (wanted, failed) {
        _ if names_it => 950,
        (true, Some(_)) => 800,
        _ => 700,
    };
    let why = if wanted {
        "while the goal is to make the tests pass"
    } else {
        "after a test run that failed"
    };
    let mut detection = Detection::new(
        "tests_weakened",
        found.kind.severity(),
        &format!("{} {why}", found.summary()),
    )
    .sure(confidence, found.kind.impact())
    .since(failed.map_or(step, |run| run.step))
    .because(evidence(
        if found.kind.is_of_a_file() { "path" } else { "command" },
        &found.thing,
        step,
    ));
    if let Some(mark) = found.mark {
        detection = detection.because(evidence("mark", mark, step));
    }
    match failed {
        Some(run) => detection.because(evidence("step", &run.step.to_string(), run.step)),
        None => detection,
    }
}

fn evidence(kind: &str, value: &str, step: u64) -> Evidence {
    Evidence { kind: kind.into(), value: value.into(), step: Some(step) }
}
