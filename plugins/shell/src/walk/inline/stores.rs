//! Databases that parsed code empties, and processes that it stops: where they are decides.

use super::super::{Setting, Walker};
use super::values::{Place, option, texts_of};
use crate::places;
use crate::types::EffectKind;
use portcullis_inline_code::{Call, HOLE, Kind, Value};

/// Ends of the names of calls that connect to a database.
const CONNECTS: &[&str] = &[
    "create_engine",
    "create_async_engine",
    "MongoClient",
    "AsyncIOMotorClient",
    "Redis",
    "StrictRedis",
    "from_url",
    "Elasticsearch",
    "OpenSearch",
    "psycopg.connect",
    "psycopg2.connect",
    "pymysql.connect",
    "mysql.connector.connect",
    "asyncpg.connect",
    "MySQLdb.connect",
    "mongoose.connect",
    "createClient",
    "ioredis",
    "pg.Client",
    "pg.Pool",
    "mysql.createConnection",
    "mysql2.createConnection",
];

/// Calls that list the processes of the machine.
const PROCESSES: &[&str] = &["psutil.process_iter", "psutil.pids"];
/// Signs that code chooses among processes by what they are.
const CHOICES: &[&str] =
    &["name(", ".name", "'name'", "\"name\"", "cmdline", "exe(", "username", "comm"];

impl Walker<'_> {
    /// Notes that code destroys what a database holds, unless it is one of this machine.
    pub(super) fn empties_store(&mut self, form: &str, place: &Place<'_>, setting: &Setting) {
        if self.is_local_store(place) {
            return;
        }
        self.out.form(form, place.command);
        self.plain(EffectKind::RemoteDelete, "database", true, place.command, setting);
    }

    /// Returns true if all databases that code connects to are on this machine, or files.
    pub(super) fn is_local_store(&self, place: &Place<'_>) -> bool {
        let mut connections = place.code.calls.iter().filter(|call| {
            CONNECTS.iter().any(|end| {
                call.name
                    .strip_suffix(end)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        });
        let mut any = false;
        let all = connections.all(|call| {
            any = true;
            is_local(call)
        });
        any && all
    }

    /// Notes a signal to a process: to every one, if the code lists them all.
    pub(super) fn stops(&mut self, process: Option<&Value>, place: &Place<'_>, setting: &Setting) {
        let fixed =
            texts_of(process).iter().any(|text| text == "-1" || text == "1") && process.is_some();
        let listed = process.is_some_and(|process| lists_processes(process, place));
        if fixed || listed && !chooses(place) {
            self.out.form("kill-everything", place.command);
        }
        self.plain(EffectKind::ProcessStop, "", false, place.command, setting);
    }

    /// Notes a signal to the process that an object is: one that the code started itself is its own
    /// affair.
    pub(super) fn stops_own(&mut self, call: &Call, place: &Place<'_>, setting: &Setting) {
        let Some(own) = &call.receiver else { return };
        let listed = lists_processes(own, place);
        if listed && !chooses(place) {
            self.out.form("kill-everything", place.command);
        }
        if listed || place.origins(own).any(|call| call.name.starts_with("psutil.Process")) {
            self.plain(EffectKind::ProcessStop, "", false, place.command, setting);
        }
    }
}

fn chooses(place: &Place<'_>) -> bool {
    CHOICES.iter().any(|mark| place.field.text.contains(mark))
}

/// Returns true if a value is one of all processes.
fn lists_processes(value: &Value, place: &Place<'_>) -> bool {
    let lists = |call: &Call| {
        PROCESSES.contains(&call.name.as_str())
            || call.arguments.iter().chain(&call.receiver).any(|value| {
                texts_of(Some(value)).iter().any(|text| {
                    text.trim_end_matches('/') == "/proc"
                        || text.starts_with("/proc/*")
                        || text.starts_with("/proc/[")
                })
            })
    };
    made_by(value, &|name| PROCESSES.contains(&name)) || place.origins(value).any(lists)
}

fn made_by(value: &Value, fits: &dyn Fn(&str) -> bool) -> bool {
    match &value.kind {
        Kind::Made(class, parts) => fits(class) || parts.iter().any(|part| made_by(part, fits)),
        Kind::Member(of, _) => made_by(of, fits),
        Kind::Any(all) => all.iter().any(|value| made_by(value, fits)),
        _ => false,
    }
}

/// Returns true if a connection is to this machine: so it is without an address.
fn is_local(call: &Call) -> bool {
    let named = ["host", "hosts", "url", "uri", "dsn", "connectionString", "socket", "port"]
        .iter()
        .filter(|name| **name != "port")
        .find_map(|name| option(call, name));
    let first = call.arguments.first().filter(|value| !matches!(value.kind, Kind::Map(_)));
    let Some(address) = named.or(first) else {
        // These reach this machine unless they are told otherwise.
        return ["Redis", "MongoClient", "ioredis", "createClient"]
            .iter()
            .any(|end| call.name.ends_with(end));
    };
    texts_of(Some(address)).iter().all(|text| is_local_address(text))
}

fn is_local_address(text: &str) -> bool {
    if text.starts_with("sqlite") || text == ":memory:" {
        return true;
    }
    // A password that is not known hides no host behind it.
    if text.contains(HOLE) && !text.contains("@localhost") && !text.contains("@127.0.0.1") {
        return false;
    }
    // `postgresql://user:word@host/name`, `host=localhost dbname=x`.
    let words = text.split_whitespace().find_map(|word| word.strip_prefix("host="));
    let host = words.unwrap_or_else(|| {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let rest = rest.split(['/', '?']).next().unwrap_or(rest);
        rest.rsplit('@').next().unwrap_or(rest)
    });
    let host = if host.starts_with('[') {
        host.trim_start_matches('[').split(']').next().unwrap_or(host)
    } else {
        host.split(':').next().unwrap_or(host)
    };
    places::is_loopback(host) || host.is_empty() && text.contains("://")
}
