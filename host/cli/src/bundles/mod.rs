//! Bundles from the user's side: the manifest that one is built from, fetching, the changes of an
//! update, and installing.

pub mod archive;
pub mod changes;
pub mod install;
pub mod manifest;
pub mod secrets;
pub mod source;
