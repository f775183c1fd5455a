//! Write a Portcullis plugin in Rust.
//!
//! A plugin is a WebAssembly component that looks at what an AI coding agent does. Pick its kind,
//! write one function, [`export!`] it, build it for `wasm32-wasip2`:
//!
//! | kind | trait | answers |
//! |---|---|---|
//! | `risk-calculator` | [`RiskCalculator`](risk_calculator::RiskCalculator) | how risky or sensible is this action, which rules does it break? |
//! | `pattern` | [`Pattern`](pattern::Pattern) | how does this session go wrong? |
//! | `intervention` | [`Intervention`](intervention::Intervention) | what is to be done about this issue? |
//! | `audit-exporter` | [`AuditExporter`](audit_exporter::AuditExporter) | how do these records look in that format? |
//!
//! ```
//! use portcullis_plugin::risk_calculator::*;
//!
//! struct Migrations;
//!
//! impl RiskCalculator for Migrations {
//!     const DESCRIPTOR: Descriptor = Descriptor::new("migrations", "0.1.0", "Asks before a migration is changed.");
//!
//!     fn assess(_: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
//!         let touched = action.changed().find(|path| path.text.contains("/migrations/"));
//!         Ok(touched.map_or(Assessment::nothing(), |path| {
//!             Ruling::ask("migrations", "an applied migration must not change").because(Evidence::path(&path.text)).into()
//!         }))
//!     }
//! }
//!
//! portcullis_plugin::export!(risk-calculator: Migrations);
//!
//! use portcullis_plugin::testing;
//! let edit = testing::file_edit("db/migrations/0001.sql", "int", "bigint");
//! assert_eq!(Migrations::assess(&[], &edit, &testing::context()).unwrap().rulings.len(), 1);
//! ```
//!
//! The crate decides nothing about actions, reads no files, and adds nothing to a component that
//! the plugin does not use. What a plugin may import and how long it may run is the host's affair.

#[doc(hidden)]
pub mod bindings;

pub mod audit_exporter;
pub mod codec;
pub mod descriptor;
mod export;
pub mod history;
pub mod host;
pub mod intervention;
mod json;
#[doc(hidden)]
pub mod panics;
pub mod pattern;
pub mod risk_calculator;
pub mod settings;
pub mod several;
mod spec;
pub mod template;
pub mod testing;
pub mod text;
pub mod types;
