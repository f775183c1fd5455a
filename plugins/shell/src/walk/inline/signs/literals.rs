//! Literals in code: their positions, their texts, and the variables that hold them.

use super::super::super::environment::UNKNOWN;
use crate::syntax::unescape;
use std::collections::BTreeMap;

/// The maximum number of variables that are remembered.
const VARIABLES: usize = 64;

pub(super) fn clip(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or("")
}

/// Returns true if the match is the end of a longer name.
pub(super) fn is_word_before(text: &str, at: usize, call: &str) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let dotted = !call.starts_with('.')
        && matches!(
            call,
            "exec("
                | "eval("
                | "open("
                | "spawn("
                | "system("
                | "fetch("
                | "exec "
                | "eval "
                | "system "
        );
    before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$' || (dotted && c == '.'))
        && !call.starts_with('.')
}

/// Returns the texts that simple assignments give to variables: `p = "x"`, `p = Path("x")`,
/// `const p = 'x'`.
pub(super) fn variables(code: &str, masked: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (at, _) in masked.match_indices('=').take(256) {
        let (before, after) =
            (masked.get(..at).unwrap_or("").trim_end(), code.get(at + 1..).unwrap_or(""));
        let name = word_before(before);
        let value = clip(after.trim_start(), 1024);
        let wrapped = ["Path(", "pathlib.Path(", "os.path.expanduser("]
            .iter()
            .find_map(|call| value.strip_prefix(call))
            .unwrap_or(value);
        if !name.is_empty()
            && !before.ends_with(['=', '!', '<', '>'])
            && wrapped.starts_with(['"', '\'', '`', 'f', 'r'])
            && found.len() < VARIABLES
        {
            let literal = wrapped.trim_start_matches(['f', 'r', 'b']);
            if literal.starts_with(['"', '\'', '`'])
                && let Some(text) = literals(value).into_iter().next()
            {
                found.insert(name.to_owned(), text);
            }
        }
    }
    found
}

/// Returns the name at the end of a text.
pub(super) fn word_before(text: &str) -> &str {
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| {
        at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    text.get(start..).unwrap_or("")
}

/// Returns the path of a method's own object: `Path("x").unlink()`, `p.unlink()`.
pub(super) fn object_before(
    whole: &str,
    at: usize,
    variables: &BTreeMap<String, String>,
) -> Option<String> {
    let before = whole.get(..at)?;
    if before.ends_with(')') {
        let start = before.rfind("Path(")?;
        return literals(before.get(start + 5..)?).into_iter().next();
    }
    variables.get(word_before(before)).cloned()
}

/// Returns the texts of a call's arguments: literals, and variables that hold one in the first
/// place.
pub(super) fn texts(arguments: &str, variables: &BTreeMap<String, String>) -> Vec<String> {
    let first = arguments.trim_start();
    let name: String = first.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut texts = literals(arguments);
    let ends = first.get(name.len()..).is_some_and(|rest| {
        rest.trim_start().starts_with([',', ')', '+', '/', '.']) && !rest.starts_with(".join")
    });
    if let Some(text) = variables.get(&name).filter(|_| ends) {
        texts.insert(0, text.clone());
    }
    let home = [
        "expanduser",
        "homedir()",
        "Path.home()",
        "env.HOME",
        "environ[\"HOME\"]",
        "environ['HOME']",
        "ENV['HOME']",
        "Dir.home",
    ];
    if let Some(text) = texts.first_mut() {
        if home.iter().any(|mark| {
            first.starts_with(mark)
                || first.split(['"', '\'', '`']).next().is_some_and(|start| start.contains(mark))
        }) {
            *text = format!("~/{}", text.trim_start_matches("~/").trim_start_matches('/'));
        }
        if first.starts_with(['f', 'F']) || first.starts_with('`') {
            *text = interpolated(text);
        }
    }
    texts
}

/// Replaces `{...}` and `${...}` in a text by the placeholder for text that is known only at run
/// time.
fn interpolated(text: &str) -> String {
    let mut left = text;
    let mut out = String::new();
    while let Some((before, rest)) = left.split_once('{') {
        out.push_str(before.strip_suffix('$').unwrap_or(before));
        out.push(UNKNOWN);
        left = rest.split_once('}').map_or("", |(_, after)| after);
    }
    out.push_str(left);
    out
}

/// Returns the code with the contents of its texts and comments blanked, byte for byte.
pub(in crate::walk::inline) fn mask(code: &str, language: &str) -> String {
    let hash = !matches!(language, "node");
    let slashes = matches!(language, "node" | "php");
    let mut masked = String::with_capacity(code.len());
    let mut chars = code.chars().peekable();
    let mut quote: Option<char> = None;
    let mut comment = false;
    while let Some(c) = chars.next() {
        let blank = quote.is_some() || comment;
        match (quote, c) {
            (Some(_), '\\') => {
                masked.push('.');
                if let Some(next) = chars.next() {
                    masked.extend(std::iter::repeat_n('.', next.len_utf8()));
                }
                continue;
            }
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') if !comment => quote = Some(c),
            (None, '`') if !comment && language == "node" => quote = Some(c),
            (None, '\n') => comment = false,
            (None, '#') if hash => comment = true,
            (None, '/')
                if slashes && !comment && chars.peek() == Some(&'/') && !masked.ends_with(':') =>
            {
                comment = true
            }
            _ => {}
        }
        if blank && quote.is_some() || comment {
            masked.extend(std::iter::repeat_n('.', c.len_utf8()));
        } else {
            masked.push(c);
        }
    }
    masked
}

/// Returns the quoted texts in a list of arguments, up to its end.
pub(super) fn literals(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = 0_i32;
    let mut chars = arguments.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '(' | '[' => open += 1,
            ')' | ']' => open -= 1,
            '\'' | '"' | '`' => {
                let Some(text) = arguments.get(at + 1..) else { break };
                let end = closing(text, c);
                found.push(unescape(text.get(..end).unwrap_or("")));
                while chars.next().is_some_and(|(next, _)| next < at + 1 + end) {}
            }
            '\n' | ';' if open <= 0 => break,
            _ => {}
        }
        if open < 0 || found.len() >= 256 {
            break;
        }
    }
    found
}

fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    text.len()
}
