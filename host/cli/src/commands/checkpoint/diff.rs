//! `portcullis checkpoint diff`: compares the files before an action with the files now.

use super::{CheckpointId, find, path};
use crate::error::Result;
use crate::exit::CommandExit;
use crate::{differ, paint};
use portcullis_checkpoint::{Difference, Node, PathStatus};
use portcullis_review::checkpoints::comparing::{describe_node, list_differences, read_both_texts};
use portcullis_review::checkpoints::restoring::describe_change;
use serde_json::{Value, json};

/// The name shown for a file that does not exist.
const NOTHING: &str = "/dev/null";

pub fn run_diff(arguments: &CheckpointId) -> Result<CommandExit> {
    let (vault, listed) = find(&arguments.id)?;
    let differences = list_differences(&vault, &listed.id)?;
    for one in &differences {
        let texts = read_both_texts(&vault, one)?;
        paint::print_text(&if arguments.json {
            format!("{}\n", as_json(one, texts.as_ref()))
        } else {
            page(one, texts.as_ref())
        });
    }
    if differences.is_empty() && !arguments.json {
        paint::print_text("everything is as it was before the action\n");
    }
    Ok(CommandExit::Success)
}

fn as_json(one: &Difference, texts: Option<&(String, String)>) -> Value {
    let shown = one.path.to_string_lossy();
    json!({
        "path": super::path_json(&one.path),
        "how": describe_change(one),
        "standing": one.standing.to_string(),
        "before": super::node(&one.wanted),
        "now": super::node(&one.now),
        "diff": texts.map(|(before, now)| differ::plain_diff(before, now, &shown, &shown)),
    })
}

fn page(one: &Difference, texts: Option<&(String, String)>) -> String {
    let shown = path(&one.path);
    let standing = if one.standing == PathStatus::AsLeft {
        String::new()
    } else {
        format!("  ({})", one.standing)
    };
    let head = format!("{} {shown}{}\n", paint::bold(describe_change(one)), paint::warn(standing));
    let Some((before, now)) = texts else { return head + &sizes(one) };
    let named =
        |node: &Node| if *node == Node::Missing { NOTHING.to_owned() } else { shown.clone() };
    head + &differ::painted_diff(before, now, &named(&one.wanted), &named(&one.now))
}

/// Describes the change of a file that is not text.
fn sizes(one: &Difference) -> String {
    let (before, now) = (describe_node(&one.wanted), describe_node(&one.now));
    format!("  before: {before}\n  now:    {now}\n")
}
