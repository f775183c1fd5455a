//! What one statement does, from its tokens: which rows it changes, and whether anything bounds them.

use crate::conditions::is_always_true;
use crate::lexer::{Language, Token};
use crate::rights;

/// What a statement does, from the mildest to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// It looks, or sets up the session.
    Reads,
    /// It changes some rows, or something that can be made again.
    Changes,
    /// What it does is known only when it runs.
    Unread,
    /// It takes a column, and what it holds, out of a table.
    DropsColumn,
    /// It changes or deletes every row.
    Empties,
    /// It destroys a table, a database, a user.
    Drops,
    /// It gives rights to everyone, or all rights to someone.
    GivesRights,
    /// It reaches files or programs of the machine that the database runs on.
    ReachesMachine,
}

/// What one statement does, with the words for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it does.
    pub deed: Deed,
    /// What it does, as the end of a sentence that begins with `it`; empty for what needs no words.
    pub words: String,
    /// It changes rows, so that a transaction could take it back everywhere.
    pub rows: bool,
    /// The database or table that it is about.
    pub target: String,
}

impl Outcome {
    /// A statement that only looks.
    pub const fn reads() -> Self {
        Self { deed: Deed::Reads, words: String::new(), rows: false, target: String::new() }
    }

    /// An outcome with its words.
    pub fn new(deed: Deed, words: impl Into<String>) -> Self {
        Self { deed, words: words.into(), rows: false, target: String::new() }
    }

    fn of_rows(deed: Deed, words: impl Into<String>) -> Self {
        Self { rows: true, ..Self::new(deed, words) }
    }

    fn about(self, target: &str) -> Self {
        Self { target: target.to_owned(), ..self }
    }
}

/// Words behind which a statement may begin inside another one.
const BEFORE_STATEMENT: &[&str] =
    &["as", "analyze", "verbose", "begin", "then", "else", "loop", "do", "materialized"];

/// Judges a statement. `made` are the names of tables that the same text made before.
pub fn judge(tokens: &[Token<'_>], language: Language, made: &[String]) -> Outcome {
    let tokens = skip_labels(tokens);
    let Some(first) = tokens.first() else { return Outcome::reads() };
    if *first == Token::Unknown {
        return Outcome::new(Deed::Unread, "runs a statement that is known only when it runs");
    }
    if let Some(outcome) = rights::reach_machine(tokens, language) {
        return outcome;
    }
    let Token::Word(verb) = first else { return inner_changes(tokens, language, made) };
    let second = tokens.get(1).copied().unwrap_or(Token::Symbol(' '));
    match verb.to_ascii_lowercase().as_str() {
        "explain" if !analyzes(tokens) => Outcome::reads(),
        "drop" => judge_drop(tokens, made),
        "truncate" => {
            let table = name_after(tokens, 1, &["table", "only"]);
            if is_own(&table, made) {
                Outcome::of_rows(Deed::Changes, "").about(&table)
            } else {
                Outcome::new(Deed::Empties, format!("empties {}", quote(&table))).about(&table)
            }
        }
        "alter" => judge_alter(tokens),
        "grant" => rights::judge_grant(tokens),
        "insert" | "replace" | "merge" | "upsert" | "load" | "import" => {
            Outcome::of_rows(Deed::Changes, "")
        }
        "copy" => {
            let takes = tokens.iter().any(|token| token.is("from"));
            if takes { Outcome::of_rows(Deed::Changes, "") } else { Outcome::reads() }
        }
        "create" | "rename" | "revoke" | "comment" | "reassign" | "refresh" | "attach"
        | "detach" | "call" | "kill" | "optimize" | "undrop" | "exchange" | "system" => {
            Outcome::new(Deed::Changes, "")
        }
        "exec" | "execute" | "sp_executesql" if !runs_text(tokens) => {
            Outcome::new(Deed::Changes, "")
        }
        "select" | "with" | "delete" | "update" | "prepare" | "do" | "begin" | "if" | "declare"
        | "end" | "else" | "while" | "loop" | "for" | "exec" | "execute" | "explain" | "set" => {
            let outcome = inner_changes(tokens, language, made);
            let into = |token: &Token<'_>| token.is("into");
            if outcome.deed == Deed::Reads && first.is("select") && calls_change(tokens) {
                return Outcome::new(Deed::Changes, "");
            }
            // `select ... into new_table`
            if outcome.deed == Deed::Reads
                && first.is("select")
                && language != Language::Mysql
                && tokens.iter().any(into)
            {
                return Outcome::new(Deed::Changes, "");
            }
            outcome
        }
        // `MATCH (n) DETACH DELETE n`, of a graph.
        "match" if tokens.iter().any(|token| token.is("delete")) => {
            let bounded =
                tokens.iter().any(|token| token.is("where") || *token == Token::Symbol('{'));
            if bounded {
                Outcome::of_rows(Deed::Changes, "")
            } else {
                Outcome::of_rows(Deed::Empties, "deletes every node that it matches")
            }
        }
        _ if language == Language::SqlServer && second != Token::Symbol(' ') => {
            inner_changes(tokens, language, made)
        }
        _ => Outcome::reads(),
    }
}

/// Skips what may stand before the first word: parentheses and labels.
fn skip_labels<'s, 't>(tokens: &'s [Token<'t>]) -> &'s [Token<'t>] {
    let start = tokens.iter().position(|token| *token != Token::Symbol('(')).unwrap_or(0);
    tokens.get(start..).unwrap_or_default()
}

fn analyzes(tokens: &[Token<'_>]) -> bool {
    tokens.iter().take(8).any(|token| token.is_one_of(&["analyze", "analyse"]))
}

/// `EXEC('...')`, `EXECUTE IMMEDIATE '...'`: the text is a statement.
fn runs_text(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| matches!(token, Token::Text(_)))
}

/// `select setval(...)`, `select pg_terminate_backend(...)`
fn calls_change(tokens: &[Token<'_>]) -> bool {
    const CALLS: &[&str] = &["pg_terminate_backend", "pg_cancel_backend", "setval", "nextval"];
    tokens.iter().any(|token| token.is_one_of(CALLS))
}

/// Returns the outcome of the gravest `DELETE` or `UPDATE` in a statement: its own, one in a `WITH`,
/// one behind `THEN`.
fn inner_changes(tokens: &[Token<'_>], language: Language, made: &[String]) -> Outcome {
    let mut worst = Outcome::reads();
    let mut consider = |outcome: Outcome| {
        if outcome.deed > worst.deed {
            worst = outcome;
        }
    };
    let (mut depth, mut seen) = (0_usize, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth = depth.saturating_sub(1),
            Token::Word(_) if token.is_one_of(VERBS) => {
                seen += 1;
                if seen > MOST {
                    consider(Outcome::new(Deed::Unread, "holds more statements than are read"));
                    break;
                }
                let before = at.checked_sub(1).and_then(|at| tokens.get(at)).copied();
                if !may_begin(before, depth, language, tokens, at) {
                    continue;
                }
                let region = region(tokens, at);
                match region.first() {
                    Some(verb) if verb.is("delete") => consider(judge_delete(region, made)),
                    Some(verb) if verb.is("update") => consider(judge_update(region, made)),
                    Some(verb) if verb.is("truncate") || verb.is("drop") => {
                        if before.is_some() {
                            consider(judge(region, Language::Standard, made));
                        }
                    }
                    _ => consider(Outcome::of_rows(Deed::Changes, "")),
                }
            }
            _ => {}
        }
    }
    worst
}

/// The most verbs of one statement that are looked at: each is read to its end.
const MOST: usize = 256;
const VERBS: &[&str] = &["delete", "update", "insert", "merge", "truncate", "drop"];

/// Returns true if a statement may begin at a position.
fn may_begin(
    before: Option<Token<'_>>,
    depth: usize,
    language: Language,
    tokens: &[Token<'_>],
    at: usize,
) -> bool {
    let Some(before) = before else { return true };
    let next = tokens.get(at + 1).copied();
    match before {
        Token::Symbol('(') => next.is_some_and(|next| next.name().is_some()),
        // The statement behind a `WITH`.
        Token::Symbol(')') => depth == 0,
        _ if before.is_one_of(&["for", "on", "no", "key", "do"]) => {
            // `FOR UPDATE`, `ON DELETE CASCADE`, `ON DUPLICATE KEY UPDATE`, `ON CONFLICT DO UPDATE`
            false
        }
        _ if before.is_one_of(BEFORE_STATEMENT) => true,
        // A batch of SQL Server needs no semicolons.
        _ => {
            let verb = tokens.get(at).copied();
            let pair = |verb_is: &str, next_is: &[&str]| {
                verb.is_some_and(|verb| verb.is(verb_is))
                    && next.is_some_and(|next| next.is_one_of(next_is))
            };
            language == Language::SqlServer
                && depth == 0
                && (pair("delete", &["from", "top"])
                    || pair("truncate", &["table"])
                    || pair("drop", &["table", "database", "schema", "user", "login"])
                    || verb.is_some_and(|verb| verb.is("update"))
                        && tokens.get(at + 2).is_some_and(|set| set.is("set")))
        }
    }
}

/// Returns the tokens from a position to the end of the parentheses that it stands in.
fn region<'s, 't>(tokens: &'s [Token<'t>], start: usize) -> &'s [Token<'t>] {
    let rest = tokens.get(start..).unwrap_or_default();
    let mut depth = 0_usize;
    let end = rest.iter().position(|token| {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') if depth == 0 => return true,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        false
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// Returns the position of a keyword outside of all parentheses.
fn find_outside(tokens: &[Token<'_>], keyword: &str) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth = depth.saturating_sub(1),
            _ => return depth == 0 && token.is(keyword),
        }
        false
    })
}

/// What bounds a `DELETE` or `UPDATE`.
enum Bound {
    Where,
    AlwaysTrue,
    None,
}

fn bound(tokens: &[Token<'_>], table: &str) -> Bound {
    const ENDS: &[&str] = &["returning", "order", "limit", "option", "output", "settings"];
    if find_outside(tokens, "limit").is_some() || find_outside(tokens, "top").is_some() {
        return Bound::Where;
    }
    if let Some(at) = find_outside(tokens, "where") {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let end = ENDS.iter().filter_map(|end| find_outside(rest, end)).min();
        let condition = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let always = is_always_true(condition, table);
        return if always { Bound::AlwaysTrue } else { Bound::Where };
    }
    // The rows that another table names.
    let joined = find_outside(tokens, "join").is_some() && find_outside(tokens, "on").is_some();
    if joined { Bound::Where } else { Bound::None }
}

fn judge_delete(tokens: &[Token<'_>], made: &[String]) -> Outcome {
    let skipped = ["from", "only", "low_priority", "quick", "ignore"];
    let table = name_after(tokens, 1, &skipped);
    let words = match bound(tokens, &table) {
        _ if is_own(&table, made) => return Outcome::of_rows(Deed::Changes, "").about(&table),
        Bound::Where => return Outcome::of_rows(Deed::Changes, "").about(&table),
        Bound::AlwaysTrue => {
            format!("deletes every row of {} (its WHERE is always true)", quote(&table))
        }
        Bound::None => format!("deletes every row of {} (it has no WHERE)", quote(&table)),
    };
    Outcome::of_rows(Deed::Empties, words).about(&table)
}

fn judge_update(tokens: &[Token<'_>], made: &[String]) -> Outcome {
    if find_outside(tokens, "set").is_none() {
        return Outcome::reads();
    }
    let table = name_after(tokens, 1, &["only", "low_priority", "ignore"]);
    let words = match bound(tokens, &table) {
        _ if is_own(&table, made) => return Outcome::of_rows(Deed::Changes, "").about(&table),
        Bound::Where => return Outcome::of_rows(Deed::Changes, "").about(&table),
        Bound::AlwaysTrue => {
            format!("changes every row of {} (its WHERE is always true)", quote(&table))
        }
        Bound::None => format!("changes every row of {} (it has no WHERE)", quote(&table)),
    };
    Outcome::of_rows(Deed::Empties, words).about(&table)
}

fn judge_drop(tokens: &[Token<'_>], made: &[String]) -> Outcome {
    let object = tokens.get(1).and_then(|token| token.name()).unwrap_or_default();
    let skipped = ["if", "exists", "concurrently", "temporary", "temp", "table"];
    let target = name_after(tokens, 2, &skipped);
    let again = [
        "index",
        "view",
        "materialized",
        "function",
        "procedure",
        "trigger",
        "policy",
        "rule",
        "cast",
        "operator",
        "event",
        "aggregate",
        "temporary",
        "temp",
        "constraint",
        "statistics",
        "collation",
        "domain",
        "conversion",
        "stats",
        "synonym",
        "pipe",
        "task",
        "macro",
        "default",
        "publication",
        "transform",
        "access",
        "prepare",
    ];
    let gone = again.iter().any(|word| word.eq_ignore_ascii_case(object));
    if gone || object.is_empty() || is_own(&target, made) {
        return Outcome::new(Deed::Changes, "").about(&target);
    }
    let object = object.to_ascii_lowercase();
    Outcome::new(Deed::Drops, format!("drops the {object} {}", quote(&target))).about(&target)
}

fn judge_alter(tokens: &[Token<'_>]) -> Outcome {
    let object = tokens.get(1).copied().unwrap_or(Token::Unknown);
    if object.is_one_of(&["role", "user", "login", "system", "database", "server"]) {
        return rights::judge_alter(tokens, object);
    }
    let table = name_after(tokens, 2, &["if", "exists", "only", "table"]);
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth = depth.saturating_sub(1),
            token if depth == 0 && token.is("drop") => {
                let next = tokens.get(at + 1).copied().unwrap_or(Token::Unknown);
                let harmless = [
                    "constraint",
                    "default",
                    "not",
                    "index",
                    "key",
                    "foreign",
                    "primary",
                    "check",
                    "identity",
                    "expression",
                    "period",
                    "system",
                    "value",
                    "owned",
                ];
                if next.is_one_of(&["partition", "partitions", "part"]) {
                    let words = format!("drops a partition of {}, with its rows", quote(&table));
                    return Outcome::new(Deed::Drops, words).about(&table);
                }
                if !next.is_one_of(&harmless) {
                    let words = format!("drops a column of {}, with what it holds", quote(&table));
                    return Outcome::new(Deed::DropsColumn, words).about(&table);
                }
            }
            // ClickHouse changes rows by `ALTER TABLE t DELETE WHERE ...`.
            token
                if depth == 0
                    && token.is_one_of(&["delete", "update"])
                    && find_outside(tokens, "where").is_some()
                    && !tokens.get(at.saturating_sub(1)).is_some_and(|token| token.is("on")) =>
            {
                let region = tokens.get(at..).unwrap_or_default();
                return match bound(region, &table) {
                    Bound::Where => Outcome::of_rows(Deed::Changes, "").about(&table),
                    Bound::AlwaysTrue | Bound::None => {
                        let words = format!(
                            "changes every row of {} (its WHERE is always true)",
                            quote(&table)
                        );
                        Outcome::of_rows(Deed::Empties, words).about(&table)
                    }
                };
            }
            token if depth == 0 && token.is("disable") => {
                let words = format!("takes a protection off {}", quote(&table));
                if tokens.iter().any(|token| token.is("security")) {
                    return Outcome::new(Deed::GivesRights, words).about(&table);
                }
            }
            _ => {}
        }
    }
    Outcome::new(Deed::Changes, "").about(&table)
}

/// Returns the name at a position, behind words that may stand before it, with its dots.
pub fn name_after(tokens: &[Token<'_>], start: usize, skipped: &[&str]) -> String {
    let mut rest = tokens.get(start..).unwrap_or_default();
    while let Some(first) = rest.first()
        && first.is_one_of(skipped)
    {
        rest = rest.get(1..).unwrap_or_default();
    }
    let mut name = String::new();
    for token in rest {
        match token {
            Token::Word(part) | Token::Name(part) if name.is_empty() || name.ends_with('.') => {
                name.push_str(part);
            }
            // `IDENTIFIER('t')`, and names in quotes of texts.
            Token::Text(part) if name.is_empty() => name.push_str(part),
            Token::Symbol('.') if !name.is_empty() => name.push('.'),
            _ => break,
        }
    }
    name
}

/// Returns true for a table that the same text made, and for a temporary one.
fn is_own(table: &str, made: &[String]) -> bool {
    let temporary = table.starts_with('#')
        || ["pg_temp.", "temp.", "tempdb."].iter().any(|start| table.starts_with(start));
    temporary || made.iter().any(|name| name.eq_ignore_ascii_case(table))
}

fn quote(name: &str) -> String {
    const LONGEST: usize = 60;
    if name.is_empty() {
        return "something that is known only when it runs".to_owned();
    }
    format!("`{}`", portcullis_plugin::text::cut(name, LONGEST))
}
