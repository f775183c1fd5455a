//! A text of statements: cuts it into statements, follows transactions, and keeps the gravest outcome.

use crate::lexer::{Language, Lexer, Token};
use crate::statements::{self, Deed, Outcome, name_after};

/// What a text of statements does.
#[derive(Clone, Debug)]
pub struct Review {
    /// The gravest statement.
    pub worst: Outcome,
    /// The statements that change rows, each outside of a transaction.
    pub loose: usize,
    /// Databases that the text itself connects to (`\c`, `USE`), and those that it drops or creates.
    pub databases: Vec<String>,
    /// Files whose statements it runs.
    pub files: Vec<String>,
}

/// How a client runs a text.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// The language.
    pub language: Language,
    /// The client puts the whole text into one transaction.
    pub one_transaction: bool,
}

/// The most outcomes and names that are kept.
const MOST: usize = 64;
/// The words about `\gexec`: the rows of a query are run as statements.
const MADE_BY_QUERY: &str = "runs statements that a query makes";
/// How deep a text inside a statement is read: `DO $$ ... $$`, `EXEC('...')`.
const DEPTH: usize = 3;

/// Reviews a text.
pub fn review(text: &str, mode: Mode) -> Review {
    let mut reader = Reader::new(mode);
    reader.read(text, DEPTH);
    reader.finish()
}

struct Reader {
    mode: Mode,
    outcomes: Vec<Outcome>,
    loose: usize,
    /// What was found when the open transaction began.
    open: Option<(usize, usize)>,
    /// Inside the body of a function or trigger that is only made.
    in_body: bool,
    made: Vec<String>,
    databases: Vec<String>,
    files: Vec<String>,
}

impl Reader {
    const fn new(mode: Mode) -> Self {
        Self {
            mode,
            outcomes: Vec::new(),
            loose: 0,
            open: None,
            in_body: false,
            made: Vec::new(),
            databases: Vec::new(),
            files: Vec::new(),
        }
    }

    fn finish(self) -> Review {
        let worst = self.outcomes.into_iter().max_by_key(|outcome| outcome.deed);
        Review {
            worst: worst.unwrap_or_else(Outcome::reads),
            loose: if self.mode.one_transaction { 0 } else { self.loose },
            databases: self.databases,
            files: self.files,
        }
    }

    fn read(&mut self, text: &str, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let mut lexer = Lexer::new(text, self.mode.language);
        let mut tokens: Vec<Token<'_>> = Vec::new();
        loop {
            if tokens.is_empty() && self.read_client_command(text, &mut lexer) {
                continue;
            }
            let Some(token) = lexer.next() else { break };
            // `GO` ends a batch of SQL Server.
            let ends = token == Token::Symbol(';')
                || (self.mode.language == Language::SqlServer && token.is("go"));
            if ends {
                self.end_statement(&tokens, depth);
                tokens.clear();
            } else if token == Token::Symbol('\\') && self.mode.language == Language::Postgres {
                // A command of psql ends a statement too: `SELECT ... \gexec`.
                self.end_statement(&tokens, depth);
                tokens.clear();
                let start = lexer.offset() - 1;
                let line = first_line(text.get(start..).unwrap_or_default());
                self.run_client_command(line);
                lexer.skip_to(start + line.len());
            } else {
                tokens.push(token);
            }
        }
        self.end_statement(&tokens, depth);
    }

    /// Reads a line that is the client's own command, at the start of a statement.
    fn read_client_command(&mut self, text: &str, lexer: &mut Lexer<'_>) -> bool {
        let rest = text.get(lexer.offset()..).unwrap_or_default();
        let line = rest.trim_start();
        let begins = match self.mode.language {
            Language::Postgres | Language::Mysql => line.starts_with('\\'),
            Language::Standard => line.starts_with('.'),
            Language::SqlServer => line.starts_with(':'),
            Language::Script => false,
        };
        let client = begins || (self.mode.language == Language::Mysql && is_source(line));
        if !client {
            return false;
        }
        let start = lexer.offset() + (rest.len() - line.len());
        let line = first_line(line);
        lexer.skip_to(start + line.len().max(1));
        self.run_client_command(line);
        true
    }

    fn run_client_command(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (command, word) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let word = word.trim_matches(['\'', '"', ';']);
        match command {
            "\\i" | "\\ir" | "\\include" | "\\." | ".read" | "source" | "SOURCE" | ":r" => {
                push(&mut self.files, word);
            }
            "\\c" | "\\connect" | "\\u" | ".open" | ":connect" => push(&mut self.databases, word),
            "\\copy" if line.contains(" from ") || line.contains(" FROM ") => {
                self.note(Outcome { rows: true, ..Outcome::new(Deed::Changes, "") });
            }
            "\\gexec" => self.note(Outcome::new(Deed::Unread, MADE_BY_QUERY)),
            ".restore" | ".import" => self.note(Outcome::new(Deed::Changes, "")),
            _ => {}
        }
    }

    fn note(&mut self, outcome: Outcome) {
        let worst = self.outcomes.iter().map(|known| known.deed).max();
        let counts = self.outcomes.len() < MOST || Some(outcome.deed) > worst;
        if outcome.deed > Deed::Reads && counts {
            self.outcomes.push(outcome);
        }
    }

    fn end_statement(&mut self, tokens: &[Token<'_>], depth: usize) {
        let Some(first) = tokens.first() else { return };
        if self.in_body {
            self.in_body = !first.is("end");
            return;
        }
        if self.follow_transaction(tokens) {
            return;
        }
        if first.is("use") {
            push(&mut self.databases, &name_after(tokens, 1, &["database", "schema"]));
            return;
        }
        if makes_routine(tokens) {
            // Its body is kept, and does not run now.
            let begins = tokens.iter().any(|token| token.is("begin"));
            self.in_body = begins && !tokens.last().is_some_and(|token| token.is("end"));
        }
        let outcome = match self.mode.language {
            Language::Script => crate::documents::judge(tokens),
            language => statements::judge(tokens, language, &self.made),
        };
        self.keep_names(tokens, &outcome);
        if outcome.rows && self.open.is_none() {
            self.loose += 1;
        }
        self.note(outcome);
        self.read_inner(tokens, depth);
    }

    /// Reads the text that a statement runs: `DO $$ ... $$`, `EXEC('...')`, `PREPARE x FROM '...'`.
    fn read_inner(&mut self, tokens: &[Token<'_>], depth: usize) {
        let runs = tokens.first().is_some_and(|first| {
            first.is_one_of(&["do", "exec", "execute", "prepare", "begin", "if", "declare"])
        });
        let executes =
            tokens.iter().any(|token| token.is_one_of(&["execute", "exec", "sp_executesql"]));
        if !runs && !executes {
            return;
        }
        for (at, token) in tokens.iter().enumerate() {
            let named = at.checked_sub(1).and_then(|at| tokens.get(at));
            // `LANGUAGE 'plpgsql'`
            let is_body = !named.is_some_and(|word| word.is("language"));
            if let Token::Text(text) = token
                && is_body
                && text.contains(' ')
            {
                // A block is a transaction of its own.
                let open = self.open;
                self.open.get_or_insert((self.outcomes.len(), self.loose));
                self.read(text, depth);
                self.open = open;
            }
        }
    }

    /// Follows `BEGIN`, `COMMIT` and `ROLLBACK`; true for a statement that is one of these.
    fn follow_transaction(&mut self, tokens: &[Token<'_>]) -> bool {
        let first = tokens.first().copied().unwrap_or(Token::Unknown);
        let second = tokens.get(1).copied();
        let begins = match second {
            _ if first.is("start") => second.is_some_and(|word| word.is("transaction")),
            None => first.is("begin"),
            Some(word) => {
                first.is("begin")
                    && word.is_one_of(&[
                        "transaction",
                        "tran",
                        "work",
                        "isolation",
                        "read",
                        "immediate",
                        "deferred",
                        "exclusive",
                        "concurrent",
                        "not",
                    ])
            }
        };
        if begins {
            self.open.get_or_insert((self.outcomes.len(), self.loose));
            return true;
        }
        // `SET autocommit = 0`
        if first.is("set") && second.is_some_and(|word| word.is("autocommit")) {
            if matches!(tokens.last(), Some(Token::Number("0"))) {
                self.open.get_or_insert((self.outcomes.len(), self.loose));
            }
            return true;
        }
        let ends_block =
            first.is("end") && second.is_none_or(|word| word.is_one_of(&["transaction", "work"]));
        if first.is("commit") || ends_block {
            self.open = None;
            return true;
        }
        if first.is("rollback") || first.is("abort") {
            let to_savepoint = tokens.iter().any(|token| token.is_one_of(&["to", "savepoint"]));
            if let Some((outcomes, loose)) = self.open
                && !to_savepoint
            {
                self.open = None;
                self.loose = loose;
                self.take_back(outcomes);
            }
            return true;
        }
        false
    }

    /// Forgets what a rollback undoes. MySQL commits by itself before it drops something.
    fn take_back(&mut self, kept: usize) {
        let mysql = self.mode.language == Language::Mysql;
        let undone = self.outcomes.split_off(kept.min(self.outcomes.len()));
        let lasts = |outcome: &Outcome| {
            matches!(outcome.deed, Deed::ReachesMachine | Deed::Unread) || (mysql && !outcome.rows)
        };
        self.outcomes.extend(undone.into_iter().filter(lasts));
    }

    /// Notes tables that the text makes, and databases that it is about.
    fn keep_names(&mut self, tokens: &[Token<'_>], outcome: &Outcome) {
        let second = tokens.get(1).copied().unwrap_or(Token::Unknown);
        let first = tokens.first().copied().unwrap_or(Token::Unknown);
        if first.is("create") {
            let before = [
                "temporary",
                "temp",
                "global",
                "local",
                "unlogged",
                "or",
                "replace",
                "transient",
                "table",
                "if",
                "not",
                "exists",
                "database",
                "schema",
            ];
            if tokens.iter().take(6).any(|token| token.is_one_of(&["table", "database", "schema"]))
            {
                push(&mut self.made, &name_after(tokens, 1, &before));
            }
        }
        let about_database = second.is_one_of(&["database", "schema", "keyspace"]);
        if about_database && outcome.deed == Deed::Drops {
            push(&mut self.databases, &outcome.target);
        } else if let Some((database, _)) = outcome.target.split_once('.') {
            push(&mut self.databases, database);
        }
    }
}

fn push(names: &mut Vec<String>, name: &str) {
    if !name.is_empty() && names.len() < MOST && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

fn is_source(line: &str) -> bool {
    ["source ", "SOURCE "].iter().any(|start| line.starts_with(start))
}

/// Returns true for a statement that makes a function, procedure, trigger or event.
fn makes_routine(tokens: &[Token<'_>]) -> bool {
    tokens.first().is_some_and(|first| first.is_one_of(&["create", "alter"]))
        && tokens.iter().take(8).any(|token| {
            token.is_one_of(&[
                "function",
                "procedure",
                "trigger",
                "event",
                "proc",
                "package",
                "rule",
            ])
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::Language::{Mysql, Postgres, Script, SqlServer, Standard};
    use crate::statements::Deed::{
        Changes, Drops, DropsColumn, Empties, GivesRights, ReachesMachine, Reads, Unread,
    };

    fn of(text: &str, language: Language) -> Review {
        review(text, Mode { language, one_transaction: false })
    }

    #[test]
    fn the_gravest_statement_counts() {
        for (language, text, deed) in [
            (Standard, "", Reads),
            (Standard, ";;", Reads),
            (Standard, "SELECT 1; DELETE FROM a WHERE b = 1", Changes),
            (Standard, "DELETE FROM a", Empties),
            (Standard, "(DELETE FROM a)", Empties),
            (Standard, "DELETE FROM \"a b\" WHERE 1", Empties),
            (Standard, "DELETE FROM a ORDER BY b LIMIT 10", Changes),
            (Standard, "INSERT INTO a SELECT * FROM b ON CONFLICT DO UPDATE SET c = 1", Changes),
            (Mysql, "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1", Changes),
            (Mysql, "DELETE a FROM a JOIN b ON a.id = b.id", Changes),
            (Mysql, "DELETE a FROM a JOIN b", Empties),
            (Mysql, "PREPARE s FROM 'DROP TABLE a'; EXECUTE s", Drops),
            (Standard, "CREATE TABLE a (b int REFERENCES c ON DELETE CASCADE)", Changes),
            (Standard, "MERGE INTO a USING b ON (x) WHEN MATCHED THEN DELETE", Changes),
            (Standard, "ALTER TABLE a DELETE WHERE 1 = 1", Empties),
            (Standard, "ALTER TABLE a DROP PARTITION 1", Drops),
            (Standard, "ALTER TABLE a DROP COLUMN b", DropsColumn),
            (Standard, "ALTER TABLE a DROP CONSTRAINT b", Changes),
            (Standard, "ALTER TABLE a DISABLE ROW LEVEL SECURITY", GivesRights),
            (Standard, "ALTER USER a WITH PASSWORD 'b'", GivesRights),
            (Standard, "GRANT SELECT ON a TO b WITH GRANT OPTION", GivesRights),
            (Standard, "DROP TABLE IF EXISTS pg_temp.a", Changes),
            (SqlServer, "DROP TABLE #a", Changes),
            (SqlServer, "UPDATE a SET b = 1 SELECT 1", Empties),
            (SqlServer, "BEGIN TRY DELETE FROM a END TRY", Empties),
            (SqlServer, "EXEC sp_executesql N'DROP TABLE a'", Drops),
            (Postgres, "DO $$ BEGIN EXECUTE 'DROP TABLE a'; END $$", Drops),
            (Postgres, "SELECT dblink_connect('a'), lo_export(1, 'b')", ReachesMachine),
            (Postgres, "-- why\n\\i a.sql", Reads),
            (Postgres, "SELECT 'x'\n\\gexec", Unread),
            (Postgres, ":statement", Unread),
            (Script, "db.a.drop()\ndb.b.find()", Drops),
            (Script, "db['a'].deleteMany()", Empties),
            (Script, "var drop = 1; print('db.a.drop()')", Reads),
            (Standard, "MATCH (n) DETACH DELETE n", Empties),
            (Standard, "MATCH (n {id: 1}) DETACH DELETE n", Changes),
        ] {
            assert_eq!(of(text, language).worst.deed, deed, "{language:?} {text}");
        }
    }

    #[test]
    fn transactions_hold_changes_together() {
        for (text, loose) in [
            ("UPDATE a SET b = 1 WHERE c; DELETE FROM a WHERE c", 2),
            ("BEGIN; UPDATE a SET b = 1 WHERE c; DELETE FROM a WHERE c; COMMIT", 0),
            ("BEGIN; DELETE FROM a WHERE b; COMMIT; DELETE FROM a WHERE c", 1),
            ("START TRANSACTION; DELETE FROM a WHERE b", 0),
            ("DELETE FROM a WHERE b; BEGIN; DELETE FROM a WHERE c; ROLLBACK", 1),
            ("SELECT 1; CREATE TABLE a (b int)", 0),
        ] {
            assert_eq!(of(text, Language::Standard).loose, loose, "{text}");
        }
    }

    #[test]
    fn names_of_databases_and_files_are_kept() {
        let found = of("\\c main\n\\i a.sql\nUSE b; DROP DATABASE c; DELETE FROM d.e", Postgres);
        assert_eq!(found.databases, ["main", "b", "c", "d"]);
        assert_eq!(found.files, ["a.sql"]);
    }

    #[test]
    fn a_long_text_is_read_to_its_end() {
        let text = format!("INSERT INTO a VALUES {}; DROP TABLE b", "(1, 'x'), ".repeat(6000));
        assert_eq!(of(&text, Language::Standard).worst.deed, Drops);
    }
}
