//! The reviewer as a library: everything that a hook, a replay, an evaluation or a service needs to
//! review an event.
//!
//! ```text
//! hook -> installed -> reviewer -> core's pipeline -> engine
//!   |        |           |
//!   |        |           +-- plugin_specs, protected_paths, workspace: input for one review
//!   |        +-- rules, bundles: checks before a reviewer is made
//!   +-- store; incidents, quarantine, notifications: work that follows from its records
//! ```
//!
//! Nothing here reads command-line arguments, asks a person or prints.

pub mod answers;
pub mod approvals;
pub mod breakers;
pub mod bundles;
pub mod canary_session;
pub mod checkpoints;
pub mod compiler;
pub mod config_check;
pub mod credentials;
pub mod decisions;
pub mod documents;
pub mod export;
pub mod exports;
mod folder_locations;
pub mod health;
pub mod hook;
mod hook_caller;
pub mod incidents;
pub mod installed;
pub mod isolated;
pub mod joined;
pub mod metrics;
mod named_table;
mod names;
pub mod notifications;
pub mod orders_trial;
pub mod page_address;
pub mod parts;
pub mod plugin_mistakes;
pub mod plugin_specs;
pub mod privacy;
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(
    target_os = "linux",
    allow(dead_code, reason = "only its tests run where there is `/proc`")
)]
pub mod process_list;
pub mod process_tree;
pub mod protected_paths;
pub mod quarantine;
pub mod questions;
pub mod recording;
pub mod reviewer;
pub mod rules;
pub mod session;
pub mod step_detail;
pub mod stopped;
pub mod stored_records;
pub mod timeline;
pub mod tool_texts;
pub mod user_view;
pub mod workspace;
