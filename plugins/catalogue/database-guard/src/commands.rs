//! Judges the commands of a shell line.

use crate::clients::{self, Client, Operand, Part};
use crate::connections::{Judge, Reach};
use crate::findings::Finding;
use crate::judgement::{self, Subject};
use crate::keys;
use crate::lexer::Language;
use crate::lines::{Feed, Line, is_known};
use crate::migrations::{self, Task};
use crate::review::{self, Mode};
use crate::settings::Config;
use crate::statements::{Deed, Outcome};
use portcullis_plugin::text::cut;
use portcullis_plugin::types::{Action, Command, Coverage, EffectKind, Entry, Evidence, Shell};

/// The longest command that is quoted as evidence, in bytes.
const QUOTED: usize = 200;
/// How many commands a text may go through before it reaches a client: `cat <<X | tee y | psql`.
const HOPS: u32 = 3;

/// Returns true if some command of a line may reach a database.
pub fn concern(shell: &Shell, action: &Action) -> bool {
    let databases = action.facts.effects.iter().any(|effect| effect.target == "database");
    databases
        || shell.commands.iter().any(|command| {
            clients::client(&command.program).is_some()
                || clients::is_tool(&command.program)
                || migrations::find(command).is_some()
        })
}

/// Judges every command of a line.
pub fn judge(shell: &Shell, action: &Action, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut line = Line::new(shell);
    for (at, command) in (0..).zip(&shell.commands) {
        line.enter(command);
        if let Some(subject) = judge_command(at, command, action, &line, config) {
            findings.extend(judgement::judge(&subject, config));
        }
        line.leave(command);
    }
    findings
}

fn judge_command(
    at: u32,
    command: &Command,
    action: &Action,
    line: &Line<'_>,
    config: &Config,
) -> Option<Subject> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    if let Some(client) = clients::client(&command.program)
        && let Some(words) = own_words(command, &words)
    {
        return Some(Run { at, command, client, action, line, config }.judge(words));
    }
    if clients::is_tool(&command.program) {
        return judge_tool(command, &words, line, config);
    }
    if let Some((task, name)) = migrations::find(command) {
        return Some(judge_task(task, name, command, &words, line, config));
    }
    judge_effects(at, command, &words, action, line, config)
}

/// Returns the words of a client that is a subcommand of its program; none if another subcommand runs.
fn own_words<'w, 'a>(command: &Command, words: &'w [&'a str]) -> Option<&'w [&'a str]> {
    let path: &[&[&str]] = match command.program.as_str() {
        "cockroach" => &[&["sql"]],
        "clickhouse" => &[&["client"], &["local"]],
        "dolt" => &[&["sql"]],
        "snow" => &[&["sql"]],
        "bq" => &[&["query"]],
        "heroku" => &[&["pg:psql"], &["psql"]],
        "wrangler" => &[&["d1", "execute"]],
        "turso" => &[&["db", "shell"]],
        "supabase" => &[&["db", "execute"], &["db", "query"]],
        "fly" | "flyctl" => &[&["postgres", "connect"], &["pg", "connect"], &["mpg", "connect"]],
        "aws" => &[
            &["rds-data", "execute-statement"],
            &["redshift-data", "execute-statement"],
            &["athena", "start-query-execution"],
        ],
        "gcloud" => &[&["spanner", "databases", "execute-sql"]],
        "neonctl" => &[&["sql"]],
        _ => return Some(words),
    };
    path.iter().find_map(|path| words.strip_prefix(*path))
}

/// A client that is run.
struct Run<'r, 'a> {
    at: u32,
    command: &'a Command,
    client: &'static Client,
    action: &'r Action,
    line: &'r Line<'a>,
    config: &'r Config,
}

impl<'a> Run<'_, 'a> {
    fn judge(&self, words: &[&'a str]) -> Subject {
        let parts = clients::parts(self.client, words);
        let mut judge = Judge::new(&self.config.patterns, self.client.local);
        self.line.see_variables(self.command, Some(self.client.language), &mut judge);
        self.line.see_wrappers(self.command, &mut judge);
        let (feeds, transaction) = self.read_parts(&parts, &mut judge);
        let mut worst = Outcome::reads();
        let mut loose = 0;
        let mut unread = None;
        if self.client.operand == Operand::Call {
            (worst, unread) = judge_calls(&parts, &feeds);
        } else {
            for (feed, one_transaction) in feeds {
                let Feed::Text(text) = feed else {
                    unread.get_or_insert_with(|| name_feed(&feed));
                    continue;
                };
                let mode = Mode { language: self.client.language, one_transaction };
                let review = review::review(&text, mode);
                review.databases.iter().for_each(|name| judge.see_database(name));
                if let Some(file) = review.files.first() {
                    unread.get_or_insert_with(|| format!("`{file}`"));
                }
                // Each text of its own transaction is one change.
                loose +=
                    if one_transaction { usize::from(review.worst.rows) } else { review.loose };
                if review.worst.deed > worst.deed {
                    worst = review.worst;
                }
            }
            loose = if transaction { 0 } else { loose };
        }
        if let Some(name) = unread {
            let outcome = self.judge_unread(&name);
            if outcome.deed > worst.deed {
                worst = outcome;
            }
        }
        Subject {
            name: self.command.program.clone(),
            outcome: worst,
            loose,
            reach: judge.reach(),
            evidence: Evidence::command(quote(self.command)),
        }
    }

    /// Takes a client's parts: what it runs, and where. Each text comes with whether the client makes
    /// it one transaction; true is returned if all of them are one.
    fn read_parts(
        &self,
        parts: &[Part<'a>],
        judge: &mut Judge<'_>,
    ) -> (Vec<(Feed<'a>, bool)>, bool) {
        let mut feeds = Vec::new();
        let postgres = self.client.language == Language::Postgres;
        let single = |part: &Part<'_>| matches!(part, Part::Flag("-1" | "--single-transaction"));
        let transaction = parts.iter().any(single);
        for part in parts {
            match *part {
                Part::Statements(text) => feeds.push((Feed::Text(text.into()), postgres)),
                Part::File("-") => {}
                Part::File(file) => feeds.push((self.line.file(file), false)),
                Part::Host(host) => judge.see_host(host),
                Part::Database(name) if self.client.operand != Operand::Call => {
                    judge.see_address(name);
                }
                Part::Database(_) => {}
                Part::Other(value) => judge.see_mention(value),
                Part::Flag("--remote") => judge.see_way("remote"),
                Part::Flag("--local") => judge.see_host("localhost"),
                Part::Flag(_) => {}
                Part::Operand(at, word) => self.read_operand(at, word, &mut feeds, judge),
            }
        }
        if feeds.is_empty() || self.client.operand == Operand::Call {
            feeds.extend(self.line.input(self.command, HOPS).map(|feed| (feed, false)));
        }
        (feeds, transaction)
    }

    fn read_operand(
        &self,
        at: usize,
        word: &'a str,
        feeds: &mut Vec<(Feed<'a>, bool)>,
        judge: &mut Judge<'_>,
    ) {
        match (self.client.operand, at) {
            (Operand::Statements, _) => feeds.push((Feed::Text(word.into()), false)),
            (Operand::File, 0) => judge.see_file(word),
            (Operand::File, _) => feeds.push((Feed::Text(word.into()), false)),
            (Operand::Host, 0) => judge.see_host(word),
            (Operand::Database, _) if self.client.language == Language::Script => {
                if word.ends_with(".js") {
                    feeds.push((self.line.file(word), false));
                } else if word.contains("://") || !word.contains(['/', ':', '.']) {
                    judge.see_address(word);
                } else {
                    // `host:port/database`
                    let (host, database) = word.split_once('/').unwrap_or((word, ""));
                    judge.see_host(host.split(':').next().unwrap_or_default());
                    judge.see_database(database);
                }
            }
            (Operand::Database, 0) => judge.see_address(word),
            // `turso db shell NAME STATEMENT`
            (Operand::Database, 1) if word.contains(' ') => {
                feeds.push((Feed::Text(word.into()), false));
            }
            (Operand::Call, _) => {}
            _ => judge.see_mention(word),
        }
    }

    /// Judges statements whose text this plugin does not get: by the effects, where the host could
    /// read it.
    fn judge_unread(&self, name: &str) -> Outcome {
        let effect = of_effects(self.at, self.action);
        if let Some(deed) = effect {
            let words = format!("runs {name}, which destroys or empties something");
            return match deed {
                Deed::Changes => Outcome { rows: true, ..Outcome::new(Deed::Changes, "") },
                deed => Outcome::new(deed, words),
            };
        }
        let file = name.trim_matches('`');
        let was_read = self.action.facts.coverage == Coverage::Full
            && self.action.facts.paths.iter().any(|path| {
                path.entry == Entry::File
                    && path.text.ends_with(file.trim_start_matches("./"))
                    && !file.is_empty()
            });
        if was_read {
            return Outcome::reads();
        }
        unread(name)
    }
}

fn unread(name: &str) -> Outcome {
    Outcome::new(Deed::Unread, format!("runs {name}, which cannot be read before it runs"))
}

/// Judges a call of a key-value store, or those on its input, one a line; also returns the name of an
/// input that cannot be read.
fn judge_calls(parts: &[Part<'_>], feeds: &[(Feed<'_>, bool)]) -> (Outcome, Option<String>) {
    let words: Vec<&str> = parts
        .iter()
        .filter_map(|part| if let Part::Operand(_, word) = part { Some(*word) } else { None })
        .collect();
    if !words.is_empty() {
        return (keys::judge(&words), None);
    }
    let (mut worst, mut unread) = (Outcome::reads(), None);
    for (feed, _) in feeds {
        let Feed::Text(text) = feed else {
            unread.get_or_insert_with(|| name_feed(feed));
            continue;
        };
        for line in text.lines() {
            let outcome = keys::judge(&line.split_ascii_whitespace().collect::<Vec<_>>());
            if outcome.deed > worst.deed {
                worst = outcome;
            }
        }
    }
    (worst, unread)
}

fn name_feed(feed: &Feed<'_>) -> String {
    match feed {
        Feed::File(file) if is_known(file) => format!("`{}`", cut(file, 80)),
        Feed::Program(program) if !program.is_empty() => {
            format!("the output of `{}`", cut(program, 40))
        }
        Feed::File(_) | Feed::Program(_) | Feed::Text(_) => {
            "a text that is known only when it runs".to_owned()
        }
    }
}

/// Returns what the effects of a command on a database amount to.
fn of_effects(at: u32, action: &Action) -> Option<Deed> {
    let effects = &action.facts.effects;
    let own = effects.iter().filter(|one| one.command == Some(at) && one.target == "database");
    own.filter_map(|effect| match effect.kind {
        EffectKind::RemoteDelete => Some(Deed::Drops),
        EffectKind::RemoteChange => Some(Deed::Changes),
        _ => None,
    })
    .max()
}

/// Judges `dropdb`, `mysqladmin drop`, `pg_restore --clean` and the like.
fn judge_tool(
    command: &Command,
    words: &[&str],
    line: &Line<'_>,
    config: &Config,
) -> Option<Subject> {
    let program = command.program.as_str();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let outcome = match program {
        "dropdb" => Outcome::new(Deed::Drops, "drops a database"),
        "dropuser" => Outcome::new(Deed::Drops, "drops a user"),
        "pg_resetwal" => Outcome::new(Deed::ReachesMachine, "resets the server's log of changes"),
        "mysqladmin" | "mariadb-admin" if has(&["drop"]) => {
            Outcome::new(Deed::Drops, "drops a database")
        }
        "pg_restore" if has(&["-l", "--list"]) => return None,
        "pg_restore" if has(&["-c", "--clean"]) => {
            Outcome::new(Deed::Drops, "drops what it is about to restore")
        }
        "mongorestore" if has(&["--drop"]) => {
            Outcome::new(Deed::Drops, "drops what it is about to restore")
        }
        "mysqladmin" | "mariadb-admin" if !has(&["create"]) => return None,
        _ => Outcome::new(Deed::Changes, ""),
    };
    let postgres = matches!(program, "dropdb" | "dropuser" | "createdb" | "pg_restore");
    let language = if postgres { Language::Postgres } else { Language::Mysql };
    let mut judge = Judge::new(&config.patterns, true);
    line.see_variables(command, Some(language), &mut judge);
    line.see_wrappers(command, &mut judge);
    see_options(words, &mut judge);
    if matches!(program, "dropdb" | "createdb" | "mysqladmin" | "mariadb-admin") {
        // What is dropped is the database itself.
        command.operands().for_each(|word| judge.see_database(&word.text));
    }
    Some(subject(command, outcome, judge.reach(), program.to_owned()))
}

/// Sees options that say where, whatever the program.
fn see_options(words: &[&str], judge: &mut Judge<'_>) {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        let mut value = || value.or_else(|| words.next()).unwrap_or_default();
        match name {
            "-h" | "--host" | "--hostname" | "-S" | "--server" => judge.see_host(value()),
            "-d" | "--dbname" | "--database" | "--db" | "--uri" | "--url" | "-u" | "-url"
            | "--connection" | "-database" | "--db-url" | "--schema" => judge.see_address(value()),
            "-e" | "--env" | "--environment" | "--settings" | "-n" | "--name" | "--config" => {
                judge.see_database(value());
            }
            _ if word.starts_with('-') => {}
            // `RAILS_ENV=production` as an argument of rake.
            _ if word.contains('=') => judge.see_database(value()),
            _ => judge.see_mention(word),
        }
    }
}

fn judge_task(
    task: Task,
    name: String,
    command: &Command,
    words: &[&str],
    line: &Line<'_>,
    config: &Config,
) -> Subject {
    let outcome = match task {
        Task::Destroys => Outcome::new(Deed::Drops, "throws away what the database holds"),
        Task::Changes => Outcome::new(Deed::Changes, ""),
        Task::Shell => match line.input(command, HOPS) {
            Some(Feed::Text(text)) => {
                let mode = Mode { language: Language::Postgres, one_transaction: false };
                review::review(&text, mode).worst
            }
            Some(feed) => unread(&name_feed(&feed)),
            None if words.contains(&"--stdin") || words.contains(&"--file") => {
                unread("statements from elsewhere")
            }
            None => Outcome::reads(),
        },
        Task::Code => Outcome::new(Deed::Unread, "runs code that is not read for what it changes"),
    };
    let mut judge = Judge::new(&config.patterns, false);
    line.see_variables(command, None, &mut judge);
    line.see_wrappers(command, &mut judge);
    see_options(words, &mut judge);
    subject(command, outcome, judge.reach(), name)
}

/// Judges any other command that the host saw reach a database: code of an interpreter, for example.
fn judge_effects(
    at: u32,
    command: &Command,
    words: &[&str],
    action: &Action,
    line: &Line<'_>,
    config: &Config,
) -> Option<Subject> {
    let mut outcome = match of_effects(at, action)? {
        Deed::Changes => Outcome::new(Deed::Changes, ""),
        deed => Outcome::new(deed, "destroys or empties something"),
    };
    // A statement for which no client was named.
    let text = format!("{} {}", command.program, words.join(" "));
    let mode = Mode { language: Language::Standard, one_transaction: false };
    let stated = review::review(&text, mode).worst;
    if stated.deed >= outcome.deed {
        outcome = stated;
    }
    let mut judge = Judge::new(&config.patterns, false);
    line.see_variables(command, None, &mut judge);
    line.see_wrappers(command, &mut judge);
    // Code names its database somewhere in its text.
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    for name in words.iter().flat_map(|word| word.split(|c| !is_name(c))) {
        judge.see_mention(name);
    }
    Some(subject(command, outcome, judge.reach(), command.program.clone()))
}

fn subject(command: &Command, outcome: Outcome, reach: Reach, name: String) -> Subject {
    Subject { name, outcome, loose: 0, reach, evidence: Evidence::command(quote(command)) }
}

fn quote(command: &Command) -> String {
    let mut text = command.program.clone();
    for word in &command.words {
        if text.len() > QUOTED {
            break;
        }
        text.push(' ');
        text.push_str(&word.text);
    }
    cut(&text, QUOTED)
}
