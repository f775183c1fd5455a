//! Code by its signs, where no parser reads it: the literal calls in it that delete, write, start
//! programs or reach the network. A call's arguments are known only if they are literals, and
//! comments and texts do not count.

mod environment;
mod imports;
mod literals;
mod tables;

use super::super::expand::Field;
use super::super::feed::{self, Feed, Source};
use super::super::routines::quoted;
use super::super::{Setting, Walker, sql};
use super::{BUILT, at_home};
use crate::places;
use crate::types::EffectKind;
pub(super) use literals::mask;
use literals::{clip, is_word_before, object_before, texts, variables};
use std::collections::BTreeMap;
use tables::{Does, NODE, PYTHON, SCRIPT};

/// Longest list of arguments that is looked at, in bytes.
const ARGUMENTS: usize = 16 * 1024;
/// Most calls that are looked at.
const CALLS: usize = 256;

/// Signs that a text is computed from an encoded one, and that it is fetched.
const ENCODED: &[&str] = &[
    "b64decode",
    "fromhex",
    "atob(",
    "base64",
    "unhexlify",
    "codecs.decode",
    "zlib",
    "chr(",
    "decode64",
    "fromCharCode",
];
const FETCHED: &[&str] = &[
    "urlopen",
    "requests.",
    "fetch(",
    "http.get",
    "https.get",
    "Net::HTTP",
    "file_get_contents",
    "URI.open",
];

/// Languages of which only common calls are known.
const UNREAD: &[&str] = &[
    "crystal",
    "gap",
    "gnuplot",
    "haskell",
    "lisp",
    "maxima",
    "nim",
    "ocaml",
    "octave",
    "raku",
    "scheme",
    "smalltalk",
    "swift",
];

/// One call in the code.
struct Found<'c> {
    does: Does,
    /// The text between its brackets, and after.
    arguments: &'c str,
    /// The position of its name.
    at: usize,
    /// The text between its brackets is literal: `%x(...)`, `qx{...}`.
    bare: bool,
    /// Its arguments are longer than the part that is looked at.
    cut: bool,
}

/// The current code.
struct Code<'c> {
    field: &'c Field,
    language: &'c str,
    variables: BTreeMap<String, String>,
}

impl Walker<'_> {
    /// Reads code of a language that has no parser.
    pub(super) fn other_code(
        &mut self,
        language: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> Feed {
        let Some(dialect) = super::foreign::dialect(language) else {
            return self.signs_of(language, field, command, setting);
        };
        if let Some(gap) = imports::resolve(&field.text, language).gap {
            self.out.gap(gap);
            self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
        self.whole_environment(&field.text, language, command, setting);
        if language == "osascript" {
            self.asks_the_desktop(field, command, setting);
        }
        self.foreign(dialect, field, command, setting)
    }

    /// Notes what AppleScript asks of other applications and of the person.
    fn asks_the_desktop(&mut self, field: &Field, command: Option<u32>, setting: &Setting) {
        let masked = mask(&field.text, "osascript").to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| masked.contains(word));
        if has(&["hidden answer"]) {
            self.plain(EffectKind::SecretRead, "password", true, command, setting);
        }
        if has(&["the clipboard", "clipboard info"]) && !has(&["set the clipboard"]) {
            self.plain(EffectKind::SecretRead, "clipboard", true, command, setting);
        }
        if has(&["administrator privileges"]) {
            self.plain(EffectKind::Privilege, "administrator", true, command, setting);
        }
        let tells = has(&["tell app", "tell application", "keystroke", "key code", "run script"]);
        let changes = has(&[
            "delete",
            "empty",
            "keystroke",
            "key code",
            "make new",
            "do script",
            "run script",
            "login item",
            "set ",
            "move ",
            "duplicate",
            "shut down",
            "restart",
            "send",
        ]);
        if tells && changes || has(&["run script", "load script"]) {
            self.plain(EffectKind::ProcessStart, "osascript", false, command, setting);
        }
    }

    /// Notes the effects of a program's text, as far as its literal calls reveal them; returns its
    /// output.
    pub(super) fn signs_of(
        &mut self,
        language: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> Feed {
        let table = match language {
            "python" => PYTHON,
            "node" => NODE,
            _ => SCRIPT,
        };
        match language {
            "tcl" => return self.tcl(field, command, setting),
            "dc" | "m4" => return self.escapes(language, field, setting),
            _ => {}
        }
        if UNREAD.contains(&language) && super::plain::is_plain(language, &field.text) {
            return Feed::default();
        }
        if UNREAD.contains(&language) {
            self.out.gap("code in a language that is not read");
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        let resolved = imports::resolve(&field.text, language);
        if let Some(gap) = resolved.gap {
            self.out.gap(gap);
            self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
        let field = &Field { text: resolved.text, ..field.clone() };
        let masked = mask(&field.text, language);
        let connects = ["socket", "TCPSocket", "net.connect", "fsockopen", "net.Socket"]
            .iter()
            .any(|call| masked.contains(call));
        if connects
            && ["/bin/sh", "/bin/bash", "cmd.exe", "pty.spawn", "dup2"]
                .iter()
                .any(|mark| field.text.contains(mark))
        {
            self.out.form("remote-shell", command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        self.whole_environment(&field.text, language, command, setting);
        let code = Code { field, language, variables: variables(&field.text, &masked) };
        let calls = calls(table, &masked, &field.text);
        if calls.iter().any(|call| call.cut) {
            self.out.limit("a call in code with longer arguments than are looked at");
        }
        if calls.len() >= CALLS {
            self.out.limit("more calls than are looked at");
        }
        self.depth += 1;
        let mut printed = Some(String::new());
        for call in &calls {
            if call.does == Does::Print {
                let said = texts(call.arguments, &code.variables);
                printed = printed.zip(said.first()).map(|(all, text)| all + text + "\n");
            } else {
                self.inline_call(call, &code, command, setting);
            }
        }
        self.quoted_commands(&code, &masked, setting);
        self.depth -= 1;
        match printed.filter(|text| !text.is_empty()) {
            Some(text) => Feed::of_text(&text),
            None => Feed::default(),
        }
    }

    fn inline_call(
        &mut self,
        call: &Found<'_>,
        code: &Code<'_>,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let texts = texts(call.arguments, &code.variables);
        let first = texts.first().map(String::as_str);
        let word = |text: Option<&str>| {
            Field::plain(&self::at_home(text.unwrap_or("\u{fffd}"), self.home), code.field.span)
        };
        let own = || object_before(&code.field.text, call.at, &code.variables);
        let (one, two) = (word(first), word(texts.get(1).map(String::as_str)));
        match call.does {
            Does::Delete => self.file(EffectKind::FileDelete, &one, false, command, setting),
            Does::DeleteOwn => {
                let target = word(own().as_deref().or(first));
                self.file(EffectKind::FileDelete, &target, false, command, setting);
            }
            Does::DeleteTree => {
                self.out.form("recursive-delete", command);
                self.file(EffectKind::FileDelete, &one, true, command, setting);
            }
            Does::Write => self.writes_in_code(&one, command, setting),
            Does::WriteOwn => self.writes_in_code(&word(own().as_deref()), command, setting),
            Does::Make => self.file(EffectKind::FileCreate, &one, false, command, setting),
            Does::Move | Does::Copy | Does::Link => {
                match call.does {
                    Does::Move => self.file(EffectKind::FileModify, &one, true, command, setting),
                    Does::Copy => self.file(EffectKind::FileRead, &one, false, command, setting),
                    _ => {}
                }
                self.writes_in_code(&two, command, setting);
                if call.does == Does::Link {
                    self.note_link(&two, &one, true, command, setting);
                }
            }
            Does::Read => self.file(EffectKind::FileRead, &one, false, command, setting),
            Does::ReadOwn => {
                self.file(EffectKind::FileRead, &word(own().as_deref()), false, command, setting)
            }
            Does::Open => self.opens(call, &texts, &one, command, setting),
            Does::Network => self.contacts(call, &one, command, setting),
            Does::Send | Does::RemoteDelete => {
                self.network(&one, command, setting);
                let kind = if call.does == Does::Send {
                    EffectKind::Send
                } else {
                    EffectKind::RemoteDelete
                };
                self.at_host(kind, &one, command, setting);
            }
            Does::Statement => self.in_code(first.unwrap_or(""), code, command, setting),
            Does::Stop => self.plain(EffectKind::ProcessStop, "", false, command, setting),
            Does::Dynamic => self.dynamic(call, first, code, command, setting),
            Does::Shell if call.bare => self.bare_text(call.arguments, code.field, setting),
            Does::Shell => self.started(call.arguments, &texts, code.field, command, setting),
            Does::Print => {}
        }
    }

    /// Handles `open` and the like: the mode decides.
    fn opens(
        &mut self,
        call: &Found<'_>,
        texts: &[String],
        file: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if file.text.contains("://") {
            return self.network(file, command, setting);
        }
        let own = call.arguments.split(')').next().unwrap_or("");
        let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]
            .iter()
            .any(|flag| own.contains(flag));
        let writes = flags
            // A mode is short (`rb+`); a longer text is another argument.
            || texts
                .iter()
                .skip(1)
                .any(|mode| mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+']));
        if writes {
            self.writes_in_code(file, command, setting);
        } else {
            self.file(EffectKind::FileRead, file, false, command, setting);
        }
    }

    /// Notes a request whose method is in its options.
    fn contacts(
        &mut self,
        call: &Found<'_>,
        address: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        self.network(address, command, setting);
        let options = call.arguments.split(';').next().unwrap_or("");
        let has = |marks: &[&str]| marks.iter().any(|mark| options.contains(mark));
        if has(&["'DELETE'", "\"DELETE\""]) {
            self.at_host(EffectKind::RemoteDelete, address, command, setting);
        } else if has(&[
            "'POST'",
            "\"POST\"",
            "'PUT'",
            "\"PUT\"",
            "'PATCH'",
            "\"PATCH\"",
            "body:",
            "data=",
            "json=",
        ]) {
            self.at_host(EffectKind::Send, address, command, setting);
        }
    }

    pub(super) fn at_host(
        &mut self,
        kind: EffectKind,
        address: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let host = crate::places::host(&address.text).unwrap_or_default();
        // One's own server on this machine may be asked to change or delete.
        if !places::is_loopback(&host) {
            self.plain(kind, &host, !host.is_empty(), command, setting);
        }
    }

    /// Reads a statement that code hands to a database: a file's, if the code opens one.
    fn in_code(
        &mut self,
        statement: &str,
        code: &Code<'_>,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let opened = code
            .field
            .text
            .split_once("sqlite3.connect(")
            .map(|(_, rest)| texts(clip(rest, ARGUMENTS), &code.variables));
        match opened.and_then(|texts| texts.into_iter().next()) {
            Some(file) => self.changed(
                sql::change(statement),
                Some(&Field::plain(&file, code.field.span)),
                command,
                setting,
            ),
            None => self.changed(sql::change(statement), None, command, setting),
        }
    }

    /// Follows code that is computed when it runs: read as code if it is a literal, plain or
    /// encoded.
    fn dynamic(
        &mut self,
        call: &Found<'_>,
        first: Option<&str>,
        code: &Code<'_>,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let own = call.arguments.split('\n').next().unwrap_or("");
        let hidden = ENCODED.iter().any(|mark| own.contains(mark));
        let fetched = FETCHED.iter().any(|mark| code.field.text.contains(mark));
        if let Some(text) = first {
            let clear = if hidden {
                feed::base64(text).or_else(|| feed::hex(text))
            } else {
                Some(text.to_owned())
            };
            if let Some(text) = clear.filter(|text| text.len() > 3) {
                self.code(code.language, &Field { text, ..code.field.clone() }, command, setting);
            }
        }
        match (hidden || ENCODED.iter().any(|mark| code.field.text.contains(mark)), fetched) {
            (_, true) => self.unseen(Source::DOWNLOADED, command, setting),
            (true, _) => self.unseen(Source::DECODED, command, setting),
            _ => {
                if first.is_none() {
                    self.out.gap(BUILT);
                }
                self.plain(EffectKind::ProcessStart, "", false, command, setting);
            }
        }
    }

    /// Follows a program that code starts: a shell's text, or a list of words.
    fn started(
        &mut self,
        arguments: &str,
        texts: &[String],
        code: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let Some(first) = texts.first() else {
            self.out.gap(BUILT);
            return self.plain(EffectKind::ProcessStart, "", false, command, setting);
        };
        let is_list = arguments.trim_start().starts_with(['[', '('])
            || (texts.len() > 1 && !first.contains(' '));
        let text = if is_list {
            texts.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        } else {
            first.clone()
        };
        let field = Field {
            known: !text.contains(super::super::environment::UNKNOWN),
            text,
            span: code.span,
            ..Field::default()
        };
        self.nested_for_code(&field, None, setting);
    }

    /// Follows `%x(COMMAND)`: up to the bracket that closes it.
    fn bare_text(&mut self, arguments: &str, code: &Field, setting: &Setting) {
        let text = arguments.split([')', '}', '/']).next().unwrap_or("");
        let text = if text.len() + 1 < arguments.len() && arguments.contains(['}', ')']) {
            arguments.rsplit_once(['}', ')']).map_or(text, |(text, _)| text)
        } else {
            text
        };
        let field = Field {
            text: text.replace(['}', ')'], " ; "),
            known: true,
            span: code.span,
            ..Field::default()
        };
        self.nested_for_code(&field, None, setting);
    }

    /// Follows backquotes, which run a command in perl, ruby, php and julia.
    fn quoted_commands(&mut self, code: &Code<'_>, masked: &str, setting: &Setting) {
        if !matches!(code.language, "perl" | "ruby" | "php" | "julia") {
            return;
        }
        let marks: Vec<usize> = masked.match_indices('`').map(|(at, _)| at).take(1024).collect();
        for pair in marks.chunks_exact(2) {
            if let [start, end] = pair
                && let Some(text) = code.field.text.get(start + 1..*end)
            {
                let field = Field {
                    text: text.to_owned(),
                    known: true,
                    span: code.field.span,
                    ..Field::default()
                };
                self.nested_for_code(&field, None, setting);
            }
        }
    }
}

/// Returns the calls of a table that occur in the code, in the code's order.
fn calls<'c>(table: &[(&str, Does)], masked: &str, code: &'c str) -> Vec<Found<'c>> {
    let mut found: Vec<Found<'c>> = Vec::new();
    for (name, does) in table {
        for (at, _) in masked.match_indices(name) {
            if found.len() >= CALLS {
                break;
            }
            if !is_word_before(masked, at, name) {
                let whole = code.get(at + name.len()..).unwrap_or("");
                let arguments = clip(whole, ARGUMENTS);
                let cut = arguments.len() < whole.len()
                    && !masked
                        .get(at..at + arguments.len())
                        .unwrap_or("")
                        .contains([')', '\n', ';']);
                found.push(Found {
                    does: *does,
                    arguments,
                    at,
                    bare: name.starts_with("%x") || name.starts_with("qx"),
                    cut,
                });
            }
        }
    }
    found.sort_by_key(|call| call.at);
    found
}
