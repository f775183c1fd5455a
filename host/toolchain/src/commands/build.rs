//! `portcullis plugin build`: runs the language's own tool on a project, and converts its output
//! into a component that the host loads. It installs nothing: a missing tool is named with the
//! command that installs it.

mod watch;

use crate::build::{BuildResult, build_plugin};
use crate::error;
use crate::paint;
use anyhow::Result;
use portcullis_author::second_program::BuildArguments;
use portcullis_core::text::one_line;
use portcullis_engine::Grants;
use portcullis_terminal::component::{format_size, grantable_text, inspection_text, list_grants};
use serde_json::json;

pub fn run_build(arguments: &BuildArguments) -> Result<()> {
    if arguments.watch {
        return watch::run(&arguments.folder, || run_and_report(arguments));
    }
    let built = build_plugin(&arguments.folder, arguments.debug)?;
    paint::print_text(&format_result(&built, arguments.json)?);
    Ok(())
}

/// Runs one of many builds: a failure is reported, and the next change tries again.
fn run_and_report(arguments: &BuildArguments) -> Result<()> {
    match build_plugin(&arguments.folder, arguments.debug) {
        Ok(built) => paint::print_text(&format_result(&built, arguments.json)?),
        Err(error) => paint::print_text(&error::error_text(&error, arguments.json)),
    }
    Ok(())
}

fn format_result(built: &BuildResult, as_json: bool) -> Result<String> {
    let granted = built.inspection.check_grants(&Grants::default());
    if as_json {
        let document = json!({
            "component": built.component, "inspection": built.inspection, "refused": granted.err().map(|error| error.to_string()),
            "grants": list_grants(&built.inspection), "warnings": built.warnings, "seconds": built.seconds,
        });
        return Ok(format!("{}\n", serde_json::to_string(&document)?));
    }
    let mut text = format!(
        "{} `{}`, {} in {:.1} s\n",
        paint::good("built"),
        one_line(&built.component.to_string_lossy(), 400),
        format_size(built.inspection.size),
        built.seconds
    );
    text.push_str(&inspection_text(&built.inspection, granted));
    text.push_str(&grantable_text(&built.inspection, &built.component));
    for warning in &built.warnings {
        text.push_str(&format!("{}: {warning}\n", paint::warn("warning")));
    }
    Ok(text)
}
