//! The sandbox: loads plugins, runs them under limits, names what goes wrong.
//!
//! The only crate that knows wasmtime; no type of it appears here. A plugin gets what its imports ask,
//! intersected with what is granted, which by default is: a budgeted log, details of past steps, and a
//! WASI without effects: no file, no network, no variable, no clock but the review's.
//!
//! ```text
//! bytes -> inspect -> compile (or cache) -> bind imports -> prepare -> [fresh store -> call -> check] -> answer or named fault
//! ```
//!
//! What never happens here: a guest that runs without fuel, a memory limit and an answer limit; a store
//! that serves two calls; an answer that is passed on unchecked; a failure that is passed on as "nothing
//! found"; machine code that runs without our signature; a verdict.

mod backstop;
mod bindings;
mod breakers;
mod cache;
mod check;
mod compile;
mod engine;
mod faults;
mod file;
mod from_wit;
mod grants;
mod host;
mod imports;
mod inspect;
mod kind;
mod limits;
mod load_error;
mod plugin;
mod reading;
mod readings;
mod set;
mod settings;
mod shared;
mod slots;
mod state;
mod text;
mod to_wit;
mod wasi;
mod watch;
mod web;
mod world;

pub use breakers::{Asked, Hold};
pub use cache::{CacheEvent, CodeCache, Swept};
pub use compile::{CompileEnd, CompileLimit, CompileLimits, Workshop, compile_here};
pub use engine::{Engine, EngineError, STACK_BYTES};
pub use file::read_component;
pub use grants::{Folder, Grants, Host, MOST_FOLDERS, MOST_HOSTS, MOST_VARIABLES, Random};
pub use imports::{Import, Tier};
pub use inspect::{DESCRIPTOR_SECTION, Descriptor, Inspection, inspect, inspect_all};
pub use kind::Kind;
pub use limits::{Limits, MAX_COMPONENT_BYTES};
pub use load_error::LoadError;
pub use plugin::{Entry, Source};
pub use readings::{Memory, Remembered};
pub use set::{Description, PluginSet, Progress, ReviewClock};
pub use settings::{Setting, SettingValue};
pub use slots::Ahead;
pub use watch::{Cost, Loading, Watched};
pub use web::{Names, Web};
