//! The subcommands, one file each.

pub mod allow;
pub mod approvals;
pub mod audit;
pub mod bundle;
pub mod catalogue;
pub mod checkpoint;
pub mod compile;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod eval;
pub mod explain;
pub mod feedback;
pub mod hook;
pub mod incident;
pub mod install;
pub mod maintain;
pub mod man;
pub mod mcp;
pub mod metrics;
pub mod notifications;
pub mod pause;
pub mod plugin;
pub mod quarantine;
pub mod recover;
pub mod replay;
pub mod review;
pub mod rules;
#[cfg(target_os = "linux")]
pub mod run;
mod second_program;
pub mod serve;
pub mod status;
pub mod trust;
pub mod undo;
pub mod uninstall;
