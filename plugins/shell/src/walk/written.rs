//! Files that the command line writes and that something runs later: a hook, a start-up file, a
//! recipe, a workflow. The text is read as it will run, and what is grave in it counts as what the
//! writing does.
//!
//! The text comes from a redirection, a copy, inline code, or a patch; the tools of agents that
//! write files hand over their text as a patch. Parts that the file had before are not new.

use super::environment::{Environment, UNKNOWN};
use super::feed::Piece;
use super::output::Output;
use super::scripts::{FirstLine, RunText, named_in_first_line};
use super::{Setting, Walker, recipes};
use crate::autoruns::{Autorun, Format, Part, Reach, find_autorun, list_parts, whole_of};
use crate::bindings::exports::portcullis::shell::reader::RunLine;
use crate::places::{self, Place};
use crate::syntax::Span;
use crate::types::{Effect, EffectKind, Form};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The most such files of one command line, and the most lines of them that are named.
const FILES: usize = 16;
const NAMED: usize = 4;
/// The most changes of files that are remembered.
const CHANGES: usize = 64;
/// The longest text of such a file, in bytes; it is read to its end all the same.
const TEXT: usize = 64 * 1024;
/// The most bytes of a line in a label.
const SHOWN: usize = 120;
/// The limit on the text of such a file.
const LONG: &str = "more text than is read in a file that is run later";

/// Forms that are ordinary in recipes and workflows.
const ORDINARY: &[&str] = &[
    "chmod-777",
    "clean-untracked",
    "delete-own-volumes",
    "delete-volumes",
    "discard-changes",
    "force-push-with-lease",
    "hard-reset",
    "no-approval",
    "publish-package",
    "skip-checks",
    "to-production",
    "tree-outside",
];
/// Forms of deletion: the effects say what is lost.
const DELETIONS: &[&str] = &["recursive-delete", "recursive-force-delete"];
/// Folders below which recipes install, and workflows delete.
pub(super) const INSTALLED: &[&str] = &["/usr/", "/opt/", "/srv/", "/Applications/"];
/// Folders of passing files.
pub(super) const PASSING: &[&str] = &["/tmp/", "/var/tmp/", "/private/tmp/", "/dev/"];

/// A change of a file by a patch.
pub(super) struct Change {
    pub path: String,
    /// The texts that are replaced, and those that replace them. An empty first one is a new file's
    /// or stands for an unknown place.
    pub hunks: Vec<(String, String)>,
    pub command: Option<u32>,
}

/// A text that will stand in a file.
struct Written {
    path: String,
    autorun: Autorun,
    before: Rc<str>,
    after: Rc<str>,
    /// The text is a piece of the file.
    piece: bool,
    command: Option<u32>,
}

/// Something grave in a file.
pub(super) struct Finding {
    pub key: String,
    pub line: u32,
    pub text: String,
}

impl Walker<'_> {
    /// Returns the way in which a file at a path is run later, if it is.
    pub(super) fn autorun_at(&self, path: &str) -> Option<Autorun> {
        let known = path.starts_with('/') && !path.contains(UNKNOWN);
        known.then(|| find_autorun(path, self.home)).flatten()
    }

    /// Remembers a change of a file.
    pub(super) fn note_change(&mut self, change: Change) {
        if self.changes.len() >= CHANGES && self.autorun_at(&change.path).is_none() {
            return;
        }
        if self.changes.len() < CHANGES {
            self.changes.push(change);
        } else {
            self.out.limit("more written files than are followed");
        }
    }

    /// Reads the files that the command line wrote, as they will run.
    pub(super) fn read_written(&mut self) {
        let mut all: Vec<Written> = Vec::new();
        let mut code = Vec::new();
        let files: Vec<_> = self
            .files
            .iter()
            .filter_map(|(path, feed)| Some((path.clone(), feed.all_pieces()?, feed.from)))
            .collect();
        for (path, pieces, command) in files {
            self.sources_in(&path, Some(&pieces), None, command);
            self.late_harm_in(&path, Some(&pieces), &[], command);
            let Some(autorun) = self.autorun_at(&path) else {
                if portcullis_autoruns::find_code(&path).is_some() {
                    code.push((path, self.text_in(&pieces), false, command));
                }
                continue;
            };
            let text = self.text_in(&pieces);
            let before = self.text_before(&path);
            all.push(Written { path, autorun, before, after: text, piece: false, command });
        }
        for change in std::mem::take(&mut self.changes) {
            self.sources_in(&change.path, None, Some(&change.hunks), change.command);
            self.late_harm_in(&change.path, None, &change.hunks, change.command);
            let Some(autorun) = self.autorun_at(&change.path) else {
                if portcullis_autoruns::find_code(&change.path).is_some() {
                    let (text, piece) = changed("", &change.hunks);
                    code.push((change.path, text, piece, change.command));
                }
                continue;
            };
            let before = self.text_before(&change.path);
            let (after, piece) = changed(&before, &change.hunks);
            let Change { path, command, .. } = change;
            all.push(Written { path, autorun, before, after, piece, command });
        }
        if all.len() > FILES {
            self.out.limit("more written files than are followed");
        }
        for file in all.iter().take(FILES) {
            self.note_planted(file);
        }
        for (path, text, piece, command) in code.into_iter().take(FILES) {
            self.note_code(&path, &text, piece, command);
        }
    }

    /// Notes the sources of packages that a written file names.
    fn sources_in(
        &mut self,
        path: &str,
        pieces: Option<&[Piece]>,
        hunks: Option<&[(String, String)]>,
        command: Option<u32>,
    ) {
        if !portcullis_autoruns::names_sources(path) {
            return;
        }
        let before = self.text_before(path);
        let after = match (pieces, hunks) {
            (Some(pieces), _) => self.text_in(pieces),
            (None, Some(hunks)) => changed(&before, hunks).0,
            (None, None) => return,
        };
        self.written_sources(path, &before, &after, command);
    }

    /// Returns the text of a file before the command line; empty if it is not known.
    pub(super) fn text_before(&mut self, path: &str) -> Rc<str> {
        self.text_on_disk(path).unwrap_or_else(|| Rc::from(""))
    }

    /// Notes the grave parts of a file that it did not have before.
    fn note_planted(&mut self, file: &Written) {
        if file.after.len() > TEXT {
            self.out.limit(LONG);
        }
        let format = file.autorun.format;
        let whole = if file.piece {
            Rc::from(whole_of(format, &file.after))
        } else {
            Rc::clone(&file.after)
        };
        let (mut after, more) = self.parts_of(format, &whole);
        if file.piece && after.is_empty() {
            // It may be a piece of a command that began before it.
            after.push(Part { text: file.after.to_string(), language: None });
        }
        if more {
            self.out.limit(LONG);
        }
        let (before, _) = self.parts_of(format, &file.before);
        self.scripts.forget_commit(&file.path);
        // A part that was only changed may keep what was grave in it before.
        let gone: Vec<&Part> = before.iter().filter(|part| !after.contains(part)).collect();
        let known: BTreeSet<String> = gone
            .iter()
            .flat_map(|part| self.findings(file, &file.before, part, &mut false))
            .map(|finding| finding.key)
            .collect();
        let mut limited = false;
        let mut lines = BTreeSet::new();
        for part in after.iter().filter(|part| !before.contains(part)) {
            for finding in self.findings(file, &file.after, part, &mut limited) {
                if lines.len() < NAMED
                    && !known.contains(&finding.key)
                    && lines.insert((finding.line, finding.text.clone()))
                {
                    self.plant(file, &finding);
                }
            }
        }
        if limited {
            self.out.limit(LONG);
        }
    }

    fn parts_of(&self, format: Format, text: &str) -> (Vec<Part>, bool) {
        let lines = match format {
            Format::Makefile => recipes::lines_of_makefile(text, self.home),
            Format::Justfile => recipes::lines_of_justfile(text),
            _ => return list_parts(format, text),
        };
        let more = lines.len() > crate::autoruns::PARTS;
        let lines = lines.into_iter().take(crate::autoruns::PARTS);
        (lines.map(|text| Part { text, language: None }).collect(), more)
    }

    /// Reads a part of a file by itself, and returns what is grave in it.
    fn findings(
        &mut self,
        file: &Written,
        whole: &Rc<str>,
        part: &Part,
        limited: &mut bool,
    ) -> Vec<Finding> {
        let language = match named_in_first_line(&part.text) {
            Some(FirstLine::Language(language)) => Some(language),
            Some(FirstLine::Unknown) => return Vec::new(),
            Some(FirstLine::Shell) | None => part.language,
        };
        let place = match file.autorun.reach {
            Reach::Elsewhere => Place::Container(String::new(), Rc::from([])),
            Reach::Starts | Reach::Asked | Reach::Called => Place::Here,
        };
        let setting = Setting { place, ..Setting::default() };
        let run = RunText {
            path: &file.path,
            part: "",
            whole,
            text: &part.text,
            language,
            span: Span::default(),
            sourced: false,
        };
        // The part runs later, in a shell of its own: nothing of this line counts in it.
        let outer = std::mem::take(&mut self.out);
        let lines = self.scripts.take_lines(Vec::new());
        let env = std::mem::replace(&mut self.env, Environment::new(self.project, self.home));
        let (secrets, contacts) =
            (std::mem::take(&mut self.secrets), std::mem::take(&mut self.contacts));
        let asks = self.scripts.ask(file.autorun.reach == Reach::Starts);
        self.run_text(&run, None, &setting);
        self.scripts.ask(asks);
        (self.secrets, self.contacts, self.env) = (secrets, contacts, env);
        let lines = self.scripts.take_lines(lines);
        let inner = std::mem::replace(&mut self.out, outer);
        *limited |= inner.is_limited();
        self.grave_parts(&inner, &lines, whole, part, file.autorun.reach)
    }

    fn grave_parts(
        &self,
        inner: &Output,
        lines: &[RunLine],
        whole: &str,
        part: &Part,
        reach: Reach,
    ) -> Vec<Finding> {
        let sends = |effect: &Effect| matches!(effect.kind, EffectKind::Send);
        let reads = |effect: &Effect| matches!(effect.kind, EffectKind::SecretRead);
        let leaks = inner.forms.iter().any(|form| form.id == "secret-egress")
            || inner.effects.iter().any(sends) && inner.effects.iter().any(reads);
        let forms = inner.forms.iter().filter(|form| is_grave_form(form, reach));
        let forms = forms.map(|form| (form.id.clone(), form.command));
        // A deployment changes the machines that it goes to.
        let deploys = |effect: &&Effect| {
            let at = effect.command.and_then(|at| usize::try_from(at).ok());
            let command = at.and_then(|at| inner.commands.get(at));
            let there = command.is_some_and(|command| command.wrappers.iter().any(|w| w == "ssh"));
            there && reach != Reach::Starts && effect.kind == EffectKind::SystemChange
        };
        let effects = inner.effects.iter().filter(|effect| self.is_grave(effect, reach, leaks));
        let effects = effects.filter(|effect| !deploys(effect));
        let effects =
            effects.map(|effect| (format!("{:?} {}", effect.kind, effect.target), effect.command));
        let first = part.text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        forms
            .chain(effects)
            .map(|(key, command)| {
                let own = |line: &&RunLine| Some(line.command) == command && line.line > 0;
                let line = lines.iter().filter(own).map(|line| line.line).max().unwrap_or(0);
                let text = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
                let text = text.and_then(|line| whole.lines().nth(line)).unwrap_or(first);
                Finding { key, line, text: shown(text) }
            })
            .collect()
    }

    /// Returns true for an effect that does not belong to ordinary building, testing, installing
    /// and deploying.
    fn is_grave(&self, effect: &Effect, reach: Reach, leaks: bool) -> bool {
        let target = effect.target.as_str();
        let known = target.split(UNKNOWN).next().unwrap_or("");
        let passing = PASSING.iter().any(|folder| known.starts_with(folder));
        let cache = known.contains("/.cache/") || known.contains("/node_modules");
        let inside = known.is_empty()
            || self.is_project(known)
            || passing
            || cache
            || known == "/" && !effect.certain && target != "/" && !target.starts_with("/*");
        let installed = INSTALLED.iter().any(|folder| known.starts_with(folder));
        let (here, starts) = (reach != Reach::Elsewhere, reach == Reach::Starts);
        match effect.kind {
            EffectKind::UnseenCode | EffectKind::RemoteDelete => true,
            // The settings of git are judged by the commands in them.
            EffectKind::Persistence => here && (target.starts_with('/') || !target.contains('.')),
            EffectKind::SystemChange => {
                here && (starts || !installed) && (effect.certain || !target.starts_with('/'))
            }
            EffectKind::Privilege => here && target.starts_with('/'),
            EffectKind::FileDelete | EffectKind::Discard => {
                here && !inside && (effect.recursive || starts || !installed)
            }
            EffectKind::SecretRead => leaks || here && target.starts_with('/') && !inside,
            EffectKind::Send => leaks,
            EffectKind::Evade => starts,
            _ => false,
        }
    }

    /// Notes a grave line of a file that runs later.
    fn plant(&mut self, file: &Written, finding: &Finding) {
        self.plant_line(&file.path, finding, file.command);
    }

    /// Notes a grave line of a file at a path.
    pub(super) fn plant_line(&mut self, path: &str, finding: &Finding, command: Option<u32>) {
        let target = places::as_glob(path);
        let path = self.shown(path);
        let line = match finding.line {
            0 => String::new(),
            line => format!(" line {line}"),
        };
        let label =
            format!("puts a command where it runs later: `{path}`{line}: `{}`", finding.text);
        let weight = crate::catalogue::form("planted-command").map_or(100, |(.., weight)| weight);
        let id = "planted-command".to_owned();
        self.out.forms.push(Form { id, label, weight, command });
        self.out.effect(Effect {
            kind: EffectKind::Persistence,
            target,
            path: None,
            command,
            recursive: false,
            certain: true,
        });
    }
}

fn is_grave_form(form: &Form, reach: Reach) -> bool {
    let ordinary = reach != Reach::Starts && ORDINARY.contains(&form.id.as_str());
    let deletes = DELETIONS.contains(&form.id.as_str());
    !ordinary && !deletes && (form.weight >= 200 || reach == Reach::Starts && form.weight >= 100)
}

/// Returns a line as a label shows it.
pub(super) fn shown(line: &str) -> String {
    let mut text: String =
        line.trim().chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    super::output::cut(&mut text, SHOWN);
    text
}

/// Returns a text after a patch; if it does not fit, the lines that it adds, and true.
pub(super) fn changed(before: &str, hunks: &[(String, String)]) -> (Rc<str>, bool) {
    let mut text = before.to_owned();
    for (old, new) in hunks {
        if old.is_empty() && before.is_empty() {
            text.push_str(new);
            text.push('\n');
        } else if !old.is_empty() && text.contains(old.as_str()) {
            text = text.replacen(old.as_str(), new, 1);
        } else {
            let added: Vec<&str> = hunks.iter().map(|(_, new)| new.as_str()).collect();
            return (Rc::from(added.join("\n")), true);
        }
    }
    (Rc::from(text), false)
}
