//! Commands in the descriptions of builds: CMake, Gradle, Maven, Meson and others.
//!
//! Only the calls that run a command when somebody builds are read, as command lines in their
//! order. What a build compiles is not followed.

use super::settings::quoted_texts;
use super::{PARTS, Part, joined};

/// The longest value of a step that is read, in bytes.
const VALUE: usize = 4096;

/// Words of a call of CMake that end a command.
const ENDS: &[&str] = &[
    "ALL",
    "ARGS",
    "BYPRODUCTS",
    "COMMAND_ECHO",
    "COMMAND_ERROR_IS_FATAL",
    "COMMENT",
    "DEPENDS",
    "ECHO_ERROR_VARIABLE",
    "ECHO_OUTPUT_VARIABLE",
    "ENCODING",
    "ERROR_FILE",
    "ERROR_QUIET",
    "ERROR_STRIP_TRAILING_WHITESPACE",
    "ERROR_VARIABLE",
    "INPUT_FILE",
    "JOB_POOL",
    "MAIN_DEPENDENCY",
    "OUTPUT_FILE",
    "OUTPUT_QUIET",
    "OUTPUT_STRIP_TRAILING_WHITESPACE",
    "OUTPUT_VARIABLE",
    "POST_BUILD",
    "PRE_BUILD",
    "PRE_LINK",
    "RESULTS_VARIABLE",
    "RESULT_VARIABLE",
    "SOURCES",
    "TIMEOUT",
    "USES_TERMINAL",
    "VERBATIM",
    "WORKING_DIRECTORY",
];
/// Words before a command in a call of CMake.
const COMMANDS: &[&str] = &[
    "BUILD_COMMAND",
    "COMMAND",
    "CONFIGURE_COMMAND",
    "INSTALL_COMMAND",
    "PATCH_COMMAND",
    "UPDATE_COMMAND",
];

/// Reads a build of CMake: its commands are one text, since a later one runs what an earlier one
/// fetched.
pub(super) fn cmake(text: &str) -> Vec<Part> {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let whole = lines.join("\n");
    let mut commands: Vec<String> = Vec::new();
    for (at, _) in whole.match_indices('(').take(4 * PARTS) {
        let before = whole.get(..at).unwrap_or("").trim_end();
        let name = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
        let name = name.unwrap_or("").to_ascii_lowercase();
        if !matches!(
            name.as_str(),
            "execute_process"
                | "exec_program"
                | "add_custom_command"
                | "add_custom_target"
                | "externalproject_add"
                | "file"
                | "include"
        ) {
            continue;
        }
        let words = words_of_call(whole.get(at + 1..).unwrap_or(""));
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        match (name.as_str(), texts.as_slice()) {
            ("file", ["DOWNLOAD", from, to, ..]) => {
                commands.push(joined(["curl", "-o", to, from].into_iter()));
            }
            ("include", [file, ..]) if file.contains(['/', '$']) => {
                commands.push(joined(["cmake", "-P", file].into_iter()));
            }
            ("file" | "include", _) => {}
            ("exec_program", [program, ..]) => commands.push((*program).to_owned()),
            _ => {
                for (at, _) in texts.iter().enumerate().filter(|(_, word)| COMMANDS.contains(word))
                {
                    let own = texts.iter().skip(at + 1);
                    let own =
                        own.take_while(|word| !ENDS.contains(word) && !COMMANDS.contains(word));
                    commands.push(joined(own.copied()));
                }
            }
        }
    }
    commands.retain(|command| !command.is_empty());
    if commands.is_empty() { Vec::new() } else { vec![Part::shell(commands.join("\n"))] }
}

/// Returns the words of a call up to its end: bare ones, and texts in quotes or in `[[ ]]`.
fn words_of_call(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = bounded(text);
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next().filter(|_| words.len() < 256) else { break };
        let (word, after) = match first {
            ')' => break,
            '"' => {
                let inner = rest.get(1..).unwrap_or("");
                let ends = |at: &usize| !inner.get(..*at).is_some_and(|text| text.ends_with('\\'));
                let end =
                    inner.match_indices('"').map(|(at, _)| at).find(ends).unwrap_or(inner.len());
                let word =
                    inner.get(..end).unwrap_or("").replace("\\\"", "\"").replace("\\\\", "\\");
                (word, inner.get(end + 1..).unwrap_or(""))
            }
            '[' if rest.starts_with("[[") => {
                let inner = rest.get(2..).unwrap_or("");
                let (word, after) = inner.split_once("]]").unwrap_or((inner, ""));
                (word.to_owned(), after)
            }
            _ => {
                // A variable may hold its name in brackets: `$<TARGET_FILE:a>`, `${A}`.
                let end = rest
                    .find(|c: char| c.is_whitespace() || matches!(c, ')' | '"'))
                    .unwrap_or(rest.len());
                let (word, after) = rest.split_at_checked(end.max(1)).unwrap_or((rest, ""));
                (word.to_owned(), after)
            }
        };
        words.push(word);
        rest = after;
    }
    words
}

/// Reads a build of Gradle: its code, and the command lines of its tasks.
pub(super) fn gradle(text: &str, kotlin: bool) -> Vec<Part> {
    let language = if kotlin { "java" } else { "groovy" };
    let mut parts = vec![Part { text: text.to_owned(), language: Some(language) }];
    parts.extend(behind(text, &["commandLine", "executable"]));
    parts
}

/// Words behind which builds in other notations hold commands.
const STEPS: &[&str] = &[
    "addSystemCommand",
    "cmd",
    "cmd_bash",
    "command",
    "preBuild",
    "postBuild",
    "postInstall",
    "run_command",
    "runCommand",
    "run_process",
    "shellHook",
    "<!",
    "<!@",
    "action",
    "Process",
];

/// Reads a build in a notation of calls and lists.
pub(super) fn steps(text: &str) -> Vec<Part> {
    let mut parts = behind(text, STEPS);
    // Nix holds scripts in doubled quotes.
    for block in text.split("''").skip(1).step_by(2).take(PARTS) {
        parts.push(Part::shell(block.replace("${pkgs.", "${pkgs_")));
    }
    // `<!(CMD)` of node-gyp, in quotes or not.
    for start in ["<!(", "<!@("] {
        let found = text.split(start).skip(1).take(PARTS);
        parts.extend(found.filter_map(|rest| rest.split([')', '\n']).next()).map(Part::shell));
    }
    parts
}

/// Returns the commands behind words: a text, or the texts of a list or a call as the words of one.
fn behind(text: &str, words: &[&str]) -> Vec<Part> {
    let mut parts = Vec::new();
    for word in words {
        for (at, _) in text.match_indices(word).take(PARTS) {
            let joins = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let after = text.get(at + word.len()..).unwrap_or("");
            if before.is_some_and(joins) || after.starts_with(joins) {
                continue;
            }
            // The key may stand in quotes.
            let quoted = before.filter(|c| matches!(c, '"' | '\''));
            let after = quoted.and_then(|quote| after.strip_prefix(quote)).unwrap_or(after);
            let value = after.trim_start_matches([' ', '\t', '=', ':', '+', '\n', '&', '.']);
            let value = value.strip_prefix("listOf").unwrap_or(value);
            let value = match value.chars().next() {
                Some('(' | '[' | '{') => bracketed(value),
                _ => value.lines().next().unwrap_or(""),
            };
            let texts = quoted_texts(value);
            if texts.len() > 1 {
                parts.push(Part::shell(joined(texts.iter().map(String::as_str))));
            }
            parts.extend(texts.into_iter().filter(|text| text.contains(' ')).map(Part::shell));
        }
    }
    parts.truncate(PARTS + 1);
    parts
}

/// Returns a value in brackets up to the end of the first one.
fn bracketed(text: &str) -> &str {
    let mut depth = 0_i32;
    let mut quote = None;
    for (at, c) in text.char_indices().take(VALUE) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth -= 1;
                if depth <= 0 {
                    return text.get(..at).unwrap_or(text);
                }
            }
            _ => {}
        }
    }
    bounded(text)
}

/// Returns as much of a text as is read of one value.
fn bounded(text: &str) -> &str {
    let end = (0..=VALUE.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or("")
}

/// Reads a build of Maven: the programs that its plugins run, with their arguments.
pub(super) fn maven(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for block in text.split("<plugin>").skip(1).take(PARTS) {
        let block = block.split("</plugin>").next().unwrap_or(block);
        for execution in block.split("<execution>") {
            let mut words: Vec<String> = Vec::new();
            for tag in execution.split('<').skip(1) {
                let (name, inner) = tag.split_once('>').unwrap_or((tag, ""));
                match name.split_whitespace().next() {
                    Some("executable" | "argument" | "commandlineArgs") => words.push(plain(inner)),
                    Some("exec" | "arg") => {
                        let named = ["executable=", "value=", "line="].iter();
                        let values = named.filter_map(|key| name.split_once(key));
                        words.extend(
                            values
                                .flat_map(|(_, rest)| quoted_texts(rest).into_iter().take(1))
                                .map(|text| plain(&text)),
                        );
                    }
                    _ => {}
                }
            }
            if !words.is_empty() {
                parts.push(Part::shell(joined(words.iter().map(String::as_str))));
            }
        }
    }
    parts
}

fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&apos;", "'").replace("&amp;", "&").trim().to_owned()
}

/// Reads settings in sections whose keys hold commands: `commands =`, one a line.
pub(super) fn sections(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.starts_with(['#', ';', '[']) {
            open = open && !line.starts_with('[');
            continue;
        }
        let command = if indented {
            Some(line)
        } else {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            open = key.trim().starts_with("commands")
                || matches!(key.trim(), "list_dependencies_command" | "install_command");
            Some(value.trim())
        };
        // A dash before a command ignores its failure.
        let command =
            command.filter(|_| open).map(|text| text.trim_start_matches(['-', '!']).trim());
        parts.extend(command.filter(|text| !text.is_empty()).map(Part::shell));
    }
    parts
}
