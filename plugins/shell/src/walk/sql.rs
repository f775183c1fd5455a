//! Database statements: do they only look, change, or destroy data?
//!
//! Statements are recognised by their first words, not parsed: texts and comments do not count, and
//! an unknown statement only looks.

use crate::syntax::is_name;

/// The gravest thing that a text of statements does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    None,
    /// Some rows, a new table, rights.
    Rows,
    /// Files or programs of the machine that the database runs on.
    Machine,
    /// All rows of a table.
    Table,
    /// A table, a database, everything.
    Drop,
}

impl Change {
    pub(super) fn form(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Rows => None,
            Self::Machine => Some("database-files"),
            Self::Table => Some("delete-all-rows"),
            Self::Drop => Some("drop-data"),
        }
    }
}

/// The longest text that is looked at, in bytes.
const LENGTH: usize = 32 * 1024;

/// Looks at every statement of a text. Databases disagree about where a quote and a comment end, so
/// each way to read the text counts, and the gravest result is returned.
pub(super) fn change(text: &str) -> Change {
    let end = (0..=LENGTH.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let whole = end == text.len();
    let text = text.get(..end).unwrap_or("");
    let readings: Vec<(String, bool)> =
        dialects(text).into_iter().map(|dialect| bare(text, dialect)).collect();
    // A quote that is open at the end shows that the text was meant for another database.
    let closes = whole && readings.iter().any(|(_, open)| !open);
    let statements = readings.iter().flat_map(|(bare, open)| {
        let complete = bare.rsplit_once(';').map_or("", |(complete, _)| complete);
        let counted = if closes && *open { complete } else { bare.as_str() };
        counted.split(';')
    });
    statements.map(statement).max().unwrap_or(Change::None)
}

/// The marks of a database's language that differ between databases.
#[derive(Clone, Copy, Debug, Default)]
struct Dialect {
    /// `\'` does not end a quote.
    escapes: bool,
    /// `"` and a backquote begin quotes, too.
    doubles: bool,
    /// `#` begins a comment, `--` only before a blank, and the text of `/*! ... */` runs.
    mysql: bool,
}

/// Returns the dialects in which a text could mean different things.
fn dialects(text: &str) -> Vec<Dialect> {
    let mut dialects = vec![Dialect::default()];
    let mut add = |differs: bool, change: fn(Dialect) -> Dialect| {
        let more: Vec<Dialect> = dialects.iter().copied().map(change).collect();
        dialects.extend(more.into_iter().filter(|_| differs));
    };
    add(text.contains('\\'), |dialect| Dialect { escapes: true, ..dialect });
    add(text.contains(['"', '`']), |dialect| Dialect { doubles: true, ..dialect });
    let mysql = ["/*!", "/*M!", "/*m!", "#", "--"].iter().any(|mark| text.contains(mark));
    add(mysql, |dialect| Dialect { mysql: true, ..dialect });
    dialects
}

/// Classifies a call of a key-value store: its name comes first.
pub(super) fn key_value(text: &str) -> Change {
    let mut words = text.split_ascii_whitespace().map(str::to_ascii_lowercase);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (first.as_str(), second.as_str()) {
        ("flushall" | "flushdb", _) => Change::Drop,
        // The file and the folder that it saves to, another server whose data it takes, code.
        ("config", "set") if matches!(words.next().as_deref(), Some("dir" | "dbfilename")) => {
            Change::Machine
        }
        ("module", "load" | "loadex") | ("slaveof" | "replicaof", _) if second != "no" => {
            Change::Machine
        }
        ("config", "set" | "rewrite" | "resetstat")
        | ("script" | "function", "flush" | "load" | "kill" | "delete") => Change::Rows,
        ("acl", "setuser" | "deluser" | "load") | ("cluster", "reset" | "forget" | "failover") => {
            Change::Rows
        }
        (name, _) if KEY_VALUE_CHANGES.contains(&name) => Change::Rows,
        _ => Change::None,
    }
}

#[rustfmt::skip]
const KEY_VALUE_CHANGES: &[&str] = &[
    "append", "copy", "debug", "decr", "decrby", "del", "eval", "evalsha", "expire", "expireat", "failover", "fcall", "getdel", "getset",
    "hdel", "hincrby", "hmset", "hset", "hsetnx", "incr", "incrby", "ltrim", "lpop", "lpush", "lrem", "lset", "migrate", "move", "mset",
    "msetnx", "persist", "pexpire", "psetex", "publish", "rename", "renamenx", "replicaof", "restore", "rpop", "rpush", "sadd", "set",
    "setex", "setnx", "setrange", "shutdown", "slaveof", "smove", "spop", "srem", "swapdb", "unlink", "xadd", "xdel", "xtrim", "zadd",
    "zrem", "zremrangebyscore",
];

/// Returns the text in lower case, without quoted texts and comments, with single blanks; and true
/// if a quote is still open at its end.
fn bare(text: &str, dialect: Dialect) -> (String, bool) {
    let mut bare = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                bare.push(c);
            }
            (Some(_), '\\') if dialect.escapes => {
                chars.next();
            }
            (Some(_), _) => {}
            (None, '"' | '`') if dialect.doubles => {
                quote = Some(c);
                bare.push(c);
            }
            (None, '\'') => {
                quote = Some(c);
                bare.push(c);
            }
            (None, '#') if dialect.mysql => skip_line(&mut chars),
            (None, '-') if chars.peek() == Some(&'-') && begins_comment(&chars, dialect) => {
                skip_line(&mut chars)
            }
            (None, '/') if chars.peek() == Some(&'*') => {
                chars.next();
                if !(dialect.mysql && enters_comment(&mut chars)) {
                    skip_comment(&mut chars);
                }
                bare.push(' ');
            }
            // The end of a comment whose text runs.
            (None, '*') if dialect.mysql && chars.next_if_eq(&'/').is_some() => bare.push(' '),
            (None, c) if c.is_whitespace() => {
                if !bare.ends_with(' ') {
                    bare.push(' ');
                }
            }
            (None, c) => bare.extend(c.to_lowercase()),
        }
    }
    (bare, quote.is_some())
}

type Chars<'t> = std::iter::Peekable<std::str::Chars<'t>>;

fn skip_line(chars: &mut Chars<'_>) {
    while chars.next_if(|c| *c != '\n').is_some() {}
}

fn skip_comment(chars: &mut Chars<'_>) {
    let mut last = ' ';
    for c in chars {
        if last == '*' && c == '/' {
            break;
        }
        last = c;
    }
}

/// Returns true if a second `-`, which comes next, begins a comment.
fn begins_comment(chars: &Chars<'_>, dialect: Dialect) -> bool {
    let after = chars.clone().nth(1);
    !dialect.mysql || after.is_none_or(|c| c.is_whitespace() || c.is_control())
}

/// Goes into a comment whose text runs, past its mark and the version: `/*!50001 DROP ...`.
fn enters_comment(chars: &mut Chars<'_>) -> bool {
    let mut ahead = chars.clone();
    ahead.next_if(|c| matches!(c, 'M' | 'm'));
    if ahead.next_if_eq(&'!').is_none() {
        return false;
    }
    while ahead.next_if(char::is_ascii_digit).is_some() {}
    *chars = ahead;
    true
}

/// Calls of document databases, at any position.
const DROPS: &[&str] = &[".dropdatabase(", ".drop(", ".dropindexes("];
const DELETES: &[&str] =
    &[".deletemany({})", ".remove({})", ".deletemany( {} )", ".remove()", "detach delete"];
const CHANGES: &[&str] = &[
    ".insertone(",
    ".insertmany(",
    ".updateone(",
    ".updatemany(",
    ".deleteone(",
    ".deletemany(",
    ".remove(",
    ".replaceone(",
    ".createindex(",
    ".createcollection(",
    ".save(",
    ".findoneanddelete(",
    ".findoneandupdate(",
    ".bulkwrite(",
    ".createuser(",
];

/// Calls and clauses that leave the database.
const MACHINE: &[&str] = &[
    "load_file(",
    "pg_read_file(",
    "pg_read_binary_file(",
    "lo_import(",
    "lo_export(",
    " into outfile",
    " into dumpfile",
    "xp_cmdshell",
    "sys_exec(",
    "utl_file.",
];

fn statement(lower: &str) -> Change {
    let has = |calls: &[&str]| calls.iter().any(|call| lower.contains(call));
    if has(DROPS) {
        return Change::Drop;
    }
    if has(DELETES) {
        return Change::Table;
    }
    if has(MACHINE) {
        return Change::Machine;
    }
    if has(CHANGES) {
        return Change::Rows;
    }
    let mut words = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .filter(|word| !word.is_empty());
    let first = words.next().unwrap_or("");
    if first == "explain" {
        // A plan is only shown, unless it is asked to run.
        return if lower.contains("analyze") {
            words_of(
                words.find(|word| *word != "analyze" && *word != "verbose").unwrap_or(""),
                words,
                lower,
            )
        } else {
            Change::None
        };
    }
    words_of(first, words, lower)
}

fn words_of<'w>(first: &str, mut words: impl Iterator<Item = &'w str>, lower: &str) -> Change {
    let second = words.next().unwrap_or("");
    let narrowed = lower.split_ascii_whitespace().any(|word| word == "where") && !always(lower);
    let rows = if narrowed { Change::Rows } else { Change::Table };
    match (first, second) {
        (
            "drop",
            "function" | "trigger" | "policy" | "procedure" | "rule" | "cast" | "operator"
            | "event",
        ) => Change::Rows,
        ("drop", _) if !second.is_empty() => Change::Drop,
        ("flushall" | "flushdb", _) | ("truncate", _) => Change::Drop,
        ("alter", "table" | "keyspace")
            if lower.contains(" drop ")
                && !lower.contains(" drop constraint")
                && !lower.contains(" drop default") =>
        {
            Change::Drop
        }
        ("delete", "from") => rows,
        ("update", _) if lower.contains(" set ") => rows,
        ("with", _) if lower.contains("delete from") || lower.contains("delete  from") => rows,
        ("with", _) if lower.contains("insert into") || lower.contains(" set ") => Change::Rows,
        ("insert" | "replace" | "merge" | "upsert", _)
        | ("create" | "alter", _)
        | ("grant" | "revoke" | "rename" | "reassign", _) => Change::Rows,
        (
            "call" | "do" | "execute" | "exec" | "load" | "import" | "vacuum" | "reindex"
            | "attach" | "detach" | "kill",
            _,
        ) => Change::Rows,
        ("copy", _) if copies_by_program(lower) => Change::Machine,
        ("copy", _) if lower.contains(" from ") => Change::Rows,
        ("select", _) if lower.contains("pg_terminate_backend") => Change::Rows,
        _ => Change::None,
    }
}

/// Returns true if a command makes or takes the rows: `copy a from program 'CMD'`. A table of that
/// name has no text behind it.
fn copies_by_program(lower: &str) -> bool {
    lower.match_indices("program").any(|(at, word)| {
        let before = lower.get(..at).unwrap_or("").trim_end();
        let after = lower.get(at + word.len()..).unwrap_or("").trim_start();
        (before.ends_with("from") || before.ends_with("to"))
            && ["'", "$", "e'", "u&'"].iter().any(|quote| after.starts_with(quote))
    })
}

/// Returns true if the condition is always true: `where 1=1`, `where true`.
fn always(lower: &str) -> bool {
    if takes_all_of_itself(lower) {
        return true;
    }
    let Some((_, condition)) = lower.rsplit_once("where") else { return false };
    let condition: String = condition.chars().filter(|c| !c.is_whitespace()).collect();
    matches!(condition.as_str(), "1=1" | "true" | "1" | "''=''" | "notfalse" | "1<>2")
}

/// Returns true if the rows are those that the whole table has: `delete from a where b in (select b
/// from a)`.
fn takes_all_of_itself(lower: &str) -> bool {
    let Some((_, rest)) = lower.split_once("delete from ") else { return false };
    let table = rest.split_whitespace().next().unwrap_or("");
    let Some((_, inner)) = rest.split_once(" in (select ") else { return false };
    let inner = inner.split(')').next().unwrap_or("");
    let from = inner.split_once(" from ").map_or("", |(_, from)| from.trim());
    !table.is_empty() && from == table && rest.matches("where").count() == 1
}

/// First words of statements, each with the words that must follow so that it cannot be a program.
const STATEMENTS: &[(&str, &[&str])] = &[
    (
        "drop",
        &[
            "table",
            "database",
            "schema",
            "view",
            "index",
            "user",
            "role",
            "keyspace",
            "column",
            "collection",
            "materialized",
            "sequence",
            "type",
            "extension",
            "function",
            "trigger",
            "owned",
            "measurement",
            "bucket",
            "tablespace",
            "publication",
            "subscription",
            "policy",
            "procedure",
            "stage",
            "warehouse",
            "partition",
        ],
    ),
    ("truncate", &["table", "only"]),
    ("delete", &["from"]),
    ("insert", &["into"]),
    ("replace", &["into"]),
    ("merge", &["into"]),
    (
        "create",
        &[
            "table",
            "database",
            "schema",
            "view",
            "index",
            "user",
            "role",
            "keyspace",
            "unique",
            "temporary",
            "temp",
            "or",
            "materialized",
            "function",
            "extension",
            "external",
        ],
    ),
    (
        "alter",
        &[
            "table", "database", "schema", "user", "role", "system", "view", "index", "keyspace",
            "type", "sequence", "default",
        ],
    ),
    (
        "grant",
        &[
            "all", "select", "insert", "update", "delete", "usage", "create", "execute", "connect",
            "role",
        ],
    ),
    (
        "revoke",
        &[
            "all", "select", "insert", "update", "delete", "usage", "create", "execute", "connect",
            "grant", "role",
        ],
    ),
    (
        "show",
        &[
            "tables",
            "databases",
            "schemas",
            "columns",
            "create",
            "index",
            "indexes",
            "grants",
            "processlist",
            "variables",
            "status",
            "full",
            "keyspaces",
        ],
    ),
    ("vacuum", &["full", "analyze", "freeze"]),
];

/// Returns true if a statement can begin with this word.
pub(super) fn may_begin(word: &str) -> bool {
    STATEMENTS.iter().any(|(verb, _)| verb.eq_ignore_ascii_case(word))
        || ["update", "describe", "desc", "explain"]
            .iter()
            .any(|verb| verb.eq_ignore_ascii_case(word))
}

/// Returns true if the text is not a command line but a statement that was meant for a database's
/// client.
pub(super) fn is_statement(text: &str) -> bool {
    let text = text.trim_start();
    let mut words = text.split_ascii_whitespace().map(str::to_ascii_lowercase);
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let second = second.trim_end_matches(';');
    if STATEMENTS.iter().any(|(verb, next)| *verb == first && next.contains(&second)) {
        return words.next().is_some() || first == "show";
    }
    let rest: Vec<String> = words.take(64).collect();
    let has = |word: &str| rest.iter().any(|found| found == word);
    match first.as_str() {
        "select" => has("from") && rest.first().is_none_or(|word| word != "in"),
        "update" => {
            rest.first().is_some_and(|word| word == "set") || (has("set") && text.contains('='))
        }
        "truncate" => rest.is_empty() && is_name(second) && text.trim_end().ends_with(';'),
        "describe" | "desc" => rest.is_empty() && is_name(second) && text.trim_end().ends_with(';'),
        "explain" => {
            matches!(second, "select" | "analyze" | "insert" | "update" | "delete" | "(analyze")
        }
        _ => false,
    }
}

/// Returns the statement in `--execute=STATEMENT`.
pub(super) fn strip_flag(text: &str) -> &str {
    match text.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") && !flag.contains(' ') => value,
        _ => text,
    }
}
