//! Calls of a document database's shell: `db.users.deleteMany({})`.

use crate::lexer::Token;
use crate::statements::{Deed, Outcome};

/// Judges the calls of a script.
pub fn judge(tokens: &[Token<'_>]) -> Outcome {
    let mut worst = Outcome::reads();
    for (at, token) in tokens.iter().enumerate() {
        let (Token::Word(name) | Token::Text(name)) = token else { continue };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).copied();
        let arguments = tokens.get(at + 1..).unwrap_or_default();
        let outcome = if before == Some(Token::Symbol('.')) {
            call(name, arguments, &object(tokens, at))
        } else {
            command(name, before, arguments)
        };
        if let Some(outcome) = outcome.filter(|outcome| outcome.deed > worst.deed) {
            worst = outcome;
        }
    }
    worst
}

/// `db.users.drop()`
fn call(name: &str, after: &[Token<'_>], object: &str) -> Option<Outcome> {
    let [Token::Symbol('('), arguments @ ..] = after else { return None };
    let every = matches!(
        arguments,
        [Token::Symbol(')'), ..] | [Token::Symbol('{'), Token::Symbol('}'), ..]
    );
    let rows = |deed, words: String| Some(Outcome { rows: true, ..Outcome::new(deed, words) });
    match name.to_ascii_lowercase().as_str() {
        "dropdatabase" => Some(Outcome::new(Deed::Drops, "drops the whole database")),
        "drop" | "dropcollection" => {
            Some(Outcome::new(Deed::Drops, format!("drops the collection `{object}`")))
        }
        "dropuser" | "dropalluser" | "dropallusers" | "droprole" => {
            Some(Outcome::new(Deed::Drops, "drops a user or role"))
        }
        "deletemany" | "remove" if every => {
            rows(Deed::Empties, format!("deletes every document of `{object}`"))
        }
        "updatemany" if every && !arguments.starts_with(&[Token::Symbol(')')]) => {
            rows(Deed::Empties, format!("changes every document of `{object}`"))
        }
        "insertone" | "insertmany" | "updateone" | "updatemany" | "deleteone" | "deletemany"
        | "remove" | "replaceone" | "findoneanddelete" | "findoneandupdate" | "findandmodify"
        | "bulkwrite" | "save" | "update" | "insert" => rows(Deed::Changes, String::new()),
        "createuser" | "grantrolestouser" | "updateuser" | "createindex" | "dropindex"
        | "dropindexes" | "createcollection" | "renamecollection" => {
            Some(Outcome::new(Deed::Changes, ""))
        }
        "shutdownserver" => Some(Outcome::new(Deed::ReachesMachine, "stops the server")),
        _ => None,
    }
}

/// `db.runCommand({ dropDatabase: 1 })`
fn command(name: &str, before: Option<Token<'_>>, after: &[Token<'_>]) -> Option<Outcome> {
    let is_key = matches!(before, Some(Token::Symbol('{' | ',')))
        && matches!(after.first(), Some(Token::Symbol(':')));
    if !is_key {
        return None;
    }
    match name.to_ascii_lowercase().as_str() {
        "dropdatabase" => Some(Outcome::new(Deed::Drops, "drops the whole database")),
        "drop" => {
            let collection = after.get(1).and_then(|token| match token {
                Token::Text(name) => Some(*name),
                _ => None,
            })?;
            Some(Outcome::new(Deed::Drops, format!("drops the collection `{collection}`")))
        }
        _ => None,
    }
}

/// Returns the collection that a call is made on: `users` of `db.users.drop`, `a` of
/// `db.getCollection('a').drop` and `db['a'].drop`.
fn object(tokens: &[Token<'_>], at: usize) -> String {
    let before = tokens.get(..at.saturating_sub(1)).unwrap_or_default();
    let found = before.iter().rev().take(3).find_map(|token| match token {
        Token::Word(name) | Token::Text(name) => Some(*name),
        _ => None,
    });
    found.unwrap_or("db").to_owned()
}
