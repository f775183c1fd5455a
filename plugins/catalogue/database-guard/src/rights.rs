//! Statements that give rights away, or that leave the database: files and programs of the machine
//! that it runs on.

use crate::lexer::{Language, Token};
use crate::statements::{Deed, Outcome, name_after};

/// Judges `GRANT`.
pub fn judge_grant(tokens: &[Token<'_>]) -> Outcome {
    let has = |word: &str| tokens.iter().any(|token| token.is(word));
    let to = tokens.iter().rposition(|token| token.is("to"));
    let whom =
        to.map(|at| name_after(tokens, at + 1, &["role", "user", "group"])).unwrap_or_default();
    let words = if tokens.get(1).is_some_and(|token| token.is("all")) {
        format!("gives all rights to `{whom}`")
    } else if whom.eq_ignore_ascii_case("public") {
        "gives rights to everyone".to_owned()
    } else if has("with") && (has("option")) {
        format!("lets `{whom}` give rights to others")
    } else if tokens.iter().any(|token| token.is_one_of(&["superuser", "sysadmin", "db_owner"])) {
        format!("makes `{whom}` an administrator")
    } else {
        return Outcome::new(Deed::Changes, "");
    };
    Outcome::new(Deed::GivesRights, words)
}

/// Judges `ALTER ROLE`, `ALTER USER`, `ALTER SYSTEM` and the like.
pub fn judge_alter(tokens: &[Token<'_>], object: Token<'_>) -> Outcome {
    let has = |words: &[&str]| tokens.iter().any(|token| token.is_one_of(words));
    let name = name_after(tokens, 2, &["if", "exists"]);
    let mighty = ["superuser", "createrole", "bypassrls", "sysadmin", "db_owner", "sysdba"];
    if object.is("system") || object.is("server") {
        return Outcome::new(Deed::ReachesMachine, "changes the settings of the whole server");
    }
    if object.is("database") {
        return Outcome::new(Deed::Changes, "").about_name(&name);
    }
    if has(&mighty) {
        return Outcome::new(Deed::GivesRights, format!("makes `{name}` an administrator"));
    }
    if has(&["password", "identified"]) {
        return Outcome::new(Deed::GivesRights, format!("changes the password of `{name}`"));
    }
    Outcome::new(Deed::Changes, "")
}

impl Outcome {
    fn about_name(self, name: &str) -> Self {
        Self { target: name.to_owned(), ..self }
    }
}

/// Calls that read or write files of the machine, or run a program on it.
const CALLS: &[&str] = &[
    "load_file",
    "pg_read_file",
    "pg_read_binary_file",
    "pg_ls_dir",
    "pg_file_write",
    "lo_import",
    "lo_export",
    "sys_exec",
    "sys_eval",
    "load_extension",
    "writefile",
    "openrowset",
    "opendatasource",
    "dbms_scheduler",
    "utl_file",
    "utl_http",
    "dbms_java",
    "xp_dirtree",
    "xp_regread",
    "xp_regwrite",
    "sp_oacreate",
    "sp_oamethod",
    "executable",
];
/// Calls that need no parentheses.
const PROCEDURES: &[&str] =
    &["xp_cmdshell", "sp_oacreate", "sp_oamethod", "xp_dirtree", "xp_regwrite", "xp_regread"];
/// Languages whose functions run with the rights of the server.
const UNTRUSTED: &[&str] = &["c", "plpythonu", "plpython3u", "plperlu", "pltclu", "plsh", "plr"];

/// Returns the outcome of a statement that leaves the database.
pub fn reach_machine(tokens: &[Token<'_>], language: Language) -> Option<Outcome> {
    let first = tokens.first()?;
    let reaches = |words: &str| Some(Outcome::new(Deed::ReachesMachine, words));
    if first.is("copy") {
        return judge_copy(tokens, language);
    }
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let next = tokens.get(at + 1);
        let called = next == Some(&Token::Symbol('('));
        let part = next == Some(&Token::Symbol('.'));
        if (called || part) && CALLS.iter().any(|call| call.eq_ignore_ascii_case(word)) {
            return reaches("reaches files or programs of the database's machine");
        }
        if PROCEDURES.iter().any(|call| call.eq_ignore_ascii_case(word)) {
            return reaches("runs a program on the database's machine");
        }
        // ClickHouse writes such a file on the client's machine.
        if token.is("into")
            && language == Language::Mysql
            && next.is_some_and(|next| next.is_one_of(&["outfile", "dumpfile"]))
        {
            return reaches("writes a file on the database's machine");
        }
        if token.is("language")
            && first.is("create")
            && next.and_then(|next| next.name()).is_some_and(|name| {
                UNTRUSTED.iter().any(|language| language.eq_ignore_ascii_case(name))
            })
        {
            return reaches("makes a function that runs with the rights of the server");
        }
    }
    if first.is("load") && tokens.get(1).is_some_and(|token| token.is("data")) {
        let local = tokens.get(2).is_some_and(|token| token.is("local"));
        return if local { None } else { reaches("reads a file of the database's machine") };
    }
    if first.is("load") && matches!(tokens.get(1), Some(Token::Text(_))) {
        return reaches("loads a library into the server");
    }
    None
}

fn judge_copy(tokens: &[Token<'_>], language: Language) -> Option<Outcome> {
    let words = tokens.windows(2).find_map(|pair| match pair {
        [way, program] if way.is_one_of(&["to", "from"]) && program.is("program") => {
            Some("runs a program on the database's machine")
        }
        // Databases without a server write the file where the client is.
        [way, Token::Text(_)] if way.is("to") && language == Language::Postgres => {
            Some("writes a file on the database's machine")
        }
        _ => None,
    })?;
    Some(Outcome::new(Deed::ReachesMachine, words))
}
