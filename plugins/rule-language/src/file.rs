//! A rules file: TOML, read strictly, every problem with its place.
//!
//! ```toml
//! [[rule]]
//! name = "no_terraform_destroy"
//! when = 'commands.exists(c, c.program == "terraform" && "destroy" in c.words)'
//! verdict = "block"
//! reason = "infrastructure is destroyed by people, not by agents"
//! ```

mod examples;

use crate::builtin::BUILTIN;
use crate::code::{Code, Piece, Rule, Severity, Verdict};
use crate::place::{Literal, Problem, Span, shown};
use crate::{check, nearest, syntax, template};
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use examples::{Example, Given, Input};

/// The most bytes of a file.
pub const MOST_BYTES: usize = 256 << 10;
/// The most rules of a file.
pub const MOST_RULES: usize = 200;
/// The most problems that are reported.
const MOST_PROBLEMS: usize = 50;
/// The most items of a list.
const MOST_ITEMS: usize = 50;
/// The most alternatives of a rule.
const MOST_ALTERNATIVES: usize = 8;

const KEYS: &[&str] = &[
    "name",
    "when",
    "verdict",
    "severity",
    "reason",
    "alternatives",
    "must_match",
    "must_not_match",
];
const REQUIRED: &[&str] = &["name", "when", "verdict", "reason"];

/// A parsed rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The rule.
    pub rule: Rule<'static>,
    /// The position of its name.
    pub place: Span,
    /// Actions that it must object to, and actions that it must not.
    pub examples: Vec<Example>,
}

/// Reads a file.
///
/// # Errors
/// Returns every problem in it, in the file's order.
pub fn read(text: &str) -> Result<Vec<Read>, Vec<Problem>> {
    if text.len() > MOST_BYTES {
        return Err(vec![Problem::new(
            Span::default(),
            format!("has {} bytes; at most {MOST_BYTES} are read", text.len()),
        )]);
    }
    let mut reader = Reader { text, problems: Vec::new() };
    let rules = match DeTable::parse(text) {
        Ok(table) => reader.table(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            let what = format!("it is not TOML: {}", error.message().replace('\n', "; "));
            reader.problems.push(Problem::new(Span::new(span.start, span.end), what));
            Vec::new()
        }
    };
    let mut problems = reader.problems;
    if problems.is_empty() {
        return Ok(rules);
    }
    problems.sort();
    problems.truncate(MOST_PROBLEMS);
    Err(problems)
}

type Key<'a> = Spanned<Cow<'a, str>>;
type Found<'t, 'a> = Option<(&'t Key<'a>, &'t Spanned<DeValue<'a>>)>;

struct Reader<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong<T>(&mut self, spanned: &Spanned<T>, what: String) {
        self.problems.push(Problem::new(span(spanned), what));
    }

    fn table(&mut self, table: &DeTable<'_>) -> Vec<Read> {
        let mut rules: Vec<Read> = Vec::new();
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("rule", DeValue::Array(items)) if items.len() > MOST_RULES => {
                    self.wrong(
                        key,
                        format!(
                            "the file has {} rules; at most {MOST_RULES} are read",
                            items.len()
                        ),
                    );
                }
                ("rule", DeValue::Array(items)) => {
                    for item in items.iter() {
                        rules.extend(self.rule(item));
                    }
                }
                ("rule", _) => {
                    self.wrong(key, "a rule begins with `[[rule]]`, in two brackets".into())
                }
                (other, _) => {
                    let rule = KEYS.contains(&other);
                    let mend = if rule {
                        "put `[[rule]]` before it"
                    } else {
                        "a file has `[[rule]]` only"
                    };
                    self.wrong(key, format!("`{}` is unknown; {mend}", shown(other)));
                }
            }
        }
        self.twice(&rules);
        rules
    }

    fn twice(&mut self, rules: &[Read]) {
        for (at, again) in rules.iter().enumerate() {
            let name = &again.rule.name;
            if BUILTIN.iter().any(|builtin| builtin.name == name) {
                self.problems.push(Problem::new(
                    again.place,
                    format!("`{name}` is the name of a builtin rule; choose another"),
                ));
            } else if rules.iter().take(at).any(|before| before.rule.name == *name) {
                self.problems.push(Problem::new(
                    again.place,
                    format!("`{name}` is the name of two rules; each needs its own"),
                ));
            }
        }
    }

    fn rule(&mut self, item: &Spanned<DeValue<'_>>) -> Option<Read> {
        let Some(table) = item.get_ref().as_table() else {
            self.wrong(item, "a rule is a table: begin it with `[[rule]]`".into());
            return None;
        };
        for (key, _) in table.iter().filter(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
            let mend = match nearest(KEYS.iter().copied(), key.get_ref()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("a rule has `{}`", KEYS.join("`, `")),
            };
            self.wrong(key, format!("`{}` is unknown; {mend}", shown(key.get_ref())));
        }
        let missing: Vec<&str> =
            REQUIRED.iter().copied().filter(|key| !table.contains_key(*key)).collect();
        if !missing.is_empty() {
            self.wrong(item, format!("this rule has no `{}`", missing.join("` and no `")));
        }
        self.complete(table)
    }

    /// Reads every part before reporting a missing one, so that all problems are reported at once.
    fn complete(&mut self, table: &DeTable<'_>) -> Option<Read> {
        let name = self.name(table.get_key_value("name"));
        let when = self.condition(table.get_key_value("when"));
        let verdict =
            self.word(table.get_key_value("verdict"), Verdict::ALL, |verdict| verdict.as_str());
        let severity =
            self.word(table.get_key_value("severity"), Severity::ALL, |severity| severity.as_str());
        let reason = self.reason(table.get_key_value("reason"));
        let alternatives = self.alternatives(table.get_key_value("alternatives"));
        let mut examples = self.examples(table.get_key_value("must_match"), true);
        examples.extend(self.examples(table.get_key_value("must_not_match"), false));
        let ((name, place), verdict) = (name?, verdict?);
        let severity = severity.unwrap_or_else(|| verdict.severity());
        let rule = Rule {
            name: name.into(),
            when: when?,
            verdict,
            severity,
            reason: reason?,
            alternatives,
        };
        Some(Read { rule, place, examples })
    }

    fn name(&mut self, found: Found<'_, '_>) -> Option<(String, Span)> {
        let (name, place, value) = self.string(found)?;
        let fits = (1..=64).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
        if !fits {
            self.wrong(value, "a rule's name has 1 to 64 lower case letters, digits, `-` and `_`, and begins with a letter".into());
        }
        fits.then_some((name, place.span(Span::new(0, usize::MAX))))
    }

    fn condition(&mut self, found: Found<'_, '_>) -> Option<Code<'static>> {
        let (text, literal, _) = self.string(found)?;
        let checked = syntax::parse(&text).and_then(|tree| check::condition(&tree));
        self.placed(checked, &literal)
    }

    fn reason(&mut self, found: Found<'_, '_>) -> Option<Vec<Piece<'static>>> {
        let (_, value) = found?;
        let pieces = self.prose(value, "reason")?;
        if pieces.is_empty() {
            self.wrong(value, "a reason tells the agent why; it must not be empty".into());
        }
        Some(pieces)
    }

    fn alternatives(&mut self, found: Found<'_, '_>) -> Vec<Vec<Piece<'static>>> {
        let Some((_, value)) = found else { return Vec::new() };
        let Some(items) = self.items(value, "alternatives", MOST_ALTERNATIVES) else {
            return Vec::new();
        };
        items.iter().filter_map(|item| self.prose(item, "alternatives")).collect()
    }

    fn prose(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<Vec<Piece<'static>>> {
        let (text, literal) = self.text_of(value, key)?;
        if text.len() > template::MOST_BYTES {
            self.wrong(
                value,
                format!("has {} bytes; at most {} are shown", text.len(), template::MOST_BYTES),
            );
            return None;
        }
        self.placed(template::parse(&text), &literal)
    }

    fn word<T: Copy>(
        &mut self,
        found: Found<'_, '_>,
        all: &[T],
        name: impl Fn(&T) -> &'static str,
    ) -> Option<T> {
        let key = found?.0.get_ref();
        let (text, _, value) = self.string(found)?;
        let chosen = all.iter().find(|one| name(one) == text).copied();
        if chosen.is_none() {
            let words: Vec<&str> = all.iter().map(&name).collect();
            let why = if text == "modify" { "; a rule cannot write down a rewrite" } else { "" };
            self.wrong(
                value,
                format!(
                    "`{key}` is `{}`; it must be one of `{}`{why}",
                    shown(&text),
                    words.join("`, `")
                ),
            );
        }
        chosen
    }

    fn string<'t, 'a>(
        &mut self,
        found: Found<'t, 'a>,
    ) -> Option<(String, Literal, &'t Spanned<DeValue<'a>>)> {
        let (key, value) = found?;
        let (text, literal) = self.text_of(value, key.get_ref())?;
        Some((text, literal, value))
    }

    fn text_of(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<(String, Literal)> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(value, format!("`{key}` is {}; it must be text", type_of(value)));
            return None;
        };
        let raw = self.text.get(value.span()).unwrap_or_default();
        Some((text.to_owned(), Literal::new(raw, value.span().start)))
    }

    fn items<'t, 'a>(
        &mut self,
        value: &'t Spanned<DeValue<'a>>,
        key: &str,
        most: usize,
    ) -> Option<&'t [Spanned<DeValue<'a>>]> {
        match value.get_ref() {
            DeValue::Array(items) if items.len() > most => {
                self.wrong(
                    value,
                    format!("`{key}` has {} items; at most {most} are read", items.len()),
                );
                None
            }
            DeValue::Array(items) => Some(items),
            _ => {
                self.wrong(value, format!("`{key}` is {}; it must be a list", type_of(value)));
                None
            }
        }
    }

    fn placed<T>(&mut self, result: Result<T, Problem>, literal: &Literal) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.push(Problem::new(literal.span(problem.span), problem.what));
                None
            }
        }
    }
}

fn span<T>(spanned: &Spanned<T>) -> Span {
    Span::new(spanned.span().start, spanned.span().end)
}

/// Returns the type of a value with its article, to complete "it is".
fn type_of(value: &Spanned<DeValue<'_>>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
