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
use crate::place::{Literal, Problem, Span};
use crate::{check, syntax, template};
use portcullis_strict_toml::{Document, Item, Keys, Table, list_names};

pub use examples::{Example, Given, Input};

/// The most bytes of a file.
pub const MOST_BYTES: usize = 256 << 10;
/// The most rules of a file.
pub const MOST_RULES: usize = 200;
/// The most items of a list.
const MOST_ITEMS: usize = 50;
/// The most alternatives of a rule.
const MOST_ALTERNATIVES: usize = 8;

const FILE: Keys<'_> = Keys { names: &["rule"], owner: "a rules file" };
const RULE: Keys<'_> = Keys {
    names: &[
        "name",
        "when",
        "verdict",
        "severity",
        "reason",
        "alternatives",
        "must_match",
        "must_not_match",
    ],
    owner: "a rule",
};
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
            format!("the file has {} bytes; at most {MOST_BYTES} are read", text.len()),
        )]);
    }
    let file = Document::parse(text);
    let reader = Reader { file: &file };
    let rules = if file.is_sound() { reader.rules() } else { Vec::new() };
    let (problems, _) = file.problems();
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

struct Reader<'t> {
    file: &'t Document<'t>,
}

impl<'t> Reader<'t> {
    fn rules(&self) -> Vec<Read> {
        let root = self.file.any_root();
        let outside = root.entries().into_iter().find(|item| RULE.names.contains(&item.key()));
        if let Some(item) = outside {
            let key = item.path();
            item.report_key(format!("`{key}` is outside of a rule; put `[[rule]]` before it"));
            return Vec::new();
        }
        root.report_unknown(&FILE);
        let mut rules: Vec<Read> = Vec::new();
        if let Some(item) = root.get("rule") {
            let tables = item.tables(&RULE);
            if tables.len() > MOST_RULES {
                let count = tables.len();
                item.report_key(format!(
                    "the file has {count} rules; at most {MOST_RULES} are read"
                ));
                return rules;
            }
            rules.extend(tables.iter().filter_map(|table| self.rule(table)));
        }
        self.report_duplicates(&rules);
        rules
    }

    fn report_duplicates(&self, rules: &[Read]) {
        for (at, again) in rules.iter().enumerate() {
            let name = &again.rule.name;
            let fix = if BUILTIN.iter().any(|builtin| builtin.name == name) {
                "is the name of a builtin rule; choose another"
            } else if rules.iter().take(at).any(|before| before.rule.name == *name) {
                "is the name of two rules; each needs its own"
            } else {
                continue;
            };
            self.file.report(again.place, format!("`{name}` {fix}"));
        }
    }

    /// Reads every part before it gives up at a missing one, so that all problems are reported at
    /// once.
    fn rule(&self, table: &Table<'t>) -> Option<Read> {
        let missing: Vec<&str> =
            REQUIRED.iter().copied().filter(|key| !table.contains(key)).collect();
        if !missing.is_empty() {
            table.report(format!("this rule has no {}", list_names(&missing)));
        }
        let name = table.get("name").and_then(|item| self.name(&item));
        let when = table.get("when").and_then(|item| self.condition(&item));
        let verdict = table.get("verdict").and_then(|item| read_verdict(&item));
        let severity = table.get("severity").and_then(|item| read_severity(&item));
        let reason = table.get("reason").and_then(|item| self.reason(&item));
        let alternatives = table.get("alternatives").and_then(|item| {
            Some(
                item.list(MOST_ALTERNATIVES)?.iter().filter_map(|item| self.prose(&item)).collect(),
            )
        });
        let mut examples = examples::read(table, "must_match", true);
        examples.extend(examples::read(table, "must_not_match", false));
        let ((name, place), verdict) = (name?, verdict?);
        let severity = severity.unwrap_or_else(|| verdict.severity());
        let rule = Rule {
            name: name.into(),
            when: when?,
            verdict,
            severity,
            reason: reason?,
            alternatives: alternatives.unwrap_or_default(),
        };
        Some(Read { rule, place, examples })
    }

    fn name(&self, item: &Item<'t>) -> Option<(String, Span)> {
        let name = item.text()?;
        let fits = (1..=64).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
        if !fits {
            item.report("a rule's name has 1 to 64 lower case letters, digits, `-` and `_`, and begins with a letter");
        }
        fits.then(|| (name.to_owned(), literal(item).span(Span::new(0, usize::MAX))))
    }

    fn condition(&self, item: &Item<'t>) -> Option<Code<'static>> {
        let text = item.text()?;
        let checked = syntax::parse(text).and_then(|tree| check::condition(text, &tree));
        self.accept(checked, item)
    }

    fn reason(&self, item: &Item<'t>) -> Option<Vec<Piece<'static>>> {
        let pieces = self.prose(item)?;
        if pieces.is_empty() {
            item.report("a reason tells the agent why; it must not be empty");
        }
        Some(pieces)
    }

    fn prose(&self, item: &Item<'t>) -> Option<Vec<Piece<'static>>> {
        let text = item.text()?;
        let most = template::MOST_BYTES;
        if text.len() > most {
            let (path, bytes) = (item.path(), text.len());
            item.report(format!("`{path}` has {bytes} bytes; at most {most} are shown"));
            return None;
        }
        self.accept(template::parse(text), item)
    }

    /// Returns the value, or reports its problem at its place in the file.
    fn accept<T>(&self, parsed: Result<T, Problem>, item: &Item<'t>) -> Option<T> {
        parsed
            .map_err(|problem| self.file.report(literal(item).span(problem.span), problem.what))
            .ok()
    }
}

fn literal(item: &Item<'_>) -> Literal {
    Literal::new(item.source(), item.span().start)
}

fn read_verdict(item: &Item<'_>) -> Option<Verdict> {
    // Plugins have this verdict, so a list of the words would not tell why rules lack it.
    if item.source().trim_matches(['"', '\'']) == "modify" {
        item.report("`rule.verdict` is `modify`; a rule cannot write down a rewrite: take `ask`");
        return None;
    }
    let words = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect::<Vec<_>>();
    let word = item.word(&words)?;
    Verdict::ALL.iter().find(|verdict| verdict.as_str() == word).copied()
}

fn read_severity(item: &Item<'_>) -> Option<Severity> {
    let words = Severity::ALL.iter().map(|severity| severity.as_str()).collect::<Vec<_>>();
    let word = item.word(&words)?;
    Severity::ALL.iter().find(|severity| severity.as_str() == word).copied()
}
