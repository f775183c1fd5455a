//! The language of custom rules: a file of rules, each with a condition in CEL.
//!
//! | step | module |
//! |---|---|
//! | a rules file to rules, each value with its place | `file` |
//! | a condition to a tree: the part of CEL that has a use here | `token`, `syntax` |
//! | the tree to typed code, every name known | `schema`, `check`, `code` |
//! | typed code to an answer, in bounded steps | `evaluate` |
//!
//! Every problem in a rule is found when it is read, except those that depend on the action: an
//! index past the end, a missing key, numbers that overflow, too many steps. Nothing here knows the
//! source of an action or the consequences of a rule's objection: the evaluating caller provides
//! the values ([`evaluate::Fields`]) and decides.

#![warn(missing_docs)]

pub mod builtin;
mod check;
pub mod code;
pub mod evaluate;
pub mod file;
mod functions;
mod glob;
pub mod place;
pub mod schema;
mod syntax;
mod template;
mod token;
mod tree;

pub use code::{Rule, Severity, Verdict};
pub use file::{Example, Given, Input, Read, read};
pub use place::{Problem, Span};
use portcullis_strict_toml::nearest;
pub use template::fill;

#[cfg(test)]
mod tests;
