//! Checks that a piece of code that names a guarded path can only read it. It knows a few calls
//! that do nothing but read and print; code with any other call is not known to be harmless. It
//! uses no parser, and one pass.

/// Calls that only read, regardless of their object.
const LOOKS: &[&str] = &[
    "JSON.parse",
    "JSON.stringify",
    "Path",
    "Path.home",
    "console.log",
    "existsSync",
    "fs.existsSync",
    "fs.readFileSync",
    "json.dumps",
    "json.load",
    "json.loads",
    "len",
    "open",
    "os.getcwd",
    "os.homedir",
    "os.path.exists",
    "os.path.expanduser",
    "os.path.getsize",
    "os.path.isfile",
    "os.path.join",
    "path.join",
    "pathlib.Path",
    "pathlib.Path.home",
    "print",
    "readFileSync",
    "repr",
    "require",
    "str",
    "sys.exit",
];

/// Methods that only read.
const METHODS: &[&str] = &[
    "endswith",
    "exists",
    "expanduser",
    "get",
    "is_file",
    "items",
    "join",
    "keys",
    "lower",
    "read",
    "read_bytes",
    "read_text",
    "readFileSync",
    "readlines",
    "split",
    "splitlines",
    "startswith",
    "stat",
    "strip",
    "toString",
    "upper",
    "values",
];

/// Words that could make one name refer to another call, or make an implicit call.
const TWISTS: &[&str] =
    &["class", "lambda", "def", "function", "new", "del", "global", "import as", "=>", "`", "__"];

/// Returns true if all calls in the code are known to be read-only. Only Python and JavaScript are
/// known languages.
pub(super) fn only_looks(language: &str, code: &str) -> bool {
    let known = ["python", "node", "deno", "bun"].iter().any(|name| language.starts_with(name));
    // U+FFFD stands for a part that is known only at run time, and a decorator calls without
    // parentheses.
    if !known
        || code.contains('\u{fffd}')
        || code.lines().any(|line| line.trim_start().starts_with('@'))
    {
        return false;
    }
    let twisted = TWISTS.iter().any(|twist| match twist.strip_prefix("import ") {
        Some(word) => code
            .lines()
            .any(|line| line.contains("import") && names(line).any(|(_, name)| name == word)),
        None if twist.chars().all(char::is_alphabetic) => {
            names(code).any(|(_, name)| name == *twist)
        }
        None => code.contains(twist),
    });
    !twisted && names(code).all(|(at, name)| harmless(code, at, name))
}

/// Returns dotted names with their places.
fn names(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + code.get(from..)?.find(part)?;
        let rest = code.get(start..)?;
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        from = start + end;
        Some((start, rest.get(..end)?))
    })
}

/// Returns true for a name that is not called and cannot be passed on, or whose call only reads.
fn harmless(code: &str, at: usize, name: &str) -> bool {
    let after = code.get(at + name.len()..).unwrap_or("").trim_start();
    let method = name.rsplit('.').next().unwrap_or(name);
    if !after.starts_with('(') {
        // A listed name without a call could be passed on or assigned, and a later call is then
        // another.
        let imported =
            name == "Path" && code.get(..at).unwrap_or("").ends_with("from pathlib import ");
        return !LOOKS.contains(&name) || after.starts_with('.') || imported;
    }
    match name {
        "open" => opens_to_read(after),
        _ if LOOKS.contains(&name) => true,
        "" | "." => false,
        _ => {
            name.starts_with('.') && METHODS.contains(&method)
                || is_method_of_value(name) && METHODS.contains(&method)
        }
    }
}

/// Returns true for `f.read`, where `f` is a value and not a module with a function of that name.
fn is_method_of_value(name: &str) -> bool {
    let root = name.split('.').next().unwrap_or("");
    name.contains('.')
        && !["os", "io", "fs", "shutil", "subprocess", "sys", "pathlib", "codecs", "builtins"]
            .contains(&root)
}

/// Returns true if the second argument, if present, is a mode that reads.
fn opens_to_read(after: &str) -> bool {
    let mut depth = 0_u32;
    let mut quote = None;
    for (at, c) in after.char_indices().take(512) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') if depth <= 1 => return true,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth == 1 => {
                let mode = after.get(at + 1..).unwrap_or("").trim_start();
                return ["'r'", "\"r\"", "'rb'", "\"rb\"", "'rt'", "\"rt\""]
                    .iter()
                    .any(|reads| mode.starts_with(reads));
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_only_looks_is_known() {
        for (language, code) in [
            ("python3", "import json; print(json.load(open('/home/me/.claude/settings.json')))"),
            (
                "python",
                "import os,json\np=os.path.expanduser('~/.claude/settings.json')\nwith open(p) as f:\n    d=json.load(f)\nprint(d.keys())",
            ),
            ("python3", "print(open(os.path.join(h, '.claude/settings.json'), 'r').read())"),
            ("python3", "from pathlib import Path; print(Path('x').read_text())"),
            (
                "node",
                "console.log(JSON.parse(require('fs').readFileSync('/home/me/.claude/settings.json','utf8')).hooks)",
            ),
        ] {
            assert!(only_looks(language, code), "{code}");
        }
    }

    #[test]
    fn code_that_could_do_more_is_not() {
        for (language, code) in [
            ("python3", "open('/x','w')"),
            ("python3", "m='w';open('/x',m)"),
            ("python3", "open(os.path.join('/x'), m)"),
            ("python3", "open('/x',mode='w')"),
            ("python3", "import os; os.open('/x', os.O_TRUNC)"),
            ("python3", "import io; io.open('/x')"),
            ("python3", "import os; os.rename('/x','/y')"),
            ("python3", "from os import remove as print; print('/x')"),
            ("python3", "print=__import__('os').remove; print('/x')"),
            ("python3", "open=f;open('/x')"),
            ("python3", "list(map(os.remove, ['/x']))"),
            ("python3", "exec('x')"),
            ("python3", "@os.remove\nx"),
            ("python3", "Path('/x').unlink()"),
            ("python3", "Path('/x').write_text('')"),
            ("node", "require('fs').writeFileSync('/x','{}')"),
            ("node", "const {writeFileSync:w}=require('fs'); w('/x','')"),
            ("node", "eval('x')"),
            ("node", "f`x`"),
            ("perl", "print 1"),
            ("ruby", "puts 1"),
            ("python3", "print('\u{fffd}')"),
        ] {
            assert!(!only_looks(language, code), "{code}");
        }
    }
}
