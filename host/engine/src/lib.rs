//! The sandbox: loads plugins, runs them under limits, and reports failures by name.
//!
//! The only crate that depends on wasmtime; none of its types appear in the interface. A plugin
//! gets what its imports ask for, intersected with what is granted, which by default is: a budgeted
//! log, details of past steps, and a WASI without effects: no file, no network, no variable, no
//! clock but the review's.
//!
//! ```text
//! bytes -> inspect -> compile (or cache) -> bind imports -> prepare -> [fresh store -> call -> check] -> answer or named fault
//! ```
//!
//! Invariants: no guest runs without fuel, a memory limit and an answer limit; no store serves two
//! calls; no answer is passed on unchecked; no failure is passed on as "nothing found"; no machine
//! code runs without our signature; no verdict is reached here.

mod bindings;
mod breakers;
mod cache;
mod check;
mod compile;
mod compiler;
mod deadline;
mod descriptor;
mod engine;
mod faults;
mod file;
mod from_shell;
mod from_wit;
mod grants;
mod helpers;
mod host;
mod imports;
mod inspect;
mod kind;
mod lazy_plugins;
mod limits;
mod load_error;
mod loader;
mod machine_code;
mod plugin;
mod plugin_spec;
mod pool;
mod set;
mod settings;
mod shared;
mod shell_cache;
mod state;
mod termination;
mod text;
mod to_wit;
mod wasi;
mod watch;
mod web;
mod world;

pub use breakers::{FileOutcome, Hold};
pub use cache::{CacheEvent, CodeCache, SweepStats};
pub use compile::compile_here;
pub use compiler::{CompileEnd, CompileLimit, CompileLimits, Compiler};
pub use descriptor::{DESCRIPTOR_SECTION, Descriptor};
pub use engine::{Engine, EngineError};
pub use file::read_component;
pub use grants::{GrantedFolder, Grants, Host, MOST_FOLDERS, MOST_HOSTS, MOST_VARIABLES, Random};
pub use helpers::{HelpedReview, Helpers};
pub use imports::{Import, Tier};
pub use inspect::{Inspection, inspect_all, inspect_component};
pub use kind::Kind;
pub use lazy_plugins::Preload;
pub use limits::{Limits, MAX_COMPONENT_BYTES};
pub use load_error::LoadError;
pub use machine_code::STACK_BYTES;
pub use plugin_spec::{ComponentBytes, PluginSpec, Source};
pub use set::{Description, PluginSet, Progress, ReviewClock};
pub use settings::{Setting, SettingValue};
pub use shell_cache::{ShellCache, ShellCacheConfig, ShellCacheStats};
pub use watch::{CallCost, LoadTimes, ObservedCall};
pub use web::{NameResolver, Web};
