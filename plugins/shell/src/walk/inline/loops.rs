//! Loops over the files of a folder, in languages that are read by their words: the loop's variable
//! gets the pattern of its files as its value, so that calls in the loop name what they act on.

/// Ways to list the files of a folder: the call, and what it adds to the folder.
const LISTS: &[(&str, &str, &str)] = &[
    ("ruby", "Dir.glob(", ""),
    ("ruby", "Dir[", ""),
    ("ruby", "Dir.children(", "/*"),
    ("ruby", "Dir.each_child(", "/*"),
    ("ruby", "Dir.entries(", "/*"),
    ("ruby", "Find.find(", "/**"),
    ("php", "glob(", ""),
    ("php", "scandir(", "/*"),
];

/// The maximum number of loops of one text.
const LOOPS: usize = 16;

/// Returns the code with values of its loops' variables before it; none if it has no such loop.
pub(super) fn with_values(language: &str, code: &str) -> Option<String> {
    if language == "perl" {
        return of_perl(code);
    }
    let mut values = String::new();
    let lists = LISTS.iter().filter(|(known, ..)| *known == language);
    for (_, call, below) in lists {
        for (at, _) in code.match_indices(call).take(LOOPS) {
            let rest = code.get(at + call.len()..).unwrap_or("");
            let Some((pattern, after)) = literal(rest) else { continue };
            if language == "ruby" {
                let Some(name) = block_variable(after) else { continue };
                values.push_str(&format!("{name} = \"{pattern}{below}\"; "));
            } else if let Some(name) = php_variable(after) {
                values.push_str(&format!("{name} = \"{pattern}{below}\"; "));
            } else {
                let before = code.get(..at).unwrap_or("");
                let call = ["unlink", "rmdir"].into_iter().find(|call| maps(before, call));
                let Some(call) = call else { continue };
                values.push_str(&format!("{call}(\"{pattern}{below}\"); "));
            }
        }
    }
    (!values.is_empty()).then(|| values + code)
}

/// Follows Perl's `find(sub { unlink }, FOLDER)`, `unlink <PATTERN>` and `for (glob PATTERN)`.
fn of_perl(code: &str) -> Option<String> {
    let mut values = String::new();
    let removes = ["unlink", "rmtree", "remove_tree", "rmdir"].iter().any(|c| code.contains(c));
    if !removes {
        return None;
    }
    for call in ["finddepth(", "find("] {
        for (at, _) in code.match_indices(call).take(LOOPS) {
            let rest = code.get(at + call.len()..).unwrap_or("");
            let folders = rest.rsplit_once('}').map_or(rest, |(_, folders)| folders);
            let folders = folders.split(')').next().unwrap_or("");
            for folder in folders.split(',').filter_map(literal) {
                values.push_str(&format!("unlink \"{}/**\"; ", folder.0));
            }
        }
    }
    for (at, _) in code.match_indices('<').take(LOOPS) {
        let inside = code.get(at + 1..).and_then(|rest| rest.split_once('>')).map(|(text, _)| text);
        // `<$handle>` reads lines of a file that is open.
        let pattern = inside.filter(|text| text.contains('*') && !text.starts_with('$'));
        if let Some(pattern) = pattern.filter(|text| !text.contains(' ')) {
            values.push_str(&format!("unlink \"{pattern}\"; "));
        }
    }
    let looped = ["for (glob", "foreach (glob", "for(glob", "map { unlink } glob", "for glob"];
    for call in looped {
        for (at, _) in code.match_indices(call).take(LOOPS) {
            let rest = code.get(at + call.len()..).unwrap_or("").trim_start_matches([' ', '(']);
            if let Some((pattern, _)) = literal(rest) {
                values.push_str(&format!("unlink \"{pattern}\"; "));
            }
        }
    }
    let text = (!values.is_empty()).then(|| values + code)?;
    Some(text)
}

/// Returns the text in quotes at the beginning of code, and what comes after it.
fn literal(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (text, after) = rest.get(1..)?.split_once(quote)?;
    let plain = !text.contains(['$', '#', '\\', '\n']);
    (plain && !text.is_empty()).then_some((text, after))
}

/// Returns the variable of the next block of Ruby: `.each { |name| ... }`.
fn block_variable(after: &str) -> Option<&str> {
    let (before, rest) = after.split_once('|')?;
    let opens = before.contains('{') || before.contains(" do");
    let name = rest.split(['|', ',']).next()?.trim();
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (opens && before.len() < 64 && is_name && !name.is_empty()).then_some(name)
}

/// Returns the variable of PHP's `foreach (CALL as $name)`.
fn php_variable(after: &str) -> Option<&str> {
    let rest = after.split_once(" as ")?;
    let near = rest.0.trim_matches([')', ' ', ',']).len() < 32;
    let name = rest.1.split([')', ' ', '=']).next()?.trim();
    (near && name.starts_with('$')).then_some(name)
}

/// Returns true if the call before maps a function over a list: `array_map("unlink", `.
fn maps(before: &str, call: &str) -> bool {
    let before = before.trim_end();
    let mapped = before.strip_suffix(',').map(str::trim_end).unwrap_or("");
    mapped.ends_with(&format!("\"{call}\"")) || mapped.ends_with(&format!("'{call}'"))
}
