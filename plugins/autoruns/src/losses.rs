//! Statements of migrations and of files of SQL that throw data away when something runs them: a
//! table that is dropped or emptied.
//!
//! The part of a migration that takes it back is not read, since it drops what the other part
//! makes, and neither are the texts of tests. A table that the same text makes, or that another one
//! takes the name of, is not lost.

use crate::starts::is_sample;
use crate::text::{Line, new_lines};

/// Folders of migrations.
const FOLDERS: &[&str] =
    &["changelog", "changelogs", "evolutions", "migrate", "migration", "migrations", "versions"];
/// Endings of the files in them that hold statements.
const ENDINGS: &[&str] = &[
    ".cjs", ".cql", ".cs", ".ex", ".exs", ".go", ".java", ".js", ".kt", ".mjs", ".php", ".py",
    ".rb", ".surql", ".ts", ".xml", ".yaml", ".yml",
];
/// Folders and names of texts whose statements meet no data, or are meant to.
const UNRELATED: &[&str] = &[
    "doc",
    "docs",
    "dump",
    "dumps",
    "e2e",
    "example",
    "examples",
    "fixture",
    "fixtures",
    "node_modules",
    "reset",
    "schema",
    "schemas",
    "seed",
    "seeds",
    "spec",
    "structure",
    "teardown",
    "test",
    "testdata",
    "tests",
    "vendor",
];
/// Parts of the names of files that take a migration back.
const BACK: &[&str] = &["down", "downgrade", "revert", "rollback", "undo"];
/// The begin of the part that takes a migration back, and of the part that carries it out; in lower
/// case and with single blanks.
const DOWN: &[&str] = &[
    "+goose down",
    "async down(",
    "def down",
    "def downgrade",
    "def reverse",
    "down = ",
    "down(",
    "down:",
    "exports.down",
    "function down",
    "migrate:down",
    "override void down",
    "-- down",
    "--!down",
    "-- undo",
];
const UP: &[&str] = &[
    "+goose up",
    "async up(",
    "def change",
    "def forwards",
    "def up",
    "def upgrade",
    "exports.up",
    "function up",
    "migrate:up",
    "override void up",
    "up = ",
    "up(",
    "-- up",
    "--!up",
];

/// The words of a statement before the name of what is lost.
const STATEMENTS: &[&str] = &[
    "drop table if exists ",
    "drop table ",
    "drop database if exists ",
    "drop database ",
    "drop schema if exists ",
    "drop schema ",
    "drop keyspace ",
    "drop collection ",
    "truncate table only ",
    "truncate table ",
    "truncate only ",
    "truncate ",
];
/// Calls of libraries for migrations, before the name of what is lost.
const CALLS: &[&str] = &[
    "op.drop_table(",
    "drop_table ",
    "drop_table(",
    "drop table(",
    "drop(table(",
    "droptable(",
    "droptableifexists(",
    "dropifexists(",
    "schema::drop(",
    "schema.droptable(",
    "dropcollection(",
    "drop_collection(",
    "<droptable tablename=",
];
/// Calls that leave nothing in a table, without its name.
const SWEEPS: &[&str] = &[
    "- droptable:",
    ".deletemodel(",
    ".objects.all().delete()",
    ".delete_all",
    ".deletemany({})",
    ".deletemany()",
    ".destroy_all",
    ".dropdatabase(",
    ".remove({})",
    "detach delete",
];
/// Words before the name of a table that the text makes, or that gets another table's name.
const MADE: &[&str] = &[
    "create table if not exists ",
    "create table ",
    "create temp table ",
    "create temporary table ",
    "create unlogged table ",
    "create_table(",
    "create_table ",
    "createtable(",
    "schema::create(",
    "createcollection(",
    "createmodel( name=",
    "rename to ",
    "renametable(",
    "rename_table(",
    "rename_table ",
];

/// Returns true for a file that holds statements which something runs.
#[must_use]
pub fn holds_statements(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path).to_ascii_lowercase();
    let migrates =
        || path.split('/').any(|part| FOLDERS.contains(&part.to_ascii_lowercase().as_str()));
    let read =
        name.ends_with(".sql") || ENDINGS.iter().any(|end| name.ends_with(end)) && migrates();
    let unrelated = |text: &str| text.split(['.', '-', '_']).any(|part| UNRELATED.contains(&part));
    let back = || name.split(['.', '-', '_']).any(|part| BACK.contains(&part));
    let in_tests =
        || parts.clone().any(|part| UNRELATED.contains(&part.to_ascii_lowercase().as_str()));
    read && !unrelated(&name) && !back() && !is_sample(path) && !in_tests()
}

/// Returns the first line of a file that throws data away and that the file did not have before:
/// its number, from 1, and its text.
#[must_use]
pub fn find_loss<'t>(path: &str, before: &str, after: &'t str) -> Option<Line<'t>> {
    if !holds_statements(path) {
        return None;
    }
    let whole = statement_of(after);
    let kept: Vec<String> = MADE.iter().flat_map(|start| names_behind(&whole, start)).collect();
    let mut back = false;
    let lines: Vec<&str> = after.lines().collect();
    new_lines(before, after).find(|line| {
        let low = statement_of(line.text);
        if DOWN.iter().any(|mark| has_word(&low, mark)) {
            back = true;
        } else if UP.iter().any(|mark| has_word(&low, mark)) {
            back = false;
        }
        let comment = ["--", "//", "# ", "*", "/*"].iter().any(|sign| low.starts_with(sign));
        !back && !comment && (loses(&low, &kept) || deletes_all(&low, line.number, &lines))
    })
}

fn loses(low: &str, kept: &[String]) -> bool {
    let called = STATEMENTS.iter().chain(CALLS).any(|start| {
        names_behind(low, start).iter().any(|name| !is_passing(name) && !kept.contains(name))
    });
    called || !low.contains("where(") && SWEEPS.iter().any(|call| low.contains(call))
}

/// Returns true for a statement that deletes every row: `delete from a` without a condition.
fn deletes_all(low: &str, number: u32, lines: &[&str]) -> bool {
    let Some((_, rest)) = low.split_once("delete from ") else { return false };
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    // A statement may go on for a few lines.
    let following = lines.iter().skip(at).take(4).map(|line| statement_of(line));
    let whole = std::iter::once(rest.to_owned()).chain(following).collect::<Vec<_>>().join(" ");
    let end = whole.find([';', ')', ']']).unwrap_or(whole.len());
    let statement = whole.get(..end).unwrap_or("");
    let narrowed =
        [" where", " using ", " limit ", " join "].iter().any(|word| statement.contains(word));
    let name = name_at(statement);
    !name.is_empty() && !narrowed && !is_passing(&name)
}

/// Returns a text in lower case with single blanks, also for quotes.
fn statement_of(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\".\"", ".").chars() {
        match c {
            c if c.is_whitespace() || matches!(c, '"' | '\'' | '`') => {
                if !out.ends_with(' ') && !out.is_empty() {
                    out.push(' ');
                }
            }
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// Returns the places of a mark that is no part of a longer word.
fn places_of<'t>(low: &'t str, mark: &'t str) -> impl Iterator<Item = usize> + 't {
    let found = low.match_indices(mark).map(|(at, _)| at);
    found.filter(|at| {
        let before = low.get(..*at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
    })
}

fn has_word(low: &str, mark: &str) -> bool {
    places_of(low, mark).next().is_some()
}

/// Returns the names that stand behind a start.
fn names_behind(low: &str, start: &str) -> Vec<String> {
    let names =
        places_of(low, start).take(64).map(|at| name_at(low.get(at + start.len()..).unwrap_or("")));
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the name at the begin of a text, without the schema before it. A placeholder is one.
fn name_at(text: &str) -> String {
    let text = text.trim_start_matches([':', '[', '(', ' ']);
    let text = text.strip_prefix("name=").unwrap_or(text);
    let is_part =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '{' | '}' | '%' | '#');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let name = text.get(..end).unwrap_or("");
    let name = name.rsplit('.').next().unwrap_or(name).trim_end_matches(']');
    // These words begin something else.
    let word = matches!(
        name,
        "if" | "table" | "cascade" | "concurrently" | "from" | "on" | "and" | "or" | "the" | "is"
    );
    if word { String::new() } else { name.to_owned() }
}

/// Returns true for the name of a table that nothing keeps its data in.
fn is_passing(name: &str) -> bool {
    let parts = ["backup", "bak", "new", "old", "temp", "temporary", "tmp", "staging"];
    name.split('_').any(|part| parts.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::{find_loss, holds_statements};

    #[test]
    fn statements_that_throw_data_away_are_found() {
        for (path, text, line) in [
            ("/p/db/migrations/007_cleanup.sql", "-- tidy\nDROP TABLE users;\n", 2),
            (
                "/p/db/migrations/007_cleanup.sql",
                "BEGIN;\ndrop table if exists \"public\".\"orders\" cascade;",
                2,
            ),
            ("/p/scripts/purge.sql", "TRUNCATE invoices, payments;", 1),
            ("/p/scripts/purge.sql", "DELETE FROM customers;", 1),
            ("/p/scripts/purge.sql", "DELETE FROM customers\n;", 1),
            ("/p/scripts/purge.sql", "DROP DATABASE shop;", 1),
            (
                "/p/api/migrations/versions/9c1e.py",
                "def upgrade():\n    for t in (\"a\", \"b\"):\n        op.execute(text(f\"TRUNCATE {t} CASCADE\"))\n",
                3,
            ),
            (
                "/p/alembic/versions/1.py",
                "def downgrade():\n    pass\n\ndef upgrade():\n    op.drop_table('users')\n",
                5,
            ),
            ("/p/db/migrate/2_x.rb", "  def change\n    drop_table :users\n  end\n", 2),
            ("/p/db/migrate/2_x.rb", "  def up\n    User.delete_all\n  end\n", 2),
            ("/p/migrations/3.js", "exports.up = (knex) => knex.schema.dropTable('users')\n", 1),
            (
                "/p/database/migrations/4.php",
                "public function up() {\n  Schema::dropIfExists('users');\n}\n",
                2,
            ),
            (
                "/p/shop/migrations/0005.py",
                "    operations = [\n        migrations.DeleteModel(\n            name='Order',\n",
                2,
            ),
            ("/p/prisma/migrations/1/migration.sql", "DROP TABLE \"User\";\n", 1),
            ("/p/migrations/5.ts", "  await db.collection('orders').deleteMany({})\n", 1),
        ] {
            let found = find_loss(path, "", text).map(|line| line.number);
            assert_eq!(found, Some(line), "{path}: {text}");
            assert_eq!(find_loss(path, text, text), None, "{path}: it was there before");
        }
    }

    #[test]
    fn what_takes_back_or_makes_again_is_none() {
        for (path, text) in [
            ("/p/db/migrations/007.sql", "CREATE TABLE a (id int);\nALTER TABLE b ADD c int;\n"),
            ("/p/db/migrations/007.sql", "-- DROP TABLE users;\n"),
            ("/p/db/migrations/007.down.sql", "DROP TABLE users;\n"),
            (
                "/p/db/migrations/007.sql",
                "-- +goose Up\nCREATE TABLE a (id int);\n-- +goose Down\nDROP TABLE b;\n",
            ),
            ("/p/db/migrations/007.sql", "DROP TABLE IF EXISTS a;\nCREATE TABLE a (id int);\n"),
            (
                "/p/prisma/migrations/1/migration.sql",
                "CREATE TABLE \"new_User\" (id int);\nDROP TABLE \"User\";\nALTER TABLE \"new_User\" RENAME TO \"User\";\n",
            ),
            (
                "/p/alembic/versions/1.py",
                "def upgrade():\n    op.create_table('a')\n\ndef downgrade():\n    op.drop_table('b')\n",
            ),
            (
                "/p/db/migrate/2_x.rb",
                "  def up\n    create_table :a\n  end\n\n  def down\n    drop_table :b\n  end\n",
            ),
            (
                "/p/migrations/3.js",
                "exports.up = (k) => k.schema.createTable('a')\nexports.down = (k) => k.schema.dropTable('b')\n",
            ),
            ("/p/scripts/purge.sql", "DELETE FROM sessions WHERE expires < now();"),
            ("/p/scripts/purge.sql", "DELETE FROM sessions\nWHERE expires < now();"),
            ("/p/scripts/purge.sql", "DROP TABLE tmp_import;"),
            ("/p/db/migrate/2_x.rb", "  def up\n    User.where(old: true).delete_all\n  end\n"),
            ("/p/db/schema.sql", "DROP TABLE users;"),
            ("/p/tests/fixtures/a.sql", "DROP TABLE users;"),
            ("/p/docs/a.md", "DROP TABLE users;"),
            ("/p/src/versions.ts", "drop table users"),
            ("/p/scripts/report.sql", "SELECT date_trunc('day', at) FROM orders;"),
        ] {
            assert_eq!(find_loss(path, "", text), None, "{path}: {text}");
        }
        assert!(!holds_statements("/p/notes.txt"));
    }
}
