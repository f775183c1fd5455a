//! `portcullis plugin build`: runs the language's own tool on a project, and converts its output
//! into a component that the host loads. It installs nothing: a missing tool is named with the
//! command that installs it.

mod watch;

use crate::build::{BuildResult, build};
use crate::error;
use crate::paint;
use anyhow::Result;
use portcullis_author::second_program::BuildArguments;
use portcullis_core::text::one_line;
use portcullis_engine::Grants;
use portcullis_terminal::component::{grantable, grants, inspected, size};
use serde_json::json;

pub fn run(arguments: &BuildArguments) -> Result<()> {
    if arguments.watch {
        return watch::run(&arguments.folder, || run_and_report(arguments));
    }
    let built = build(&arguments.folder, arguments.debug)?;
    paint::print(&format_result(&built, arguments.json)?);
    Ok(())
}

/// Runs one of many builds: a failure is reported, and the next change tries again.
fn run_and_report(arguments: &BuildArguments) -> Result<()> {
    match build(&arguments.folder, arguments.debug) {
        Ok(built) => paint::print(&format_result(&built, arguments.json)?),
        Err(error) => paint::print(&error::text(&error, arguments.json)),
    }
    Ok(())
}

fn format_result(built: &BuildResult, as_json: bool) -> Result<String> {
    let granted = built.inspection.granted(&Grants::default());
    if as_json {
        let document = json!({
            "component": built.component, "inspection": built.inspection, "refused": granted.err().map(|error| error.to_string()),
            "grants": grants(&built.inspection), "warnings": built.warnings, "seconds": built.seconds,
        });
        return Ok(format!("{}\n", serde_json::to_string(&document)?));
    }
    let mut text = format!(
        "{} `{}`, {} in {:.1} s\n",
        paint::good("built"),
        one_line(&built.component.to_string_lossy(), 400),
        size(built.inspection.size),
        built.seconds
    );
    text.push_str(&inspected(&built.inspection, granted));
    text.push_str(&grantable(&built.inspection, &built.component));
    for warning in &built.warnings {
        text.push_str(&format!("{}: {warning}\n", paint::warn("warning")));
    }
    Ok(text)
}
