//! Code that takes the whole environment, which often holds credentials.

use super::super::super::{Setting, Walker};
use super::literals::mask;
use crate::types::EffectKind;

/// The most places of a name that are looked at.
const PLACES: usize = 64;
/// Names of the whole environment in languages without a parser.
const NAMES: &[&str] = &[
    "os.environ",
    "process.env",
    "%ENV",
    "$_ENV",
    "$_SERVER",
    "getenv()",
    "%*ENV",
    "Sys.getenv()",
];
/// Methods of ruby's `ENV` that are about one variable, or about names alone.
const OF_ONE: &[&str] = &[
    "[]=", "clear", "count", "delete", "dig", "empty?", "fetch", "has_key?", "include?", "key?",
    "keys", "length", "member?", "replace", "size", "store", "update",
];

impl Walker<'_> {
    /// Notes code that takes the value of each variable.
    pub(super) fn whole_environment(
        &mut self,
        code: &str,
        language: &str,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let whole = match language {
            // Text in quotes may be computed.
            "ruby" => takes_ruby_environment(code),
            _ => takes_environment(&mask(code, language)),
        };
        if whole {
            self.plain(EffectKind::SecretRead, "environment", false, command, setting);
        }
    }
}

fn takes_environment(masked: &str) -> bool {
    NAMES.iter().any(|name| {
        masked.match_indices(name).take(PLACES).any(|(at, _)| {
            let rest = masked.get(at + name.len()..).unwrap_or_default();
            // A statement may end with the line.
            rest.starts_with(['\n', '\r']) || {
                let rest = rest.trim_start();
                rest.is_empty()
                    || rest.starts_with([')', ',', ';', '}', ']', '|'])
                    || rest.starts_with(".items")
                    || rest.starts_with(".copy")
            }
        })
    })
}

fn takes_ruby_environment(code: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // The names of all variables, and a variable of a computed name.
    let (mut names, mut computed) = (false, false);
    for (at, name) in code.match_indices("ENV").take(PLACES) {
        let before = code.get(..at).unwrap_or_default();
        let rest = code.get(at + name.len()..).unwrap_or_default();
        if before.ends_with(is_word) || before.ends_with('$') || rest.starts_with(is_word) {
            continue;
        }
        let rest = rest.trim_start_matches([' ', '\t']);
        if let Some(key) = rest.strip_prefix('[') {
            computed |= !key.trim_start().starts_with(['"', '\'', ':']);
            continue;
        }
        // As a value it may be handed on to anything.
        let Some(method) = rest.trim_start_matches('&').strip_prefix('.') else {
            return true;
        };
        let method = method.split(|c: char| !is_word(c) && c != '?').next().unwrap_or_default();
        computed |= matches!(method, "fetch" | "dig")
            && !{ rest.split_once('(') }
                .is_some_and(|(_, key)| key.trim_start().starts_with(['"', '\'']));
        names |= method == "keys";
        if !OF_ONE.contains(&method) {
            return true;
        }
    }
    // `ENV.keys.each { |name| ENV[name] }` takes all values with two harmless parts.
    names && computed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_is_not_the_whole_environment() {
        for (code, whole) in [
            ("ENV.to_h.to_s", true),
            ("puts ENV.inspect", true),
            ("p ENV", true),
            ("\"#{ENV.values.join}\"", true),
            ("ENV.keys.map { |k| ENV[k] }", true),
            ("ENV.keys.map { |k| ENV.fetch(k) }", true),
            ("ENV.each { |k, v| send(v) }", true),
            ("ENV&.to_a", true),
            ("ENV['HOME'] + ENV[\"USER\"]", false),
            ("ENV.fetch('PORT', 80)", false),
            ("ENV.key?('CI') ? 1 : 2", false),
            ("ENV.keys.sort", false),
            ("MY_ENV.to_h; $ENV.to_h; ENVELOPE.to_h", false),
            ("name = 'A'; ENV[name]", false),
        ] {
            assert_eq!(takes_ruby_environment(code), whole, "{code}");
        }
        for (code, whole) in [
            ("post($u, [%ENV])", true),
            ("json_encode($_SERVER)", true),
            ("print join ',', values %ENV;", true),
            ("$_SERVER['argv'][0]", false),
            ("$ENV{HOME}", false),
            ("getenv('HOME')", false),
        ] {
            assert_eq!(takes_environment(code), whole, "{code}");
        }
    }
}
