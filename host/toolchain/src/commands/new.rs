//! `portcullis plugin new`: creates a complete small project to start a plugin from. It creates one
//! folder atomically and overwrites nothing.

use crate::paint;
use crate::templates;
use anyhow::{Context, Result, bail};
use portcullis_author::project::{CASES, Language, explain_unfit_name};
use portcullis_author::second_program::{KINDS, NewArguments};
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_core::text::one_line;
use portcullis_engine::Kind;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The languages, in the order in which they are shown.
const LANGUAGES: &[(Language, &str)] = &[
    (Language::Rust, "Rust, with the SDK; components of some 80 KB"),
    (Language::C, "C, by zig or clang; components of some 40 KB"),
    (Language::Python, "Python, by componentize-py; components of some 18 MB"),
    (Language::Js, "JavaScript, in QuickJS; components of some 2 MB"),
    (Language::Ts, "TypeScript, checked by tsc, in QuickJS; components of some 2 MB"),
    (Language::Go, "Go, by its own compiler; components of some 3 MB"),
];

pub fn run_new(arguments: &NewArguments) -> Result<()> {
    let (Some(name), Some(kind), Some(language)) =
        (&arguments.name, &arguments.kind, arguments.lang)
    else {
        list(arguments.json);
        return Ok(());
    };
    if let Some(reason) = explain_unfit_name(name) {
        bail!("`{}` cannot be a plugin's name: {reason}", one_line(name, 80));
    }
    let Some(kind) = Kind::from_name(kind) else {
        bail!(KnownFailure::NotFound(format!("there is no kind `{}`", one_line(kind, 80))));
    };
    let Some(files) = templates::project_files(name, kind, language) else {
        bail!("{}", not_there(kind, language));
    };
    let folder = if arguments.output == Path::new(".") {
        PathBuf::from(name)
    } else {
        arguments.output.join(name)
    };
    write(&folder, &files)?;
    let shown = one_line(&folder.to_string_lossy(), 400);
    if arguments.json {
        let names: Vec<&String> = files.keys().collect();
        paint::print_text(&format!(
            "{}\n",
            json!({ "folder": folder, "kind": kind, "language": language, "files": names })
        ));
        return Ok(());
    }
    paint::print_text(&format!(
        "{} `{shown}`: {kind} in {}. Next:\n\n  cd {shown}\n  portcullis plugin build\n{}\n{} explains the rest.\n",
        paint::good("made"),
        language.as_str(),
        if files.contains_key(CASES) { "  portcullis plugin test\n" } else { "" },
        paint::bold("README.md"),
    ));
    Ok(())
}

/// Explains which combinations exist instead.
fn not_there(kind: Kind, language: Language) -> String {
    let kinds: Vec<&str> = KINDS
        .iter()
        .map(|(kind, _)| *kind)
        .filter(|kind| templates::exists(*kind, language))
        .map(Kind::as_str)
        .collect();
    let languages: Vec<&str> = LANGUAGES
        .iter()
        .map(|(language, _)| *language)
        .filter(|language| templates::exists(kind, *language))
        .map(Language::as_str)
        .collect();
    let in_language = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
    format!(
        "there is no template for `{kind}` in {} yet; in {} there is: {in_language}; for `{kind}`: {}",
        language.as_str(),
        language.as_str(),
        languages.join(", ")
    )
}

/// Writes the files to a temporary sibling folder and renames it, so that a project appears
/// atomically.
fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let shown = one_line(&folder.to_string_lossy(), 400);
    if folder.symlink_metadata().is_ok() {
        bail!(HintedFailure::new(
            format!("`{shown}` is there already, and nothing is overwritten"),
            "take another name, or another folder with `--output`"
        ));
    }
    let parent =
        folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let draft = parent.join(format!(".{name}.{}", std::process::id()));
    let put = || -> Result<()> {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make `{}`", parent.display()))?;
        for (name, bytes) in files {
            let path = draft.join(name);
            path.parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&path, bytes))
                .with_context(|| format!("cannot write `{shown}/{name}`"))?;
        }
        fs::rename(&draft, folder).with_context(|| format!("cannot make `{shown}`"))
    };
    put().inspect_err(|_| drop(fs::remove_dir_all(&draft)))
}

fn list(as_json: bool) {
    let languages = |kind: Kind| {
        LANGUAGES
            .iter()
            .filter(move |(language, _)| templates::exists(kind, *language))
            .map(|(language, _)| language.as_str())
    };
    if as_json {
        let templates: Vec<_> = KINDS
            .iter()
            .map(|(kind, about)| {
                json!({
                    "kind": kind,
                    "about": about,
                    "languages": languages(*kind).collect::<Vec<_>>(),
                })
            })
            .collect();
        paint::print_text(&format!("{}\n", json!({ "templates": templates })));
        return;
    }
    let mut text = String::new();
    for (kind, about) in KINDS {
        let _ = writeln!(text, "{} {about}", paint::bold(format!("{:<18}", kind.as_str())));
        let _ = writeln!(
            text,
            "{:18} {}",
            "",
            paint::dim(format!("in {}", languages(*kind).collect::<Vec<_>>().join(", ")))
        );
    }
    text.push('\n');
    for (language, about) in LANGUAGES
        .iter()
        .filter(|(language, _)| KINDS.iter().any(|(kind, _)| templates::exists(*kind, *language)))
    {
        let _ = writeln!(text, "{} {about}", paint::bold(format!("{:<18}", language.as_str())));
    }
    text.push_str("\nportcullis plugin new NAME --kind KIND --lang LANGUAGE\n");
    paint::print_text(&text);
}
