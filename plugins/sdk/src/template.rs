//! Texts with `{placeholders}`, filled from the details of an issue.
//!
//! A line that names a detail which this issue does not have is left out, so that no message ever
//! has a blank in it; an unknown name is an error. `{{` and `}}` are escapes for braces. Values are
//! inserted as one line each, without backquotes, and bounded: they come from the agent's world.
//!
//! | placeholder | value |
//! |---|---|
//! | `{issue}`, `{rule}`, `{severity}`, `{confidence}`, `{impact}` | the issue's name, the rule's name for `rule:NAME`, how bad, how sure, how much |
//! | `{summary}` | the issue in words |
//! | `{step}`, `{first_step}`, `{recurrences}` | now, where it began, how often it came up before |
//! | `{time}` | when the action was received |
//! | `{request}`, `{earlier_request}` | the person's request: the newest, the one before it |
//! | `{folders}` | the project's folders |
//! | `{limits}` | each limit in force: how much of it is used |
//! | `{evidence.KIND}` | every value of that kind (`path`, `command`, `host`, `error`, `growth`, ...), joined |
//! | `{path}`, `{command}`, `{host}`, `{error}` | the first value of that kind |
//! | `{recent}` | the newest actions |
//! | `{files}`, `{failed}`, `{blocked}`, `{steps}`, `{tokens}` | totals of the session, where they are not 0 |

mod wording;

pub use wording::Wording;

use crate::intervention::{Issue, Situation};
use crate::settings::nearest;
use crate::text::{cut, rfc3339, score};
use crate::types::{Context, Error, Limit};

/// The maximum size of one value, in bytes.
const VALUE: usize = 400;
/// The maximum number of values in a list.
const LISTED: usize = 5;

/// The details available to a template.
#[derive(Clone, Debug, std::default::Default)]
pub struct Values(Vec<(String, Option<String>)>);

/// ```
/// use portcullis_plugin::template::{Values, fill};
/// use portcullis_plugin::testing::{self, BuildContext, BuildIssue};
/// use portcullis_plugin::types::{Error, Severity};
///
/// let issue = testing::issue("loop", Severity::High, "the same again").with("command", "make");
/// let context = testing::context().goal("fix the build");
/// let mut values = Values::of(&issue, &testing::situation(), &context);
/// values.set("times", Some("3"));
/// let text = fill("mine", "{summary}: `{command}`, {times} times.\nYou were asked to: {request}", &values)?;
/// assert_eq!(text, "the same again: `make`, 3 times.\nYou were asked to: fix the build");
/// # Ok::<(), Error>(())
/// ```
impl Values {
    /// Collects the details of an issue.
    #[must_use]
    pub fn of(issue: &Issue, situation: &Situation, context: &Context) -> Self {
        let mut values = Self::default();
        values.set("issue", Some(&issue.name));
        values.set("rule", issue.rule());
        values.set("severity", Some(issue.severity.as_str()));
        values.set("confidence", Some(&score(issue.confidence)));
        values.set("impact", Some(&score(issue.impact)));
        values.set("summary", Some(&issue.summary));
        values.set("time", Some(&rfc3339(context.now)));
        values.set("step", Some(&situation.step.to_string()));
        values.set("first_step", Some(&issue.first_step.to_string()));
        values.session(issue, situation, context);
        values.evidence(issue);
        values
    }

    /// Returns all names that are known for every issue, without values.
    fn names() -> Self {
        let mut values = Self::default();
        values.know(&[
            "issue",
            "rule",
            "severity",
            "confidence",
            "impact",
            "summary",
            "time",
            "step",
            "first_step",
            "request",
            "earlier_request",
            "folders",
            "limits",
            "recent",
            "recurrences",
            "steps",
            "files",
            "failed",
            "blocked",
            "tokens",
            "path",
            "command",
            "host",
            "error",
        ]);
        values
    }

    /// Adds or replaces a value; none, or one without a visible character, is known but absent.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        let value = value.map(one_line).filter(|value| !value.is_empty());
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.into(), value));
    }

    /// Registers names that have no value yet; they are absent.
    fn know(&mut self, names: &[&str]) {
        for name in names {
            if self.get(name).is_none() {
                self.set(name, None);
            }
        }
    }

    fn count(&mut self, name: &str, count: u64) {
        self.set(name, (count > 0).then(|| count.to_string()).as_deref());
    }

    fn session(&mut self, issue: &Issue, situation: &Situation, context: &Context) {
        let mut requests: Vec<_> = context.goals.iter().collect();
        requests.sort_by_key(|goal| goal.priority);
        self.set("request", requests.first().map(|goal| goal.text.as_str()));
        self.set("earlier_request", requests.get(1).map(|goal| goal.text.as_str()));
        self.set("folders", list(context.roots.iter().map(String::as_str)).as_deref());
        let limits: Vec<String> = context.limits.iter().map(limit).collect();
        self.set("limits", list(limits.iter().map(String::as_str)).as_deref());
        self.set("recent", list(situation.recent.iter().rev().map(String::as_str)).as_deref());
        self.count("recurrences", issue.recurrences.into());
        self.count("steps", situation.totals.steps);
        self.count("files", situation.totals.files);
        self.count("failed", situation.totals.failed);
        self.count("blocked", situation.totals.blocked);
        self.count("tokens", situation.totals.tokens);
    }

    fn evidence(&mut self, issue: &Issue) {
        for kind in ["path", "command", "host", "error"] {
            self.set(kind, issue.evidence_of(kind).find(|value| is_visible(value)));
        }
        let mut kinds: Vec<&str> =
            issue.evidence.iter().map(|evidence| evidence.kind.as_str()).collect();
        kinds.dedup();
        for kind in kinds {
            self.set(&format!("evidence.{kind}"), list(issue.evidence_of(kind)).as_deref());
        }
    }

    /// Looks up a name. Every kind of evidence is known, even if the issue has none of it.
    fn get(&self, name: &str) -> Option<Option<&str>> {
        let known =
            self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_deref());
        known.or_else(|| {
            name.strip_prefix("evidence.").filter(|kind| !kind.is_empty()).map(|_| None)
        })
    }
}

/// Fills a template; `name` is for the error. Empty when every line named something absent.
///
/// ```
/// use portcullis_plugin::template::{Values, fill};
///
/// let mut values = Values::default();
/// values.set("path", Some("/project/a.txt"));
/// values.set("error", None);
/// assert_eq!(fill("x", "look at `{path}`\nthe error: {error}\n{{done}}", &values)?, "look at `/project/a.txt`\n{done}");
/// assert_eq!(
///     fill("x", "look at {paht}", &values).unwrap_err().message(),
///     "template `x`, line 1: unknown placeholder `{paht}`; did you mean `{path}`?"
/// );
/// # Ok::<(), portcullis_plugin::types::Error>(())
/// ```
///
/// # Errors
/// Fails if a placeholder is unknown or a brace is unbalanced.
pub fn fill(name: &str, template: &str, values: &Values) -> Result<String, Error> {
    fill_lines(template, values)
        .map_err(|reason| Error::failed(&format!("template `{name}`, {reason}")))
}

fn fill_lines(template: &str, values: &Values) -> Result<String, String> {
    let mut lines = Vec::new();
    for (number, line) in template.lines().enumerate() {
        lines.extend(
            fill_line(line, values).map_err(|reason| format!("line {}: {reason}", number + 1))?,
        );
    }
    Ok(lines.join("\n").trim().to_owned())
}

/// Fills one line; none when the line names something absent.
fn fill_line(line: &str, values: &Values) -> Result<Option<String>, String> {
    let mut out = String::with_capacity(line.len());
    let mut complete = true;
    let mut rest = line;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(at);
        out.push_str(text);
        if let Some(tail) = tail.strip_prefix("{{") {
            out.push('{');
            rest = tail;
        } else if let Some(tail) = tail.strip_prefix("}}") {
            out.push('}');
            rest = tail;
        } else {
            let (name, tail) = placeholder(tail)?;
            match values.get(name) {
                Some(Some(value)) => out.push_str(value),
                Some(None) => complete = false,
                None => return Err(unknown(name, values)),
            }
            rest = tail;
        }
    }
    out.push_str(rest);
    Ok(complete.then_some(out))
}

fn placeholder(text: &str) -> Result<(&str, &str), String> {
    let inside =
        text.strip_prefix('{').ok_or("a `}` without its `{`; write `}}` for the brace itself")?;
    inside
        .split_once('}')
        .ok_or_else(|| "a `{` without its `}`; write `{{` for the brace itself".into())
}

fn unknown(name: &str, values: &Values) -> String {
    let known: Vec<&str> = values.0.iter().map(|(known, _)| known.as_str()).collect();
    match nearest(known.iter().copied(), name) {
        Some(near) => {
            format!("unknown placeholder `{{{}}}`; did you mean `{{{near}}}`?", cut(name, 64))
        }
        None => format!(
            "unknown placeholder `{{{}}}`; known are `{}`",
            cut(name, 64),
            known.join("`, `")
        ),
    }
}

/// Sanitizes a value for a message: one line, no backquotes, bounded.
///
/// ```
/// use portcullis_plugin::template::one_line;
///
/// assert_eq!(one_line("rm\n  `a`"), "rm 'a'");
/// ```
#[must_use]
pub fn one_line(value: &str) -> String {
    line(value, VALUE)
}

/// Sanitizes a value as [`one_line`] does, cut to `bytes`; empty if it holds nothing visible.
///
/// ```
/// use portcullis_plugin::template::line;
///
/// assert_eq!(line("one two", 64), "one two");
/// assert!(line("one two three", 9).len() <= 9);
/// assert_eq!(line(" \u{200b}", 64), "");
/// ```
#[must_use]
pub fn line(value: &str, bytes: usize) -> String {
    if !is_visible(value) {
        return String::new();
    }
    let clean: String = value
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else if character == '`' {
                '\''
            } else {
                character
            }
        })
        .collect();
    cut(&clean.split_whitespace().collect::<Vec<_>>().join(" "), bytes)
}

/// Returns in words how often something was done before; none if it was not.
///
/// ```
/// use portcullis_plugin::template::earlier;
/// assert_eq!((earlier(0, "reminder"), earlier(1, "reminder")), (None, Some("one earlier reminder".into())));
/// assert_eq!(earlier(3, "reminder").as_deref(), Some("3 earlier reminders"));
/// ```
#[must_use]
pub fn earlier(count: usize, thing: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("one earlier {thing}")),
        more => Some(format!("{more} earlier {thing}s")),
    }
}

/// Returns true if it holds something visible: more than blanks and characters without a width.
fn is_visible(value: &str) -> bool {
    let hidden = |character: char| {
        character.is_whitespace()
            || character.is_control()
            || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    !value.chars().all(hidden)
}

/// Joins values in a line, without repetitions; past a few it gives the number of the rest.
///
/// ```
/// use portcullis_plugin::template::list;
///
/// assert_eq!(list(["a", "b", "a"].into_iter()).as_deref(), Some("a, b"));
/// assert_eq!(list(["1", "2", "3", "4", "5", "6", "7"].into_iter()).as_deref(), Some("1, 2, 3, 4, 5 and 2 more"));
/// assert_eq!(list([""].into_iter()), None);
/// ```
#[must_use]
pub fn list<'a>(values: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut seen: Vec<String> = Vec::new();
    for value in values.map(one_line).filter(|value| !value.is_empty()) {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    let more = seen.len().saturating_sub(LISTED);
    seen.truncate(LISTED);
    let text = seen.join(", ");
    match (text.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(text),
        // The number of those left out must fit behind the cut text.
        (_, more) => Some(format!("{} and {more} more", cut(&text, VALUE - 30))),
    }
}

fn limit(limit: &Limit) -> String {
    format!(
        "{} {} of {}",
        limit.quantity.as_str(),
        limit.quantity.amount(limit.used),
        limit.quantity.amount(limit.maximum)
    )
}

#[cfg(test)]
mod tests;
