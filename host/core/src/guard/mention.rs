//! Finds mentions of a guarded path in a text, in any spelling. Text that only mentions one is
//! harmless by itself; this module only reports the mention.

use super::path_relation::end;
use crate::policy::GuardedPath;

/// Returns true if `text` names a guarded path: in full, after `~` or `$HOME`, or by its last two
/// parts.
pub(super) fn names(text: &str, guarded: &GuardedPath) -> bool {
    holds_name(text, last_two(end(guarded)))
}

/// Returns true if `text` contains the last two parts of a guarded path, each as a name of its own,
/// as in code that assembles a path, or in a command line that changes into the folder first.
pub(super) fn holds_parts(text: &str, guarded: &GuardedPath) -> bool {
    last_two(end(guarded)).split('/').all(|part| holds_name(text, part))
}

/// Returns true if `text` contains `name`, with nothing before or after it that continues a name.
fn holds_name(text: &str, name: &str) -> bool {
    // Each word of a command meets each guarded path: to begin a search costs more than this.
    text.len() >= name.len()
        && text.match_indices(name).any(|(at, _)| {
            starts_name(text.get(..at).unwrap_or(""))
                && ends_name(text.get(at + name.len()..).unwrap_or(""))
        })
}

fn last_two(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    slashes.next();
    slashes.next().and_then(|at| path.get(at + 1..)).unwrap_or(path).trim_start_matches('/')
}

/// Returns true if a name can begin after this text.
fn starts_name(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.')
}

/// Returns true if a name can end before this text.
fn ends_name(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some('.') => !chars.next().is_some_and(char::is_alphanumeric),
        Some(c) => !(c.is_alphanumeric() || c == '_' || c == '-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_in_many_ways() {
        let guarded = GuardedPath::new("/home/me/.claude/settings.json", "");
        for text in [
            "/home/me/.claude/settings.json",
            "~/.claude/settings.json",
            "$HOME/.claude/settings.json",
            "open('/home/me/.claude/settings.json','w')",
            ".claude/settings.json.",
            "x=.claude/settings.json;",
            "/proc/self/root/home/me/.claude/settings.json",
            "file:///home/me/.claude/settings.json",
        ] {
            assert!(names(text, &guarded), "{text}");
        }
        for text in [
            "settings.json",
            ".claude/settings.json.bak",
            ".claude/settings.jsonl",
            "x.claude/settings.json",
            ".claude/settings-json",
            ".claude/commands/settings.json",
            "",
        ] {
            assert!(!names(text, &guarded), "{text}");
        }
        assert!(holds_parts("p = Path.home() / '.claude' / 'settings.json'", &guarded));
        assert!(holds_parts("cd ~/.claude && frob settings.json", &guarded));
        assert!(!holds_parts("open('settings.json')", &guarded));
        assert!(names("rm /etc/portcullis", &GuardedPath::new("/etc/portcullis", "")));
        assert!(!names("portcullis", &GuardedPath::new("/etc/portcullis", "")));
    }
}
