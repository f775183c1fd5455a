//! Changes of texts that are known word for word: orders of sed, hunks of a diff.

use std::rc::Rc;

/// The most files of a diff.
const FILES: usize = 64;
/// The longest text after a change, in bytes.
const TEXT: usize = 256 * 1024;
/// Characters that mean more than themselves in a pattern, and in an extended one.
const SPECIAL: &[char] = &['\\', '.', '*', '[', ']', '^', '$'];
const EXTENDED: &[char] = &['+', '?', '(', ')', '{', '}', '|'];

/// A change of a text that is known word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    old: String,
    new: String,
    reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Everywhere,
    /// The first place in each line.
    Line,
    /// One place, which has to be there.
    Once,
    /// The new text is a line of its own there.
    Insert(Side, Lines),
}

/// The side of a line on which another is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    Instead,
}

/// The lines that an order of sed is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    All,
    Last,
    /// Counted from 1.
    Numbered(usize),
    /// Those that the old text is in.
    Matching,
}

/// Reads a script of sed that only replaces texts and puts lines in.
pub(super) fn read_script(script: &str, extended: bool, most: usize) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut rest = script.trim_start_matches([';', '\n', ' ', '\t']);
    while !rest.is_empty() {
        if edits.len() >= most {
            return None;
        }
        let (inserted, after) = match read_insertion(rest, extended) {
            Some(found) => found,
            None => {
                let end = rest.find([';', '\n']).unwrap_or(rest.len());
                let (order, after) = rest.split_at_checked(end)?;
                (read_substitution(order.trim(), extended)?, after)
            }
        };
        edits.push(inserted);
        rest = after.trim_start_matches([';', '\n', ' ', '\t']);
    }
    Some(edits)
}

/// Reads `1i TEXT`, `$a TEXT`, `/TEXT/c TEXT` and the like; returns the rest of the script too. The
/// text is all of the line.
fn read_insertion(script: &str, extended: bool) -> Option<(Edit, &str)> {
    let (lines, old, rest) = read_lines(script, extended)?;
    let mut signs = rest.trim_start_matches([' ', '\t']).chars();
    let side = match signs.next()? {
        'i' => Side::Before,
        'a' => Side::After,
        'c' => Side::Instead,
        _ => return None,
    };
    let text = signs.as_str().trim_start_matches([' ', '\t']);
    let text = match text.strip_prefix('\\') {
        Some(next) => next.strip_prefix('\n').unwrap_or(next),
        None => text,
    };
    // A backslash at the end of a line goes on with the next one.
    let mut end = text.find('\n').unwrap_or(text.len());
    while text.get(..end)?.ends_with('\\') && end < text.len() {
        let next = text.get(end + 1..)?;
        end += 1 + next.find('\n').unwrap_or(next.len());
    }
    let (line, after) = text.split_at_checked(end)?;
    let new = line.replace("\\\n", "\n");
    let plain = !new.is_empty() && !new.contains('\\');
    let reach = Reach::Insert(side, lines);
    plain.then(|| (Edit { old: old.to_owned(), new, reach }, after))
}

/// Reads the lines that an order is for; returns the text that they have, and the rest too.
fn read_lines(script: &str, extended: bool) -> Option<(Lines, &str, &str)> {
    if let Some(rest) = script.strip_prefix('$') {
        return Some((Lines::Last, "", rest));
    }
    if let Some(pattern) = script.strip_prefix('/') {
        let (old, rest) = pattern.split_once('/')?;
        let special = old.contains(SPECIAL) || extended && old.contains(EXTENDED);
        return (!old.is_empty() && !special).then_some((Lines::Matching, old, rest));
    }
    let digits = script.find(|c: char| !c.is_ascii_digit()).unwrap_or(script.len());
    let (number, rest) = script.split_at_checked(digits)?;
    match number {
        "" => Some((Lines::All, "", rest)),
        number => number.parse().ok().map(|number| (Lines::Numbered(number), "", rest)),
    }
}

/// Returns a text after a line was put in.
fn with_line(text: &str, edit: &Edit, side: Side, lines: Lines) -> String {
    let count = text.lines().count();
    let mut all: Vec<&str> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fits = match lines {
            Lines::All => true,
            Lines::Last => at + 1 == count,
            Lines::Numbered(number) => at + 1 == number,
            Lines::Matching => line.contains(&edit.old),
        };
        match side {
            _ if !fits => all.push(line),
            Side::Before => all.extend([edit.new.as_str(), line]),
            Side::After => all.extend([line, edit.new.as_str()]),
            Side::Instead => all.push(&edit.new),
        }
    }
    all.join("\n") + "\n"
}

/// Reads `s/TEXT/TEXT/` and `s/TEXT/TEXT/g`.
fn read_substitution(script: &str, extended: bool) -> Option<Edit> {
    let body = script.strip_prefix('s')?;
    let mark = body.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\')?;
    let mut parts = body.get(mark.len_utf8()..)?.split(mark);
    let (old, new, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let special = old.contains(SPECIAL) || extended && old.contains(EXTENDED);
    let plain = !old.is_empty() && !special && !new.contains(['\\', '&']);
    let reach = match flags {
        "" => Reach::Line,
        "g" => Reach::Everywhere,
        _ => return None,
    };
    (plain && parts.next().is_none()).then(|| Edit {
        old: old.to_owned(),
        new: new.to_owned(),
        reach,
    })
}

/// Returns the changes in a unified diff, by the path of the file.
pub(super) fn read_diff(text: &str) -> Vec<(String, Vec<Edit>)> {
    let mut files: Vec<(String, Vec<Edit>)> = Vec::new();
    let mut hunk = (String::new(), String::new());
    for line in text.lines().chain(["@@"]) {
        let named = line.strip_prefix("+++ ");
        let ends = named.is_some() || ["@@", "diff ", "--- "].iter().any(|s| line.starts_with(s));
        if ends {
            let (old, new) = std::mem::take(&mut hunk);
            if let Some((_, edits)) = files.last_mut().filter(|_| old != new) {
                edits.push(Edit { old, new, reach: Reach::Once });
            }
        }
        if let Some(path) = named {
            let path = path.split('\t').next().unwrap_or(path).trim();
            let path = path.strip_prefix("b/").unwrap_or(path);
            files.push((path.to_owned(), Vec::new()));
        } else if !ends {
            let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            for (kept, side) in [(sign != "+", &mut hunk.0), (sign != "-", &mut hunk.1)] {
                if kept && matches!(sign, " " | "+" | "-") {
                    side.push_str(rest);
                    side.push('\n');
                }
            }
        }
    }
    files.retain(|(_, edits)| !edits.is_empty());
    files.truncate(FILES);
    files
}

/// Returns a text after changes; none if one does not fit, or the text grows too long.
pub(super) fn edited(text: &str, edits: &[Edit]) -> Option<Rc<str>> {
    let mut text = text.to_owned();
    for edit in edits {
        text = match edit.reach {
            Reach::Everywhere => text.replace(&edit.old, &edit.new),
            Reach::Line => text
                .split_inclusive('\n')
                .map(|line| line.replacen(&edit.old, &edit.new, 1))
                .collect(),
            Reach::Once if edit.old.is_empty() && text.is_empty() => edit.new.clone(),
            Reach::Once if !edit.old.is_empty() && text.contains(&edit.old) => {
                text.replacen(&edit.old, &edit.new, 1)
            }
            Reach::Once => return None,
            Reach::Insert(side, lines) => with_line(&text, edit, side, lines),
        };
        if text.len() > TEXT {
            return None;
        }
    }
    Some(Rc::from(text))
}
