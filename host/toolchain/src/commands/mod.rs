//! The subcommands, one file each.

pub mod build;
pub mod catalogue;
pub mod new;
