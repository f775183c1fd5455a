//! Code in languages that no parser reads: the calls in it that delete, write, start programs or
//! reach the network. Each language has a table; arguments are computed as far as the code reveals
//! them, and one that is not known is an unknown target.

mod awk;
mod lex;
mod read;
mod tables;
mod values;
mod writes;

pub(in crate::walk) use awk::awk_streams;

use super::super::expand::Field;
use super::super::feed::{Feed, Source};
use super::super::routines::quoted;
use super::super::{Setting, Walker, sql};
use super::{BUILT, at_home, unknown_text};
use crate::places::{self, Place as Where};
use crate::types::EffectKind;
use portcullis_inline_code::HOLE;
use read::{Call, read_calls};
use tables::Act;
use values::{Kind, Value};

/// Signs that a text was fetched.
const FETCHED: &[&str] = &[
    "Net::HTTP",
    "URI.open",
    "http://",
    "https://",
    "LWP",
    "HTTP::Tiny",
    "curl_exec",
    "open-uri",
    "Faraday",
];

/// Returns the name of the dialect in which code of a language is read; none if it is not read
/// here.
pub(in crate::walk::inline) fn dialect(language: &str) -> Option<&'static str> {
    const KNOWN: &[&str] = &[
        "ruby",
        "perl",
        "php",
        "lua",
        "julia",
        "elixir",
        "r",
        "java",
        "groovy",
        "scala",
        "go",
        "c",
        "rust",
        "osascript",
    ];
    KNOWN.iter().find(|known| **known == language).copied()
}

/// The current code.
struct Place<'c> {
    field: &'c Field,
    language: &'c str,
    command: Option<u32>,
    fetches: bool,
}

impl Walker<'_> {
    /// Notes the effects of a program's text; returns its output.
    pub(in crate::walk::inline) fn foreign(
        &mut self,
        language: &'static str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> Feed {
        let read = read_calls(&field.text, language);
        self.spend(8 * field.text.len());
        if read.cut {
            self.out.limit("more code than is followed");
        }
        let fetches = FETCHED.iter().any(|mark| field.text.contains(mark));
        let place = Place { field, language, command, fetches };
        self.depth += 1;
        let mark = self.env.mark();
        self.connected_shell(&read.calls, &place, setting);
        let mut printed = Some(String::new());
        for call in &read.calls {
            if self.work == 0 {
                self.out.limit("more text than is read");
                break;
            }
            self.spend(64);
            if call.act == Act::Print {
                let said: Option<Vec<&str>> = call.arguments.iter().map(Value::known).collect();
                let said = said.map(|said| said.join(" ") + "\n");
                printed = printed.zip(said).map(|(all, text)| all + &text);
            } else {
                self.foreign_call(call, &place, setting);
            }
        }
        self.env.restore(mark);
        self.depth -= 1;
        match printed.filter(|text| !text.is_empty()) {
            Some(text) => Feed::of_text(&text),
            None => Feed::default(),
        }
    }

    /// Notes a shell that gets its input from a connection.
    fn connected_shell(&mut self, calls: &[Call], place: &Place<'_>, setting: &Setting) {
        let connects = calls.iter().any(|call| call.act == Act::Socket);
        let shells = calls.iter().any(|call| {
            call.act == Act::Dup
                || matches!(call.act, Act::Shell | Act::Text | Act::Again | Act::OwnWords)
                    && texts_of(&call.arguments, call.own.as_ref())
                        .iter()
                        .any(|text| is_shell(text))
        });
        // The shell's path may be in a variable or a list that is not followed.
        if connects && (shells || place.field.text.contains("/bin/sh")) {
            self.out.form("remote-shell", place.command);
            self.plain(EffectKind::UnseenCode, "", false, place.command, setting);
        }
    }

    fn foreign_word(&self, text: &str, place: &Place<'_>) -> Field {
        Field::plain(&at_home(text, self.home), place.field.span)
    }

    fn foreign_files(
        &mut self,
        kind: &EffectKind,
        values: &[Value],
        recursive: bool,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        let members = values.iter().flat_map(Value::members).filter(|value| !is_command(value));
        for value in members.take(64).collect::<Vec<_>>() {
            let word = self.foreign_word(&value.in_text(), place);
            self.file(kind.clone(), &word, recursive, place.command, setting);
            if *kind == EffectKind::FileModify && !recursive && setting.place == Where::Here {
                self.rewrite(&word, None);
            }
        }
    }

    #[allow(clippy::too_many_lines, reason = "one arm a kind of effect")]
    fn foreign_call(&mut self, call: &Call, place: &Place<'_>, setting: &Setting) {
        let command = place.command;
        let unknown = [Value::default()];
        let given: &[Value] = if call.arguments.is_empty() { &unknown } else { &call.arguments };
        let first = given.get(..1).unwrap_or_default();
        let second = given.get(1..2).filter(|rest| !rest.is_empty()).unwrap_or(&unknown);
        let own: Vec<Value> = call.own.iter().cloned().collect();
        // A method that has the name of a file's: only an object that is a path counts.
        let path = own.iter().any(|own| own.as_text().is_some());
        let words = path || own.iter().any(|own| matches!(own.kind, Kind::List(_)));
        match call.act {
            Act::Print => {}
            Act::Delete => {
                // PHP's `unlink` takes one path, and a context behind it.
                let given = if place.language == "php" { first } else { given };
                self.foreign_files(&EffectKind::FileDelete, given, false, place, setting);
            }
            Act::DeleteTree => self.foreign_tree(given, place, setting),
            Act::Remove => {
                if call.has("recursive") {
                    self.foreign_tree(first, place, setting);
                } else {
                    self.foreign_files(&EffectKind::FileDelete, first, false, place, setting);
                }
            }
            Act::Write if call.name == "chmod" => {
                self.foreign_mode(second.first(), first, place, setting);
            }
            Act::Write if self.foreign_text(call, first, place, setting) => {}
            Act::Write => self.foreign_files(&EffectKind::FileModify, first, false, place, setting),
            Act::WriteSecond if call.arguments.len() < 2 => {}
            Act::WriteSecond => {
                self.foreign_files(&EffectKind::FileModify, second, false, place, setting);
            }
            Act::Link => self.foreign_link(call, (first, second), place, setting),
            Act::Modes => {
                let files = given.get(1..).unwrap_or_default();
                if call.name.contains("chmod") {
                    self.foreign_mode(first.first(), files, place, setting);
                } else {
                    self.foreign_files(&EffectKind::FileModify, files, false, place, setting);
                }
            }
            Act::Create => {
                self.foreign_files(&EffectKind::FileCreate, first, false, place, setting)
            }
            Act::Read => self.foreign_files(&EffectKind::FileRead, first, false, place, setting),
            Act::Open => self.foreign_open(call, first, place, setting),
            Act::PerlOpen => self.perl_open(call, place, setting),
            Act::Move => {
                self.foreign_files(&EffectKind::FileModify, first, true, place, setting);
                self.foreign_files(&EffectKind::FileModify, second, false, place, setting);
            }
            Act::Copy => {
                self.foreign_files(&EffectKind::FileRead, first, true, place, setting);
                self.foreign_files(&EffectKind::FileModify, second, false, place, setting);
            }
            Act::Shell => self.foreign_program(given, place, setting),
            Act::Text => self.foreign_program(first, place, setting),
            Act::OwnText if words => self.foreign_program(&own, place, setting),
            Act::Again => {
                let rest = given.get(1..).unwrap_or_default();
                let rest: Vec<Value> = rest.iter().flat_map(Value::members).skip(1).collect();
                // The list of arguments ends with a null, which is not a word.
                let rest = rest.into_iter().filter(|word| word.as_text().is_some());
                let words: Vec<Value> = first.iter().cloned().chain(rest).collect();
                self.foreign_program(&words, place, setting);
            }
            Act::OwnWords => {
                if let Some(Value { kind: Kind::Made(class, words), .. }) = &call.own
                    && class.ends_with("Command.new()")
                {
                    self.foreign_program(words, place, setting);
                }
            }
            Act::Code => self.foreign_code(given, place, setting),
            Act::RunFile => {
                // A module may come before the file.
                let file = given.get(1..2).filter(|_| call.name == "Base.include").unwrap_or(first);
                let known = file.first().is_some_and(|value| value.as_text().is_some());
                let source = Source::worst(file.iter().map(|value| value.source));
                let text = &place.field.text;
                let address = file.iter().filter_map(Value::as_text).any(|name| {
                    let fetched = place.fetches && text.contains("download");
                    // The code names the file twice: for the download to write it, and to run it.
                    name.contains("://") || fetched && text.matches(name).count() > 1
                });
                if address || !known && (source.is_unseen() || place.fetches) {
                    self.unseen(Source::DOWNLOADED, command, setting);
                }
                for value in first.iter().filter(|value| value.as_text().is_some()) {
                    let word = self.foreign_word(&value.in_text(), place);
                    self.file(EffectKind::FileRead, &word, false, command, setting);
                }
            }
            Act::Network | Act::Socket => {
                let numbers = |value: &&Value| {
                    value
                        .as_text()
                        .is_none_or(|text| !text.starts_with("tcp") || text.contains(':'))
                };
                // `net.Dial("tcp", ADDRESS)`: the protocol comes before the address.
                let host = given.iter().find(numbers).cloned().unwrap_or_default();
                let named =
                    call.named.iter().find(|(name, _)| name == "PeerAddr" || name == "PeerHost");
                let host = named.map_or(host, |(_, value)| value.clone());
                self.foreign_network(&host, place, setting);
            }
            Act::Send | Act::Erase => {
                let to = self.address_of(call, first);
                let kind =
                    if call.act == Act::Send { EffectKind::Send } else { EffectKind::RemoteDelete };
                self.foreign_network(&to, place, setting);
                let word = self.foreign_word(&to.in_text(), place);
                self.at_host(kind, &word, command, setting);
            }
            Act::Request => {
                let to = self.address_of(call, first);
                if call.name == "URI.open" || to.in_text().contains("://") {
                    self.foreign_network(&to, place, setting);
                }
            }
            Act::Method => {
                let method = given.first().map(|value| value.in_text().to_uppercase());
                let method = method.unwrap_or_default();
                let to = second.first().cloned().unwrap_or_default();
                self.foreign_network(&to, place, setting);
                let word = self.foreign_word(&to.in_text(), place);
                if method == "DELETE" {
                    self.at_host(EffectKind::RemoteDelete, &word, command, setting);
                } else if !matches!(&*method, "GET" | "HEAD" | "OPTIONS") {
                    self.at_host(EffectKind::Send, &word, command, setting);
                }
            }
            Act::Signal | Act::Stop => {
                let whom =
                    if call.act == Act::Stop { first } else { given.get(1..).unwrap_or_default() };
                let texts: Vec<_> =
                    whom.iter().flat_map(Value::members).map(|v| v.in_text()).collect();
                // Signal 0 only asks whether a process is there.
                let asks =
                    given.len() > 1 && given.iter().any(|v| matches!(v.as_text(), Some("0")));
                if texts.iter().any(|text| matches!(&**text, "-1" | "1")) {
                    self.out.form("kill-everything", command);
                }
                if !asks {
                    self.plain(EffectKind::ProcessStop, "", false, command, setting);
                }
            }
            Act::Fork => {
                let text = &place.field.text;
                let loops = ["while", "for", "loop", "until", "forever"]
                    .iter()
                    .any(|word| text.contains(word));
                let doubles = text.matches("fork").count() > 2;
                // A server forks for each connection that it accepts.
                if (loops || doubles) && !text.contains("accept") {
                    self.out.form("fork-bomb", command);
                    self.plain(EffectKind::ResourceUse, "processes", true, command, setting);
                }
            }
            Act::Statement => {
                let statement = first.first().map(Value::in_text).unwrap_or_else(|| "".into());
                self.changed(sql::change(&statement), None, command, setting);
            }
            Act::OwnDelete if path => {
                self.foreign_files(&EffectKind::FileDelete, &own, false, place, setting);
            }
            Act::OwnDeleteTree => self.foreign_tree(&own, place, setting),
            Act::OwnWrite if path => {
                self.foreign_files(&EffectKind::FileModify, &own, false, place, setting);
            }
            Act::OwnRead if path => {
                self.foreign_files(&EffectKind::FileRead, &own, false, place, setting);
            }
            // With an argument it asks for one variable.
            Act::Environment if call.arguments.is_empty() => {
                self.plain(EffectKind::SecretRead, "environment", false, command, setting);
            }
            Act::Folder => {
                if let Some(text) = first.first().and_then(Value::as_text) {
                    let word = self.foreign_word(text, place);
                    let text = format!("cd {}", quoted(&word.text));
                    self.nested(&Field { text, ..word }, "code", setting);
                }
            }
            Act::Privilege => self.plain(EffectKind::Privilege, "user", true, command, setting),
            Act::Native => {
                self.out.gap("code of a library that is not read");
                self.plain(EffectKind::ProcessStart, "", false, command, setting);
            }
            Act::Dup
            | Act::OwnText
            | Act::OwnDelete
            | Act::OwnWrite
            | Act::OwnRead
            | Act::Environment => {}
        }
    }

    fn foreign_tree(&mut self, values: &[Value], place: &Place<'_>, setting: &Setting) {
        self.out.form("recursive-delete", place.command);
        self.foreign_files(&EffectKind::FileDelete, values, true, place, setting);
    }

    fn foreign_network(&mut self, to: &Value, place: &Place<'_>, setting: &Setting) {
        let word = self.foreign_word(&to.in_text(), place);
        if word.text.starts_with("file:") {
            self.file(EffectKind::FileRead, &word, false, place.command, setting);
        } else {
            self.network(&word, place.command, setting);
        }
    }

    /// Returns the address of a request: an argument, or that of the object.
    fn address_of(&self, call: &Call, first: &[Value]) -> Value {
        let inside = call.own.iter().filter_map(|own| match &own.kind {
            Kind::Made(_, parts) => parts.first().cloned(),
            _ => None,
        });
        let mut all = first.iter().cloned().chain(inside);
        let fits = |value: &Value| {
            value.as_text().is_some_and(|text| !text.starts_with('/') && text.contains(['.', ':']))
                || value.as_text() == Some("localhost")
        };
        all.find(fits).or_else(|| first.first().cloned()).unwrap_or_default()
    }

    /// Handles `open` and the like: the mode decides.
    fn foreign_open(&mut self, call: &Call, first: &[Value], place: &Place<'_>, setting: &Setting) {
        let text = first.first().map(Value::in_text).unwrap_or_else(|| "".into());
        // Ruby's `open` runs the text behind a bar.
        if let Some(program) = text.strip_prefix('|').filter(|_| place.language == "ruby") {
            return self.foreign_program(&[Value::text(program)], place, setting);
        }
        let modes = call.arguments.iter().skip(1).flat_map(Value::members);
        let known: Vec<String> = modes.map(|mode| mode.in_text().to_string()).collect();
        let named = ["write", "append", "create", "truncate"];
        let writes = known.iter().any(|mode| {
            mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+']) || named.contains(&mode.as_str())
        }) || call.named.iter().any(|(name, _)| named.contains(&name.as_str()))
            || place.field.text.contains("O_CREAT")
            || place.field.text.contains("O_WRONLY")
            || place.field.text.contains("O_RDWR");
        let kind = if writes { EffectKind::FileModify } else { EffectKind::FileRead };
        self.foreign_files(&kind, first, false, place, setting);
    }

    /// Handles Perl's `open`: `open(F, "|sh")`, `open F, ">", "x"`, `open(F, "-|", "ls", "-l")`.
    fn perl_open(&mut self, call: &Call, place: &Place<'_>, setting: &Setting) {
        let rest = call.arguments.get(1..).unwrap_or_default();
        let Some(mode) = rest.first() else { return };
        let text = mode.in_text();
        let text = text.trim();
        let more = rest.get(1..).unwrap_or_default();
        if matches!(text, "-|" | "|-") {
            return self.foreign_program(more, place, setting);
        }
        if more.is_empty() {
            // A copy of a descriptor opens no file.
            if text.contains(">&") || text.contains("<&") {
                return;
            }
            if let Some(program) = text.strip_prefix('|').or_else(|| text.strip_suffix('|')) {
                return self.foreign_program(&[Value::text(program)], place, setting);
            }
            let name = text.trim_start_matches(['<', '>', '+', ' ']);
            let kind = if text.starts_with(['>', '+']) {
                EffectKind::FileModify
            } else {
                EffectKind::FileRead
            };
            return self.foreign_files(&kind, &[Value::text(name)], false, place, setting);
        }
        if text.contains('&') {
            return;
        }
        let sys = call.name == "sysopen";
        let writes = text.contains(['>', '+']) || sys;
        let kind = if writes { EffectKind::FileModify } else { EffectKind::FileRead };
        let files = if sys { rest.get(..1) } else { more.get(..1) };
        self.foreign_files(&kind, files.unwrap_or_default(), false, place, setting);
    }

    /// Follows a program that code starts: a shell's text, or words.
    fn foreign_program(&mut self, values: &[Value], place: &Place<'_>, setting: &Setting) {
        if values.iter().any(is_command) {
            return;
        }
        let source = Source::worst(values.iter().map(|value| value.source));
        self.unseen(source, place.command, setting);
        let several = values.len() > 1 || values.iter().any(|v| matches!(v.kind, Kind::List(_)));
        let members: Vec<Value> = values.iter().flat_map(Value::members).take(256).collect();
        let texts: Vec<String> =
            members.iter().map(|value| at_home(&value.in_text(), self.home)).collect();
        let whole = |text: &str| text.chars().all(|c| c == HOLE || c.is_whitespace());
        if texts.first().is_none_or(|text| whole(text)) {
            if !source.is_unseen() {
                self.unseen(setting.input.source, place.command, setting);
            }
            self.out.gap(BUILT);
            return self.plain(EffectKind::ProcessStart, "", false, place.command, setting);
        }
        let text = if several && texts.len() > 1 {
            texts.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        } else {
            texts.first().cloned().unwrap_or_else(unknown_text)
        };
        let known = !text.contains(HOLE);
        // A shell that gets its input through a pipe: the code writes it.
        let piped = texts.iter().any(|text| is_shell(text))
            && ["print", "write", "fputs", "fwrite", "puts", "<<", "say"]
                .iter()
                .any(|word| place.field.text.contains(word))
            && !text.contains(" -");
        let input = if piped && !setting.input.open {
            Feed { open: true, ..Feed::default() }
        } else {
            setting.input.clone()
        };
        let field = Field { text, known, span: place.field.span, ..Field::default() };
        self.nested_for_code(&field, place.command, &Setting { input, ..setting.clone() });
    }

    /// Follows a text that is run as code: read as such if it is known.
    fn foreign_code(&mut self, values: &[Value], place: &Place<'_>, setting: &Setting) {
        let source = Source::worst(values.iter().map(|value| value.source));
        let known = values.first().and_then(Value::known).map(str::to_owned);
        self.unseen(source, place.command, setting);
        match known {
            Some(text) => {
                let field = Field { text, ..place.field.clone() };
                self.code(place.language, &field, place.command, setting);
            }
            None if source.is_unseen() => {}
            None => {
                // `eval { ... }` runs a block that was read already.
                let made = values.first().is_some_and(|v| matches!(v.kind, Kind::List(_)));
                if place.fetches {
                    self.unseen(Source::DOWNLOADED, place.command, setting);
                } else if !made {
                    self.out.gap(BUILT);
                    self.plain(EffectKind::ProcessStart, "", false, place.command, setting);
                }
            }
        }
    }
}

fn texts_of(values: &[Value], own: Option<&Value>) -> Vec<String> {
    let inside = own.into_iter().flat_map(|own| match &own.kind {
        Kind::Made(_, parts) => parts.as_ref().clone(),
        _ => Vec::new(),
    });
    values
        .iter()
        .cloned()
        .chain(inside)
        .flat_map(|v| v.members())
        .map(|v| v.in_text().to_string())
        .collect()
}

/// Returns true for a command between backquotes, which was followed already.
fn is_command(value: &Value) -> bool {
    matches!(&value.kind, Kind::Made(class, _) if class.starts_with('`'))
}

/// Returns true for a shell that reads what it is given.
fn is_shell(text: &str) -> bool {
    let program = text.split_whitespace().next().unwrap_or("");
    let name = program.rsplit(['/', '\\']).next().unwrap_or("");
    matches!(
        name,
        "sh" | "bash"
            | "zsh"
            | "dash"
            | "ksh"
            | "cmd"
            | "cmd.exe"
            | "powershell"
            | "powershell.exe"
            | "pwsh"
    ) && !places::is_stream(text)
}
