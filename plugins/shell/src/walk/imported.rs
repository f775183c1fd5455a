//! Modules that code loads by their names. One that the session wrote is read as part of what loads
//! it. One that nobody has seen, since it was downloaded, decoded, or is in a folder that was
//! fetched, counts as unseen code. All others are the project's own work, and are not read.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::scripts::Manner;
use super::search_path::MODULE_FOLDERS;
use super::{Setting, Walker};
use crate::places;
use portcullis_autoruns::MODULE_ENDINGS;

/// The most names of one text that are looked at.
const NAMES: usize = 256;

/// Calls and statements that load a file or a module, whose name comes next.
const LOADS: &[(&str, &[&str])] = &[
    (
        "python",
        &[
            "import",
            "from",
            "__import__",
            "import_module",
            "load_module",
            "load_source",
            "run_module",
            "run_path",
            "SourceFileLoader",
            "spec_from_file_location",
            "execfile",
        ],
    ),
    ("node", &["import", "from", "require", "importScripts", "Worker", "fork"]),
    ("ruby", &["require_relative", "require", "load", "autoload"]),
    ("perl", &["require", "do", "use"]),
    ("php", &["include", "include_once", "require", "require_once"]),
    ("lua", &["require", "dofile", "loadfile"]),
    ("r", &["source", "sys.source"]),
    ("julia", &["include"]),
    ("tcl", &["source"]),
];

/// The ends of a path that follow the name of a package that is a folder.
const INDEXES: &[&str] = &["/__init__.py", "/index.js", "/index.ts", "/init.lua"];
/// The endings of files that hold data alone.
const DATA: &[&str] = &[".json", ".txt", ".csv", ".yaml", ".yml", ".toml", ".xml", ".md", ".html"];

impl Walker<'_> {
    /// Follows the modules that code loads and that the session wrote, and notes one that nobody
    /// has seen.
    pub(super) fn note_imports(
        &mut self,
        language: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let loads = LOADS.iter().find(|(known, _)| *known == language);
        let Some((known, words)) = loads.filter(|_| self.has_modules()) else { return };
        let own = self.script_path().and_then(|path| path.rsplit_once('/'));
        let mut folders =
            vec![own.map_or(self.env.folder.clone(), |(folder, _)| folder.to_owned())];
        let listed = MODULE_FOLDERS.iter().filter_map(|name| Some(self.env.get(name)?.text));
        for list in listed.chain(self.module_folders.iter().cloned()) {
            folders.extend(list.split(':').filter(|part| !part.is_empty()).map(str::to_owned));
        }
        for start in ["sys.path.insert(0,", "sys.path.append(", "$LOAD_PATH.unshift", "use lib"] {
            let after = field.text.split(start).skip(1).take(8);
            folders.extend(after.filter_map(|after| quoted(after.trim_start())));
        }
        let names = names_in(&field.text, language, words);
        for name in names.iter().filter(|name| !DATA.iter().any(|end| name.ends_with(end))) {
            for folder in folders.iter().filter(|folder| !folder.contains(UNKNOWN)) {
                let (folder, _) = places::resolve(folder, &self.env.folder);
                for path in paths_of(name, &folder, language) {
                    let content = self.content_of(&path);
                    if let Some(content) = content.filter(|content| content.source.is_unseen()) {
                        return self.unseen(content.source, command, setting);
                    }
                    if self.is_first_import(&path) {
                        let script = Field { text: path.clone(), ..field.clone() };
                        let language = Some(*known);
                        let manner = Manner::Interpreted;
                        self.run_script(&script, &path, language, manner, &[], command, setting);
                    }
                }
            }
        }
    }
}

/// Returns the files that a name may stand for.
fn paths_of(name: &str, folder: &str, language: &str) -> Vec<String> {
    // A program in TypeScript may name what its modules are compiled to.
    let source = name.strip_suffix(".js").filter(|_| language == "node");
    let source = source.map(|stem| format!("{stem}.ts"));
    let ends = [""].iter().chain(MODULE_ENDINGS).chain(INDEXES);
    ends.map(|end| format!("{name}{end}"))
        .chain(source)
        .map(|name| places::resolve(&name, folder))
        .filter_map(|(path, known)| known.then_some(path))
        .collect()
}

/// Returns the names that stand behind words which load, as paths.
fn names_in(text: &str, language: &str, words: &[&str]) -> Vec<String> {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for word in words {
        for (at, _) in text.match_indices(word).take(NAMES) {
            let before = text.get(..at).unwrap_or("");
            let after = text.get(at + word.len()..).unwrap_or("");
            if before.ends_with(joins) || after.starts_with(joins) {
                continue;
            }
            let rest = after.trim_start_matches([' ', '\t', '(']);
            match quoted(rest) {
                Some(name) => names.extend(spelled(&name, language)),
                None if matches!(*word, "spec_from_file_location" | "SourceFileLoader") => {}
                None if language == "python" => bare(before, word, rest, &mut names),
                None if language == "perl" => {
                    names.extend(word_of(rest).map(|name| name.replace("::", "/")))
                }
                None => {}
            }
            // The file comes after the name that the module gets.
            let second = rest.split_once(',').map(|(_, second)| second.trim_start());
            if matches!(
                *word,
                "spec_from_file_location" | "SourceFileLoader" | "load_source" | "autoload"
            ) {
                names.extend(second.and_then(quoted));
            }
            if names.len() >= NAMES {
                return names;
            }
        }
    }
    names
}

/// Returns the forms in which a quoted name stands for a file. A bare name is that of a package in
/// some languages.
fn spelled(name: &str, language: &str) -> Vec<String> {
    let path = name.contains('/') || name.starts_with('.');
    match language {
        "node" if !path => Vec::new(),
        "python" | "lua" if !path => vec![name.to_owned(), name.replace('.', "/")],
        "perl" => vec![name.to_owned(), name.replace("::", "/")],
        _ => vec![name.to_owned()],
    }
}

/// Adds the modules of an `import` or a `from` of Python: `a.b as c, d`, `.x import y`.
fn bare(before: &str, word: &str, rest: &str, names: &mut Vec<String>) {
    let line = rest.split(['\n', ';', ')']).next().unwrap_or("");
    let line_before = before.rsplit(['\n', ';', ':']).next().unwrap_or("");
    if word == "from" {
        let (module, list) = line.split_once(" import ").unwrap_or((line, ""));
        let module = module.trim().trim_start_matches('.').replace('.', "/");
        let members = list.split(',').filter_map(|item| word_of(item.trim_start()));
        names.extend(members.map(|item| match module.as_str() {
            "" => item,
            module => format!("{module}/{item}"),
        }));
        names.extend(Some(module).filter(|module| !module.is_empty()));
    // The `import` inside a `from` was read with it.
    } else if word == "import" && !line_before.trim_start().starts_with("from ") {
        let modules = line.split(',').filter_map(|item| word_of(item.trim_start()));
        names.extend(modules.map(|module| module.replace('.', "/")));
    }
}

fn word_of(text: &str) -> Option<String> {
    let fits = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    let word: String = text.chars().take_while(fits).collect();
    (!word.is_empty()).then_some(word)
}

/// Returns the text in quotes at the beginning of a text.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let inner = text.get(1..)?;
    let name = inner.get(..inner.find(quote)?)?;
    (!name.is_empty() && name.len() < 1024).then(|| name.to_owned())
}
