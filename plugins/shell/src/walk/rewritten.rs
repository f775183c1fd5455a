//! Files that a program changes in place (`sed -i`, `perl -pi`, `patch`): the text that stands on
//! the disk is not the text that a later part of the line runs. A change that is known word for
//! word is made here; after any other one, the text is not known.

use super::edits::{Edit, edited, read_diff, read_script};
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
            if !self.patch_files(diff.as_deref(), operands.first(), call) {
                let all = Field { known: true, ..Field::plain("./", <_>::default()) };
                self.rewrite(operands.first().unwrap_or(&all), None);
            }
        } else if name == "git" {
            self.note_checked_out(rest, plan, call);
        }
    }

    /// Notes the files that git changes: by a patch, or by bringing a stash back.
    fn note_checked_out(&mut self, rest: &[Field], plan: &Plan, call: &Call) {
        let mut words = plan.subcommand.iter().filter_map(|at| rest.get(*at));
        let is_known = match words.next().map(|word| word.text.as_str()) {
            Some("apply") => {
                let named = plan.operands.iter().filter_map(|at| rest.get(*at));
                let file = named.map(|field| field.text.as_str()).find(|text| *text != "apply");
                self.patch_files(file, None, call)
            }
            Some("stash") => {
                !rest.iter().any(|word| matches!(word.text.as_str(), "apply" | "pop" | "branch"))
            }
            _ => true,
        };
        if !is_known {
            let root = self.repository();
            self.checked_out.insert(format!("{}/", root.trim_end_matches('/')));
        }
    }

    /// Follows a patch by the changes in its text; false if there are none.
    fn patch_files(&mut self, diff: Option<&str>, target: Option<&Field>, call: &Call) -> bool {
        let feed = diff.map_or_else(|| call.input.clone(), |file| self.file_content(file));
        let text = feed.text.clone().or_else(|| match self.found_in(feed.pieces.as_deref()?)? {
            Found::Text(text) => Some(text),
            _ => None,
        });
        let changes = text.as_deref().map(read_diff).unwrap_or_default();
        let is_known = !changes.is_empty();
        for (path, edits) in changes {
            let file = target.cloned().unwrap_or_else(|| Field::plain(&path, <_>::default()));
            self.rewrite(&file, Some(&edits));
        }
        is_known
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
        // Git brings nothing into a repository's own folder: its hooks are as they were.
        let in_tree = |root: &String| {
            path.strip_prefix(root.as_str())
                .is_some_and(|below| !below.split('/').any(|part| part == ".git"))
        };
        self.printed.contains(path)
            || self.printed.iter().any(below)
            || self.checked_out.iter().any(in_tree)
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
    read_script(&script.join("\n"), extended, EDITS)
}
