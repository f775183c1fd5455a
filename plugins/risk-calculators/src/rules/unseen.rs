//! `refuse_unseen_code`: text that was downloaded, decoded or built is not run before somebody has
//! seen it. Text from another machine is not run at all.

use super::config::{Config, UNSEEN};
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::evidence;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, EffectKind, Severity};

/// Applies the rule.
pub(super) fn rule(action: &Action, _: &Context, _: &Config) -> Option<Ruling> {
    let facts = &action.facts;
    let unseen = facts.effects.iter().find(|effect| effect.kind == EffectKind::UnseenCode)?;
    let ruling = if facts.effects.iter().any(place::is_external) {
        Ruling::block(UNSEEN, "this runs code from another machine that nobody has seen")
    } else {
        Ruling::ask(UNSEEN, "this runs code that is put together only when it runs")
            .severity(Severity::High)
    };
    let ruling = ruling.instead("save it to a file, read the file, then run it");
    let shown = command_text(action, unseen.command).unwrap_or(&unseen.target);
    Some(if shown.is_empty() { ruling } else { ruling.because(evidence("command", shown, None)) })
}

fn command_text(action: &Action, index: Option<u32>) -> Option<&str> {
    let shell = action.shell()?;
    let command = shell.commands.get(usize::try_from(index?).ok()?)?;
    shell.text.get(usize::try_from(command.start).ok()?..usize::try_from(command.end).ok()?)
}
