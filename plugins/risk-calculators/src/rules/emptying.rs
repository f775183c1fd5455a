//! Files of which a file tool leaves nothing, or next to nothing. The host measures what is lost;
//! this module knows whether anybody would miss it.

use super::config::WORK;
use super::showing::showing;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::listed;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, EffectKind};

/// The forms that the host reports if nothing is left, and if next to nothing is.
const EMPTIED: &str = "emptied-file";
const SHORTENED: &str = "shortened-file";
/// Words by which a person asks for it.
const ASKED: &[&str] = &["clear", "empty", "reset", "truncate", "wipe"];

/// Objects to a file that is emptied, unless the session made it or the person asks for it.
pub(super) fn rule(action: &Action, context: &Context) -> Option<Ruling> {
    let is_form = |id: &str| id == EMPTIED || id == SHORTENED;
    let form = action.facts.forms.iter().find(|form| is_form(&form.id))?;
    let (effect, path) = action.facts.effects.iter().find_map(|effect| {
        let writes = matches!(effect.kind, EffectKind::FileModify | EffectKind::FileCreate);
        Some((effect, action.facts.path(effect)?)).filter(|_| writes && effect.certain)
    })?;
    let name = path.text.rsplit('/').next().unwrap_or_default();
    if place::is_own(effect, action) || asks_for(name, context) {
        return None;
    }
    let reason = ["this ", &form.label, ": ", &listed([path.text.as_str()])].concat();
    let ruling = if path.restorable || form.id == SHORTENED {
        Ruling::warn(WORK, &reason)
    } else {
        Ruling::ask(WORK, &reason)
    };
    let ruling = ruling.instead("edit the part that has to change, or keep a copy first");
    Some(showing(ruling, "path", [path.text.as_str()]))
}

/// Returns true if a request names the file and says that it is to be emptied.
fn asks_for(name: &str, context: &Context) -> bool {
    context.goals.iter().any(|goal| {
        let text = goal.text.to_ascii_lowercase();
        let says = |word: &&str| text.split(|c: char| !c.is_alphanumeric()).any(|it| it == *word);
        !name.is_empty() && goal.text.contains(name) && ASKED.iter().any(says)
    })
}
