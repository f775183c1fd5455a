//! Items of an entry: each is checked, and made into the short text that the guest reads.
//!
//! ```text
//! modify                      modify           to nothing that a word names
//! modify words                modify:*
//! modify word 2               modify:2
//! modify words 2..            modify:2..
//! modify last word            modify:-1
//! modify words ..last         modify:..-1      all but the last
//! modify words after --       modify:--
//! modify at ./node_modules    modify@./node_modules
//! form force-push             !force-push
//! code python word 1          code-python:1
//! script node word 1          script-node:1
//! ```

use crate::names::nearest;
use crate::problem::Mistake;

/// The kinds of effects, as the catalogue names them.
pub const KINDS: &[&str] = &[
    "read",
    "create",
    "modify",
    "delete",
    "discard",
    "start",
    "stop",
    "network",
    "send",
    "publish",
    "remote",
    "remote-delete",
    "system",
    "persist",
    "privilege",
    "evade",
    "secret",
    "unseen",
    "resource",
];

const LANGUAGES: &[&str] = &[
    "awk",
    "elixir",
    "lisp",
    "lua",
    "make",
    "node",
    "octave",
    "perl",
    "php",
    "powershell",
    "prompt",
    "python",
    "r",
    "ruby",
    "sed",
    "shell",
    "swift",
    "tcl",
];
/// HTTP clients whose calls are read by `src/catalogue/requests`.
const CLIENTS: &[&str] = &["curl", "gh", "glab", "grpc", "httpie", "powershell", "wget"];
const SOURCES: &[&str] = &["decoded", "downloaded", "environment"];
/// Kinds of package sources, which `src/walk/sources.rs` judges.
const FAMILIES: &[&str] = &[
    "address",
    "any",
    "channel",
    "extension",
    "flake",
    "go",
    "image",
    "npm",
    "npm-package",
    "npm-starter",
    "python-package",
    "registry",
    "requirement",
    "rust-package",
    "system",
    "tap",
];
const OTHERS: &[&str] = &[
    "form",
    "recursive",
    "harmless",
    "local",
    "elevates",
    "metadata",
    "run",
    "shell",
    "code",
    "script",
    "gives",
    "runs",
    "source",
    "verbs",
    "request",
];

/// Encodes an item. The caller checks the form that it names, if any.
pub(crate) fn item(text: &str) -> Result<String, Mistake> {
    let (head, rest) = text.split_once(' ').unwrap_or((text, ""));
    match (head, rest) {
        ("recursive" | "harmless" | "elevates" | "local" | "metadata", "") => Ok(head.to_owned()),
        ("form", name) if !name.is_empty() => Ok(format!("!{name}")),
        ("run" | "shell", which) if !which.is_empty() => {
            Ok(format!("{head}:{}", words(text, which)?))
        }
        ("code", rest) => {
            let (language, which) =
                rest.split_once(' ').ok_or_else(|| incomplete(text, "code LANGUAGE word N"))?;
            Ok(format!("code-{}:{}", one_of(language, LANGUAGES, "language")?, words(text, which)?))
        }
        ("script", rest) => {
            let (language, which) =
                rest.split_once(' ').ok_or_else(|| incomplete(text, "script LANGUAGE word N"))?;
            let language = one_of(language, LANGUAGES, "language")?;
            Ok(format!("script-{language}:{}", words(text, which)?))
        }
        ("source", rest) => {
            let (family, which) =
                rest.split_once(' ').ok_or_else(|| incomplete(text, "source KIND word N"))?;
            Ok(format!("source-{}:{}", one_of(family, FAMILIES, "kind")?, words(text, which)?))
        }
        ("runs", rest) => {
            let (family, which) = rest
                .strip_prefix("source ")
                .and_then(|rest| rest.split_once(' '))
                .ok_or_else(|| incomplete(text, "runs source KIND word N"))?;
            Ok(format!("runs-source-{}:{}", one_of(family, FAMILIES, "kind")?, words(text, which)?))
        }
        ("gives", source) => Ok(format!("gives@{}", one_of(source, SOURCES, "source")?)),
        ("verbs", "") => Ok("verbs".to_owned()),
        ("verbs", "on this machine") => Ok("verbs-system".to_owned()),
        ("verbs", "in groups") => Ok("verbs-groups".to_owned()),
        ("verbs", rest) => match rest.strip_prefix("in groups ") {
            Some(rest) => Ok(format!("verbs-groups@{}", target(text, rest)?)),
            None => Ok(format!("verbs@{}", target(text, rest)?)),
        },
        ("request", client) => Ok(format!("request-{}", one_of(client, CLIENTS, "client")?)),
        (kind, rest) if KINDS.contains(&kind) => match rest {
            "" => Ok(kind.to_owned()),
            rest if rest.starts_with("at ") => Ok(format!("{kind}@{}", target(text, rest)?)),
            which => Ok(format!("{kind}:{}", words(text, which)?)),
        },
        _ => Err(Mistake::new(
            format!("`{text}` means nothing"),
            nearest(
                head,
                KINDS.iter().chain(OTHERS).copied(),
                "write an item of the table in `README.md`",
            ),
        )),
    }
}

/// The roles of a value that is run in some way, other than a shell's text.
const RUNS: &[&str] = &[
    "program",
    "filter",
    "expansion",
    "library",
    "settings-file",
    "git-alias",
    "helper",
    "tool",
    "jvm",
    "folders",
];

/// The formats of files of settings.
const SETTINGS: &[&str] = &["cargo", "git", "maven", "npm", "pip", "screen", "ssh", "wget"];

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Encodes the role of a flag's value.
pub(crate) fn role(text: &str) -> Result<String, Mistake> {
    match text {
        "ignored" => Ok("_".to_owned()),
        "folder" => Ok("folder".to_owned()),
        "first-word" => Ok("1".to_owned()),
        "shell" => Ok("shell".to_owned()),
        _ if KINDS.contains(&text) => Ok(text.to_owned()),
        _ if RUNS.contains(&text) => Ok(text.to_owned()),
        _ => match text.split_once(' ') {
            Some(("code", language)) => {
                Ok(format!("code-{}", one_of(language, LANGUAGES, "language")?))
            }
            Some(("script", language)) => {
                Ok(format!("script-{}", one_of(language, LANGUAGES, "language")?))
            }
            Some(("module", language)) => {
                Ok(format!("module-{}", one_of(language, LANGUAGES, "language")?))
            }
            Some(("off", form)) if is_word(form) => Ok(format!("off-{form}")),
            Some(("on", form)) if is_word(form) => Ok(format!("on-{form}")),
            Some(("source", family)) => Ok(format!("source-{}", one_of(family, FAMILIES, "kind")?)),
            Some(("options", program)) if is_word(program) => Ok(format!("options-{program}")),
            Some(("setting", family)) if is_word(family) => Ok(format!("setting-{family}")),
            Some(("settings", format)) => {
                Ok(format!("settings-{}", one_of(format, SETTINGS, "format of settings")?))
            }
            _ => Err(Mistake::new(
                format!("`{text}` is nothing that a value can be"),
                nearest(
                    text,
                    KINDS.iter().chain(RUNS).copied().chain([
                        "ignored",
                        "folder",
                        "first-word",
                        "shell",
                        "code",
                        "script",
                        "module",
                        "off",
                        "on",
                        "options",
                        "setting",
                        "source",
                    ]),
                    "write a kind of effect, `ignored`, or a word of the table in `README.md`",
                ),
            )),
        },
    }
}

/// Encodes a condition: groups joined by ` & `, each a list of flags and words of which one must be
/// present; `! ` before a group negates it.
pub(crate) fn condition(text: &str) -> Result<String, Mistake> {
    for group in text.split(" & ") {
        let atoms = group.strip_prefix("! ").unwrap_or(group);
        let wrong = atoms.split(' ').any(|atom| {
            atom.is_empty() || matches!(atom, "!" | "&" | "-") || atom.contains(['\t', '\n', ','])
        });
        if wrong {
            return Err(Mistake::new(
                format!("`{text}` is not a condition"),
                "write flags or words with single blanks, ` & ` between groups, `! ` before one",
            ));
        }
    }
    Ok(text.to_owned())
}

/// Encodes flags that take a value.
pub(crate) fn flags(text: &str) -> Result<String, Mistake> {
    match text.split(' ').find(|flag| {
        flag.len() < 2
            || !flag.starts_with(['-', '+', '/'])
            || flag.contains(['=', ',', '\t', '\n'])
    }) {
        Some(flag) => Err(Mistake::new(
            format!("`{flag}` in `{text}` is not a flag"),
            "write flags with single blanks between",
        )),
        None => Ok(text.to_owned()),
    }
}

fn words(text: &str, which: &str) -> Result<String, Mistake> {
    let number = |number: &str| number.parse::<u8>().ok().filter(|number| (1..=9).contains(number));
    let selector = match which {
        "words" => Some("*".to_owned()),
        "last word" => Some("-1".to_owned()),
        "words ..last" => Some("..-1".to_owned()),
        "words after --" => Some("--".to_owned()),
        _ => match which.strip_prefix("word ") {
            Some(one) => number(one).map(|one| one.to_string()),
            None => which
                .strip_prefix("words ")
                .and_then(|from| from.strip_suffix(".."))
                .and_then(number)
                .map(|from| format!("{from}..")),
        },
    };
    selector.ok_or_else(|| {
        Mistake::new(
            format!("`{text}` names no words"),
            "write `words`, `word N`, `words N..`, `last word`, `words ..last` or `words after --`, N from 1 to 9",
        )
    })
}

fn target<'t>(text: &str, rest: &'t str) -> Result<&'t str, Mistake> {
    match rest.strip_prefix("at ") {
        Some(target) if !target.is_empty() && !target.contains(['\t', '\n']) => Ok(target),
        _ => Err(Mistake::new(
            format!("`{text}` names no target"),
            "write `at` and a path, host or service",
        )),
    }
}

fn one_of<'t>(text: &'t str, known: &[&str], what: &str) -> Result<&'t str, Mistake> {
    if known.contains(&text) {
        return Ok(text);
    }
    Err(Mistake::new(
        format!("`{text}` is not a {what}"),
        format!("write one of `{}`", known.join("`, `")),
    ))
}

fn incomplete(text: &str, form: &str) -> Mistake {
    Mistake::new(format!("`{text}` is not complete"), format!("write `{form}`"))
}
