//! Parts of facts that the client's tools and the tools of servers have in common.

use super::{Collector, MOST, hosts};
use crate::action::{Command, Coverage, Effect, EffectKind, Operation, Reading, ToolCall};
use crate::event::Call;
use crate::text::cut_text;
use serde_json::Value;

/// The prefix of a limit in the shell reader's list of gaps. Its contract has one list for both and
/// is frozen; from here on they are two.
pub(crate) const LIMIT: &str = "limit: ";

/// Copies a reading into the facts within the host's limits, and drops indices that are out of
/// range.
pub(super) fn take(reading: Reading, facts: &mut Collector<'_>) -> Vec<Command> {
    let Reading { mut commands, effects, forms, hosts, coverage, gaps, .. } = reading;
    if commands.len() > MOST {
        facts.limit("it runs more than 256 commands");
        commands.truncate(MOST);
    }
    let count = u32::try_from(commands.len()).unwrap_or(u32::MAX);
    let valid = |index: Option<u32>| index.filter(|index| *index < count);
    commands.iter_mut().for_each(|command| command.input_from = valid(command.input_from));
    for command in &commands {
        if !command.program.is_empty() && !facts.facts.programs.contains(&command.program) {
            facts.facts.programs.push(command.program.clone());
        }
    }
    for effect in effects {
        facts.effect(Effect { command: valid(effect.command), ..effect });
    }
    for form in forms.into_iter().take(64) {
        facts.facts.forms.push(crate::action::Form { command: valid(form.command), ..form });
    }
    hosts.iter().for_each(|host| facts.host(host));
    if coverage == Coverage::Partial {
        let gaps = if gaps.is_empty() { vec!["a part of the command".to_owned()] } else { gaps };
        for gap in gaps {
            match gap.strip_prefix(LIMIT) {
                Some(limit) => facts.limit(cut_text(limit, 512)),
                None => facts.gap(cut_text(&gap, 512)),
            }
        }
    }
    commands
}

pub(super) fn network(host: &str, facts: &mut Collector<'_>) {
    facts.host(host);
    facts.effect(Effect {
        kind: EffectKind::Network,
        target: host.to_owned(),
        path: None,
        command: None,
        recursive: false,
        certain: !host.is_empty(),
    });
}

pub(super) const fn unknown_process() -> Effect {
    Effect {
        kind: EffectKind::ProcessStart,
        target: String::new(),
        path: None,
        command: None,
        recursive: false,
        certain: false,
    }
}

pub(super) fn tool(call: &Call) -> Operation {
    let mut names = call.tool.splitn(3, "__");
    let (server, name) = match (names.next(), names.next(), names.next()) {
        (Some("mcp"), Some(server), Some(name)) => (Some(server.to_owned()), name.to_owned()),
        _ => (None, call.tool.clone()),
    };
    let value = |value: &Value| match value {
        Value::String(text) => cut_text(text, 1024),
        other => cut_text(&other.to_string(), 1024),
    };
    let arguments = call
        .input
        .iter()
        .take(32)
        .map(|(key, argument)| (cut_text(key, 128), value(argument)))
        .collect();
    Operation::Tool(ToolCall { server, name, arguments })
}

/// Returns the host of an address, without user information and port; empty if it has none.
pub(crate) fn host_of(url: &str) -> String {
    let authority = url
        .split_once("://")
        .map_or(url, |(_, rest)| rest)
        // Some clients take a backslash for a slash: `https://a.test\@b.test` goes to `a.test`.
        .split(['/', '?', '#', '\\'])
        .next()
        .unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    hosts::canonical_host(host)
}
