//! The four components and the reasons given for them.

use super::config::Config;
use super::nature::{self, Nature};
use super::past::{self, Detail, Past};
use super::{efficiency, goals, prohibitions};
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::named;
use portcullis_plugin::risk_calculator::{Assessment, Rationality, Ruling};
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Entry, Operation, Scope};

const GOOD: u16 = 1000;
const NOT_AT_ALL: u16 = 0;

/// The rule by which a person's prohibition holds, whatever the score.
const RULE: &str = "keep_prohibition";

/// Judges an action: its score, and a ruling if the person forbade it.
pub(super) fn assess(
    action: &Action,
    context: &Context,
    config: &Config,
    detail: &Detail<'_>,
) -> Assessment {
    let broken = prohibitions::find_broken(action, &context.goals, &context.roots);
    let Some(broken) = broken else { return judge(action, context, config, detail).into() };
    let said = named(&broken.text);
    if broken.conditional {
        let reason = ["the person set a condition for this: ", &said].concat();
        let ruling = Ruling::warn(RULE, &reason)
            .instead("go on only if the condition is met, and say so; otherwise ask the person");
        return Assessment {
            rulings: vec![ruling],
            ..judge(action, context, config, detail).into()
        };
    }
    let ruling = Ruling::ask(RULE, &["the person asked not to: ", &said].concat())
        .instead("leave it, or ask the person before you do it");
    Assessment { rulings: vec![ruling], ..contradiction(&broken.text).into() }
}

/// Judges how sensible an action is that nobody forbade.
fn judge(action: &Action, context: &Context, config: &Config, detail: &Detail<'_>) -> Rationality {
    let nature = nature::of(action);
    // Neither of these depends on the past, and each past step is a question to the host.
    let past = if matches!(nature, Nature::Looks | Nature::Tests) {
        Past::default()
    } else {
        past::look(action, config.look_back, detail)
    };
    let mut reasons = Reasons::default();
    let alignment = alignment(action, context, config, nature, past, &mut reasons);
    let progression = progression(context, config, nature, past, action, &mut reasons);
    let efficiency = match efficiency::cheaper_way(action, context) {
        None => GOOD,
        Some(way) => reasons.suggest(config.cheaper_known, way),
    };
    let completeness = match missing(action, nature, past) {
        Missing::Nothing => Some(GOOD),
        Missing::NotKnown => None,
        Missing::Step(step) => Some(reasons.suggest(config.step_missing, step)),
    };
    Rationality {
        alignment,
        progression: Some(progression),
        efficiency: Some(efficiency),
        completeness,
        issues: reasons.issues,
        suggestions: reasons.suggestions,
    }
}

/// Returns the score of an action that the person forbade: nothing else about it matters.
fn contradiction(said: &str) -> Rationality {
    Rationality {
        alignment: Some(NOT_AT_ALL),
        progression: Some(NOT_AT_ALL),
        efficiency: None,
        completeness: None,
        issues: vec![["the person asked not to: ", &named(said)].concat()],
        suggestions: vec!["ask the person before you do it".to_owned()],
    }
}

/// The reasons given for a component.
#[derive(Default)]
struct Reasons {
    issues: Vec<String>,
    suggestions: Vec<String>,
}

impl Reasons {
    fn suggest(&mut self, score: u16, suggestion: &str) -> u16 {
        self.suggestions.push(suggestion.to_owned());
        score
    }
}

fn alignment(
    action: &Action,
    context: &Context,
    config: &Config,
    nature: Nature,
    past: Past,
    reasons: &mut Reasons,
) -> Option<u16> {
    let newest = context.goals.last()?;
    let ordinary = match nature {
        Nature::Looks | Nature::Tests => return Some(GOOD),
        Nature::Works => Some(config.ordinary),
        Nature::Other if past.known && nature::stays_inside(action) => Some(config.ordinary),
        Nature::Other => None,
    };
    if goals::serves(action, &context.goals, &nature::words(action, &context.roots)) {
        return Some(GOOD);
    }
    if ordinary.is_none() {
        reasons.issues.push(
            ["nothing in it serves what the person asked for: ", &named(&newest.text)].concat(),
        );
        reasons.suggestions.push("say what it is for, or ask the person first".to_owned());
    }
    Some(ordinary.unwrap_or(NOT_AT_ALL))
}

fn progression(
    context: &Context,
    config: &Config,
    nature: Nature,
    past: Past,
    action: &Action,
    reasons: &mut Reasons,
) -> u16 {
    let times = context.repetition;
    let again = !matches!(nature, Nature::Looks | Nature::Tests);
    let after =
        if matches!(action.operation, Operation::File(_)) { 1 } else { config.repeats_after };
    if again && times.successes >= after {
        reasons.issues.push("the same action already succeeded".to_owned());
        reasons.suggestions.push("look at its result instead of doing it again".to_owned());
        return config.repeats;
    }
    if again && times.failures >= config.repeats_after {
        reasons.issues.push(
            ["an action of this shape failed ", &times.failures.to_string(), " times in a row"]
                .concat(),
        );
        reasons.suggestions.push("find out why it fails before you try again".to_owned());
        return config.repeats;
    }
    let goes_on = nature == Nature::Tests || past.near || (times.seen > 0 && times.failures == 0);
    if goes_on { GOOD } else { config.new_path }
}

/// A step that has to precede an action.
enum Missing {
    Nothing,
    /// The history does not reach back far enough.
    NotKnown,
    Step(&'static str),
}

fn missing(action: &Action, nature: Nature, past: Past) -> Missing {
    // Before the next check, which lets all work of git pass.
    if past.broken && action.facts.effects.iter().any(|effect| effect.kind == EffectKind::Publish) {
        return Missing::Step("the newest tests failed: fix them before you publish");
    }
    if matches!(nature, Nature::Looks | Nature::Tests) || nature::is_kept(action) || past.known {
        return Missing::Nothing;
    }
    let lossy = place::lasting(&action.facts).find(|effect| needs_a_look(effect, action));
    match lossy {
        None => Missing::Nothing,
        Some(_) if !past.whole => Missing::NotKnown,
        Some(effect) if effect.kind == EffectKind::FileDelete => {
            Missing::Step("look at what it deletes first: nothing in this session has")
        }
        Some(_) => Missing::Step("read the file first: nothing in this session has"),
    }
}

/// Returns true if it changes or removes something of the project that exists and may hold more
/// than the agent knows.
fn needs_a_look(effect: &Effect, action: &Action) -> bool {
    let Some(path) = action.facts.path(effect).filter(|path| path.scope == Scope::Inside) else {
        return false;
    };
    match effect.kind {
        EffectKind::FileModify => path.entry == Entry::File,
        EffectKind::FileDelete => {
            matches!(path.entry, Entry::File | Entry::Folder) && !path.restorable
        }
        _ => false,
    }
}
