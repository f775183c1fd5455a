//! The complete pipeline through the public entry point, `run_pipeline` between
//! `claude::wire::parse_event` and `render_reply`: cases are data, plugins are scripted.

mod after;
mod before;
mod events;
mod exceptions;
mod faults;
mod missed;
mod own_files;
mod policies;
mod properties;
mod quoting;
mod raised;
mod rewriting;
mod secrets;
mod shadow;
mod terms;
