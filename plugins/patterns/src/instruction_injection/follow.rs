//! Detects an action on something that a text names.

use super::things::{Kind, Thing};
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, Context};

/// Returns the first of the things that an action acts on and nothing but the text asked for.
pub(crate) fn followed<'a>(
    things: &'a mut [Thing],
    action: &Action,
    context: &Context,
) -> Option<&'a mut Thing> {
    let goals: Vec<String> =
        context.goals.iter().map(|goal| goal.text.to_ascii_lowercase()).collect();
    things.iter_mut().find(|thing| {
        !thing.reported
            && acts_on(action, thing)
            && !goals.iter().any(|goal| goal.contains(&thing.name))
    })
}

fn acts_on(action: &Action, thing: &Thing) -> bool {
    let name = thing.name.trim_end_matches("...");
    match thing.kind {
        Kind::Host => {
            let is = |host: &str| {
                host == name || host.strip_suffix(name).is_some_and(|below| below.ends_with('.'))
            };
            action.facts.hosts.iter().any(|host| is(&place::host_of(host)))
                || action.facts.effects.iter().any(|effect| is(&place::host_of(&effect.target)))
        }
        Kind::Mail | Kind::Command => text(action).contains(name),
        Kind::Path => action.facts.paths.iter().any(|path| {
            let path = path.text.to_ascii_lowercase();
            path == name || path.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
        }),
        Kind::Name => {
            let tool = action.tool.to_ascii_lowercase();
            tool == name
                || tool.rsplit("__").next() == Some(name)
                || action.facts.programs.iter().any(|program| program.eq_ignore_ascii_case(name))
        }
    }
}

/// Returns the text of an action, in lower case.
fn text(action: &Action) -> String {
    action
        .shell()
        .map_or(action.parameters.as_str(), |shell| shell.text.as_str())
        .to_ascii_lowercase()
}
