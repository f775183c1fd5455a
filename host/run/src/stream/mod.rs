//! Reads what an agent writes, without ever holding more than one line of it.

mod lines;
mod parse;
mod spent;

pub(crate) use lines::{Piece, Splitter};
pub(crate) use parse::{cut, lines};
pub(crate) use spent::Spent;
