//! Support for authors of plugins: the project folder that `plugin new` creates and `plugin build`
//! builds, and the cases that `plugin test` plays.

pub mod build;
pub mod cases;
pub mod project;
pub mod templates;
