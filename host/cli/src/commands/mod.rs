//! One file a subcommand.

pub mod allow;
pub mod audit;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod hook;
pub mod install;
pub mod maintain;
pub mod pause;
pub mod plugin;
pub mod recover;
pub mod replay;
pub mod review;
pub mod status;
pub mod trust;
pub mod uninstall;
