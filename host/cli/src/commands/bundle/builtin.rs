//! The builtin plugins as an ordinary bundle, under a name of its own.
//!
//! The shell reader is left out: it is a part of the host, not a plugin.

use crate::error::{Context, Result};
use portcullis_builtin::COMPONENTS;
use portcullis_bundle::{About, Bundle, NewComponent};
use portcullis_review::bundles::{describe_component, list_exports};
use portcullis_review::plugin_specs::OURS;

/// Creates the bundle, at the program's version. The same components give the same digest on every
/// build machine.
///
/// # Errors
/// Fails if a component of the program is not a plugin, which means that the program was built
/// wrongly.
pub fn builtin_bundle() -> Result<Bundle> {
    let (mut components, mut interfaces, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    let plugins = || COMPONENTS.iter().filter(|component| !component.plugins.is_empty());
    for component in plugins() {
        let wrong = || format!("the builtin component `{}`", component.name);
        components.push(describe_component(component.bytes(), None).with_context(wrong)?);
        interfaces.push(list_exports(component.bytes()).with_context(wrong)?);
    }
    for (component, exports) in plugins().zip(&interfaces) {
        parts.push(NewComponent { bytes: component.bytes(), exports });
    }
    let about = About {
        name: OURS.parse()?,
        version: env!("CARGO_PKG_VERSION").parse().context("the program's version is none")?,
        description: "The plugins that come with Portcullis.".to_owned(),
        licence: env!("CARGO_PKG_LICENSE").to_owned(),
        source: String::new(),
        components,
    };
    Ok(Bundle::from_components(about, &parts)?)
}
