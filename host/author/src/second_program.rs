//! The agreement between `portcullis` and `portcullis-plugin`: the arguments of the commands that
//! run in the second program, and its version.
//!
//! The first program knows the arguments, so that its help and completions have them, and an error
//! in them is its own. It gives the second one its version, then the arguments in one fixed form.

use crate::project::Language;
use portcullis_config::paths::second_program;
use portcullis_engine::Kind;
use std::ffi::OsString;
use std::path::PathBuf;

pub use portcullis_config::paths::SECOND_PROGRAM as NAME;

/// The version that both programs must have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All commands of the second program, as it parses them.
#[derive(Debug, clap::Subcommand)]
pub enum SecondProgramCommand {
    /// A command of `portcullis plugin`.
    #[command(flatten)]
    Plugin(Command),
    /// A command of `portcullis catalogue`.
    #[command(subcommand)]
    Catalogue(CatalogueCommand),
}

/// A command of `portcullis plugin` that runs in the second program.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create a small starter project for a plugin
    New(NewArguments),
    /// Build a plugin's project into a small, checked component
    Build(BuildArguments),
}

/// A command of `portcullis catalogue`.
#[derive(Debug, clap::Subcommand)]
pub enum CatalogueCommand {
    /// Report every mistake in files of the catalogue and run their examples; exit code 1 if
    /// something is wrong
    #[command(long_about = CHECK_ABOUT)]
    Check(CheckCatalogueArguments),
}

/// The rule by which files are put together is part of the help.
const CHECK_ABOUT: &str = "\
Report every mistake in files of the catalogue and run their examples; exit code 1 if
something is wrong

The catalogue says what programs do with their options and operands. A folder that has a
`forms.toml` is a whole catalogue; a file in such a folder is checked with all of it. Any
other file or folder is checked with the built-in catalogue, and its files replace those of
the same name. Each mistake names file, line, entry and fix. Once there are none, all examples
of the entries run, without cargo: effects and forms have to be exactly those.";

/// The arguments of `catalogue check`.
#[derive(Debug, clap::Args)]
pub struct CheckCatalogueArguments {
    /// A file, or a folder of files
    #[arg(value_name = "FILE|FOLDER", default_value = HERE)]
    pub path: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `plugin new`.
#[derive(Debug, clap::Args)]
pub struct NewArguments {
    /// The plugin's name, also used for the folder
    #[arg(required_unless_present = "list")]
    pub name: Option<String>,
    /// The plugin's kind; `--list` describes each
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(KINDS.iter().map(|kind| kind.0.as_str())), required_unless_present = "list")]
    pub kind: Option<String>,
    /// The plugin's language
    #[arg(long, value_name = "LANGUAGE", value_enum, required_unless_present = "list")]
    pub lang: Option<Language>,
    /// Create the project's folder in this one instead of the current one
    #[arg(long, short, alias = "into", value_name = "FOLDER", default_value = HERE)]
    pub output: PathBuf,
    /// List kinds and languages, and create nothing
    #[arg(long, conflicts_with_all = ["name", "kind", "lang", "output"])]
    pub list: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `plugin build`.
#[derive(Debug, clap::Args)]
pub struct BuildArguments {
    /// The project's folder
    #[arg(default_value = HERE)]
    pub folder: PathBuf,
    /// Keep function names in the component, which make the trace of a trap readable
    #[arg(long)]
    pub debug: bool,
    /// Rebuild whenever a file of the project changes, until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Print JSON, one object per build
    #[arg(long)]
    pub json: bool,
}

/// The kinds, each with its purpose.
pub const KINDS: &[(Kind, &str)] = &[
    (
        Kind::RiskCalculator,
        "judges one action by itself: how risky, how sensible, which rules it breaks",
    ),
    (Kind::Pattern, "notices how a session goes wrong"),
    (Kind::Intervention, "words and shapes the answer to something that went wrong"),
    (Kind::AuditExporter, "writes records of the journal in a format"),
];
/// The current folder.
const HERE: &str = ".";

impl Command {
    /// Returns the arguments of the second program: the version, then the command as one parses it
    /// back, whatever a name or a folder begins with.
    pub fn command_arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![VERSION.into()];
        match self {
            Self::New(arguments) => arguments.add_to(&mut words),
            Self::Build(arguments) => arguments.add_to(&mut words),
        }
        words
    }
}

impl CatalogueCommand {
    /// Returns the arguments of the second program, as those of [`Command::command_arguments`].
    pub fn command_arguments(&self) -> Vec<OsString> {
        let Self::Check(arguments) = self;
        let mut words: Vec<OsString> = vec![VERSION.into(), "catalogue".into(), "check".into()];
        add_flags(&mut words, &[("--json", arguments.json)]);
        words.extend(["--".into(), arguments.path.clone().into()]);
        words
    }
}

impl NewArguments {
    fn add_to(&self, words: &mut Vec<OsString>) {
        words.push("new".into());
        add_flags(words, &[("--list", self.list), ("--json", self.json)]);
        if self.list {
            return;
        }
        let mut add_value = |option: &str, value: OsString| {
            // One word, so that a value that begins with a hyphen is none of the options.
            let mut word = OsString::from(option);
            word.push(value);
            words.push(word);
        };
        self.kind.iter().for_each(|kind| add_value("--kind=", kind.into()));
        self.lang.iter().for_each(|language| add_value("--lang=", language.as_str().into()));
        add_value("--output=", self.output.clone().into());
        words.push("--".into());
        words.extend(self.name.iter().map(OsString::from));
    }
}

impl BuildArguments {
    fn add_to(&self, words: &mut Vec<OsString>) {
        words.push("build".into());
        let flags = [("--debug", self.debug), ("--watch", self.watch), ("--json", self.json)];
        add_flags(words, &flags);
        words.extend(["--".into(), self.folder.clone().into()]);
    }
}

fn add_flags(words: &mut Vec<OsString>, flags: &[(&str, bool)]) {
    words.extend(flags.iter().filter(|(_, given)| *given).map(|(flag, _)| OsString::from(flag)));
}

/// Returns what to do about a second program that is missing or of another version.
pub fn describe_fix() -> String {
    let path = second_program().ok();
    let folder = path.and_then(|path| Some(path.parent()?.display().to_string()));
    format!(
        "install `portcullis` and `{NAME}` from one build into one folder, `{}`",
        folder.unwrap_or_else(|| HERE.to_owned())
    )
}

#[cfg(test)]
mod tests {
    use super::SecondProgramCommand;
    use clap::Parser;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    #[derive(Debug, Parser)]
    struct Arguments {
        #[command(subcommand)]
        command: SecondProgramCommand,
    }

    fn words(command: &SecondProgramCommand) -> Vec<OsString> {
        match command {
            SecondProgramCommand::Plugin(command) => command.command_arguments(),
            SecondProgramCommand::Catalogue(command) => command.command_arguments(),
        }
    }

    fn parse(words: impl IntoIterator<Item = OsString>) -> SecondProgramCommand {
        Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command
    }

    #[test]
    fn the_second_program_parses_what_the_first_parsed() {
        for line in [
            "new a-b --kind pattern --lang rust",
            "new --json --kind audit-exporter --into=-x --lang ts -- -n",
            "new --list",
            "new --list --json",
            "build",
            "build --debug --watch --json -- -folder",
            "build --json some/folder",
            "catalogue check",
            "catalogue check --json -- -file.toml",
        ] {
            let line_words = ["portcullis"].into_iter().chain(line.split(' ')).map(OsString::from);
            let parsed = parse(line_words);
            let again = parse(words(&parsed));
            assert_eq!(format!("{parsed:?}"), format!("{again:?}"), "{line}");
        }
    }

    #[test]
    fn a_folder_needs_no_utf8() {
        let folder = OsString::from_vec(b"\xff".to_vec());
        let parsed = parse(["portcullis".into(), "build".into(), folder.clone()]);
        assert_eq!(words(&parsed).last(), Some(&folder));
    }
}
