//! Programs that a changed search path finds: with `PATH=$PWD/bin:$PATH`, a name means the file of
//! that name in the project, or one that the session put there.

use super::environment::{UNKNOWN, Value};
use super::expand::Field;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue;
use crate::places::{self, Place};

/// The variable with the folders in which a shell looks for programs.
const NAME: &str = "PATH";
/// The variables with the folders in which code looks for modules.
pub(super) const MODULE_FOLDERS: &[&str] = &["NODE_PATH", "PERL5LIB", "PYTHONPATH", "RUBYLIB"];
/// The most folders of one search path.
const FOLDERS: usize = 32;
/// Folders of temporary files.
const PASSING: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/dev/shm"];

/// Names that the shell does not look for.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete", "continue",
    "coproc", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash",
    "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray",
    "readonly", "return", "select", "set", "shift", "shopt", "source", "suspend", "test", "time", "times", "trap", "true", "type",
    "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];

impl Walker<'_> {
    /// Returns the search path in force.
    pub(super) fn search_path(&self) -> Option<Value> {
        self.env.get(NAME)
    }

    /// Makes the search path that a program gets before its name that of the shell, while it runs.
    pub(super) fn search_in(&mut self, call: &Call) {
        if let Some(path) = given(call) {
            self.env.set(NAME, path);
        }
        for set in call.assignments.iter().filter(|set| MODULE_FOLDERS.contains(&&*set.name)) {
            if self.module_folders.len() < FOLDERS {
                self.module_folders.insert(set.value.clone());
            }
        }
    }

    /// Goes back to the search path of the shell.
    pub(super) fn search_again(
        &mut self,
        call: &Call,
        inner: Option<&Call>,
        before: Option<Value>,
    ) {
        if given(call).or_else(|| given(inner?)).is_none() {
            return;
        }
        match before {
            Some(path) => self.env.set(NAME, path),
            None => self.env.forget(NAME),
        }
    }

    /// Returns the file that a changed search path makes of a program's name.
    pub(super) fn found_in_path(&mut self, first: &Field, setting: &Setting) -> Option<Field> {
        let name = first.text.as_str();
        let plain = first.known && !name.is_empty() && !name.contains('/');
        if !plain || setting.place != Place::Here || BUILTINS.contains(&name) {
            return None;
        }
        let path = self.env.get(NAME)?;
        if self.env.routines.contains_key(name) {
            return None;
        }
        let usual = super::languages::runs_text(name) || catalogue::find(name, &[]).is_some();
        for folder in path.text.split(':').take(FOLDERS) {
            if folder.starts_with(UNKNOWN) || is_of_system(folder) {
                // The machine's own program comes first from here on, if it has one.
                if usual {
                    return None;
                }
                continue;
            }
            // An empty part of a search path is the current folder.
            let folder = if folder.is_empty() { "." } else { folder };
            let (folder, certain) = places::resolve(folder, &self.env.folder);
            if !certain || folder.contains("/node_modules/") || folder.contains("venv/") {
                continue;
            }
            let file = format!("{}/{name}", folder.trim_end_matches('/'));
            let own = self.is_project(&folder)
                || PASSING.iter().any(|passing| places::is_below(&folder, passing));
            let found = if own { self.is_there(&file) } else { self.content_of(&file).is_some() };
            if found {
                return Some(Field { text: file, ..first.clone() });
            }
        }
        None
    }
}

/// Returns the search path that stands before a program.
fn given(call: &Call) -> Option<Value> {
    let set = call.assignments.iter().rev().find(|set| set.name == NAME)?;
    let known = !set.value.contains(UNKNOWN);
    Some(Value { text: set.value.clone(), known, ..Value::default() })
}

fn is_of_system(folder: &str) -> bool {
    ["/bin", "/sbin", "/usr", "/opt", "/snap", "/nix"]
        .iter()
        .any(|system| places::is_below(folder, system))
}
