//! Claude Code: which hooks we need, where its settings lie, what it takes for valid, which of it is ours.

pub mod edit;
pub mod find;
pub mod handlers;
pub mod listing;
pub mod put_back;
pub mod registered;
pub mod settings;
pub mod shapes;
pub mod validate;
pub mod version;
