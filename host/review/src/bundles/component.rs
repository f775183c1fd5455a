//! Reads the properties and requested grants of a component from its bytes: for a new bundle's
//! description, and to check that description later.

use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{
    Bundle, Component, ComponentRequests, Digest, ListedVersion, Plugin, Signature,
};
use portcullis_core::text::one_line;
use portcullis_engine::{Import, Inspection, Kind, inspect_all};

/// Describes a component for a bundle, from its bytes alone; its plugins have the names that they
/// report, and no settings. `name` is for a component that does not report a name.
///
/// # Errors
/// Fails if it is not a plugin, or has no usable name.
pub fn describe_component(bytes: &[u8], name: Option<&str>) -> Result<Component> {
    let all = inspect_all(bytes)?;
    let first = all.first().context("it holds no plugin")?;
    if first.kind == Kind::ShellReader {
        bail!("it is the host's own shell reader, not a plugin");
    }
    let plugins = all.iter().map(|inspection| plugin(inspection, name)).collect::<Result<_>>()?;
    let size = u64::try_from(bytes.len()).context("it is too large")?;
    Ok(Component {
        digest: Digest::of_bytes(bytes),
        size,
        world: world(first),
        wants: wants(first),
        plugins,
    })
}

/// Returns the interfaces that a component exports, by which other tools identify it.
///
/// # Errors
/// Fails if it is not a plugin.
pub fn list_exports(bytes: &[u8]) -> Result<Vec<String>> {
    let all = inspect_all(bytes)?;
    Ok(all
        .first()
        .map(|first| vec![format!("{}@{}", first.kind.interface_name(), first.wit_version)])
        .unwrap_or_default())
}

/// Checks that a bundle's descriptions of its components match their bytes: the author cannot
/// request a grant that no import needs, hide one, or list plugins that do not exist. Settings are
/// the bundle's choice.
///
/// # Errors
/// Fails with the first difference.
pub fn check_description(bundle: &Bundle) -> Result<()> {
    for declared in &bundle.about().components {
        let bytes = bundle.component_bytes(declared).context("a component is missing")?;
        let named = declared.plugins.first().map(|plugin| plugin.name.as_str());
        let title = one_line(named.unwrap_or_default(), 64);
        let found = describe_component(bytes, named).with_context(|| {
            format!("the component of `{title}`, {}, cannot be loaded", declared.digest)
        })?;
        held_against(declared, &found)
            .map_err(|what| anyhow!("the bundle and the bytes of `{title}` disagree: {what}"))?;
    }
    Ok(())
}

/// Describes a bundle for an index, from its archive alone. `reference` is the registry and
/// repository from which it is fetched.
///
/// # Errors
/// Fails if its description and its bytes differ.
pub fn list_version(
    bundle: &Bundle,
    signatures: &[Signature],
    reference: String,
) -> Result<ListedVersion> {
    check_description(bundle)?;
    let reads = |component: &Component, plugin: &Plugin| {
        let all = bundle.component_bytes(component).and_then(|bytes| inspect_all(bytes).ok());
        let described = all.into_iter().flatten().filter_map(|inspection| inspection.descriptor);
        let is_sole = component.plugins.len() == 1;
        let named = described.into_iter().find(|said| is_sole || said.name == plugin.name);
        named.map(|said| said.reads).unwrap_or_default()
    };
    Ok(ListedVersion::of_bundle(bundle, signatures, reference, reads))
}

fn held_against(declared: &Component, found: &Component) -> Result<(), String> {
    let differ = |what: &str, declared: &dyn std::fmt::Debug, found: &dyn std::fmt::Debug| {
        Err(format!("{what} {declared:?}, not {found:?}"))
    };
    if declared.world != found.world {
        return differ("world", &declared.world, &found.world);
    }
    if declared.wants.imports != found.wants.imports {
        return differ("imports", &declared.wants.imports, &found.wants.imports);
    }
    if declared.wants.grants != found.wants.grants {
        return differ("grants", &declared.wants.grants, &found.wants.grants);
    }
    let names = |component: &Component| {
        component.plugins.iter().map(|plugin| plugin.name.clone()).collect::<Vec<_>>()
    };
    if names(declared) != names(found) {
        return differ("plugins", &names(declared), &names(found));
    }
    // The bundle chooses the settings.
    let bare = |plugin: &Plugin| Plugin { settings: serde_json::Map::new(), ..plugin.clone() };
    match declared
        .plugins
        .iter()
        .zip(&found.plugins)
        .find(|(declared, found)| bare(declared) != **found)
    {
        Some((declared, _)) => Err(format!(
            "kind, version, description or schema of `{}`",
            one_line(&declared.name, 64)
        )),
        None => Ok(()),
    }
}

fn plugin(inspection: &Inspection, name: Option<&str>) -> Result<Plugin> {
    let said = inspection.descriptor.clone().unwrap_or_default();
    let name = Some(said.name.as_str()).filter(|name| !name.is_empty()).or(name);
    let name =
        name.context("it says no name in its descriptor; give it one in `bundle.toml`")?.to_owned();
    let schema = said.settings.parse().as_array().cloned().unwrap_or_default();
    let kind = inspection.kind.as_str().to_owned();
    Ok(Plugin {
        name,
        kind,
        version: said.version,
        description: said.description,
        settings: serde_json::Map::new(),
        schema,
    })
}

fn world(inspection: &Inspection) -> String {
    format!("{}@{}", inspection.kind, inspection.wit_version)
}

fn wants(inspection: &Inspection) -> ComponentRequests {
    let mut imports: Vec<String> =
        inspection.imports.iter().map(|import| import.name.clone()).collect();
    let mut grants: Vec<String> =
        inspection.imports.iter().filter_map(Import::grant).map(str::to_owned).collect();
    for list in [&mut imports, &mut grants] {
        list.sort_unstable();
        list.dedup();
    }
    ComponentRequests { imports, grants }
}
