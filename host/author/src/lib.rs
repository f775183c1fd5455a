//! Support for authors of plugins, shared by both programs: the project folder that `plugin new`
//! creates and `plugin build` builds, the cases that `plugin test` and `bundle vet` play, the page
//! that `plugin publish` wants, and the commands that run in the second program.

pub mod cases;
pub mod page;
pub mod project;
pub mod second_program;

#[cfg(test)]
mod page_tests;
