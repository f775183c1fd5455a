//! Ordinary files of code that the command line writes: something runs, imports or builds them some
//! day. Such a file is read by itself, and objected to only for what no program of a project does:
//! it reads a store of credentials, gives somebody a shell, runs what it fetches, deletes the home
//! or another project, takes the guard away, or leaves out the check of who gets a secret.
//!
//! The reading is bounded, and what exceeds a bound is no limit: the file is read again when it is
//! run.

use super::Walker;
use super::scripts::{FirstLine, RunText, named_in_first_line};
use super::written::{Finding, INSTALLED, PASSING, shown};
use super::{Setting, environment::UNKNOWN};
use crate::bindings::exports::portcullis::shell::reader::{RunLine, Surroundings};
use crate::syntax::Span;
use crate::types::{Effect, EffectKind};
use portcullis_autoruns::{Format, find_code, may_do_harm};
use std::rc::Rc;

/// The longest text of such a file that is read, in bytes, and the work for it.
const TEXT: usize = 64 * 1024;
const WORK: usize = 1 << 19;

/// Forms that no program of a project has, whatever it is for.
const FORMS: &[&str] = &[
    "crypto-miner",
    "delete-root",
    "disk-write",
    "fork-bomb",
    "hidden-command",
    "kill-everything",
    "pipe-to-shell",
    "remote-shell",
    "secret-egress",
];
/// Parts of paths of the guard, and of the settings of agents that start it.
const GUARD: &[&str] =
    &["/.claude/settings", "/.codex/config", "/.config/portcullis/", "/portcullis/"];
/// Signs of a connection that does not check who is at its other end.
const UNCHECKED: &[&str] = &[
    "CERT_NONE",
    "InsecureSkipVerify: true",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "_create_unverified_context",
    "curl --insecure",
    "curl -k ",
    "curl -sk ",
    "rejectUnauthorized: false",
    "verify = False",
    "verify=False",
];
/// Words beside which such a connection carries a secret.
const SECRETS: &[&str] =
    &["api_key", "apikey", "authorization", "bearer ", "client_secret", "password", "secret_key"];
/// Signs that the other end is this machine or a test.
const OWN: &[&str] = &["127.0.0.1", "conftest", "localhost", "pytest", "self-signed", "unittest"];

impl Walker<'_> {
    /// Notes the first grave part of a file of code, or of a piece of one.
    pub(super) fn note_code(&mut self, path: &str, text: &str, piece: bool, command: Option<u32>) {
        // A line past a limit is asked about, whatever else it does.
        if self.out.is_limited() {
            return;
        }
        let Some(code) = find_code(path).filter(|_| text.len() <= TEXT && may_do_harm(text)) else {
            return;
        };
        let whole = if piece { outdented(text) } else { text.to_owned() };
        let language = match (named_in_first_line(&whole), code.format) {
            (Some(FirstLine::Language(language)), _) | (None, Format::Code(language)) => {
                Some(language)
            }
            (Some(FirstLine::Unknown), _) => return,
            _ => None,
        };
        let whole: Rc<str> = Rc::from(whole);
        let surroundings = Surroundings {
            cwd: self.project.to_owned(),
            home: self.home.to_owned(),
            files: Vec::new(),
            mounts: Vec::new(),
        };
        let mut apart = Walker::new(&surroundings, WORK);
        let run = RunText {
            path,
            part: "",
            whole: &whole,
            text: &whole,
            language,
            span: Span::default(),
            sourced: false,
        };
        apart.run_text(&run, None, &Setting::default());
        self.step(whole.len());
        let forms = apart.out.forms.iter().filter(|form| FORMS.contains(&form.id.as_str()));
        let forms = forms.map(|form| (form.id.clone(), form.command));
        let effects = apart.out.effects.iter().filter(|effect| self.is_undisputed(effect));
        let effects =
            effects.map(|effect| (format!("{:?} {}", effect.kind, effect.target), effect.command));
        let grave = forms.chain(effects).next();
        let lines = apart.scripts.take_lines(Vec::new());
        let found = grave.map(|(key, command)| {
            let own = |line: &&RunLine| Some(line.command) == command && line.line > 0;
            let line = lines.iter().filter(own).map(|line| line.line).max().unwrap_or(0);
            (key, line)
        });
        let unchecked = || unchecked_line(path, &whole).map(|line| ("skip-tls".to_owned(), line));
        let Some((key, line)) = found.or_else(unchecked) else { return };
        let at = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        let named = at.and_then(|at| whole.lines().nth(at));
        let first = || named_after(&key, &whole);
        let text = shown(named.unwrap_or_else(first));
        let line = if piece { 0 } else { line };
        self.plant_line(path, &Finding { key, line, text }, command);
    }

    /// Returns true for an effect that no ordinary code of a project has.
    fn is_undisputed(&self, effect: &Effect) -> bool {
        let target = effect.target.as_str();
        let known = target.starts_with('/') && effect.certain && !target.contains(UNKNOWN);
        let below = |folders: &[&str]| folders.iter().any(|folder| target.starts_with(folder));
        let outside = known && !self.is_project(target) && !below(PASSING);
        match effect.kind {
            EffectKind::SecretRead => outside,
            EffectKind::FileDelete => {
                let own = target.contains("/.cache/") || target.contains("/node_modules");
                outside && effect.recursive && !below(INSTALLED) && !own
                    || known && GUARD.iter().any(|part| target.contains(part))
            }
            EffectKind::FileModify => known && GUARD.iter().any(|part| target.contains(part)),
            _ => false,
        }
    }
}

/// Returns the line of a text that leaves out the check of the other end, if it also handles
/// secrets and is no test.
fn unchecked_line(path: &str, text: &str) -> Option<u32> {
    let low = text.to_ascii_lowercase();
    let tests = path.contains("/test") || path.contains(".test.") || path.contains("_test.");
    if tests || OWN.iter().any(|sign| low.contains(sign)) {
        return None;
    }
    let at = text.lines().position(|line| UNCHECKED.iter().any(|sign| line.contains(sign)))?;
    let secret = SECRETS.iter().any(|word| low.contains(word));
    secret.then(|| u32::try_from(at + 1).ok()).flatten()
}

/// Returns the line of a text that an effect most likely comes from: one that names its target.
fn named_after<'t>(key: &str, text: &'t str) -> &'t str {
    let name = key.rsplit('/').next().unwrap_or("");
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let named = lines.clone().find(|line| name.len() > 2 && line.contains(name));
    named.or_else(|| lines.next()).unwrap_or("")
}

/// Returns a piece of code without the indentation that all its lines have.
fn outdented(text: &str) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = lines().map(indent).min().unwrap_or(0);
    let cut = |line: &str| line.get(least..).unwrap_or("").to_owned();
    text.lines().map(cut).collect::<Vec<String>>().join("\n")
}
