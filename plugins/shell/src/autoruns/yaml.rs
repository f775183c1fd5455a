//! Commands in YAML: the steps of build services, of hooks and of tasks. It reads line by line and
//! by indentation, and knows no more of YAML than where a command begins and ends.

use super::{PARTS, Part, joined};

/// Keys whose values are commands.
const COMMANDS: &[&str] = &[
    "after_failure",
    "after_script",
    "after_success",
    "args",
    "bash",
    "before_deploy",
    "before_install",
    "before_script",
    "build_script",
    "cmd",
    "cmds",
    "command",
    "commands",
    "deploy_script",
    "entry",
    "entrypoint",
    "exec",
    "install",
    "postCommand",
    "preCommand",
    "run",
    "script",
    "sh",
    "test_script",
];
/// Keys that hold the words of one command.
const WORDS: &[&str] = &["args", "command", "entrypoint"];
/// Languages that a step may be written in.
const LANGUAGES: &[(&str, &str)] = &[
    ("node", "node"),
    ("perl", "perl"),
    ("php", "php"),
    ("python", "python"),
    ("python3", "python"),
    ("ruby", "ruby"),
];

/// Returns the commands in a text.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if found.len() > PARTS {
            break;
        }
        let Some((indent, key, value)) = member(line) else {
            let listed = line.trim_start().trim_start_matches("- ").trim_start();
            if listed.starts_with('{') {
                flow_members(listed, &mut found);
            }
            continue;
        };
        // A value that others refer to may be a command there.
        let anchored = value.starts_with('&');
        let named = COMMANDS.contains(&key) || key.ends_with("_script") || key.ends_with("Command");
        if value.starts_with('{') {
            flow_members(value, &mut found);
        }
        if !named && !anchored {
            continue;
        }
        let value = without_tags(value);
        let language = language_beside(&lines, at - 1, indent);
        if value.is_empty() {
            at = items(&lines, at, indent, WORDS.contains(&key), &mut found);
        } else if value.starts_with('[') {
            flow_list(value, WORDS.contains(&key), &mut found);
        } else if !value.starts_with(['*', '{']) {
            let (text, end) = scalar(&lines, at, indent, value);
            found.push(Part { text: plain(&text), language });
            at = end;
        }
    }
    found
}

/// Returns the indentation of a line's key, the key, and the value behind it.
fn member(line: &str) -> Option<(usize, &str, &str)> {
    let mut rest = line.trim_start();
    while let Some(item) = rest.strip_prefix("- ") {
        rest = item.trim_start();
    }
    if rest.starts_with(['#', '{', '[']) {
        return None;
    }
    let indent = line.len() - rest.len();
    let (key, value) = match rest.strip_prefix(['"', '\'']) {
        Some(quoted) => {
            let (key, value) = quoted.split_once(['"', '\''])?;
            (key, value.trim_start().strip_prefix(':')?)
        }
        None => {
            let (key, value) = rest.split_once(':')?;
            (value.is_empty() || value.starts_with([' ', '\t'])).then_some((key, value))?
        }
    };
    let value = value.trim();
    Some((indent, key.trim(), if value.starts_with('#') { "" } else { value }))
}

/// Returns a value without its anchor and its tag.
fn without_tags(value: &str) -> &str {
    let mut rest = value;
    while rest.starts_with(['&', '!']) {
        rest = rest.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Reads a scalar that begins with `value`, and the lines that belong to it. Returns the number of
/// the line after it.
fn scalar(lines: &[&str], at: usize, indent: usize, value: &str) -> (String, usize) {
    let below = |line: &&&str| line.trim().is_empty() || indent_of(line) > indent;
    let more: Vec<&str> =
        lines.get(at..).unwrap_or_default().iter().take_while(below).copied().collect();
    if value.starts_with(['|', '>']) {
        let depth = more.iter().find(|line| !line.trim().is_empty()).map_or(0, |l| indent_of(l));
        let own = more.iter().map(|line| line.get(depth..).unwrap_or("").trim_end());
        let own: Vec<&str> = own.collect();
        let text = if value.starts_with('|') { own.join("\n") } else { folded(&own) };
        return (text, at + more.len());
    }
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    if quote.is_none() {
        let value = value.split(" #").next().unwrap_or(value).trim_end();
        let more: Vec<&str> = more.into_iter().take_while(|line| member(line).is_none()).collect();
        let mut text = value.to_owned();
        for line in more.iter().map(|line| line.trim()).filter(|line| !line.starts_with("- ")) {
            text.push(' ');
            text.push_str(line);
        }
        return (text, at + more.len());
    }
    let mut text = value.to_owned();
    let mut end = at;
    while unquoted(&text).is_none() {
        let Some(line) = lines.get(end).filter(|_| end < at + 256) else { break };
        text.push(' ');
        text.push_str(line.trim());
        end += 1;
    }
    (unquoted(&text).unwrap_or(text), end)
}

/// Joins folded lines: an empty line is a line's end.
fn folded(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        if line.is_empty() {
            text.push('\n');
            continue;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push(if line.starts_with(' ') { '\n' } else { ' ' });
        }
        text.push_str(line);
    }
    text
}

/// Returns the text in quotes at the beginning; none if they are not closed.
fn unquoted(text: &str) -> Option<String> {
    let quote = text.chars().next()?;
    let mut signs = text.chars().skip(1).peekable();
    let mut out = String::new();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if quote == '"' => match signs.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'x' => out.push(code(&mut signs, 2)?),
                'u' => out.push(code(&mut signs, 4)?),
                'U' => out.push(code(&mut signs, 8)?),
                other => out.push(other),
            },
            '\'' if quote == '\'' && signs.peek() == Some(&'\'') => {
                signs.next();
                out.push('\'');
            }
            sign if sign == quote => return Some(out),
            sign => out.push(sign),
        }
    }
    None
}

fn code(signs: &mut impl Iterator<Item = char>, digits: usize) -> Option<char> {
    let text: String = signs.take(digits).collect();
    char::from_u32(u32::from_str_radix(&text, 16).ok()?)
}

/// Reads the items below a key; returns the number of the line after them.
fn items(lines: &[&str], from: usize, indent: usize, words: bool, found: &mut Vec<Part>) -> usize {
    let mut all = Vec::new();
    let mut at = from;
    while let Some(line) = lines.get(at).filter(|_| all.len() <= PARTS) {
        let text = line.trim_start();
        if text.is_empty() || text.starts_with('#') {
            at += 1;
            continue;
        }
        let deep = indent_of(line);
        let Some(item) = text.strip_prefix('-').filter(|rest| rest.starts_with([' ', '\t'])) else {
            break;
        };
        if deep < indent {
            break;
        }
        let item = without_tags(item.trim_start());
        // An item that is a map has keys of its own.
        if !item.starts_with(['"', '\'']) && member(line).is_some_and(|(_, key, _)| is_key(key)) {
            break;
        }
        if item.starts_with('[') {
            flow_list(item, words, found);
            at += 1;
            continue;
        }
        if item.starts_with('{') {
            break;
        }
        let (text, end) = scalar(lines, at + 1, deep, item);
        if !item.starts_with('*') {
            all.push(text);
        }
        at = end;
    }
    if words && all.len() > 1 {
        found.push(Part::shell(plain(&joined(all.iter().map(String::as_str)))));
    }
    if !all.is_empty() {
        // GitLab runs the items of a script in one shell.
        found.push(Part::shell(plain(&all.join("\n"))));
    }
    at
}

/// Returns true for a word that may be a key, not the beginning of a command with a colon in it.
fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Reads `[a, b]`.
fn flow_list(value: &str, words: bool, found: &mut Vec<Part>) {
    let inner = value.trim_start_matches('[');
    let mut texts = Vec::new();
    let mut rest = inner.trim_start();
    while !rest.is_empty() && !rest.starts_with(']') && texts.len() <= PARTS {
        let (text, after) = flow_text(rest);
        texts.push(text);
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    if words {
        found.push(Part::shell(plain(&joined(texts.iter().map(String::as_str)))));
    }
    found.push(Part::shell(plain(&texts.join("\n"))));
}

/// Reads `{run: a, name: b}`.
fn flow_members(value: &str, found: &mut Vec<Part>) {
    for key in COMMANDS {
        for (at, _) in value.match_indices(key).take(16) {
            let before = value.get(..at).unwrap_or("").trim_end_matches(['"', '\'']);
            let after = value.get(at + key.len()..).unwrap_or("").trim_start_matches(['"', '\'']);
            let Some(after) = after.trim_start().strip_prefix(':') else { continue };
            if before.trim_end().ends_with(['{', ',']) {
                let after = after.trim_start();
                if after.starts_with('[') {
                    flow_list(after, WORDS.contains(key), found);
                } else {
                    found.push(Part::shell(plain(&flow_text(after).0)));
                }
            }
        }
    }
}

/// Returns the scalar at the beginning of a flow, and the rest behind it.
fn flow_text(text: &str) -> (String, &str) {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let mut escaped = false;
        let end = text.char_indices().skip(1).find(|(_, sign)| {
            let ends = *sign == quote && !escaped;
            escaped = *sign == '\\' && quote == '"' && !escaped;
            ends
        });
        let end = end.map_or(text.len(), |(at, sign)| at + sign.len_utf8());
        let own = text.get(..end).unwrap_or(text);
        return (unquoted(own).unwrap_or_else(|| own.to_owned()), text.get(end..).unwrap_or(""));
    }
    let end = text.find([',', ']', '}']).unwrap_or(text.len());
    (text.get(..end).unwrap_or("").trim().to_owned(), text.get(end..).unwrap_or(""))
}

/// Returns the language that a step names beside its command: `shell: python`.
fn language_beside(lines: &[&str], at: usize, indent: usize) -> Option<&'static str> {
    let named = |line: &&str| {
        let (depth, key, value) = member(line)?;
        (depth == indent && key == "shell").then(|| {
            let word = value.split_ascii_whitespace().next().unwrap_or("").trim_matches('"');
            LANGUAGES.iter().find(|(name, _)| *name == word).map(|(_, language)| *language)
        })?
    };
    let inside = |line: &&&str| line.trim().is_empty() || indent_of(line) + 2 >= indent;
    let before = lines.get(..at).unwrap_or_default().iter().rev().take(16).take_while(inside);
    let after = lines.get(at..).unwrap_or_default().iter().take(200).take_while(inside);
    before.chain(after).find_map(named)
}

/// Returns a command in which what the service fills in is a variable of the shell. A secret of the
/// service's store keeps a name that says so.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        out.push_str(before);
        let (inner, more) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(if inner.contains("secrets.") { "${SECRET_TOKEN}" } else { "${CI_VALUE}" });
        rest = more;
    }
    out.push_str(rest);
    out
}
