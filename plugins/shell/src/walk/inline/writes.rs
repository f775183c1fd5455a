//! Files that parsed code writes, copies, links and opens to others, remembered in case a later
//! part of the line runs them or goes through them. A text that is not known word for word leaves
//! a file whose text nobody knows.

use super::super::expand::Field;
use super::super::feed::{Feed, Source};
use super::super::scripts::Passing;
use super::super::{Setting, Walker};
use super::calls::Act;
use super::values::{Place, argument, fetches, source_of, texts_of};
use crate::places;
use crate::types::EffectKind;
use portcullis_inline_code::{Call, HOLE, Kind, Value};
use std::collections::BTreeMap;

/// The way in which code opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    /// The earlier text of the file is gone.
    Overwrite,
    Append,
    /// It is written in a way that the mode alone does not tell.
    Change,
}

/// Methods of an open file that leave its text alone.
const QUIET: &[&str] =
    &["close", "fileno", "flush", "name", "read", "readable", "readline", "readlines", "tell"];
/// Calls that put a text of their own at the end of a file.
const APPENDING: &[&str] = &["fs.appendFile", "fs.appendFileSync", "fs.promises.appendFile"];
/// Calls whose second argument is all that the file holds from then on.
const WHOLE: &[&str] = &[
    "Bun.write",
    "Deno.writeTextFile",
    "Deno.writeTextFileSync",
    "fs.outputFile",
    "fs.outputFileSync",
    "fs.promises.writeFile",
    "fs.writeFile",
    "fs.writeFileSync",
];
/// Methods of a path that do the same with their first argument.
const OWN_WHOLE: &[&str] = &["write_bytes", "write_text"];

/// The files that code has opened for writing.
#[derive(Default)]
pub(super) struct WrittenByCode {
    /// By path: true once a text that is known was written there.
    opened: BTreeMap<String, bool>,
}

impl WrittenByCode {
    /// Notes what a call leaves in files.
    pub(super) fn note(
        &mut self,
        walker: &mut Walker<'_>,
        act: Option<Act>,
        call: &Call,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        if setting.place != places::Place::Here {
            return;
        }
        let own = call.receiver.as_ref();
        let (first, second) = (argument(call, 0), argument(call, 1));
        let method = call.name.rsplit('.').next().unwrap_or_default();
        match act {
            Some(Act::Copy | Act::CopyTree) => {
                pass_on(walker, Passing::Copy, first, second, place);
            }
            Some(Act::Move) => pass_on(walker, Passing::Move, first, second, place),
            Some(Act::OwnMove) => pass_on(walker, Passing::Move, own, first, place),
            Some(Act::Write(0)) if APPENDING.contains(&call.name.as_str()) => {
                self.put(walker, first, call.arguments.get(1), true, place);
            }
            Some(Act::Write(0)) if WHOLE.contains(&call.name.as_str()) => {
                let appends = call.arguments.get(2).is_some_and(|how| {
                    let flag = super::values::option(call, "flag").or(Some(how));
                    texts_of(flag).iter().any(|flag| flag.starts_with('a') || flag.contains(HOLE))
                });
                self.put(walker, first, call.arguments.get(1), appends, place);
            }
            Some(Act::OwnWrite) if OWN_WHOLE.contains(&method) => {
                self.put(walker, own, call.arguments.first(), false, place);
            }
            // It leaves the text of a file as it is.
            Some(Act::OwnWrite) if method == "touch" => {}
            Some(Act::Write(at)) => change(walker, argument(call, at), place),
            Some(Act::OwnWrite) => change(walker, own, place),
            Some(Act::Open) => self.open(walker, first, mode_of(call, second), place),
            Some(Act::OwnOpen) => self.open(walker, own, mode_of(call, first), place),
            Some(Act::OpenFlags) => {
                self.open(walker, first, Mode::Change, place);
            }
            Some(Act::Request(0) | Act::Get(0)) if call.arguments.len() > 1 => {
                self.retrieve(walker, call, place);
            }
            _ => self.used(walker, call, method, place),
        }
    }

    /// Notes that code puts a text into a file.
    fn put(
        &mut self,
        walker: &mut Walker<'_>,
        path: Option<&Value>,
        text: Option<&Value>,
        appends: bool,
        place: &Place<'_>,
    ) {
        for path in paths_of(walker, path, place) {
            self.fill(walker, &path, text, appends, place);
        }
    }

    fn fill(
        &mut self,
        walker: &mut Walker<'_>,
        path: &str,
        text: Option<&Value>,
        appends: bool,
        place: &Place<'_>,
    ) {
        let texts = texts_of(text);
        let known = texts.iter().all(|text| !text.contains(HOLE));
        let listed = text.is_some_and(|text| matches!(text.kind, Kind::List(_)));
        match texts.as_slice() {
            [_, ..] if known && (listed || texts.len() == 1) => {
                let feed = Feed { from: place.command, ..Feed::of_text(&texts.concat()) };
                walker.remember_file(path, feed, appends);
                self.opened.entry(path.to_owned()).and_modify(|written| *written = true);
            }
            _ => {
                let source = text.map_or(Source::LOCAL, |text| walker.source_in(text, place));
                if source.is_unseen() {
                    let feed = Feed { source, open: true, from: place.command, ..Feed::default() };
                    walker.remember_file(path, feed, appends);
                    self.opened.entry(path.to_owned()).and_modify(|written| *written = true);
                } else {
                    // The text of the file itself, with more before or behind it.
                    if let [text] = texts.as_slice()
                        && let Some(part) = part_of(text)
                    {
                        let feed = Feed { from: place.command, ..Feed::of_text(part) };
                        walker.remember_file(path, feed, true);
                    }
                    walker.rewrite(&Field::plain(path, place.field.span), None);
                    self.opened.remove(path);
                }
            }
        }
    }

    fn open(
        &mut self,
        walker: &mut Walker<'_>,
        path: Option<&Value>,
        mode: Mode,
        place: &Place<'_>,
    ) {
        for path in paths_of(walker, path, place) {
            match mode {
                Mode::Read => {}
                Mode::Change => walker.rewrite(&Field::plain(&path, place.field.span), None),
                Mode::Overwrite => {
                    let empty = Feed { from: place.command, ..Feed::of_text("") };
                    walker.remember_file(&path, empty, false);
                    self.opened.insert(path, false);
                }
                Mode::Append => {
                    self.opened.insert(path, false);
                }
            }
        }
    }

    /// Notes a call that uses a file which was opened: its text is followed only if it is written
    /// by the plainest methods.
    fn used(&mut self, walker: &mut Walker<'_>, call: &Call, method: &str, place: &Place<'_>) {
        if self.opened.is_empty() {
            return;
        }
        let own = call.receiver.as_ref().map(opened_in).unwrap_or_default();
        for value in own {
            for path in paths_of(walker, Some(&value), place) {
                if !self.opened.contains_key(&path) || QUIET.contains(&method) {
                    continue;
                }
                let plain = matches!(method, "write" | "writelines");
                self.fill(walker, &path, call.arguments.first().filter(|_| plain), true, place);
            }
        }
        let printed = call.keywords.iter().find(|(name, _)| name == "file");
        if let Some((_, file)) = printed.filter(|_| call.name == "print") {
            let files = opened_in(file);
            let paths: Vec<String> =
                files.iter().flat_map(|file| paths_of(walker, Some(file), place)).collect();
            for path in paths {
                let plain = call.keywords.len() == 1 && call.arguments.len() == 1;
                let said = texts_of(call.arguments.first()).concat();
                if plain && !said.contains(HOLE) && self.opened.contains_key(&path) {
                    let feed = Feed { from: place.command, ..Feed::of_text(&(said + "\n")) };
                    walker.remember_file(&path, feed, true);
                    self.opened.insert(path, true);
                } else {
                    self.fill(walker, &path, None, true, place);
                }
            }
            return;
        }
        let keywords = call.keywords.iter().map(|(_, value)| value);
        for value in call.arguments.iter().chain(keywords).flat_map(opened_in) {
            for path in paths_of(walker, Some(&value), place) {
                if self.opened.contains_key(&path) {
                    self.fill(walker, &path, None, true, place);
                }
            }
        }
    }

    /// Notes a file that a request is stored in: `urlretrieve(ADDRESS, FILE)`.
    fn retrieve(&self, walker: &mut Walker<'_>, call: &Call, place: &Place<'_>) {
        if !["retrieve", "download"].iter().any(|name| call.name.ends_with(name)) {
            return;
        }
        for path in paths_of(walker, call.arguments.get(1), place) {
            let source = Source::DOWNLOADED;
            let feed = Feed { source, open: true, from: place.command, ..Feed::default() };
            walker.remember_file(&path, feed, false);
        }
    }

    /// Ends the code: a file that was opened and got no text that is known may hold any.
    pub(super) fn end(self, walker: &mut Walker<'_>) {
        for (path, _) in self.opened.into_iter().filter(|(_, written)| !written) {
            walker.rewrite(&Field::plain(&path, <_>::default()), None);
        }
    }
}

impl Walker<'_> {
    /// Returns the origin of a text that code puts together: what fetched or decoded it, and the
    /// files that it was read from.
    fn source_in(&self, text: &Value, place: &Place<'_>) -> Source {
        let mut source = source_of(text, place);
        for call in place.origins(text) {
            let parts = call.receiver.iter().chain(&call.arguments);
            for path in parts.flat_map(|part| paths_of(self, Some(part), place)).take(16) {
                let content = self.content_of(&path);
                source = content.map_or(source, |content| source.max(content.source));
            }
        }
        let fetched = || place.code.calls.iter().any(|call| fetches(call, place.python));
        if text.origins.is_empty() && fetched() { source.max(Source::DOWNLOADED) } else { source }
    }

    /// Notes a link that code makes, and that what follows may go through.
    pub(super) fn links_in_code(
        &mut self,
        to: Option<&Value>,
        at: Option<&Value>,
        call: &Call,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        self.on_files(&EffectKind::FileModify, at, false, place, setting);
        let symbolic = call.name.to_ascii_lowercase().contains("sym");
        let targets = self.words_of(to, place);
        for link in self.words_of(at, place) {
            for target in &targets {
                self.note_link(&link, target, symbolic, place.command, setting);
            }
        }
    }

    /// Notes the permissions that code gives to files.
    pub(super) fn permits(
        &mut self,
        file: Option<&Value>,
        mode: Option<&Value>,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        self.on_files(&EffectKind::FileModify, file, false, place, setting);
        let words = self.words_of(file, place);
        let words: Vec<&Field> = words.iter().collect();
        self.note_permissions_in_code(mode.and_then(bits_of), &words, place.command, setting);
    }
}

/// Returns the permissions that a mode in code adds at the most; none if that is not known.
fn bits_of(mode: &Value) -> Option<u32> {
    match &mode.kind {
        Kind::Number(number) => u32::try_from(*number).ok(),
        // JavaScript takes octal digits in a text as well.
        Kind::Text(text) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        Kind::Any(modes) => modes.iter().map(bits_of).try_fold(0, |all, bits| Some(all | bits?)),
        // The other side is the mode that the file has by now.
        Kind::Made(sign, parts) if &**sign == "|" => {
            Some(parts.iter().filter_map(bits_of).fold(0, |all, bits| all | bits))
        }
        // Taking permissions away gives none.
        Kind::Made(sign, _) if &**sign == "&" => Some(0),
        Kind::Name(name) => {
            let name = name.rsplit('.').next().unwrap_or_default();
            NAMED.iter().find(|(known, _)| *known == name).map(|(_, bits)| *bits)
        }
        _ => None,
    }
}

/// The names of permissions that matter, and of those that do not.
const NAMED: &[(&str, u32)] = &[
    ("S_IEXEC", 0o100),
    ("S_IREAD", 0o400),
    ("S_IRGRP", 0o040),
    ("S_IROTH", 0o004),
    ("S_IRUSR", 0o400),
    ("S_IRWXG", 0o070),
    ("S_IRWXO", 0o007),
    ("S_IRWXU", 0o700),
    ("S_ISGID", 0o2000),
    ("S_ISUID", 0o4000),
    ("S_ISVTX", 0o1000),
    ("S_IWGRP", 0o020),
    ("S_IWOTH", 0o002),
    ("S_IWRITE", 0o200),
    ("S_IWUSR", 0o200),
    ("S_IXGRP", 0o010),
    ("S_IXOTH", 0o001),
    ("S_IXUSR", 0o100),
];

/// Returns the way in which a call opens a file; one that is not known may change it.
pub(super) fn mode_of(call: &Call, mode: Option<&Value>) -> Mode {
    let named = call.keywords.iter().find(|(name, _)| name == "mode" || name == "flags");
    let mode = named.map(|(_, value)| value).or(mode);
    match mode.map(|mode| &mode.kind) {
        None => Mode::Read,
        Some(Kind::Map(items)) => {
            let has = |name: &str| items.iter().any(|(key, _)| key == name);
            match (has("append"), has("write") || has("create") || has("truncate")) {
                (false, false) => Mode::Read,
                _ => Mode::Change,
            }
        }
        Some(_) => {
            let texts = texts_of(mode);
            let all = |sign: char| texts.iter().all(|mode| mode.contains(sign));
            if !texts.iter().any(|mode| mode.contains(['w', 'a', 'x', '+', HOLE])) {
                Mode::Read
            } else if texts.iter().any(|mode| mode.contains(['+', HOLE])) {
                Mode::Change
            } else if all('a') {
                Mode::Append
            } else if texts.iter().all(|mode| mode.contains(['w', 'x'])) {
                Mode::Overwrite
            } else {
                Mode::Change
            }
        }
    }
}

/// Returns the files that are opened in a value: the arguments of the calls that opened them.
fn opened_in(value: &Value) -> Vec<Value> {
    match &value.kind {
        Kind::Made(name, parts) if name.contains("open") || name.contains("createWriteStream") => {
            parts.first().cloned().into_iter().collect()
        }
        Kind::Made(_, parts) => parts.iter().flat_map(opened_in).collect(),
        Kind::Member(of, _) => opened_in(of),
        Kind::List(items) | Kind::Any(items) => items.iter().flat_map(opened_in).collect(),
        _ => Vec::new(),
    }
}

/// Returns the paths that a value names for certain.
fn paths_of(walker: &Walker<'_>, value: Option<&Value>, place: &Place<'_>) -> Vec<String> {
    let words = walker.words_of(value, place);
    words
        .iter()
        .filter(|word| word.known)
        .map(|word| places::resolve(&word.text, &walker.env.folder))
        .filter_map(|(path, certain)| certain.then_some(path))
        .collect()
}

/// Returns the known part of a text of which the other part is not known.
fn part_of(text: &str) -> Option<&str> {
    let mut parts = text.split(HOLE);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("") | None, Some(part), None) | (Some(part), Some(""), None) => {
            Some(part).filter(|part| part.contains('\n'))
        }
        _ => None,
    }
}

fn change(walker: &mut Walker<'_>, path: Option<&Value>, place: &Place<'_>) {
    for path in paths_of(walker, path, place) {
        walker.rewrite(&Field::plain(&path, place.field.span), None);
    }
}

fn pass_on(
    walker: &mut Walker<'_>,
    how: Passing,
    from: Option<&Value>,
    to: Option<&Value>,
    place: &Place<'_>,
) {
    let (from, to) = (walker.words_of(from, place), walker.words_of(to, place));
    if let (Some(from), Some(to)) = (from.first(), to.first()) {
        walker.pass_on_files(how, &[from], to);
    }
}
