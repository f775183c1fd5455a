//! The values in parsed code: the arguments of calls, their texts, and their origins.

use super::super::expand::Field;
use super::super::feed::Source;
use super::calls::{Act, find};
use super::unknown_text;
use portcullis_inline_code::{Call, Code, Kind, Value};

/// Calls that decode a text.
const DECODERS: &[&str] = &[
    "base64.",
    "binascii.",
    "atob",
    "fromhex",
    "codecs.decode",
    "zlib.",
    "marshal.",
    "Buffer.from",
    "chr",
    "fromCharCode",
    "fromCodePoint",
    "unescape",
    "decodeURIComponent",
    "lzma.",
    "gzip.",
    "bz2.",
];

/// The names of a call's first and second argument, as keywords.
const FIRST: &[&str] = &[
    "path", "file", "filename", "name", "src", "source", "args", "cmd", "command", "url", "fp",
    "pathname", "address", "sql", "target", "host", "pid", "program", "argv", "dirname",
];
const SECOND: &[&str] = &["dst", "destination", "mode", "flags", "url", "data", "extract_dir"];

/// Code, and its place on the command line.
pub(super) struct Place<'c> {
    pub code: &'c Code,
    pub field: &'c Field,
    pub python: bool,
    pub command: Option<u32>,
}

impl Place<'_> {
    /// Returns the calls whose results are in a value.
    pub(super) fn origins<'v>(&'v self, value: &'v Value) -> impl Iterator<Item = &'v Call> {
        value.origins.iter().filter_map(|at| self.code.calls.get(usize::try_from(*at).ok()?))
    }
}

/// Returns an argument, by position or by name.
pub(super) fn argument(call: &Call, at: usize) -> Option<&Value> {
    call.arguments.get(at).or_else(|| {
        let names = if at == 0 { FIRST } else { SECOND };
        let named = |name: &&str| call.keywords.iter().find(|(known, _)| known == *name);
        names.iter().find_map(named).filter(|_| at < 2).map(|(_, value)| value)
    })
}

/// Returns a keyword, or a member of the options among the arguments.
pub(super) fn option<'c>(call: &'c Call, name: &str) -> Option<&'c Value> {
    let member = |value: &'c Value| match &value.kind {
        Kind::Map(items) => items.iter().rev().find(|(key, _)| key == name).map(|(_, v)| v),
        _ => None,
    };
    call.keywords
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
        .or_else(|| call.arguments.iter().find_map(member))
}

/// Returns the texts that a value may be; one that is not known is one unknown text.
pub(super) fn texts_of(value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else { return vec![unknown_text()] };
    value
        .alternatives()
        .iter()
        .flat_map(|value| match &value.kind {
            Kind::Made(class, parts) if matches!(&**class, "pathlib.Path" | "os.DirEntry") => {
                texts_of(parts.first())
            }
            Kind::Made(class, parts)
                if matches!(
                    &**class,
                    "sqlalchemy.text" | "sqlalchemy.sql.text" | "psycopg2.sql.SQL"
                ) =>
            {
                texts_of(parts.first())
            }
            Kind::Made(class, _) if &**class == "environment" => vec![unknown_text()],
            Kind::Member(of, name)
                if matches!(&**name, "path" | "href" | "name")
                    && !matches!(of.kind, Kind::Name(_)) =>
            {
                texts_of(Some(of))
            }
            Kind::List(items) => items.iter().flat_map(|item| texts_of(Some(item))).collect(),
            _ => vec![value.as_text().map_or_else(unknown_text, |text| text.to_string())],
        })
        .take(64)
        .collect()
}

/// Returns the origin of a text: decoded or downloaded, if a call of that kind made it.
pub(super) fn source_of(text: &Value, place: &Place<'_>) -> Source {
    let mut source = Source::LOCAL;
    for call in place.origins(text) {
        if fetches(call, place.python) {
            source = source.max(Source::DOWNLOADED);
        } else if DECODERS.iter().any(|name| call.name.contains(name)) {
            source = source.max(Source::DECODED);
        }
    }
    source
}

/// Returns true if a call gets data from another machine.
pub(super) fn fetches(call: &Call, python: bool) -> bool {
    matches!(
        find(&call.name, python),
        Some(Act::Request(_) | Act::MethodRequest | Act::Get(_) | Act::Post(_) | Act::OwnRequest)
    ) || call.name.ends_with(".recv")
}

/// Returns the first part of the object that a chain of calls began with.
pub(super) fn first_part(value: &Value) -> Option<Value> {
    match &value.kind {
        Kind::Made(_, parts) => {
            let first = parts.first()?;
            match &first.kind {
                Kind::Made(..) | Kind::Member(..) => first_part(first).or(Some(first.clone())),
                _ => Some(first.clone()),
            }
        }
        Kind::Member(of, _) => first_part(of),
        _ => None,
    }
}

/// Returns the file of a database that a value belongs to.
pub(super) fn database(value: &Value) -> Option<Value> {
    match &value.kind {
        Kind::Made(class, parts) => {
            let own =
                ["sqlite3.connect", "better-sqlite3", "sqlite3.Database", "sqlite.DatabaseSync"]
                    .contains(&&**class);
            let first = parts.first()?;
            if own { Some(first.clone()) } else { database(first) }
        }
        Kind::Member(of, _) => database(of),
        _ => None,
    }
}
