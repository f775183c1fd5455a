//! The code that `wit-bindgen` generates from the WIT package: one set of types for all four
//! worlds.
//!
//! Not for authors: the modules at the crate's root name everything that a plugin needs. It is
//! public only because [`export!`](crate::export) expands to paths in here.
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "generated from the WIT package, which documents every item"
)]
#![allow(unsafe_code, reason = "generated: the component model's calling convention")]

mod base {
    wit_bindgen::generate!({
        inline: "package portcullis:sdk; world base \
             { import portcullis:plugin/types@0.1.0; import portcullis:plugin/host@0.1.0; }",
        path: "wit",
        world: "portcullis:sdk/base",
        generate_all,
        additional_derives: [PartialEq],
    });
}
pub use base::portcullis::plugin::{host, types};

macro_rules! world {
    ($module:ident, $world:literal, $export:literal, $path:literal) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                world: $world,
                pub_export_macro: true,
                export_macro_name: $export,
                default_bindings_module: $path,
                additional_derives: [PartialEq],
                with: {
                    "portcullis:plugin/types@0.1.0": crate::bindings::types,
                    "portcullis:plugin/host@0.1.0": crate::bindings::host,
                },
            });
        }
    };
}

world!(
    risk_calculator,
    "risk-calculator",
    "export_risk_calculator",
    "portcullis_plugin::bindings::risk_calculator"
);
world!(pattern, "pattern", "export_pattern", "portcullis_plugin::bindings::pattern");
world!(
    intervention,
    "intervention",
    "export_intervention",
    "portcullis_plugin::bindings::intervention"
);
world!(
    audit_exporter,
    "audit-exporter",
    "export_audit_exporter",
    "portcullis_plugin::bindings::audit_exporter"
);
