//! Code of other languages on the command line. Python, JavaScript and TypeScript are parsed, and
//! `effects` maps their calls by the tables in `calls`; `foreign` reads languages without a parser
//! by their words, and `signs` what is left: code that does not parse, and rarer languages.

mod calls;
mod clouds;
mod effects;
mod endless;
mod escapes;
mod foreign;
mod loops;
mod plain;
mod programs;
mod requests;
mod signs;
mod stores;
mod tcl;
mod values;
mod writes;

pub(super) use foreign::awk_streams;

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::Feed;
use super::{Setting, Walker};
use crate::syntax::DEPTH;
use crate::types::EffectKind;
use portcullis_inline_code::{Gap, Language, read_code};

/// The code computes the text that is run.
const BUILT: &str = "a text that code puts together and runs";

impl Walker<'_> {
    /// Notes the effects of a program's text; returns its output.
    pub(super) fn code(
        &mut self,
        language: &str,
        field: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) -> Feed {
        self.code_with(language, field, None, command, setting)
    }

    /// Does the same for a program that is given arguments.
    pub(super) fn code_with(
        &mut self,
        language: &str,
        field: &Field,
        arguments: Option<&[Field]>,
        command: Option<u32>,
        setting: &Setting,
    ) -> Feed {
        self.spend(2 * field.text.len());
        if self.work == 0 || self.depth >= DEPTH {
            self.out.limit("more text than is read");
            return Feed::default();
        }
        let looped = loops::with_values(language, &field.text);
        let looped = looped.map(|text| Field { text, ..field.clone() });
        let field = looped.as_ref().unwrap_or(field);
        self.note_endless(language, field, command, setting);
        self.note_imports(language, field, command, setting);
        let internal = |name: &&str| field.text.contains(*name);
        if language == "node" && INTERNAL.iter().any(internal) {
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        let located = self.with_own_path(language, field);
        let field = located.as_ref().unwrap_or(field);
        let parsed = match language {
            "python" => Language::Python,
            "node" => Language::JavaScript,
            _ => return self.other_code(language, field, command, setting),
        };
        let words: Option<Vec<String>> =
            arguments.map(|words| words.iter().map(|word| word.text.clone()).collect());
        let code = read_code(&field.text, parsed, words.as_deref());
        self.spend(code.steps);
        if code.gaps.contains(&Gap::Limit) {
            self.out.limit("more code than is followed");
        }
        if !code.parsed {
            self.out.gap("code that does not parse");
            return self.signs_of(language, field, command, setting);
        }
        self.depth += 1;
        let mark = self.env.mark();
        let said = self.effects_of_code(&code, language == "python", field, command, setting);
        self.env.restore(mark);
        self.depth -= 1;
        if code.gaps.contains(&Gap::Dynamic) {
            self.out.gap(BUILT);
        }
        if code.gaps.contains(&Gap::Module) {
            self.out.gap("a module whose name is known only when it runs");
            self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
        said
    }
}

impl Walker<'_> {
    /// Returns the text of a script in which the names of its own path are the path.
    fn with_own_path(&self, language: &str, field: &Field) -> Option<Field> {
        let path = self.script_path()?;
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let url = format!("file://{path}");
        let mut text = field.text.clone();
        for (known, name, own) in OWN_PATHS {
            if *known == language && text.contains(name) {
                let own = match own {
                    Own::File => path,
                    Own::Folder => folder,
                    Own::Address => url.as_str(),
                };
                text = replaced_name(&text, name, own);
            }
        }
        (text != field.text).then(|| Field { text, ..field.clone() })
    }
}

/// Names through which code of Node reaches what its modules guard.
const INTERNAL: &[&str] = &[
    "process.binding",
    "process[\"binding\"]",
    "process['binding']",
    "_linkedBinding",
    "internalBinding",
    "process.dlopen",
];

/// The form in which a name tells a script's own path.
enum Own {
    File,
    Folder,
    Address,
}

/// The names of a script's own path, by language; a longer one comes before its beginning.
const OWN_PATHS: &[(&str, &str, Own)] = &[
    ("python", "__file__", Own::File),
    ("node", "import.meta.dirname", Own::Folder),
    ("node", "import.meta.dir", Own::Folder),
    ("node", "import.meta.filename", Own::File),
    ("node", "import.meta.url", Own::Address),
    ("node", "__dirname", Own::Folder),
    ("node", "__filename", Own::File),
    ("php", "__DIR__", Own::Folder),
    ("php", "__FILE__", Own::File),
    ("ruby", "__dir__", Own::Folder),
    ("ruby", "__FILE__", Own::File),
    ("perl", "__FILE__", Own::File),
    ("perl", "$FindBin::Bin", Own::Folder),
    ("pwsh", "$PSScriptRoot", Own::Folder),
    ("pwsh", "$PSCommandPath", Own::File),
];

/// Puts a text in quotes in the place of a name, if the name stands for itself there.
fn replaced_name(text: &str, name: &str, own: &str) -> String {
    let quoted = format!("\"{}\"", own.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(name) {
        out.push_str(before);
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '`' | '$');
        let apart = !before.ends_with(|c| joins(c) || c == '.') && !after.starts_with(joins);
        out.push_str(if apart { &quoted } else { name });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Expands `~/x`: code that says so has asked for the home.
pub(super) fn at_home(text: &str, home: &str) -> String {
    match text.strip_prefix('~') {
        Some(rest) if !home.is_empty() && (rest.is_empty() || rest.starts_with('/')) => {
            format!("{home}{rest}")
        }
        _ => text.to_owned(),
    }
}

/// The text of something of which nothing is known.
fn unknown_text() -> String {
    UNKNOWN.to_string()
}
