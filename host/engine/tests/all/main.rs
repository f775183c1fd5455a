//! The engine from outside, in one binary, since each one links the compiler.

mod guests;
mod hostile;
