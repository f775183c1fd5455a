//! The two subcommands, one file each.

pub mod build;
pub mod new;
