//! Clients of databases: the statements that they get as words, on their input or in a heredoc; and
//! a line that is a statement itself.

use super::expand::Field;
use super::feed::Feed;
use super::scripts::Found;
use super::simple::Call;
use super::sql::{self, Change};
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::syntax::Span;
use crate::types::{Direction, EffectKind};
use std::rc::Rc;

#[rustfmt::skip]
const CLIENTS: &[&str] = &[
    "beeline", "bq", "clickhouse", "clickhouse-client", "cockroach", "cqlsh", "cypher-shell", "dolt", "duckdb", "hive", "impala-shell",
    "influx", "iredis", "isql", "litecli", "mongo", "mongosh", "mycli", "mysql", "osql", "pgcli", "presto", "psql", "redis-cli",
    "snowsql", "spark-sql", "sqlcmd", "sqlite3", "sqlplus", "trino", "usql", "valkey-cli",
];

/// Clients of key-value stores, whose words are one call together.
const KEY_VALUE: &[&str] = &["redis-cli", "iredis", "valkey-cli"];

/// Clients of databases that are a file: the first operand.
const FILES: &[&str] = &["sqlite3", "duckdb", "litecli"];

/// Returns true if the program hands statements to a database.
pub(super) fn is_client(program: &str) -> bool {
    CLIENTS.contains(&program)
}

/// Flags of clients whose value is a file of statements.
const READS: &[&str] =
    &["-f", "--file", "-i", "--queries-file", "--init-file", "-init", "--input-file"];
/// The ends of the names of such files.
const ENDS: &[&str] = &[".cql", ".ddl", ".js", ".mongodb", ".pgsql", ".psql", ".sql"];
/// The maximum number of such files of one call.
const TEXTS: usize = 8;

/// Returns the files that a client's own commands read: `\i FILE`, `source FILE`, `.read FILE`.
fn included(text: &str) -> impl Iterator<Item = &str> {
    const STARTS: &[&str] = &[
        "\\i ",
        "\\ir ",
        "\\include ",
        "\\. ",
        "source ",
        "SOURCE ",
        ".read ",
        "@",
        ":r ",
        ":source ",
    ];
    sql::strip_flag(text).lines().filter_map(|line| {
        let line = line.trim();
        let file = STARTS.iter().find_map(|start| line.strip_prefix(start))?;
        let file = file.trim().trim_end_matches(';').trim_matches(['\'', '"']);
        (!file.is_empty() && !file.contains(' ')).then_some(file)
    })
}

impl Walker<'_> {
    pub(super) fn database(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) {
        let mut texts: Vec<Field> =
            rest.iter().filter(|field| field.text.len() > 3).cloned().collect();
        let input =
            call.input.text.as_deref().map(str::to_owned).or_else(|| call.input.items.clone());
        let span = rest.first().map_or(Span::default(), |field| field.span);
        let far = super::rehearsals::is_elsewhere(rest);
        let files = self.statement_files(rest, call, far, setting);
        texts.extend(files.iter().map(|text| Field::plain(text, span)));
        texts.extend(
            input.map(|text| Field { source: call.input.source, ..Field::plain(&text, span) }),
        );
        let change = if KEY_VALUE.contains(&name) {
            let words = plan
                .operands
                .iter()
                .filter_map(|at| rest.get(*at))
                .map(|field| field.text.as_str())
                .collect::<Vec<_>>()
                .join(" ");
            texts
                .iter()
                .flat_map(|field| field.text.lines())
                .chain([words.as_str()])
                .map(sql::key_value)
                .max()
        } else {
            texts.iter().map(|field| sql::change(sql::strip_flag(&field.text))).max()
        };
        let change = change.map(|change| {
            let grave = matches!(change, Change::Table | Change::Drop)
                && !KEY_VALUE.contains(&name)
                && !FILES.contains(&name);
            // A database that is named for tests or development may be dropped; it is still
            // changed.
            if grave && self.rehearsed(&texts, rest, plan, call, setting) {
                Change::Rows
            } else {
                change
            }
        });
        let change = change.filter(|_| !plan.local);
        if self.loads_dump(name, rest, call) && !plan.local {
            self.out.form("load-dump", command);
            self.plain(EffectKind::RemoteChange, "database", true, command, setting);
        }
        if !plan.local
            && matches!(change, Some(Change::Rows))
            && !KEY_VALUE.contains(&name)
            && super::rehearsals::is_far_off(rest)
        {
            self.out.form("remote-rows", command);
        }
        let file =
            plan.operands.first().and_then(|at| rest.get(*at)).filter(|_| FILES.contains(&name));
        let change = change.unwrap_or(Change::None);
        let own = file.is_none() && self.is_own_database(name, &texts, rest, plan, call, setting);
        if !own || !self.lose_own_data(change, command, setting) {
            self.changed(change, file, command, setting);
        }
        for field in &texts {
            self.client_commands(field, setting);
        }
    }

    /// Returns the texts of the files whose statements a client runs: those that its words and its
    /// own commands name, and its input.
    fn statement_files(
        &mut self,
        rest: &[Field],
        call: &Call,
        far: bool,
        setting: &Setting,
    ) -> Vec<Rc<str>> {
        let mut feeds: Vec<Feed> = Vec::new();
        if call.input.text.is_none() {
            feeds.push(call.input.clone());
        }
        for (at, field) in rest.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| rest.get(at));
            let named = before.is_some_and(|flag| READS.contains(&flag.text.as_str()));
            let value = READS.iter().find_map(|flag| field.text.strip_prefix(flag));
            let value = value.map(|value| value.trim_start_matches('='));
            let word = value.filter(|value| !value.is_empty()).unwrap_or(&field.text);
            let word = word.strip_prefix('@').unwrap_or(word);
            let is_file = ENDS.iter().any(|end| word.ends_with(end)) && !word.contains(' ');
            if (named || is_file) && field.feed.is_none() {
                if named && far {
                    self.mind_missing(word, setting);
                }
                feeds.push(self.file_content(word));
            }
            feeds.extend(field.feed.clone());
            feeds.extend(included(&field.text).map(|file| self.file_content(file)));
        }
        let mut texts = Vec::new();
        for feed in feeds.iter().take(TEXTS) {
            let Some(text) = self.texts_in(feed, far) else { continue };
            let inner: Vec<Feed> =
                included(&text).take(TEXTS).map(|file| self.file_content(file)).collect();
            texts.push(text);
            texts.extend(inner.iter().filter_map(|feed| self.texts_in(feed, far)));
        }
        texts
    }

    fn texts_in(&mut self, feed: &Feed, far: bool) -> Option<Rc<str>> {
        if feed.text.is_some() {
            return feed.text.clone();
        }
        match self.found_in(feed.pieces.as_deref()?)? {
            Found::Text(text) => Some(text),
            Found::Part(text) => {
                if far {
                    self.out.gap("statements that are longer than is read");
                }
                Some(text)
            }
            Found::Binary | Found::Missing | Found::Unreadable(_) => None,
        }
    }

    pub(super) fn changed(
        &mut self,
        change: Change,
        file: Option<&Field>,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if let Some(form) = change.form() {
            self.out.form(form, command);
        }
        match (change, file) {
            (Change::None, _) => {}
            // SQLite's name for a database that ends with its client.
            (_, Some(file)) if file.text == ":memory:" => {}
            (_, Some(file)) => self.file(EffectKind::FileModify, file, false, command, setting),
            (Change::Rows | Change::Machine, None) => {
                self.plain(EffectKind::RemoteChange, "database", true, command, setting)
            }
            (_, None) => self.plain(EffectKind::RemoteDelete, "database", true, command, setting),
        }
    }

    /// Returns true if a dump of unknown content goes into a database of another machine.
    fn loads_dump(&self, name: &str, rest: &[Field], call: &Call) -> bool {
        const UNPACKS: &[&str] = &[
            "7z",
            "7za",
            "bunzip2",
            "bzcat",
            "gpg",
            "gunzip",
            "gzip",
            "lz4",
            "mariadb-dump",
            "mysqldump",
            "openssl",
            "pg_dump",
            "pg_dumpall",
            "pg_restore",
            "pigz",
            "unxz",
            "unzip",
            "xz",
            "xzcat",
            "zcat",
            "zstd",
            "zstdcat",
        ];
        if FILES.contains(&name) || KEY_VALUE.contains(&name) || call.input.text.is_some() {
            return false;
        }
        let unpacked =
            self.program_of(call.input.from).is_some_and(|program| UNPACKS.contains(&program));
        let named = |text: &str| {
            let low = text.to_ascii_lowercase();
            ["dump", "backup", ".bak", "snapshot"].iter().any(|word| low.contains(word))
        };
        let redirected = call.redirections.iter().any(|redirection| {
            redirection.direction == Direction::Input && named(&redirection.target.text)
        });
        (unpacked || redirected) && super::rehearsals::is_elsewhere(rest)
    }

    /// Follows the client commands that run in a shell or affect files, line by line: `\! COMMAND`,
    /// `.shell COMMAND`.
    fn client_commands(&mut self, field: &Field, setting: &Setting) {
        for line in sql::strip_flag(&field.text).lines().take(16 * 1024) {
            let line = line.trim();
            let shell = ["\\! ", "\\!", ".shell ", ".system ", "system "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            if let Some(text) = shell {
                self.nested(&Field { text: text.to_owned(), ..field.clone() }, "client", setting);
            }
            let written = [".output ", ".once ", ".backup ", ".save ", "\\o "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            if let Some(file) = written {
                self.file(
                    EffectKind::FileModify,
                    &Field { text: file.trim().to_owned(), ..field.clone() },
                    false,
                    None,
                    setting,
                );
            }
        }
    }

    /// Reads a line that is a statement itself, as if a client had received it.
    pub(super) fn statement(&mut self, text: &str, setting: &Setting) {
        let span = setting
            .fixed
            .unwrap_or(Span { start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) });
        let mut fields =
            text.split_ascii_whitespace().take(128).map(|word| Field::plain(word, span));
        let Some(first) = fields.next() else { return };
        let rest: Vec<Field> = fields.collect();
        let call = Call { end: span.end, ..Call::default() };
        let command = self.record(&first.text.clone(), &first, &rest, None, None, &call, setting);
        self.stated(text, command, setting);
    }

    /// Notes the effects of a statement for which no client was named.
    pub(super) fn stated(&mut self, text: &str, command: Option<u32>, setting: &Setting) {
        self.plain(EffectKind::Network, "database", true, command, setting);
        self.changed(sql::change(text), None, command, setting);
    }
}
