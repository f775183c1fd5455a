//! Files that a program changes in place (`sed -i`, `perl -pi`, `patch`): the text that stands on
//! the disk is not the text that a later part of the line runs. A change that is known word for
//! word is made here; after any other one, the text is not known.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Piece};
use super::scripts::Found;
use super::scripts::REWRITTEN;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places::{self, Place};
use crate::types::EffectKind;
use std::rc::Rc;

/// The most files with changes, and the most changes of one of them.
const FILES: usize = 64;
const EDITS: usize = 32;
/// The longest text after a change, in bytes.
const TEXT: usize = 256 * 1024;

/// Programs that change the files among their words into something that only running them shows.
const REWRITERS: &[&str] = &[
    "awk",
    "crudini",
    "dasel",
    "ed",
    "ex",
    "gawk",
    "gsed",
    "jaq",
    "jsonedit",
    "mlr",
    "nvim",
    "rpl",
    "sd",
    "sed",
    "toml",
    "tomlq",
    "vi",
    "vim",
    "xmlstarlet",
    "yq",
];
/// Interpreters that do so with `-i` among the letters of a flag.
const IN_PLACE: &[&str] = &["perl", "ruby"];
/// Characters that mean more than themselves in a pattern, and in an extended one.
const SPECIAL: &[char] = &['\\', '.', '*', '[', ']', '^', '$'];
const EXTENDED: &[char] = &['+', '?', '(', ')', '{', '}', '|'];

/// A change of a text that is known word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    old: String,
    new: String,
    reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Everywhere,
    /// The first place in each line.
    Line,
    /// One place, which has to be there.
    Once,
    /// The new text is a line of its own there.
    Insert(Side, Lines),
}

/// The side of a line on which another is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    Instead,
}

/// The lines that an order of sed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    All,
    Last,
    /// Counted from 1.
    Numbered(usize),
    /// Those that the old text is in.
    Matching,
}

impl Walker<'_> {
    /// Notes the files that a call changes in place.
    pub(super) fn note_rewritten(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        setting: &Setting,
    ) {
        let named = |at: &usize| rest.get(*at).cloned();
        if setting.place != Place::Here || plan.nothing {
            return;
        }
        if REWRITERS.contains(&name) {
            let edits = if name.ends_with("sed") { read_sed(rest, plan) } else { None };
            let changed = plan.items.iter().filter_map(|item| match item {
                Item::Word(EffectKind::FileModify, at) => rest.get(*at).cloned(),
                _ => None,
            });
            for file in changed.collect::<Vec<_>>() {
                self.rewrite(&file, edits.as_deref());
            }
        } else if IN_PLACE.contains(&name) && rest.iter().any(is_in_place) {
            let files: Vec<Field> = plan.operands.iter().filter_map(named).collect();
            files.iter().for_each(|file| self.rewrite(file, None));
        } else if name == "patch" {
            let operands: Vec<Field> = plan.operands.iter().filter_map(named).collect();
            let given = super::rehearsals::flag_value(rest, &["-i", "--input"]);
            let diff = given.map(str::to_owned).or(operands.get(1).map(|field| field.text.clone()));
            self.patch_files(diff.as_deref(), operands.first(), call);
        } else if name == "git" && rest.iter().any(|field| field.text == "apply") {
            let file = plan.operands.iter().filter_map(named).find(|field| field.text != "apply");
            self.patch_files(file.as_ref().map(|field| field.text.as_str()), None, call);
        }
    }

    /// Follows a patch: the changes in its text, or unknown ones of what it may reach.
    fn patch_files(&mut self, diff: Option<&str>, target: Option<&Field>, call: &Call) {
        let feed = diff.map_or_else(|| call.input.clone(), |file| self.file_content(file));
        let text = feed.text.clone().or_else(|| match self.found_in(feed.pieces.as_deref()?)? {
            Found::Text(text) => Some(text),
            _ => None,
        });
        let changes = text.as_deref().map(read_diff).unwrap_or_default();
        if changes.is_empty() {
            match target {
                Some(target) => self.rewrite(target, None),
                None => {
                    self.rewrite(&Field { known: true, ..Field::plain("./", <_>::default()) }, None)
                }
            }
        }
        for (path, edits) in changes {
            let file = target.cloned().unwrap_or_else(|| Field::plain(&path, <_>::default()));
            self.rewrite(&file, Some(&edits));
        }
    }

    /// Notes a file that code writes: nothing here tells its text from then on.
    pub(super) fn writes_in_code(&mut self, file: &Field, command: Option<u32>, setting: &Setting) {
        self.file(EffectKind::FileModify, file, false, command, setting);
        if setting.place != Place::Here {
            return;
        }
        let source = setting.input.source;
        if source.is_unseen() {
            self.remember_file(&file.text, Feed { source, open: true, ..Feed::default() }, true);
        } else {
            self.rewrite(file, None);
        }
    }

    /// Makes changes of a file, or notes that its text is not known any more.
    pub(super) fn rewrite(&mut self, file: &Field, edits: Option<&[Edit]>) {
        let (path, certain) = places::resolve(&file.text, &self.env.folder);
        if !certain || path.contains(UNKNOWN) {
            return;
        }
        if self.printed.len() >= FILES {
            return self.out.limit("more changed files than are followed");
        }
        let known = self.files.get_mut(&path);
        let text = known.as_ref().and_then(|feed| feed.text.clone());
        match (edits, known, text) {
            (Some(edits), Some(feed), Some(text)) => {
                if let Some(after) = edited(&text, edits) {
                    *feed = Feed { text: Some(after), ..feed.clone() };
                    return;
                }
            }
            (Some(edits), None, _) => {
                let noted = self.edits.entry(path.clone()).or_default();
                if noted.len() + edits.len() <= EDITS {
                    noted.extend(edits.iter().cloned());
                    return;
                }
            }
            _ => {}
        }
        let folder = file.text.ends_with('/') && !path.ends_with('/');
        self.printed.insert(if folder { format!("{path}/") } else { path });
    }

    /// Returns true for a file that a program of this command line changes in a way that is not
    /// known.
    pub(super) fn is_rewritten(&self, path: &str) -> bool {
        let below = |folder: &String| folder.ends_with('/') && path.starts_with(folder.as_str());
        self.printed.contains(path) || self.printed.iter().any(below)
    }

    /// Notes that a text which is run comes from files that were changed.
    pub(super) fn note_rewritten_pieces(&mut self, pieces: &[Piece]) {
        let changed = |piece: &Piece| match piece {
            Piece::File(path) | Piece::Changed(path, _) => self.is_rewritten(path),
            Piece::Text(_) | Piece::Made => false,
        };
        if pieces.iter().any(changed) {
            self.out.file_gap(REWRITTEN);
        }
    }

    /// Returns the text of a file on the disk, with the changes that this command line has made so
    /// far.
    pub(super) fn on_disk(&self, path: &str) -> Feed {
        let mut feed = Feed::of_file(path);
        if let Some(edits) = self.edits.get(path).filter(|edits| !edits.is_empty()) {
            let changed = Piece::Changed(Rc::from(path), Rc::from(edits.as_slice()));
            feed.pieces = Some(Rc::from([changed]));
        }
        feed.source.changed = self.is_rewritten(path);
        feed
    }

    /// Returns a file's text after the changes of this command line; none if they do not fit.
    pub(super) fn with_edits(&self, path: &str, text: Rc<str>) -> Option<Rc<str>> {
        match self.edits.get(path) {
            Some(edits) => edited(&text, edits),
            None => Some(text),
        }
    }
}

/// Returns true for a flag of perl or ruby with `i` among its letters.
fn is_in_place(field: &Field) -> bool {
    let letters = field.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| {
        let before = letters.split(['e', 'E', 'I', 'M']).next().unwrap_or("");
        before.contains('i')
    })
}

/// Returns the changes that sed makes, if each of its scripts only replaces one text by another.
fn read_sed(rest: &[Field], plan: &Plan) -> Option<Vec<Edit>> {
    let extended =
        rest.iter().any(|field| matches!(field.text.as_str(), "-E" | "-r" | "--regexp-extended"));
    let mut scripts = Vec::new();
    for (at, field) in rest.iter().enumerate() {
        match field.text.as_str() {
            "-e" | "--expression" => scripts.push(rest.get(at + 1)?),
            text if text.starts_with("-i") || text.starts_with("--in-place") => {}
            "-E" | "-r" | "--regexp-extended" => {}
            text if text.starts_with('-') && plan.flags.contains(&at) => return None,
            _ => {}
        }
    }
    if scripts.is_empty() {
        scripts.push(rest.get(*plan.operands.first()?)?);
    }
    if !scripts.iter().all(|script| script.known) {
        return None;
    }
    // The parts of a script are its lines.
    let script: Vec<&str> = scripts.iter().map(|script| script.text.as_str()).collect();
    read_script(&script.join("\n"), extended)
}

/// Reads a script of sed that only replaces texts and puts lines in.
fn read_script(script: &str, extended: bool) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut rest = script.trim_start_matches([';', '\n', ' ', '\t']);
    while !rest.is_empty() {
        if edits.len() >= EDITS {
            return None;
        }
        let (inserted, after) = match read_insertion(rest, extended) {
            Some(found) => found,
            None => {
                let end = rest.find([';', '\n']).unwrap_or(rest.len());
                let (order, after) = rest.split_at_checked(end)?;
                (read_substitution(order.trim(), extended)?, after)
            }
        };
        edits.push(inserted);
        rest = after.trim_start_matches([';', '\n', ' ', '\t']);
    }
    Some(edits)
}

/// Reads `1i TEXT`, `$a TEXT`, `/TEXT/c TEXT` and the like; returns the rest of the script too. The
/// text is all of the line.
fn read_insertion(script: &str, extended: bool) -> Option<(Edit, &str)> {
    let (lines, old, rest) = read_lines(script, extended)?;
    let mut signs = rest.trim_start_matches([' ', '\t']).chars();
    let side = match signs.next()? {
        'i' => Side::Before,
        'a' => Side::After,
        'c' => Side::Instead,
        _ => return None,
    };
    let text = signs.as_str().trim_start_matches([' ', '\t']);
    let text = match text.strip_prefix('\\') {
        Some(next) => next.strip_prefix('\n').unwrap_or(next),
        None => text,
    };
    // A backslash at the end of a line goes on with the next one.
    let mut end = text.find('\n').unwrap_or(text.len());
    while text.get(..end)?.ends_with('\\') && end < text.len() {
        let next = text.get(end + 1..)?;
        end += 1 + next.find('\n').unwrap_or(next.len());
    }
    let (line, after) = text.split_at_checked(end)?;
    let new = line.replace("\\\n", "\n");
    let plain = !new.is_empty() && !new.contains('\\');
    let reach = Reach::Insert(side, lines);
    plain.then(|| (Edit { old: old.to_owned(), new, reach }, after))
}

/// Reads the lines that an order is for; returns the text that they have, and the rest too.
fn read_lines(script: &str, extended: bool) -> Option<(Lines, &str, &str)> {
    if let Some(rest) = script.strip_prefix('$') {
        return Some((Lines::Last, "", rest));
    }
    if let Some(pattern) = script.strip_prefix('/') {
        let (old, rest) = pattern.split_once('/')?;
        let special = old.contains(SPECIAL) || extended && old.contains(EXTENDED);
        return (!old.is_empty() && !special).then_some((Lines::Matching, old, rest));
    }
    let digits = script.find(|c: char| !c.is_ascii_digit()).unwrap_or(script.len());
    let (number, rest) = script.split_at_checked(digits)?;
    match number {
        "" => Some((Lines::All, "", rest)),
        number => number.parse().ok().map(|number| (Lines::Numbered(number), "", rest)),
    }
}

/// Returns a text after a line was put in.
fn with_line(text: &str, edit: &Edit, side: Side, lines: Lines) -> String {
    let count = text.lines().count();
    let mut all: Vec<&str> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fits = match lines {
            Lines::All => true,
            Lines::Last => at + 1 == count,
            Lines::Numbered(number) => at + 1 == number,
            Lines::Matching => line.contains(&edit.old),
        };
        match side {
            _ if !fits => all.push(line),
            Side::Before => all.extend([edit.new.as_str(), line]),
            Side::After => all.extend([line, edit.new.as_str()]),
            Side::Instead => all.push(&edit.new),
        }
    }
    all.join("\n") + "\n"
}

/// Reads `s/TEXT/TEXT/` and `s/TEXT/TEXT/g`.
fn read_substitution(script: &str, extended: bool) -> Option<Edit> {
    let body = script.strip_prefix('s')?;
    let mark = body.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\')?;
    let mut parts = body.get(mark.len_utf8()..)?.split(mark);
    let (old, new, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let special = old.contains(SPECIAL) || extended && old.contains(EXTENDED);
    let plain = !old.is_empty() && !special && !new.contains(['\\', '&']);
    let reach = match flags {
        "" => Reach::Line,
        "g" => Reach::Everywhere,
        _ => return None,
    };
    (plain && parts.next().is_none()).then(|| Edit {
        old: old.to_owned(),
        new: new.to_owned(),
        reach,
    })
}

/// Returns the changes in a unified diff, by the path of the file.
fn read_diff(text: &str) -> Vec<(String, Vec<Edit>)> {
    let mut files: Vec<(String, Vec<Edit>)> = Vec::new();
    let mut hunk = (String::new(), String::new());
    for line in text.lines().chain(["@@"]) {
        let named = line.strip_prefix("+++ ");
        let ends = named.is_some() || ["@@", "diff ", "--- "].iter().any(|s| line.starts_with(s));
        if ends {
            let (old, new) = std::mem::take(&mut hunk);
            if let Some((_, edits)) = files.last_mut().filter(|_| old != new) {
                edits.push(Edit { old, new, reach: Reach::Once });
            }
        }
        if let Some(path) = named {
            let path = path.split('\t').next().unwrap_or(path).trim();
            let path = path.strip_prefix("b/").unwrap_or(path);
            files.push((path.to_owned(), Vec::new()));
        } else if !ends {
            let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            for (kept, side) in [(sign != "+", &mut hunk.0), (sign != "-", &mut hunk.1)] {
                if kept && matches!(sign, " " | "+" | "-") {
                    side.push_str(rest);
                    side.push('\n');
                }
            }
        }
    }
    files.retain(|(_, edits)| !edits.is_empty());
    files.truncate(FILES);
    files
}

/// Returns a text after changes; none if one does not fit, or the text grows too long.
pub(super) fn edited(text: &str, edits: &[Edit]) -> Option<Rc<str>> {
    let mut text = text.to_owned();
    for edit in edits {
        text = match edit.reach {
            Reach::Everywhere => text.replace(&edit.old, &edit.new),
            Reach::Line => text
                .split_inclusive('\n')
                .map(|line| line.replacen(&edit.old, &edit.new, 1))
                .collect(),
            Reach::Once if edit.old.is_empty() && text.is_empty() => edit.new.clone(),
            Reach::Once if !edit.old.is_empty() && text.contains(&edit.old) => {
                text.replacen(&edit.old, &edit.new, 1)
            }
            Reach::Once => return None,
            Reach::Insert(side, lines) => with_line(&text, edit, side, lines),
        };
        if text.len() > TEXT {
            return None;
        }
    }
    Some(Rc::from(text))
}
