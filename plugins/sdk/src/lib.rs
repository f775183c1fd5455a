//! Write a Portcullis plugin in Rust.

#![allow(missing_docs)]

/// Bindings that all worlds share: `types` and `host`.
mod base {
    wit_bindgen::generate!({
        inline: "package portcullis:sdk; world base { import portcullis:plugin/types@0.1.0; import portcullis:plugin/host@0.1.0; }",
        path: "../../wit/plugin",
        world: "portcullis:sdk/base",
        generate_all,
        additional_derives: [PartialEq],
    });
}
pub use base::portcullis::plugin::{host, types};

#[doc(hidden)]
pub mod risk_calculator {
    wit_bindgen::generate!({
        path: "../../wit/plugin",
        world: "risk-calculator",
        pub_export_macro: true,
        export_macro_name: "export_risk_calculator",
        default_bindings_module: "portcullis_plugin::risk_calculator",
        additional_derives: [PartialEq],
        with: { "portcullis:plugin/types@0.1.0": crate::types, "portcullis:plugin/host@0.1.0": crate::host },
    });
}
