//! Tables and dumps of databases on their way: from the client that writes one, through files,
//! pipes, archives and parts of them, to a command that sends it to another machine.

use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::taint::is_marked;
use super::{Setting, Walker, sql};
use crate::catalogue::Plan;
use crate::places::{self, Place};

/// Programs that write the contents of a database.
const DUMPERS: &[&str] = &[
    "mariadb-dump",
    "mongodump",
    "mongoexport",
    "mydumper",
    "mysqldump",
    "pg_basebackup",
    "pg_dump",
    "pg_dumpall",
    "redis-dump",
];
/// The form of such data that is sent.
const SENT: &str = "dump-egress";

impl Walker<'_> {
    /// Returns true if a file contains a table or a dump of a database.
    pub(super) fn is_dumped(&self, path: &str) -> bool {
        is_marked(&self.dumped, path)
    }

    /// Notes that a program writes what is in a database.
    pub(super) fn note_dump(&mut self, name: &str, rest: &[Field], call: &Call) {
        if DUMPERS.contains(&name) {
            let schema = ["--schema-only", "-s", "--no-data", "-d", "--version", "--help"];
            if !rest.iter().any(|field| schema.contains(&field.text.as_str())) {
                self.dumps += 1;
            }
            return;
        }
        if !super::databases::is_client(name) {
            return;
        }
        let input = call.input.text.as_deref().unwrap_or("").to_owned();
        let texts = rest.iter().map(|field| sql::strip_flag(&field.text).to_owned()).chain([input]);
        for text in texts.collect::<Vec<_>>() {
            let low = text.to_ascii_lowercase();
            let rows = low.contains("select ") && low.contains(" from ") && !low.contains("count(");
            let copies = low.contains("copy ") && low.contains(" to ");
            let client = low.lines().map(str::trim).any(|line| {
                [".dump", ".backup", ".save", ".clone"].iter().any(|order| line.starts_with(order))
            });
            if !(rows || copies || client) {
                continue;
            }
            self.dumps += 1;
            for start in [" to ", " outfile ", " dumpfile "] {
                let files =
                    low.match_indices(start).filter_map(|(at, _)| text.get(at + start.len()..));
                for file in files.filter_map(file_of).take(8).collect::<Vec<_>>() {
                    let (path, known) = places::resolve(&file, &self.env.folder);
                    if known {
                        self.dumped.insert(path);
                    }
                }
            }
        }
    }

    /// Notes that a pipeline sends what is in a database to a machine that is neither this one nor
    /// one that the project's remotes name.
    pub(super) fn note_sent_dump(&mut self, dumps: usize, sendings: usize, setting: &Setting) {
        if self.dumps <= dumps || self.sendings.len() <= sendings || setting.place != Place::Here {
            return;
        }
        let sent: Vec<_> = self.sendings.get(sendings..).unwrap_or_default().to_vec();
        for (command, target) in sent {
            let host = places::host(&target).unwrap_or_default();
            let own = super::safeguards::is_own_host(&host)
                // A host of one word is a service beside this machine, as in a compose file.
                || !host.is_empty() && !host.contains(['.', ':'])
                || !host.is_empty() && self.knows_host(&host);
            if !own {
                self.out.form(SENT, command);
            }
        }
    }

    /// Passes what is known of a file on to the parts into which it is split.
    pub(super) fn split_up(&mut self, name: &str, rest: &[Field], plan: &Plan, input: &Feed) {
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let (path, _) = operands
            .first()
            .map(|field| places::resolve(&field.text, &self.env.folder))
            .unwrap_or_default();
        let flag = |text: &str| {
            let at = rest.iter().position(|field| field.text == text)?;
            rest.get(at + 1).map(|field| field.text.clone())
        };
        let start = match name {
            "csplit" => flag("-f").or_else(|| flag("--prefix")).unwrap_or_else(|| "xx".to_owned()),
            _ => operands.get(1).map_or_else(|| "x".to_owned(), |field| field.text.clone()),
        };
        let (start, known) = places::resolve(&start, &self.env.folder);
        let parts = format!("{start}*");
        self.note_generated(&parts);
        let secret = places::is_secret(&path, self.home) || self.is_tainted(&path);
        if known && (secret || input.source.secret) {
            self.tainted.insert(parts.clone());
        }
        if known && (self.is_dumped(&path) || input.source.dumped) {
            self.dumped.insert(parts);
        }
    }
}

/// Returns the file's name at the beginning of the rest of a statement.
fn file_of(rest: &str) -> Option<String> {
    let rest = rest.trim_start();
    let name = match rest.chars().next()? {
        quote @ ('\'' | '"') => rest.get(1..)?.split(quote).next()?,
        _ => rest.split([' ', ';', ')', '\n']).next()?,
    };
    let is_file =
        !name.is_empty() && !matches!(name.to_ascii_lowercase().as_str(), "stdout" | "program");
    is_file.then(|| name.to_owned())
}
