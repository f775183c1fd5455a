//! Statements whose meaning depends on the database that reads them.

use crate::forms;
use crate::scripts::{reading_with, text};

/// Statements that only one of the databases runs.
const STATEMENTS: &[(&str, &str)] = &[
    ("copy a from program $$id$$", "database-files"),
    ("COPY a FROM PROGRAM 'id'", "database-files"),
    ("copy a from program'id'", "database-files"),
    ("copy a to program 'id'", "database-files"),
    ("/*! drop table a */", "drop-data"),
    ("/*!50001 DROP TABLE a */;", "drop-data"),
    ("/*M! drop table a */", "drop-data"),
    ("/*M!100100 drop table a */", "drop-data"),
    ("select 'it\\'s'; drop table a", "drop-data"),
    ("select '\\'; drop table a; --'", "drop-data"),
    ("select \"it's\"; drop table a", "drop-data"),
    ("select `a'b` from c; drop table a", "drop-data"),
    ("select 1 # it's\n; drop table a", "drop-data"),
    ("select 1--1; drop table a", "drop-data"),
];

/// Statements that look like those, and lose nothing.
const HARMLESS: &[&str] = &[
    "copy program from stdin",
    "copy (select * from program) to stdout",
    "/* drop table a */ select 1",
    "/*!40101 SET NAMES utf8 */; select 1",
    "select '/*! drop table a */'",
    "insert into a values ('drop table a; drop table b')",
    "update a set b = 'it\\'s' where id = 1",
    "update a set b = 'it''s' where id = 1",
    "select 1 -- drop table a",
    "select \"drop table a\"",
];

#[test]
fn the_gravest_reading_of_a_statement_counts() {
    let files = |statement: &str| [("x.sql", text(statement))];
    let mut wrong = Vec::new();
    for client in ["psql -h db.example -f x.sql", "mysql -h db.example < x.sql"] {
        for (statement, form) in STATEMENTS {
            let read = reading_with(client, &files(statement));
            if !forms(&read).contains(form) {
                wrong.push(format!("{client}, {statement}: {:?}", forms(&read)));
            }
        }
        for statement in HARMLESS {
            let read = reading_with(client, &files(statement));
            if forms(&read)
                .iter()
                .any(|form| ["database-files", "drop-data", "delete-all-rows"].contains(form))
            {
                wrong.push(format!("{client}, {statement}: {:?}", forms(&read)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
