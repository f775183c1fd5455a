//! `portcullis plugin new`: creates a complete small project to start a plugin from. It creates one
//! folder atomically and overwrites nothing.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_author::templates;

use crate::paint;
use portcullis_author::project::{CASES, Language, unfit};
use portcullis_core::text::one_line;
use portcullis_engine::Kind;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The plugin's name, also used for the folder
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// The plugin's kind; `--list` describes each
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(KINDS.iter().map(|kind| kind.0.as_str())), required_unless_present = "list")]
    kind: Option<String>,
    /// The plugin's language
    #[arg(long, value_name = "LANGUAGE", value_enum, required_unless_present = "list")]
    lang: Option<Language>,
    /// Create the project's folder in this one instead of the current one
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    into: PathBuf,
    /// List kinds and languages, and create nothing
    #[arg(long, conflicts_with_all = ["name", "kind", "lang", "into"])]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The kinds, each with its purpose.
const KINDS: &[(Kind, &str)] = &[
    (
        Kind::RiskCalculator,
        "judges one action by itself: how risky, how sensible, which rules it breaks",
    ),
    (Kind::Pattern, "notices how a session goes wrong"),
    (Kind::Intervention, "words and shapes the answer to something that went wrong"),
    (Kind::AuditExporter, "writes records of the journal in a format"),
];

/// The languages, in the order in which they are shown.
const LANGUAGES: &[(Language, &str)] = &[
    (Language::Rust, "Rust, with the SDK; components of some 80 KB"),
    (Language::C, "C, by zig or clang; components of some 40 KB"),
    (Language::Python, "Python, by componentize-py; components of some 18 MB"),
    (Language::Js, "JavaScript, in QuickJS; components of some 2 MB"),
    (Language::Ts, "TypeScript, checked by tsc, in QuickJS; components of some 2 MB"),
    (Language::Go, "Go, by its own compiler; components of some 3 MB"),
];

pub fn run(arguments: &Arguments) -> Result<CommandExit> {
    let (Some(name), Some(kind), Some(language)) =
        (&arguments.name, &arguments.kind, arguments.lang)
    else {
        return Ok(list(arguments.json));
    };
    if let Some(reason) = unfit(name) {
        return Err(Error::invalid(format!(
            "`{}` cannot be a plugin's name: {reason}",
            one_line(name, 80)
        )));
    }
    let Some(kind) = Kind::named(kind) else {
        return Err(Error::not_found(format!("there is no kind `{}`", one_line(kind, 80))));
    };
    let Some(files) = templates::project(name, kind, language) else {
        return Err(Error::invalid(not_there(kind, language).to_string()));
    };
    let folder = if arguments.into == Path::new(".") {
        PathBuf::from(name)
    } else {
        arguments.into.join(name)
    };
    write(&folder, &files)?;
    let shown = one_line(&folder.to_string_lossy(), 400);
    if arguments.json {
        let names: Vec<&String> = files.keys().collect();
        paint::print(&format!(
            "{}\n",
            json!({ "folder": folder, "kind": kind, "language": language, "files": names })
        ));
        return Ok(CommandExit::Success);
    }
    paint::print(&format!(
        "{} `{shown}`: {kind} in {}. Next:\n\n  cd {shown}\n  portcullis plugin build\n{}\n{} says the rest.\n",
        paint::good("made"),
        language.as_str(),
        if files.contains_key(CASES) { "  portcullis plugin test\n" } else { "" },
        paint::bold("README.md"),
    ));
    Ok(CommandExit::Success)
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
        return Err(Error::invalid(format!(
            "`{shown}` is there already, and nothing is overwritten"
        ))
        .hint("take another name, or `--into` another folder"));
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

fn list(as_json: bool) -> CommandExit {
    let languages = |kind: Kind| {
        LANGUAGES
            .iter()
            .filter(move |(language, _)| templates::exists(kind, *language))
            .map(|(language, _)| language.as_str())
    };
    if as_json {
        let templates: Vec<_> = KINDS
            .iter()
            .map(|(kind, about)| json!({ "kind": kind, "about": about, "languages": languages(*kind).collect::<Vec<_>>() }))
            .collect();
        paint::print(&format!("{}\n", json!({ "templates": templates })));
        return CommandExit::Success;
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
    paint::print(&text);
    CommandExit::Success
}
