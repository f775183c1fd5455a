//! Reads TOML that people write: the configuration, `bundle.toml`, cases of plugins, rules.
//!
//! ```
//! use portcullis_strict_toml::{Document, Keys};
//!
//! let text = "name = \"acme\"\ncolour = 1\n";
//! let document = Document::parse(text);
//! let table = document.root(&Keys { names: &["name", "color"], owner: "a label" });
//! assert_eq!(table.text("name").as_deref(), Some("acme"));
//! let (problems, omitted) = document.problems();
//! assert_eq!(problems[0].what, "`colour` is unknown; did you mean `color`?");
//! assert_eq!((problems.len(), omitted), (1, 0));
//! ```
//!
//! A table is opened with the keys that it may have, so an unknown key cannot go unnoticed. Every
//! method that returns an `Option` has reported a present value that it does not return: a reader
//! reads everything, then asks for the problems, which are in the file's order, each with its place
//! and its fix. A reader adds its own rules with [`Item::report`], [`Item::refuse`] and
//! [`Table::report`].
//!
//! The crate knows no file, no key and no default, and it runs in guests too, so it stands among
//! the plugins: the host may import them, they import nothing of the host.

#![warn(missing_docs)]

mod document;
mod item;
mod place;
mod report;
mod table;
mod words;

pub use document::Document;
pub use item::{Item, List, Value};
pub use place::{LineIndex, Span, line_and_column, line_of};
pub use report::{MOST_PROBLEMS, Problem};
pub use table::{Keys, Table};
pub use words::{escape, is_bare_key, list_names, nearest, show};

#[cfg(test)]
mod tests;
