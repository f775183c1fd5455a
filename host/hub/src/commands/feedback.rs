//! The command that lists what people said of reviews, and what they propose.

use crate::database::Database;
use crate::feedback::{count_marks, list_marks};
use crate::folder::read_config;
use crate::output::time;
use crate::process::{explain_failure, start_runtime};
use crate::proposals::list_proposals;
use anyhow::Result;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::hub_command::ListArguments;
use portcullis_terminal::paint;
use serde_json::json;

/// The indent of what the list says below an entry.
const INDENT: usize = 4;

/// Runs the command.
pub fn run_feedback(arguments: &ListArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let found = start_runtime()?.block_on(async {
        let (proposals, rules) = (list_proposals(&database).await?, count_marks(&database).await?);
        Ok((proposals, rules, list_marks(&database, None).await?))
    });
    let (proposals, rules, marks) = found.map_err(explain_failure)?;
    if arguments.json {
        let all = json!({ "proposals": proposals, "rules": rules, "marks": marks });
        paint::print_text(&format!("{all}\n"));
        return Ok(());
    }
    if proposals.is_empty() && marks.is_empty() {
        paint::print_text("nobody said anything of a review: people do, on the hub's page\n");
    }
    for kept in &proposals {
        let head = paint::bold(format!("proposal {}", kept.proposal));
        paint::print_text(&format!("{head}  {}\n", kept.configuration));
        let line = format!(
            "{:INDENT$}{} {} UTC: {}; of {}, {} would have been allowed, {} judged milder, {} could \
             not be tried\n",
            "",
            one_line(&kept.made_by, 128),
            time(kept.made_at),
            one_line(&kept.reason, 500),
            count_noun(kept.tried.unsigned_abs(), "stored review"),
            kept.passing,
            kept.milder,
            kept.unknown,
        );
        paint::print_wrapped(&line, INDENT);
    }
    for rule in &rules {
        let name = paint::bold(one_line(&rule.rule, 64));
        let line = format!("{name}  called wrong {}, right {}\n", rule.false_positive, rule.right);
        paint::print_text(&line);
    }
    for mark in &marks {
        let line = format!(
            "{}  {}: {} by {} {} UTC: {}\n",
            one_line(&mark.record, 40),
            one_line(&mark.summary, 240),
            mark.word.replace('-', " "),
            one_line(&mark.marked_by, 128),
            time(mark.marked_at),
            one_line(&mark.reason, 500),
        );
        paint::print_wrapped(&line, INDENT);
    }
    Ok(())
}
