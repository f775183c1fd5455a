//! The review pipeline of Portcullis, and nothing else.
//!
//! ```text
//! bytes -> parse -> Event -> facts -> mask -> observe -> review -> decide -> intervene -> recover -> record -> render -> bytes
//! ```
//!
//! The stages are modules that [`pipeline`] calls in this order; no stage imports a later one. This
//! crate has no files, clock, environment, network, threads or globals: state comes in and goes out
//! as data, so the same input always gives the same bytes.

pub mod action;
pub mod breaker;
pub mod client;
pub mod counterfactual;
pub mod event;
pub mod exceptions;
pub mod facts;
pub mod fault;
pub mod finding;
pub mod guard;
pub mod incident;
pub mod intervene;
mod intervention_kind;
pub mod known_failure;
pub mod ladder;
pub mod limits;
pub mod mask;
pub mod observe;
pub mod own_files;
pub mod pipeline;
pub mod plugins;
pub mod policy;
pub mod quarantine;
mod quoting;
pub mod record;
pub mod record_commands;
mod recorded_undo;
pub mod recover;
pub mod review;
pub mod rewrite;
pub mod run_files;
pub mod score;
pub mod seen_secrets;
pub mod session;
pub mod terms;
pub mod text;
pub mod throttle;
pub mod undo;
pub mod verdict;
