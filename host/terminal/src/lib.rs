//! Output for people, shared by `portcullis`, `portcullis-plugin` and `portcullis-hub`: colour and
//! layout, the form of an error, and the description of a component. It reads no arguments and
//! decides nothing.

pub mod component;
pub mod error_report;
pub mod layout;
pub mod paint;
pub mod wrap;
