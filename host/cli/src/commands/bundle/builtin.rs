//! The builtin plugins as a bundle like anybody's: what the program was built with, under a name of its own.
//!
//! The shell reader is left out: it is a part of the host, not a plugin.

use crate::bundles::{described, exports};
use crate::runtime::OURS;
use anyhow::{Context, Result};
use portcullis_builtin::COMPONENTS;
use portcullis_bundle::{About, Bundle, Part};

/// The bundle, at the program's version. The same components make the same digest, wherever they were built.
///
/// # Errors
/// A component of the program is no plugin: it was not built as it should be.
pub fn bundle() -> Result<Bundle> {
    let (mut components, mut interfaces, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    let plugins = || COMPONENTS.iter().filter(|component| !component.plugins.is_empty());
    for component in plugins() {
        let wrong = || format!("the builtin component `{}`", component.name);
        components.push(described(component.bytes, None).with_context(wrong)?);
        interfaces.push(exports(component.bytes).with_context(wrong)?);
    }
    for (component, exports) in plugins().zip(&interfaces) {
        parts.push(Part { bytes: component.bytes, exports });
    }
    let about = About {
        name: OURS.parse()?,
        version: env!("CARGO_PKG_VERSION").parse().context("the program's version is none")?,
        description: "The plugins that come with Portcullis.".to_owned(),
        licence: env!("CARGO_PKG_LICENSE").to_owned(),
        source: String::new(),
        components,
    };
    Ok(Bundle::assemble(about, &parts)?)
}
