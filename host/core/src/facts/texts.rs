//! Parameters of a foreign tool that are run: command lines, their words in lists, code in a
//! language.

use serde_json::{Map, Value};

/// Names of parameters that hold a command line, without signs between their words.
const COMMANDS: &[&str] = &[
    "command",
    "cmd",
    "commandline",
    "shellcommand",
    "bash",
    "script",
    "exec",
    "argv",
    "commands",
    "cmds",
    "powershell",
    "bashcommand",
    "bashscript",
    "clicommand",
    "clicommands",
    "cmdline",
    "commandstring",
    "oscommand",
    "shellscript",
    "terminalcommand",
];
/// Names of parameters that hold a command's arguments.
const ARGUMENTS: &[&str] = &["args", "arguments", "argv", "params", "parameters"];
/// Names of parameters that hold a program, if others hold its arguments.
const PROGRAMS: &[&str] = &["command", "cmd", "program", "executable", "binary", "bin"];
/// Names of parameters that hold code.
const CODE: &[&str] = &[
    "cell",
    "cellsource",
    "code",
    "script",
    "snippet",
    "source",
    "sourcecode",
    "python",
    "javascript",
    "program",
    "expression",
];
/// Names of parameters that name the code's language.
const LANGUAGES: &[&str] = &["language", "lang", "runtime", "interpreter", "kernel"];
/// Names of parameters that hold a command's working folder.
const FOLDERS: &[&str] = &["cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory"];

/// The ways in which a text can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    /// The words of a command line before the code.
    Code(&'static str),
}

/// Returns the language that a word names.
pub(super) fn language(word: &str) -> Option<Language> {
    let word = word.to_ascii_lowercase();
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match word {
        "bash" | "sh" | "shell" | "shellscript" | "zsh" | "terminal" => Language::Shell,
        "ipython" | "jupyter" | "notebook" | "py" | "pyodide" | "python" => {
            Language::Code("python3 -c")
        }
        "bun" | "deno" | "javascript" | "js" | "node" | "nodejs" | "ts" | "typescript" => {
            Language::Code("node -e")
        }
        "ruby" => Language::Code("ruby -e"),
        "perl" => Language::Code("perl -e"),
        "php" => Language::Code("php -r"),
        "lua" => Language::Code("lua -e"),
        "powershell" | "pwsh" => Language::Code("pwsh -Command"),
        _ => return None,
    })
}

/// Returns the language that a text appears to be written in, or else the shell.
pub(super) fn guess(text: &str) -> Language {
    const PYTHON: &[&str] = &["import ", "from ", "def ", "print(", "with open(", "__import__("];
    const NODE: &[&str] =
        &["require(", "const ", "let ", "var ", "=> ", "console.", "process.", "await "];
    let begins = |starts: &[&str]| {
        text.lines()
            .take(64)
            .any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)))
    };
    if text.contains("require(") || begins(NODE) || text.contains("import {") {
        Language::Code("node -e")
    } else if begins(PYTHON) || text.contains("__import__(") {
        Language::Code("python3 -c")
    } else {
        Language::Shell
    }
}

/// Returns a parameter's name in lower case, without the signs between its words.
pub(super) fn plain(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

pub(super) fn is_command(key: &str) -> bool {
    COMMANDS.contains(&key)
}

pub(super) fn is_arguments(key: &str) -> bool {
    ARGUMENTS.contains(&key)
}

pub(super) fn is_code(key: &str) -> bool {
    CODE.contains(&key)
}

pub(super) fn is_language(key: &str) -> bool {
    LANGUAGES.contains(&key)
}

pub(super) fn is_folder(key: &str) -> bool {
    FOLDERS.contains(&key)
}

/// Returns the words of one command line in a list, as opposed to a list of separate lines.
pub(super) fn joined(key: &str, items: &[Value]) -> Option<String> {
    let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let words = words.filter(|words| {
        is_command(key)
            && words.len() > 1
            && !words.first().is_some_and(|word| word.contains(char::is_whitespace))
    })?;
    Some(line(&words))
}

/// Returns true if the parameter is the program or the arguments of a command line that is split
/// over two parameters.
pub(super) fn is_part(key: &str) -> bool {
    let key = plain(key);
    PROGRAMS.contains(&key.as_str()) || is_arguments(&key)
}

/// Joins a program and its arguments from two parameters of one object into a command line.
pub(super) fn combined(object: &Map<String, Value>) -> Option<String> {
    let find = |names: fn(&str) -> bool| {
        object.iter().find(|(key, _)| names(&plain(key))).map(|(_, value)| value)
    };
    let program = find(|key| PROGRAMS.contains(&key))?.as_str()?;
    let given = find(is_arguments)?;
    let words: Vec<&str> = match given {
        Value::Array(items) if !items.is_empty() => {
            items.iter().filter_map(Value::as_str).collect()
        }
        Value::String(text) if !text.is_empty() => return Some(format!("{program} {text}")),
        _ => return None,
    };
    Some(format!("{program} {}", line(&words)))
}

/// Joins words into the line that a shell would split into them.
pub(super) fn line(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| if is_bare(word) { (*word).to_owned() } else { quoted(word) })
        .collect::<Vec<_>>()
        .join(" ")
}

fn is_bare(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(&byte))
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns true for backquotes around something that looks like a command followed by a word, not
/// around a name. In prose they only quote: a message that explains a command runs nothing.
pub(super) fn name_like(text: &str) -> bool {
    let inner = text.split('`').skip(1).step_by(2);
    let mut commands = inner.filter(|inner| inner.contains(['/', '|', '>']) && inner.contains(' '));
    commands.next().is_some() && !is_prose(text)
}

/// Returns true if a text reads as sentences around its backquoted parts: many words of letters,
/// and few of anything else.
fn is_prose(text: &str) -> bool {
    let around = text.split('`').step_by(2).flat_map(str::split_whitespace);
    let (mut plain, mut other) = (0, 0);
    for word in around {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        if word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-')) {
            plain += usize::from(!word.is_empty());
        } else {
            other += 1;
        }
    }
    plain >= PROSE && plain >= 4 * other
}

/// The fewest words of letters of a text that is prose.
const PROSE: usize = 8;
