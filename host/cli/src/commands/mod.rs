//! One file a subcommand.

pub mod allow;
pub mod audit;
pub mod checkpoint;
pub mod compile;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod eval;
pub mod explain;
pub mod feedback;
pub mod hook;
pub mod install;
pub mod maintain;
pub mod metrics;
pub mod pause;
pub mod plugin;
pub mod recover;
pub mod replay;
pub mod review;
pub mod rules;
#[cfg(target_os = "linux")]
pub mod run;
pub mod status;
pub mod trust;
pub mod uninstall;
