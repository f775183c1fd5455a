//! Reads an agent's output, without ever holding more than one line of it.

mod lines;
mod parse;
mod token_counter;

pub(crate) use lines::{Piece, Splitter};
pub(crate) use parse::{cut, lines};
pub(crate) use token_counter::TokenCounter;
