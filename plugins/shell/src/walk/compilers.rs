//! Programs whose source code this very command line writes, and that it then builds and runs.

use super::expand::Field;
use super::scripts::Manner;
use super::{Setting, Walker};
use crate::places;
use std::rc::Rc;

/// The maximum number of built programs that are remembered.
const BUILT: usize = 64;

/// A program that was built from source code that is known.
#[derive(Clone)]
pub(super) struct Built {
    path: String,
    language: &'static str,
    text: Rc<str>,
}

/// Returns the language of a source file.
fn language_of(file: &str) -> Option<&'static str> {
    let (_, ending) = file.rsplit('/').next()?.rsplit_once('.')?;
    Some(match ending {
        "go" => "go",
        "c" | "cc" | "cpp" | "cxx" | "C" | "m" => "c",
        "rs" => "rust",
        "java" | "kt" | "kts" => "java",
        "scala" | "sc" => "scala",
        _ => return None,
    })
}

impl Walker<'_> {
    /// Follows a compiler: it builds a program, or runs it at once.
    pub(super) fn compiles(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let first = rest.first().map_or("", |field| field.text.as_str());
        let has = |flag: &str| rest.iter().any(|field| field.text == flag);
        let runs = match name {
            "go" | "cargo" | "zig" => matches!(first, "run" | "test" | "r" | "t" | "generate"),
            "java" | "rust-script" | "scala" | "scala-cli" | "kotlin" => true,
            "tcc" => has("-run"),
            "kotlinc" => has("-script"),
            _ => false,
        };
        if name == "java"
            && let Some(class) = rest.iter().find(|field| is_class(&field.text))
        {
            let path = format!("{}.class", class.text.replace('.', "/"));
            self.runs_built(&Field { text: path, ..class.clone() }, command, setting);
        }
        let mut sources: Vec<(String, &'static str, Rc<str>)> = Vec::new();
        for field in rest.iter().take(256) {
            if let Some(language) = language_of(&field.text) {
                let (path, _) = places::resolve(&field.text, &self.env.folder);
                let text = self.content_of(&path).and_then(|content| content.text);
                if runs && text.is_none() {
                    let (language, manner) = (Some(language), Manner::Interpreted);
                    self.run_script(field, &path, language, manner, &[], command, setting);
                }
                sources.extend(text.map(|text| (path, language, text)));
            }
        }
        // A package: the files of its folder.
        let whole = match name {
            "go" => sources.is_empty() && matches!(first, "run" | "test" | "build" | "install"),
            "cargo" => true,
            _ => false,
        };
        if whole {
            let folder = self.env.folder.clone();
            let own = self.files.iter().filter(|(path, _)| places::is_below(path, &folder));
            let own = own.filter_map(|(path, feed)| {
                Some((path.clone(), language_of(path)?, feed.text.clone()?))
            });
            sources.extend(own.take(16));
        }
        let target = rest.iter().enumerate().find_map(|(at, field)| {
            let text = field.text.as_str();
            match text {
                "-o" | "--output" => rest.get(at + 1).map(|field| field.text.clone()),
                _ => text.strip_prefix("-o").filter(|file| !file.is_empty()).map(str::to_owned),
            }
        });
        for (path, language, text) in sources {
            let field = Field {
                text: text.to_string(),
                known: true,
                span: rest.first().map_or_else(Default::default, |field| field.span),
                ..Field::default()
            };
            if runs {
                self.code(language, &field, command, setting);
                continue;
            }
            let stem = path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem);
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            // Each compiler names its output in its own way if `-o` does not.
            let target = match (&target, name) {
                (Some(target), _) if language != "java" => target.clone(),
                (_, "rustc") => stem.rsplit('/').next().unwrap_or("").to_owned(),
                (_, "javac" | "kotlinc" | "scalac") => format!("{stem}.class"),
                (_, "go") => folder.rsplit('/').next().unwrap_or("").to_owned(),
                _ => "a.out".to_owned(),
            };
            let (path, _) = places::resolve(&target, &self.env.folder);
            if self.built.len() < BUILT {
                self.built.push(Built { path, language, text });
            }
        }
    }

    /// Reads the source code of a program that this command line built, now that it runs it.
    pub(super) fn runs_built(&mut self, program: &Field, command: Option<u32>, setting: &Setting) {
        if self.built.is_empty() {
            return;
        }
        let (path, _) = places::resolve(&program.text, &self.env.folder);
        let mut run: Vec<Built> = self.built.iter().filter(|b| b.path == path).cloned().collect();
        self.built.retain(|built| built.path != path);
        for built in run.drain(..) {
            let field = Field {
                text: built.text.to_string(),
                known: true,
                span: program.span,
                ..Field::default()
            };
            self.code(built.language, &field, command, setting);
        }
    }
}

/// Returns true for the name of a class, as `java` takes it.
fn is_class(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$'))
        || word.contains('.')
            && !word.contains('/')
            && !word.starts_with('-')
            && !word.ends_with(".java")
            && word
                .rsplit('.')
                .next()
                .is_some_and(|w| w.starts_with(|c: char| c.is_ascii_uppercase()))
}
