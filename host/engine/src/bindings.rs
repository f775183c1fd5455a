//! The WIT package as Rust types, one set shared by all worlds, so that an action is converted once
//! and lowered into each plugin from the same value.
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "generated from wit/, where each item is documented"
)]

mod base {
    wasmtime::component::bindgen!({
        inline: "package portcullis:host; world base \
             { import portcullis:plugin/types@0.1.0; import portcullis:plugin/host@0.1.0; }",
        path: "../../wit/plugin",
        world: "portcullis:host/base",
    });
}
pub use base::portcullis::plugin::{host, types};

macro_rules! world {
    ($module:ident, $world:literal) => {
        pub mod $module {
            wasmtime::component::bindgen!({
                path: "../../wit/plugin",
                world: $world,
                with: { "portcullis:plugin/types@0.1.0": crate::bindings::types, "portcullis:plugin/host@0.1.0": crate::bindings::host },
            });
        }
    };
}

world!(risk_calculator, "portcullis:plugin/risk-calculator");
world!(pattern, "portcullis:plugin/pattern");
world!(intervention, "portcullis:plugin/intervention");
world!(audit_exporter, "portcullis:plugin/audit-exporter");

pub mod shell_reader {
    wasmtime::component::bindgen!({
        path: ["../../wit/plugin", "../../wit/shell"],
        world: "portcullis:shell/shell-reader",
        with: { "portcullis:plugin/types@0.1.0": crate::bindings::types },
    });
}
