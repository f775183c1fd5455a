//! Which lines of which files a step reads.

use crate::memory::{Memory, Range};
use crate::texts::is_blank;
use portcullis_plugin::types::{Access, Action, Command, Coverage, EffectKind, Operation};

/// The end of a file, in lines.
const END: i64 = 1_000_000_000;
const READERS: &[&str] = &["cat", "nl", "bat", "less", "more", "head", "tail", "sed"];
/// Commands beside a reader that show nothing of their own.
const QUIET: &[&str] = &["cd", "true", ":", "pwd"];
/// The longest parameters that are looked through for numbers.
const MOST_PARAMETERS: usize = 4096;

/// Returns true if nothing that the action does changes a file, or what a program would make of one.
pub fn is_look(action: &Action) -> bool {
    let looks = |kind: &EffectKind| {
        matches!(kind, EffectKind::FileRead | EffectKind::Network | EffectKind::SecretRead)
    };
    action.facts.coverage == Coverage::Full
        && action.facts.effects.iter().all(|effect| looks(&effect.kind))
}

/// Returns the parts of files that a step reads, where it does nothing else.
pub fn list_ranges(action: &Action) -> Option<Vec<Range>> {
    let shell = match &action.operation {
        Operation::File(file) => {
            return (file.access == Access::Read).then(|| {
                let (from, to) = read_parameters(&action.parameters);
                vec![Range { path: file.path.clone(), from, to }]
            });
        }
        Operation::Shell(shell) if is_look(action) => shell,
        _ => return None,
    };
    let is_reader = |command: &Command| {
        let program = command.program.as_str();
        command.input_from.is_none() && (READERS.contains(&program) || QUIET.contains(&program))
    };
    if !shell.commands.iter().all(is_reader) {
        return None;
    }
    let lines: Vec<Option<(i64, i64)>> = shell.commands.iter().map(read_lines).collect();
    let ranges = action.facts.effects.iter().map(|effect| {
        let path = action.facts.path(effect).filter(|path| !path.glob)?;
        let (from, to) = (*lines.get(usize::try_from(effect.command?).ok()?)?)?;
        Some(Range { path: path.text.clone(), from, to })
    });
    ranges.collect()
}

/// Returns true if a part was read.
pub fn covers(read: &[Range], part: &Range) -> bool {
    read.iter()
        .any(|known| known.path == part.path && known.from <= part.from && part.to <= known.to)
}

/// Adds a part that was read, joined with those that it touches.
pub fn add_range(memory: &mut Memory, mut range: Range) {
    let (first, last) = (range.from.saturating_sub(1), range.to.saturating_add(1));
    memory.read.retain(|known| {
        let touches = known.path == range.path && known.from <= last && first <= known.to;
        if touches {
            range.from = range.from.min(known.from);
            range.to = range.to.max(known.to);
        }
        !touches
    });
    memory.read.push(range);
}

/// Returns the lines that a command shows of its files; none where it shows something else.
fn read_lines(command: &Command) -> Option<(i64, i64)> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let text = words.join(" ");
    match command.program.as_str() {
        "head" => Some((1, find_flag(&text, read_size).unwrap_or(10))),
        "tail" => {
            let follows = |word: &str| word.starts_with("-f") || word.starts_with("-F");
            let size = find_flag(&text, read_size).unwrap_or(10);
            (!text.split(' ').any(follows)).then_some((END.saturating_sub(size) + 1, END))
        }
        "sed" => find_flag(&text, read_print),
        _ => Some((1, END)),
    }
}

/// Finds the first flag that can be read, by what stands behind its hyphen.
fn find_flag<T>(text: &str, read: fn(&str) -> Option<T>) -> Option<T> {
    text.match_indices('-').find_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        read(text.get(at + 1..).filter(|_| before.is_none_or(is_blank))?)
    })
}

/// Reads `n 20`, `n20` or `20`.
fn read_size(flag: &str) -> Option<i64> {
    let flag = flag.strip_prefix('n').map_or(flag, |rest| rest.strip_prefix(' ').unwrap_or(rest));
    Some(split_number(flag)?.0)
}

/// Reads `n 5,9p`, `n 5,$p` or `n 5p`.
fn read_print(flag: &str) -> Option<(i64, i64)> {
    let (from, rest) = split_number(flag.strip_prefix("n ")?)?;
    let (to, rest) = match rest.strip_prefix(',') {
        None => (from, rest),
        Some(end) => match end.strip_prefix('$') {
            Some(rest) => (END, rest),
            None => split_number(end)?,
        },
    };
    rest.starts_with('p').then_some((from, to))
}

fn split_number(text: &str) -> Option<(i64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(end).filter(|_| end > 0)?;
    Some((digits.parse().unwrap_or(i64::MAX), rest))
}

/// Returns the lines that a reading tool is asked for.
fn read_parameters(parameters: &str) -> (i64, i64) {
    let (mut offset, mut start, mut limit, mut end) = (None, None, None, None);
    if parameters.len() <= MOST_PARAMETERS {
        visit_numbers(parameters, |key, number| match key {
            "offset" => offset = Some(number),
            "start_line" => start = Some(number),
            "limit" => limit = Some(number),
            "end_line" => end = Some(number),
            _ => {}
        });
    }
    let from = offset.or(start).unwrap_or(1);
    let last = limit.map(|size| from.saturating_add(size).saturating_sub(1));
    (from, end.or(last).unwrap_or(END))
}

/// Calls `visit` for each whole number of a JSON object, without those of what is in it.
fn visit_numbers(json: &str, mut visit: impl FnMut(&str, i64)) {
    let bytes = json.as_bytes();
    let (mut at, mut depth, mut key) = (0, 0_usize, None);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => measure_text(rest),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                rest.iter().take_while(is_part).count()
            }
            _ => 1,
        };
        let token = json.get(at..at + length).unwrap_or_default();
        at += length;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' if depth == 1 && is_key(bytes, at) => key = Some(token.trim_matches('"')),
            b'-' | b'0'..=b'9' if depth == 1 => {
                let whole = token.split(['.', 'e', 'E']).next().unwrap_or_default();
                if let (Some(key), Ok(number)) = (key, whole.parse()) {
                    visit(key, number);
                }
            }
            b',' if depth == 1 => key = None,
            _ => {}
        }
    }
}

/// Returns the length of a text in JSON, with its quotation marks.
fn measure_text(json: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match json.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return json.len(),
        }
    }
}

fn is_key(json: &[u8], end: usize) -> bool {
    let rest = json.get(end..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    #[test]
    fn lines_are_read_from_commands() {
        for (command, lines) in [
            ("cat a", Some((1, END))),
            ("head a", Some((1, 10))),
            ("head -n 20 a", Some((1, 20))),
            ("head -n20 a", Some((1, 20))),
            ("head -20 a-3", Some((1, 20))),
            ("tail -n 5 a", Some((END - 4, END))),
            ("tail -F a", None),
            ("sed -n 5,9p a", Some((5, 9))),
            ("sed -n 5p a", Some((5, 5))),
            ("sed -n 5,$p a", Some((5, END))),
            ("sed -n /x/p a", None),
        ] {
            let action = testing::shell(command);
            let command = action.shell().and_then(|shell| shell.commands.first());
            assert_eq!(command.and_then(read_lines), lines, "{action:?}");
        }
    }

    #[test]
    fn lines_are_read_from_parameters() {
        for (parameters, lines) in [
            (r#"{"file_path": "a"}"#, (1, END)),
            (r#"{"offset": 5, "limit": 10, "more": {"offset": 7}}"#, (5, 14)),
            (r#"{"start_line":3,"end_line":4}"#, (3, 4)),
            (r#"{"offset": "5", "limit": null, "path": "\"offset\": 9"}"#, (1, END)),
            (r#"{"list": [1, {"limit": 2}], "limit": 8.0}"#, (1, 8)),
            ("{", (1, END)),
        ] {
            assert_eq!(read_parameters(parameters), lines, "{parameters}");
        }
    }
}
