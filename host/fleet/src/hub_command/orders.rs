//! The arguments of `portcullis hub orders`.

use super::{FOLDER, Words};
use crate::rollout::RolloutPlan;
use std::ffi::OsString;
use std::path::PathBuf;

/// A command of `portcullis hub orders`.
#[derive(Debug, clap::Subcommand)]
pub enum OrdersCommand {
    /// Publish orders that `portcullis fleet sign` has signed
    Publish(PublishArguments),
    /// Change the part of a group's machines that gets a version; a rollout of it pauses
    Share(ShareArguments),
    /// Keep a rollout at its stage
    Pause(PauseArguments),
    /// Let a rollout go on that was paused or held: its stage begins again
    Resume(ResumeArguments),
    /// List the published orders of all groups
    List(super::ListArguments),
    /// Print published orders as they were signed
    Show(ShowArguments),
}

/// The arguments of `hub orders publish`.
#[derive(Debug, clap::Args)]
pub struct PublishArguments {
    /// The signed orders
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The part of the group's machines that gets them at first, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub share: u8,
    /// The stages in which they reach the group, by themselves: `shadow:1h,10:1h,50:2h,100`
    #[arg(long, value_name = "STAGES", value_parser = RolloutPlan::parse_plan, conflicts_with = "share")]
    pub rollout: Option<RolloutPlan>,
    /// The rise of warnings, questions and refusals that does not stop the rollout, in percent of the
    /// actions
    #[arg(long, value_name = "POINTS", default_value_t = 2, requires = "rollout", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub tolerance: u8,
    /// Signed orders of a later version, which the hub publishes if it stops the rollout
    #[arg(long, value_name = "FILE", requires = "rollout")]
    pub fallback: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub orders share`.
#[derive(Debug, clap::Args)]
pub struct ShareArguments {
    /// The group
    pub group: String,
    /// The version
    pub version: u32,
    /// The part of the group's machines that gets it, in percent; 0 stops it
    #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
    pub percent: u8,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub orders pause`.
#[derive(Debug, clap::Args)]
pub struct PauseArguments {
    /// The group
    pub group: String,
    /// The version
    pub version: u32,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub orders resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeArguments {
    /// The group
    pub group: String,
    /// The version
    pub version: u32,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The rise of warnings, questions and refusals that does not stop it from now on
    #[arg(long, value_name = "POINTS", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub tolerance: Option<u8>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub orders show`.
#[derive(Debug, clap::Args)]
pub struct ShowArguments {
    /// The group
    pub group: String,
    /// The version (default: the newest)
    #[arg(long, value_name = "VERSION")]
    pub version: Option<u32>,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl OrdersCommand {
    /// Returns true if it changes something.
    pub(super) const fn is_for_person(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Show(_))
    }

    pub(super) const fn prints_json(&self) -> bool {
        match self {
            Self::Publish(arguments) => arguments.json,
            Self::Share(arguments) => arguments.json,
            Self::Pause(arguments) => arguments.json,
            Self::Resume(arguments) => arguments.json,
            Self::List(arguments) => arguments.json,
            Self::Show(arguments) => arguments.json,
        }
    }

    /// Returns the arguments without an option.
    pub(super) fn plain_words(&self) -> Vec<OsString> {
        let of_version =
            |group: &String, version: &u32| vec![group.into(), version.to_string().into()];
        match self {
            Self::Publish(arguments) => vec![arguments.file.clone().into()],
            Self::Share(ShareArguments { group, version, percent, .. }) => {
                let mut words = of_version(group, version);
                words.push(percent.to_string().into());
                words
            }
            Self::Pause(arguments) => of_version(&arguments.group, &arguments.version),
            Self::Resume(arguments) => of_version(&arguments.group, &arguments.version),
            Self::List(_) => Vec::new(),
            Self::Show(arguments) => vec![OsString::from(&arguments.group)],
        }
    }
}

/// Adds a command with its options.
pub(super) fn add_words(words: &mut Words, command: &OrdersCommand) {
    let (name, folder) = match command {
        OrdersCommand::Publish(arguments) => ("publish", &arguments.folder),
        OrdersCommand::Share(arguments) => ("share", &arguments.folder),
        OrdersCommand::Pause(arguments) => ("pause", &arguments.folder),
        OrdersCommand::Resume(arguments) => ("resume", &arguments.folder),
        OrdersCommand::List(arguments) => ("list", &arguments.folder),
        OrdersCommand::Show(arguments) => ("show", &arguments.folder),
    };
    words.add(name);
    words.add_value("--folder", folder);
    match command {
        OrdersCommand::Publish(arguments) => match &arguments.rollout {
            None => words.add_value("--share", arguments.share.to_string()),
            Some(plan) => {
                words.add_value("--rollout", plan.to_string());
                words.add_value("--tolerance", arguments.tolerance.to_string());
                arguments.fallback.iter().for_each(|file| words.add_value("--fallback", file));
            }
        },
        OrdersCommand::Resume(arguments) => {
            let tolerance = arguments.tolerance.iter();
            tolerance.for_each(|points| words.add_value("--tolerance", points.to_string()));
        }
        OrdersCommand::Show(arguments) => {
            let version = arguments.version.iter();
            version.for_each(|version| words.add_value("--version", version.to_string()));
        }
        OrdersCommand::Share(_) | OrdersCommand::Pause(_) | OrdersCommand::List(_) => {}
    }
}
