//! Names that code gives to modules and calls: `from subprocess import run`, `import os as o`,
//! `const {execSync: e} = require('child_process')`, `__import__('os')`. Each is resolved to the
//! name in the tables, so that they see through it. Any other use of a module that runs programs is
//! unknown.

use super::literals::{clip, literals, mask, word_before};
use std::collections::BTreeMap;

/// Modules through which code starts programs, deletes files, or reaches any other name.
const PYTHON: &[&str] = &[
    "os",
    "subprocess",
    "shutil",
    "pty",
    "posix",
    "builtins",
    "__builtins__",
    "ctypes",
    "importlib",
    "commands",
];
const NODE: &[&str] = &["child_process", "globalThis", "Reflect"];
/// Calls that load a module by its name.
const PYTHON_LOADS: &[&str] = &["__import__(", "importlib.import_module(", "import_module("];
const NODE_LOADS: &[&str] = &[
    "require(",
    "import(",
    "process.getBuiltinModule(",
    "process.mainModule.require(",
    "module.require(",
    "process.binding(",
];
/// Members of those modules that start programs.
const PYTHON_STARTS: &[&str] = &[
    "os.exec",
    "os.popen",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.spawn",
    "subprocess.Popen",
    "subprocess.call",
    "subprocess.check_",
    "subprocess.get",
    "subprocess.run",
];
/// The names that `from MODULE import *` brings.
const STAR: &[(&str, &[&str])] = &[
    (
        "os",
        &[
            "system",
            "popen",
            "remove",
            "unlink",
            "rmdir",
            "removedirs",
            "rename",
            "replace",
            "execv",
            "execvp",
            "execl",
            "execlp",
            "truncate",
        ],
    ),
    (
        "subprocess",
        &["run", "call", "Popen", "check_call", "check_output", "getoutput", "getstatusoutput"],
    ),
    ("shutil", &["rmtree", "move", "copy", "copyfile", "copytree"]),
];
/// The maximum number of rounds in which loads and subscripts are resolved.
const MOST: usize = 64;

/// Code with the names that the tables know, and the parts that are unknown.
pub(super) struct Resolved {
    pub text: String,
    pub gap: Option<&'static str>,
}

/// Resolves names. Languages without modules of this kind are left as they are.
pub(super) fn resolve(code: &str, language: &str) -> Resolved {
    let (modules, loads) = match language {
        "python" => (PYTHON, PYTHON_LOADS),
        "node" => (NODE, NODE_LOADS),
        _ => return Resolved { text: code.to_owned(), gap: computed(code, language) },
    };
    let loaded = load(code, language, loads);
    let mut names = if language == "python" { imported(&loaded) } else { required(&loaded) };
    assigned(&loaded, language, &mut names);
    let text = subscripted(&renamed(&loaded, language, &names), language, modules);
    let gap = handed_on(&text, language, modules).or_else(|| unknown_load(&text, language, loads));
    Resolved { text, gap }
}

/// Finds calls whose name is computed at run time, in the other languages.
fn computed(code: &str, language: &str) -> Option<&'static str> {
    let masked = mask(code, language);
    let has = |marks: &[&str]| marks.iter().any(|mark| masked.contains(mark));
    let found = match language {
        "ruby" => has(&[
            ".send(",
            ".send ",
            "__send__",
            "public_send",
            ".method(",
            "const_get",
            "instance_eval",
            "class_eval",
            "alias ",
        ]),
        "perl" => has(&["&{", "&$", "->$", "*{", "\\&CORE", "CORE::GLOBAL"]),
        "php" => {
            let dynamic = masked.match_indices('(').any(|(at, _)| {
                let before = masked.get(..at).unwrap_or("").trim_end();
                let name = word_before(before);
                let sign = before.strip_suffix(name).unwrap_or("");
                sign.ends_with('$') && !sign.ends_with("->$")
                    || name.is_empty() && before.ends_with(['\'', '"', ')', ']'])
            });
            dynamic
                || has(&[
                    "call_user_func",
                    "array_map(",
                    "array_walk(",
                    "array_filter(",
                    "usort(",
                    "ReflectionFunction",
                    "create_function",
                ])
        }
        "lua" => has(&["os[", "io[", "_G", "loadstring", "load("]),
        _ => false,
    };
    found.then_some("a call whose name is known only when it runs")
}

/// Resolves loads: `__import__('os')` is `os`, and `require('node:child_process')` is
/// `child_process`.
fn load(code: &str, language: &str, loads: &[&str]) -> String {
    let mut text = code.to_owned();
    for _ in 0..MOST {
        let masked = mask(&text, language);
        let found = loads.iter().find_map(|call| {
            masked.match_indices(call).find_map(|(at, _)| {
                let start = at + call.len();
                let end = start + masked.get(start..)?.find(')')?;
                let argument = text.get(start..end)?.trim();
                let quote = argument.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
                let name = argument.strip_prefix(quote)?.strip_suffix(quote)?;
                let plain = !name.is_empty()
                    && name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"_.:/@-".contains(&byte));
                let before = masked.get(..at)?;
                let whole =
                    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
                (plain && whole).then(|| (at, end + 1, module(name)))
            })
        });
        let Some((start, end, name)) = found else { break };
        let awaited = text.get(..start).is_some_and(|before| before.trim_end().ends_with("(await"));
        text.replace_range(start..end, &name);
        if awaited && let Some(at) = text.get(..start).and_then(|before| before.rfind("(await")) {
            // `(await import('x')).y` is `x.y`.
            let close = start + name.len();
            if text.get(close..=close) == Some(")") {
                text.replace_range(close..=close, "");
                text.replace_range(at..start, "");
            }
        }
    }
    text
}

/// Returns a module's name as code writes it.
fn module(name: &str) -> String {
    let name = name.strip_prefix("node:").unwrap_or(name);
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' })
        .collect()
}

/// Splits code into statements, with the texts in them blanked.
fn statements(masked: &str) -> impl Iterator<Item = &str> {
    masked.split(['\n', ';']).map(str::trim)
}

/// Returns the names that Python's `import` and `from` define.
fn imported(code: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let masked = mask(code, "python").replace(['(', ')', '\\'], " ");
    // A list in brackets spans lines.
    let joined = masked.replace(",\n", ",").replace("import \n", "import ");
    for statement in statements(&joined) {
        // The body may follow its head on one line: `try: import os`.
        let statement = statement.rsplit_once(": ").map_or(statement, |(_, body)| body.trim());
        let (module, list) =
            match statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
                Some((module, list)) => (Some(module.trim()), list),
                None => match statement.strip_prefix("import ") {
                    Some(list) => (None, list),
                    None => continue,
                },
            };
        for item in list.split(',').take(MOST) {
            let mut words = item.split_whitespace();
            let Some(name) = words.next() else { continue };
            let own = if words.next() == Some("as") { words.next().unwrap_or(name) } else { name };
            let whole = module.map_or_else(|| name.to_owned(), |module| format!("{module}.{name}"));
            if name == "*" {
                let all = STAR
                    .iter()
                    .find(|(known, _)| Some(*known) == module)
                    .map_or(&[][..], |(_, all)| all);
                names.extend(
                    all.iter().map(|name| {
                        ((*name).to_owned(), format!("{}.{name}", module.unwrap_or("")))
                    }),
                );
            } else if own != whole {
                names.insert(own.to_owned(), whole);
            }
        }
    }
    names
}

/// Returns the names that `import {a as b} from 'm'`, `import * as m from 'm'` and
/// `const {a: b} = m` define.
fn required(code: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let masked = mask(code, "node");
    for (at, _) in masked.match_indices('{').take(MOST) {
        let Some((list, after)) = masked.get(at + 1..).and_then(|rest| rest.split_once('}')) else {
            continue;
        };
        let from = after.trim_start();
        let source = if let Some(rest) = from.strip_prefix("from") {
            let start = masked.len() - rest.len();
            literals(clip(code.get(start..).unwrap_or(""), 256))
                .into_iter()
                .next()
                .map(|name| module(&name))
        } else if let Some(rest) = from.strip_prefix('=') {
            let name: String = rest
                .trim_start()
                .trim_start_matches("await ")
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            Some(name).filter(|name| !name.is_empty())
        } else {
            None
        };
        let Some(source) = source else { continue };
        for item in list.split(',').take(MOST) {
            let mut words =
                item.split([':', ' ', '\n']).filter(|word| !word.is_empty() && *word != "as");
            if let Some(name) = words.next() {
                names.insert(words.next().unwrap_or(name).to_owned(), format!("{source}.{name}"));
            }
        }
    }
    for (at, _) in masked.match_indices(" from").take(MOST) {
        let before = masked.get(..at).unwrap_or("").trim_end();
        let name = word_before(before);
        let source = literals(clip(code.get(at + 5..).unwrap_or(""), 256)).into_iter().next();
        if let Some(source) = source.filter(|_| !name.is_empty()) {
            names.insert(name.to_owned(), module(&source));
        }
    }
    names
}

/// Adds the aliases of known names: `r = os.system`, `const cp = child_process`.
fn assigned(code: &str, language: &str, names: &mut BTreeMap<String, String>) {
    let masked = mask(code, language);
    for statement in statements(&masked).take(1024) {
        for part in statement.split(',').take(MOST) {
            let Some((left, right)) = part.split_once('=') else { continue };
            let right = right.trim().trim_start_matches("await ").trim_end_matches(')');
            let name = word_before(left.trim_end());
            let dotted = !right.is_empty()
                && right.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            let known = |name: &str| {
                PYTHON.contains(&name)
                    || NODE.contains(&name)
                    || matches!(name, "fs" | "fs.promises" | "fs_promises")
            };
            let (first, rest) = right.split_once('.').unwrap_or((right, ""));
            let whole = match names.get(first) {
                Some(known) if rest.is_empty() => known.clone(),
                Some(known) => format!("{known}.{rest}"),
                None => right.to_owned(),
            };
            let module = whole.split('.').next().unwrap_or("");
            if dotted
                && !name.is_empty()
                && !left.trim_end().ends_with(['!', '<', '>', '='])
                && known(module)
                && name != whole
            {
                names.insert(name.to_owned(), whole);
            }
        }
    }
}

/// Returns the code with each name resolved, unless it is a member of something else.
fn renamed(code: &str, language: &str, names: &BTreeMap<String, String>) -> String {
    if names.is_empty() {
        return code.to_owned();
    }
    let masked = mask(code, language);
    let mut out = String::with_capacity(code.len());
    let mut at = 0;
    while let Some(c) = masked.get(at..).and_then(|rest| rest.chars().next()) {
        if c.is_alphabetic() || c == '_' {
            let rest = masked.get(at..).unwrap_or("");
            let length =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let name = rest.get(..length).unwrap_or("");
            let before = masked.get(..at).unwrap_or("");
            let member = before.ends_with('.') || before.ends_with(|c: char| c.is_alphanumeric());
            let given =
                before.trim_end().ends_with(" as") || before.trim_end().ends_with(" import");
            match names.get(name).filter(|_| !member && !given) {
                Some(whole) => out.push_str(whole),
                None => out.push_str(code.get(at..at + length).unwrap_or("")),
            }
            at += length;
        } else {
            out.push_str(code.get(at..at + c.len_utf8()).unwrap_or(""));
            at += c.len_utf8();
        }
    }
    out
}

/// Resolves subscripts: `child_process['execSync']` is `child_process.execSync`, and
/// `getattr(os, 'system')` is `os.system`.
fn subscripted(code: &str, language: &str, modules: &[&str]) -> String {
    let mut text = code.to_owned();
    for _ in 0..MOST {
        let found = modules.iter().find_map(|module| {
            let forms = [
                (format!("{module}["), ']', 0),
                (format!("getattr({module},"), ')', 8),
                (format!("getattr({module} ,"), ')', 8),
            ];
            let masked = mask(&text, language);
            forms.into_iter().find_map(|(form, close, skip)| {
                masked.match_indices(&form).find_map(|(at, _)| {
                    let start = at + form.len();
                    let end = start + masked.get(start..)?.find(close)?;
                    let argument = text.get(start..end)?.trim();
                    let quote =
                        argument.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
                    let name = argument.strip_prefix(quote)?.strip_suffix(quote)?;
                    let plain = !name.is_empty()
                        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                    (plain && at + skip <= start).then(|| (at, end + 1, format!("{module}.{name}")))
                })
            })
        });
        let Some((start, end, name)) = found else { break };
        text.replace_range(start..end, &name);
    }
    text
}

/// Finds a module, or a call that starts programs, that is passed on as a value.
fn handed_on(code: &str, language: &str, modules: &[&str]) -> Option<&'static str> {
    let masked = mask(code, language);
    for statement in statements(&masked) {
        let body = statement.rsplit_once(": ").map_or(statement, |(_, body)| body.trim());
        if body.starts_with("import ") || body.starts_with("from ") {
            continue;
        }
        for name in modules {
            for (at, _) in statement.match_indices(name) {
                let (before, after) = (
                    statement.get(..at).unwrap_or(""),
                    statement.get(at + name.len()..).unwrap_or(""),
                );
                let inner = |c: char| c.is_alphanumeric() || c == '_';
                if before.ends_with(|c| inner(c) || c == '.') || after.starts_with(inner) {
                    continue;
                }
                let given =
                    after.trim_start().starts_with('=') && !after.trim_start().starts_with("==");
                let named = is_given(before) && after.is_empty();
                if !after.trim_start().starts_with(['.', '?'])
                    && !given
                    && !named
                    && !is_listed(before)
                {
                    return Some(
                        "a module that runs programs is used in a way that is not followed",
                    );
                }
                if after.starts_with(".__dict__") {
                    return Some(
                        "a module that runs programs is used in a way that is not followed",
                    );
                }
            }
        }
        for start in
            PYTHON_STARTS.iter().filter(|_| language == "python").chain(&["child_process."])
        {
            for (at, _) in statement.match_indices(start) {
                let before = statement.get(..at).unwrap_or("");
                let rest = statement.get(at + start.len()..).unwrap_or("");
                let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
                if !rest.trim_start().starts_with(['(', '?'])
                    && !is_destructured(rest)
                    && !is_given(before)
                    && !before.ends_with('.')
                {
                    return Some("a call that runs programs is handed on");
                }
            }
        }
    }
    None
}

/// Returns true if it is on the right of `=` alone: another name for it, which is known.
fn is_given(before: &str) -> bool {
    let before = before.trim_end().trim_end_matches("await").trim_end();
    before.ends_with('=') && !before.ends_with("==") && !before.ends_with("!=")
}

/// Returns true if it is in a pattern that names the members of a module: `const {exec} = m`.
fn is_destructured(rest: &str) -> bool {
    rest.split_once('}').is_some_and(|(list, after)| {
        let after = after.trim_start();
        !list.contains(['(', '{']) && (after.starts_with('=') || after.starts_with("from"))
    })
}

/// Returns true if it is one of the names that an import lists.
fn is_listed(before: &str) -> bool {
    before.trim_start().starts_with("import ")
        || before.contains(" import ")
        || before.trim_end().ends_with("from")
}

/// Finds a module whose name is computed when it is loaded.
fn unknown_load(code: &str, language: &str, loads: &[&str]) -> Option<&'static str> {
    let masked = mask(code, language);
    let unknown = loads.iter().any(|call| {
        masked.match_indices(call).any(|(at, _)| {
            let argument = code.get(at + call.len()..).unwrap_or("").trim_start();
            let literal =
                argument.chars().next().filter(|c| matches!(c, '\'' | '"')).and_then(|quote| {
                    let (_, after) = argument.get(1..)?.split_once(quote)?;
                    Some(after.trim_start().starts_with([')', ',']))
                });
            literal != Some(true)
        })
    });
    unknown.then_some("a module whose name is known only when it runs")
}
