//! Searches for credentials: a pattern that only keys and passwords fit, over a whole home, the
//! whole machine, or the record of what a person typed. In a project that is a check, and there it
//! finds the project's own.

use super::expand::Field;
use super::feed::Trust;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places::{self, Place};
use crate::types::EffectKind;

const SEARCHES: &[&str] =
    &["ack", "ag", "egrep", "fgrep", "grep", "rg", "ripgrep", "ugrep", "zgrep"];

/// The beginnings of keys, and the names that people give their credentials.
const SIGNS: &[&str] = &[
    "aiza",
    "akia",
    "api.?key",
    "api_key",
    "api-key",
    "apikey",
    "asia[",
    "auth_token",
    "aws_access",
    "aws_secret",
    "client_secret",
    "credential",
    "ghp_",
    "gho_",
    "github_pat",
    "glpat-",
    "passwd",
    "password",
    "private key",
    "private.key",
    "private_key",
    "secret",
    "sk-ant",
    "sk-proj",
    "sk_live",
    "token",
    "xoxb",
    "xoxp",
];

impl Walker<'_> {
    /// Notes that a search looks for credentials in a home, in all homes, or everywhere.
    pub(super) fn hunt(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) {
        if !SEARCHES.contains(&name) || setting.place != Place::Here {
            return;
        }
        let named = |field: &Field| {
            let low = field.text.to_ascii_lowercase();
            SIGNS.iter().any(|sign| low.contains(sign))
        };
        if !rest.iter().any(named) {
            return;
        }
        // `printenv | grep TOKEN` shows the values.
        let names_only = rest
            .iter()
            .any(|field| matches!(field.text.as_str(), "-c" | "-q" | "--count" | "--quiet"))
            || rest.iter().any(|field| field.text == "-o")
                && plan
                    .operands
                    .first()
                    .and_then(|at| rest.get(*at))
                    .is_some_and(|pattern| matches_names_only(&pattern.text));
        if call.input.source.trust == Trust::Environment && !names_only {
            self.plain(EffectKind::SecretRead, "environment", false, command, setting);
        }
        let roots: Vec<String> = plan
            .operands
            .iter()
            .filter_map(|at| rest.get(*at))
            .map(|field| places::resolve(&field.text, &self.env.folder).0)
            .filter(|path| self.is_hunting_ground(path))
            .collect();
        for path in roots {
            self.plain(EffectKind::SecretRead, &path, true, command, setting);
        }
    }

    fn is_hunting_ground(&self, path: &str) -> bool {
        let path = path.trim_end_matches(['*', '/']);
        let below = |top: &str| path.strip_prefix(top).is_some_and(|rest| !rest.contains('/'));
        places::is_history(path)
            || path != self.project
                && (matches!(path, "" | "/etc" | "/home" | "/root" | "/Users" | "/opt" | "/var")
                    || path == self.home
                    || below("/home/")
                    || below("/Users/"))
    }
}

/// Returns true if what fits a pattern has nothing of a value in it: a plain word, or a pattern that
/// begins with the line and cannot go past the `=`.
fn matches_names_only(pattern: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let anchored = pattern.strip_prefix('^').map(|rest| rest.replace("[^=]", ""));
    pattern.chars().all(is_name)
        || anchored.is_some_and(|rest| {
            rest.trim_end_matches('=').chars().all(|c| is_name(c) || "*+[]-".contains(c))
        })
}
