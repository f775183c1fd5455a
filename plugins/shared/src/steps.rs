//! Steps of a history, and their evidence.

use crate::text::{EVIDENCE, evidence};
use portcullis_plugin::history::History;
use portcullis_plugin::types::{Action, Evidence, Operation, Status, Step, StepDetail};

/// One past step in full, as `host::detail` gives it.
pub type Detail<'a> = dyn Fn(u64) -> Option<StepDetail> + 'a;

/// The minimum number of steps that count as recent.
pub const LEAST: usize = 5;

/// Returns true if it ran and ended. A refused step never ran.
#[must_use]
pub const fn ended(step: &Step) -> bool {
    matches!(step.status, Status::Ok | Status::Failed)
}

/// Returns the newest steps that ended, newest first.
#[must_use]
pub fn recent(history: &History, window: usize) -> Vec<Step> {
    let steps = history.until(|steps| steps.iter().filter(|step| ended(step)).count() >= window);
    steps.into_iter().rev().filter(ended).take(window).collect()
}

/// Returns the number of steps after this position that ended, as far as the host keeps them.
#[must_use]
pub fn ended_after(history: &History, step: u64) -> usize {
    history.since(step.saturating_add(1)).iter().filter(|step| ended(step)).count()
}

/// Returns the share of the recent steps for which `belongs` holds, in thousandths.
#[must_use]
pub fn share(history: &History, window: usize, belongs: impl Fn(&Step) -> bool) -> u32 {
    let recent = recent(history, window);
    let own = recent.iter().filter(|step| belongs(step)).count();
    u32::try_from(own.saturating_mul(1000) / recent.len().max(LEAST)).unwrap_or(1000)
}

/// Returns a number of thousandths as a score, capped at 1000.
#[must_use]
pub fn thousandths(value: u32) -> u16 {
    u16::try_from(value.min(1000)).unwrap_or(1000)
}

/// Returns the severity of an issue that begins low: medium if it happened at least twice more than
/// needed, or affects half of the recent steps.
#[must_use]
pub fn graded(more: u32, impact: u32) -> portcullis_plugin::types::Severity {
    use portcullis_plugin::types::Severity::{Low, Medium};
    if more >= 2 || impact >= 500 { Medium } else { Low }
}

/// Returns an action as one piece of evidence: its command line, its path, its address or its tool.
#[must_use]
pub fn label(action: &Action) -> Evidence {
    let step = Some(action.step);
    match &action.operation {
        Operation::Shell(shell) => evidence("command", shell.text.trim(), step),
        Operation::File(file) => evidence("path", &file.path, step),
        Operation::Network(request) => evidence("host", &request.url, step),
        Operation::Message(_) | Operation::Tool(_) | Operation::Other(_) => {
            evidence("tool", &action.tool, step)
        }
    }
}

/// Returns a past step as one piece of evidence.
#[must_use]
pub fn past_label(detail: &StepDetail, step: u64) -> Evidence {
    let text = |key: &str| json_text(&detail.parameters, key);
    let named = |kind: &str, value: Option<String>| {
        value
            .filter(|text| !text.trim().is_empty())
            .map(|text| evidence(kind, text.trim(), Some(step)))
    };
    named("command", text("command"))
        .or_else(|| named("path", detail.paths.first().map(|path| path.text.clone())))
        .or_else(|| named("host", text("url")))
        .unwrap_or_else(|| evidence("tool", &detail.tool, Some(step)))
}

/// Returns the first text with this name in a JSON object as the host writes it, cut to the limit
/// of evidence. It is for display only: a name inside a nested object is found too.
#[must_use]
pub fn json_text(object: &str, key: &str) -> Option<String> {
    let start = object.find(&["\"", key, "\":\""].concat())?.checked_add(key.len() + 4)?;
    let mut text = String::new();
    let mut rest = object.get(start..)?.chars();
    while text.len() < EVIDENCE {
        match rest.next()? {
            '"' => break,
            '\\' => text.push(match rest.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'u' => {
                    let digits: String = rest.by_ref().take(4).collect();
                    u32::from_str_radix(&digits, 16)
                        .ok()
                        .and_then(char::from_u32)
                        .unwrap_or('\u{fffd}')
                }
                other => other,
            }),
            other => text.push(other),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::shell;
    use portcullis_plugin::testing::{self, BuildAction, BuildStep, step};

    #[test]
    fn only_what_ended_is_recent() {
        let other = |index, status| Step { status, ..step(index) };
        let history = testing::history([
            step(0),
            step(1).failed(3),
            other(2, Status::Refused),
            other(3, Status::Pending),
            step(4),
        ]);
        for (step, expected) in [(0, 2), (1, 1), (3, 1), (4, 0), (9, 0)] {
            assert_eq!(ended_after(&history, step), expected, "{step}");
        }
        let indices: Vec<u64> = recent(&history, 2).iter().map(|step| step.index).collect();
        assert_eq!(indices, [4, 1]);
        for (window, expected) in [(20, 200), (1, 0), (0, 0)] {
            assert_eq!(share(&history, window, |step| step.error != 0), expected, "{window}");
        }
    }

    #[test]
    fn actions_have_labels() {
        let cases = [
            (shell(" ls -l "), "command", "ls -l"),
            (testing::file_read("a.txt"), "path", "/project/a.txt"),
            (testing::fetch("https://example.org/a"), "host", "https://example.org/a"),
            (testing::tool("search", &[("query", "x")]), "tool", "search"),
        ];
        for (action, kind, value) in cases {
            let past = StepDetail {
                tool: action.tool.clone(),
                parameters: action.parameters.clone(),
                effects: action.facts.effects.clone(),
                paths: action.facts.paths.clone(),
                outcome: None,
            };
            let action = action.at_step(7);
            for label in [label(&action), past_label(&past, 7)] {
                assert_eq!(
                    (label.kind.as_str(), label.value.as_str(), label.step),
                    (kind, value, Some(7))
                );
            }
        }
    }

    #[test]
    fn texts_come_out_of_json() {
        let cases = [
            (r#"{"command":"echo \"a\"\n\u0007\\"}"#, Some("echo \"a\"\n\u{7}\\")),
            (r#"{"other":"x"}"#, None),
            (r#"{"command":"cut off"#, None),
            (r#"{"command":"\u12"#, None),
            (r#"{"command":""}"#, Some("")),
        ];
        for (object, expected) in cases {
            assert_eq!(json_text(object, "command").as_deref(), expected, "{object}");
        }
    }
}
