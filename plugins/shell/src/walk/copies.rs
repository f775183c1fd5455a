//! Texts of files on the disk on their way to something that runs them: copies of files, links, and
//! the outputs of commands that print a file.
//!
//! Such a file is looked up only if its text is run: a file that is only shown may hold anything.
//! A file that a program makes as it runs (a filter, an archive) has a text that nothing here
//! shows: running it is running unseen code.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Piece, Source};
use super::scripts::{Found, REWRITTEN, RunText};
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;
use crate::types::{Direction, EffectKind, Redirection};
use std::rc::Rc;

/// The maximum number of files that programs make.
const FILES: usize = 1024;
/// The deepest folder that is looked for among copies.
const DEEP: usize = 32;
/// Programs that print another text than they read.
const FILTERS: &[&str] = &[
    "base32",
    "base64",
    "bunzip2",
    "bzcat",
    "colrm",
    "column",
    "comm",
    "crudini",
    "csvcut",
    "cut",
    "dasel",
    "dos2unix",
    "envsubst",
    "expand",
    "fold",
    "fmt",
    "gpg",
    "gunzip",
    "gzcat",
    "gzip",
    "htmlq",
    "iconv",
    "join",
    "lz4cat",
    "m4",
    "mustache",
    "nl",
    "openssl",
    "paste",
    "pr",
    "pup",
    "rev",
    "sd",
    "shuf",
    "sort",
    "strings",
    "tar",
    "tr",
    "unexpand",
    "uniq",
    "unlz4",
    "unxz",
    "unzip",
    "uudecode",
    "xmllint",
    "xmlstarlet",
    "xxd",
    "xz",
    "xzcat",
    "zcat",
    "zstd",
    "zstdcat",
];
/// Those whose first word is a pattern or a script.
const SCRIPTED: &[&str] = &[
    "ag", "awk", "egrep", "fgrep", "gawk", "gojq", "grep", "gsed", "jaq", "jq", "mawk", "mlr",
    "rg", "sed", "tomlq", "xq", "yq",
];
/// The label of a text that comes through a pipe or a redirection.
const INPUT: &str = "a text that is run but known only when it runs";

impl Walker<'_> {
    /// Returns the content of a file at a path below a copy of a folder, or below a link.
    pub(super) fn copy_of(&self, path: &str) -> Option<Feed> {
        let of = |from: &str, rest: &str| {
            let path = format!("{from}{rest}");
            let known = self.files.get(&path).cloned();
            Some(known.unwrap_or_else(|| Feed { open: true, ..self.on_disk(&path) }))
        };
        // A later `ln -sf` replaces an earlier link of the same name.
        if let Some(place) = self.last_place(path, true) {
            return of(&place, "");
        }
        if self.files.is_empty() {
            return None;
        }
        let ends = path.rmatch_indices('/').map(|(at, _)| at).take(DEEP);
        for (folder, rest) in ends.filter_map(|at| path.split_at_checked(at)) {
            let copied = self.files.get(folder).and_then(|feed| feed.pieces.as_deref());
            if let Some([Piece::File(from) | Piece::Changed(from, _)]) = copied {
                return of(from, rest);
            }
        }
        None
    }

    /// Returns the contents of the files that a program prints, one after the other.
    pub(super) fn contents(&self, name: &str, rest: &[Field], plan: &Plan, input: &Feed) -> Feed {
        // Both print a line with the name of each file between two of them.
        let apart = matches!(name, "head" | "tail");
        let fields = plan.operands.iter().filter_map(|at| rest.get(*at));
        let feeds = fields.map(|field| match &field.feed {
            Some(feed) => feed.clone(),
            None if field.text == "-" => input.clone(),
            None => self.file_content(&field.text),
        });
        feeds
            .reduce(|before, after| {
                let before =
                    if apart { super::joined(before, Feed::of_text("\n")) } else { before };
                super::joined(before, after)
            })
            .unwrap_or_default()
    }

    /// Returns the output of a filter that gets a text which is known, or stands in files: another
    /// text, which nothing here shows.
    pub(super) fn filtered(&self, name: &str, plan: &Plan, input: &Feed) -> Option<Rc<[Piece]>> {
        let own = usize::from(SCRIPTED.contains(&name) && plan.operands.len() == 1);
        let named = plan.operands.len() > own;
        let given = input.text.as_ref().is_some_and(|text| !text.is_empty());
        let filters = FILTERS.contains(&name) || SCRIPTED.contains(&name);
        // `tr` takes sets of characters as its words, never a file.
        (filters && (named && name != "tr" || given || input.pieces.is_some()))
            .then(|| Rc::from([Piece::Made]))
    }

    /// Returns the worst origin of the files that a filter reads: another text of the same origin.
    pub(super) fn filtered_source(&self, name: &str, rest: &[Field], plan: &Plan) -> Source {
        if !FILTERS.contains(&name) && !SCRIPTED.contains(&name) {
            return Source::LOCAL;
        }
        let files = plan.operands.iter().filter_map(|at| rest.get(*at)).take(64);
        Source::worst(files.map(|field| {
            let (path, certain) = places::resolve(&field.text, &self.env.folder);
            let known = if certain { self.content_of(&path) } else { None };
            known.map_or(Source::LOCAL, |feed| feed.source)
        }))
    }

    /// Follows `dd`, which copies a file or its input.
    pub(super) fn copy_blocks(
        &mut self,
        rest: &[Field],
        input: &Feed,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let value = |key: &str| rest.iter().find_map(|field| field.text.strip_prefix(key));
        if let Some(to) = value("of=") {
            // These two leave the bytes as they are.
            let converts = value("conv=").is_some_and(|how| how != "notrunc" && how != "fsync");
            let from = value("if=").map(|from| self.file_content(from));
            let content = from.unwrap_or_else(|| input.clone());
            let content = if converts { Feed::default() } else { content };
            self.remember_output(to, &content, false);
        }
        for field in rest {
            let Some((key, value)) = field.text.split_once('=') else { continue };
            let kind = match key {
                "if" => EffectKind::FileRead,
                "of" => EffectKind::FileModify,
                _ => continue,
            };
            let file = Field { text: value.to_owned(), ..field.clone() };
            self.file(kind, &file, false, command, setting);
            // No project keeps a file beside the folders of the system.
            let (path, certain) = places::resolve(value, &self.env.folder);
            if key == "of" && certain && path.matches('/').count() == 1 {
                self.plain(EffectKind::SystemChange, &path, true, command, setting);
            }
        }
    }

    /// Returns a text that stands in files, without those that are not known.
    pub(super) fn text_in(&mut self, pieces: &[Piece]) -> Rc<str> {
        if let Some(Found::Text(text) | Found::Part(text)) = self.found_in(pieces) {
            return text;
        }
        let texts = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_ref(),
            Piece::File(_) | Piece::Changed(..) | Piece::Made => "\n",
        });
        Rc::from(texts.collect::<String>())
    }

    /// Remembers what a command writes to a file.
    pub(super) fn remember_output(&mut self, target: &str, feed: &Feed, appended: bool) {
        let copied = feed.pieces.as_deref().is_some_and(|pieces| !pieces.contains(&Piece::Made));
        if feed.text.is_some() || feed.source.is_unseen() || copied {
            return self.remember_file(target, Feed { open: true, ..feed.clone() }, appended);
        }
        let (path, certain) = places::resolve(target, &self.env.folder);
        if certain && feed.pieces.is_some() {
            self.note_generated(&path);
        // The output of an ordinary program is a gap once it runs, not unseen code: generators are
        // ordinary work.
        } else if certain && self.printed.len() < FILES {
            self.printed.insert(path);
        }
    }

    /// Remembers what a command writes to the files of its redirections.
    pub(super) fn remember_outputs(
        &mut self,
        redirections: &[Redirection],
        opened: &[Field],
        feed: &Feed,
    ) {
        for file in opened {
            self.remember_output(&file.text, feed, true);
        }
        let writes = |to: &&Redirection| {
            to.descriptor == 1
                && matches!(to.direction, Direction::Output | Direction::Append)
                && to.target.known
        };
        for to in redirections.iter().filter(writes) {
            let appended = to.direction == Direction::Append;
            self.remember_output(&to.target.text, feed, appended);
        }
    }

    /// Notes a file, or a folder with `/` at its end, that a program fills as it runs.
    pub(super) fn note_generated(&mut self, path: &str) {
        if self.generated.len() < FILES && path.starts_with('/') && !path.contains(UNKNOWN) {
            self.generated.insert(path.to_owned());
        }
    }

    /// Notes that such a file has other names; false for any other file.
    pub(super) fn pass_on_generated(&mut self, from: &str, names: &[String]) -> bool {
        let made = self.generated.contains(from);
        names.iter().filter(|_| made).for_each(|name| self.note_generated(name));
        let printed = self.printed.contains(from);
        self.printed.extend(names.iter().filter(|_| printed).cloned());
        made || printed
    }

    /// Notes that a file which a program of this command line makes is run.
    pub(super) fn note_generated_run(
        &mut self,
        path: &str,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if self.is_rewritten(path) {
            self.out.gap(REWRITTEN);
        }
        let below = |folder: &String| folder.ends_with('/') && path.starts_with(folder.as_str());
        // A file that is there already is not from the archive: its text can be read.
        let unpacked = self.generated.iter().any(below) && self.is_absent(path);
        let part = |start: &String| start.strip_suffix('*').is_some_and(|s| path.starts_with(s));
        if unpacked || self.generated.contains(path) || self.generated.iter().any(part) {
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
    }

    /// Runs a text that stands in files on the disk; false if it is not known.
    pub(super) fn run_pieces(
        &mut self,
        pieces: &[Piece],
        language: Option<&'static str>,
        place: &Field,
        command: Option<u32>,
        sourced: bool,
        setting: &Setting,
    ) -> bool {
        if pieces.contains(&Piece::Made) {
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
            return true;
        }
        self.note_rewritten_pieces(pieces);
        let Some(found) = self.found_in(pieces) else { return false };
        let path = pieces.iter().find_map(|piece| match piece {
            Piece::File(path) | Piece::Changed(path, _) => Some(Rc::clone(path)),
            Piece::Text(_) | Piece::Made => None,
        });
        let path = path.unwrap_or_else(|| Rc::from(""));
        match found {
            Found::Text(text) | Found::Part(text) if text.is_empty() => {}
            Found::Missing => {}
            Found::Binary => self.file_gap(&path, "is not a text"),
            Found::Unreadable(why) => self.file_gap(&path, &why),
            Found::Part(ref text) | Found::Text(ref text) => {
                if matches!(found, Found::Part(_)) {
                    self.note_cut(&path);
                }
                let run = RunText {
                    path: &path,
                    part: "",
                    whole: text,
                    text,
                    language,
                    span: place.span,
                    sourced,
                };
                self.run_text(&run, command, setting);
            }
        }
        if self.is_project(&path) {
            self.project_run(command, setting);
        } else {
            self.plain(EffectKind::ProcessStart, &path, false, command, setting);
        }
        true
    }

    /// Runs the text that a program gets as its input, line by line or at once.
    pub(super) fn run_input(
        &mut self,
        call: &Call,
        span: Span,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let input = &call.input;
        self.unseen(input.source, command, setting);
        let place = Field { span, ..Field::default() };
        let ran = match (&input.text, &input.pieces) {
            (Some(text), _) => {
                let inner = Setting { input: Feed::default(), ..setting.clone() };
                self.nested(&Field::plain(text, span), "input", &inner);
                true
            }
            (None, Some(pieces)) => self.run_pieces(pieces, None, &place, command, false, setting),
            (None, None) => false,
        };
        // An unseen source was noted above.
        if !ran && input.open && !input.source.is_unseen() {
            self.out.gap(INPUT);
            self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
    }

    /// Follows `parallel` without a command: its lines are commands.
    pub(super) fn run_lines_of_input(
        &mut self,
        rest: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let flag = |field: &Field| matches!(field.text.as_str(), "-a" | "--arg-file" | "::::");
        let named = rest.iter().position(flag).and_then(|at| rest.get(at + 1));
        let input = named.map(|file| Feed { open: true, ..self.file_content(&file.text) });
        let input = input.unwrap_or_else(|| call.input.clone());
        self.run_input(&Call { input, ..call.clone() }, span, command, setting);
    }
}
