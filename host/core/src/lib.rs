//! The review pipeline of Portcullis, and nothing else.
//!
//! ```text
//! bytes -> wire::parse -> Event -> facts -> mask -> observe -> review -> decide -> intervene -> recover -> record -> wire::render -> bytes
//! ```
//!
//! One type for each stage, one function for each arrow; no stage imports a later one. This crate has
//! no files, clock, environment, network, threads or globals: state comes in and goes out as data, so
//! the same input always gives the same bytes.

pub mod action;
pub mod fault;
pub mod finding;
pub mod plugins;
pub mod score;
pub mod event;
pub mod text;
pub mod wire;
pub mod mask;
pub mod policy;
pub mod session;
pub mod facts;
pub mod observe;
pub mod decide;
pub mod review;
pub mod rewrite;
pub mod intervene;
pub mod record;
pub mod recover;
pub mod pipeline;
