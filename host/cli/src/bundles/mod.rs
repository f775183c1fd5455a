//! Bundles from the user's side: the manifest that one is built from, fetching, indexes that lead to
//! one by its name, the changes of an update, and installing.

pub mod archive;
pub mod changes;
pub mod index_archive;
pub mod index_notes;
pub mod index_search;
pub mod indexes;
pub mod install;
pub mod manifest;
pub mod secrets;
pub mod source;
