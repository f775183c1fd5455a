//! The readings of command lines: tables of commands, each with the expected result.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod appended;
mod batches;
mod build_properties;
mod builders;
mod carried;
mod carried_out;
mod carriers;
mod catalogue;
mod containers;
mod copies;
mod coverage;
mod dangers;
mod data;
mod dialects;
mod effects;
mod emptied;
mod histories;
mod hostile;
mod imported;
mod inline;
mod introduced;
mod keeping;
mod languages;
mod late;
mod limits;
mod links;
mod machine;
mod mentions;
mod named_files;
mod named_settings;
mod origins;
mod overlooked;
mod own_data;
mod packages;
mod permissions;
mod properties;
mod protections;
mod put_together;
mod ranges;
mod rewritten;
mod runners;
mod scripts;
mod services;
mod sources;
mod spellings;
mod structure;
mod twins;
mod written;
mod written_code;

use portcullis_shell_reader::Reading;
use portcullis_shell_reader::examples::{describe_effect, read_in_project as reading};

fn effects(reading: &Reading) -> Vec<String> {
    reading.effects.iter().map(describe_effect).collect()
}

fn forms(reading: &Reading) -> Vec<&str> {
    reading.forms.iter().map(|form| form.id.as_str()).collect()
}

fn programs(reading: &Reading) -> Vec<&str> {
    reading.commands.iter().map(|command| command.program.as_str()).collect()
}
