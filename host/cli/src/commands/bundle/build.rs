//! `portcullis bundle build`: packs components and their description in `bundle.toml` into one
//! archive.
//!
//! The description of a component is derived from its bytes: its author states no grant and no
//! world. Components are in the order of their plugins' names, independent of the manifest's order,
//! so that the same inputs give the same digest.

use super::builtin;
use crate::bundles::archive;
use crate::bundles::manifest::{BundleManifest, PluginEntry};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_author::project::PluginProject;
use portcullis_bundle::{About, Bundle, Component, NewComponent, Plugin};
use portcullis_config::amount::format_size;
use portcullis_config::names::is_name;
use portcullis_config::plugins::{SettingDeclaration, find_misfit};
use portcullis_config::schema::to_json;
use portcullis_core::text::one_line;
use portcullis_engine::{SettingValue, read_component};
use portcullis_review::bundles::{describe_component, list_exports};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MANIFEST: &str = r#"A manifest:
  name = "acme/checks"
  version = "1.0.0"
  description = "Checks for all our repositories."
  licence = "Apache-2.0"
  source = "https://git.example.com/acme/checks"

  [[plugin]]
  file = "no-old-migrations"       # a component, or a project's folder
  settings = { folders = ["db"] }  # defaults; the operator's own take precedence"#;

#[derive(clap::Args)]
#[command(after_help = MANIFEST)]
pub struct Arguments {
    /// The manifest, or the folder of a `bundle.toml`
    #[arg(default_value = ".")]
    manifest: PathBuf,
    /// Bundle the built-in plugins instead of a manifest's
    #[arg(long, conflicts_with = "manifest")]
    builtin: bool,
    /// Write the archive to this file (default: next to the manifest, by name and version)
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_build(arguments: &Arguments) -> Result<CommandExit> {
    let (bundle, folder) = if arguments.builtin {
        (builtin::builtin_bundle()?, PathBuf::new())
    } else {
        let manifest = BundleManifest::read_manifest(&arguments.manifest)?;
        (assembled(&manifest)?, manifest.path.parent().map(Path::to_owned).unwrap_or_default())
    };
    let out = arguments.output.clone().unwrap_or_else(|| folder.join(file_name(bundle.about())));
    let written = archive::put_new(&out, &bundle)?;
    paint::print_text(&format_result(&bundle, &out, written, arguments.json)?);
    Ok(CommandExit::Success)
}

/// A component that is being added to a bundle.
struct BuiltComponent {
    component: Component,
    bytes: Vec<u8>,
    exports: Vec<String>,
}

fn assembled(manifest: &BundleManifest) -> Result<Bundle> {
    let mut all =
        manifest.plugins.iter().map(|entry| made(manifest, entry)).collect::<Result<Vec<_>>>()?;
    check_unique(manifest, &all)?;
    all.sort_by(|a, b| first(a).cmp(first(b)));
    let BundleManifest { name, version, description, licence, source, .. } = manifest;
    let about = About {
        name: name.clone(),
        version: version.clone(),
        description: description.clone(),
        licence: licence.clone(),
        source: source.clone(),
        components: all.iter().map(|made| made.component.clone()).collect(),
    };
    let parts: Vec<NewComponent<'_>> = all
        .iter()
        .map(|made| NewComponent { bytes: &made.bytes, exports: &made.exports })
        .collect();
    Bundle::from_components(about, &parts).context("the bundle cannot be built")
}

fn first(made: &BuiltComponent) -> &str {
    made.component.plugins.first().map_or("", |plugin| &plugin.name)
}

/// Checks that no component and no plugin name occurs twice.
fn check_unique(manifest: &BundleManifest, all: &[BuiltComponent]) -> Result<()> {
    let (mut names, mut digests) = (BTreeMap::new(), BTreeMap::new());
    for (entry, made) in manifest.plugins.iter().zip(all) {
        if let Some(line) = digests.insert(made.component.digest, entry.place.0) {
            let what = format!("it is the same component as in line {line}; remove one of them");
            return Err(manifest.error_at(entry.place, what));
        }
        for plugin in &made.component.plugins {
            if let Some(line) = names.insert(plugin.name.as_str(), entry.place.0) {
                let what = format!(
                    "two plugins have the name `{}`, this one and that of line {line}; give each its own",
                    plugin.name
                );
                return Err(manifest.error_at(entry.place, what));
            }
        }
    }
    Ok(())
}

fn made(manifest: &BundleManifest, entry: &PluginEntry) -> Result<BuiltComponent> {
    let here = |error: Error| manifest.error_at(entry.place, error.in_line());
    let file = located(manifest, &entry.file).map_err(here)?;
    let shown = one_line(&file.to_string_lossy(), 400);
    let bytes = read_component(&file).with_context(|| format!("`{shown}`")).map_err(here)?;
    let own = describe_component(&bytes, None).ok();
    if let (Some(own), Some(_)) = (&own, &entry.name) {
        let name = own.plugins.first().map_or("", |plugin| &plugin.name);
        return Err(here(
            Error::invalid(format!("`{shown}` already has the name `{}`", one_line(name, 64)))
                .with_hint("remove `name`"),
        ));
    }
    let says_settings = own.is_some();
    let mut component = own
        .map_or_else(|| describe_component(&bytes, entry.name.as_deref()), Ok)
        .with_context(|| format!("`{shown}`"))
        .map_err(here)?;
    for plugin in &component.plugins {
        named_well(&plugin.name).map_err(here)?;
    }
    give_settings(manifest, entry, &mut component, says_settings)?;
    let exports = list_exports(&bytes).map_err(|error| here(error.into()))?;
    Ok(BuiltComponent { component, bytes, exports })
}

/// Returns the path of the component that an entry names.
fn located(manifest: &BundleManifest, file: &Path) -> Result<PathBuf> {
    let file = manifest.path.parent().unwrap_or(Path::new("")).join(file);
    if file.is_dir() {
        return Ok(PluginProject::find_project(&file)?.built()?);
    }
    if !file.exists() {
        let shown = one_line(&file.to_string_lossy(), 400);
        return Err(Error::not_found(format!("there is no `{shown}`"))
            .with_hint("name a component, or the folder of a plugin's project"));
    }
    Ok(file)
}

fn named_well(name: &str) -> Result<()> {
    let shown = one_line(name, 64);
    if !is_name(name) {
        return Err(Error::invalid(format!("the plugin calls itself `{shown}`"))
            .with_hint("a name has 1 to 64 lower-case letters, digits, `-` and `_`"));
    }
    if portcullis_builtin::find(name).is_some() {
        return Err(Error::invalid(format!(
            "the plugin calls itself `{shown}`, as one that comes with Portcullis"
        ))
        .with_hint("give it another name"));
    }
    Ok(())
}

/// Applies the settings of an entry to its plugin. If a component holds several plugins, the first
/// part of a setting's name selects the plugin.
fn give_settings(
    manifest: &BundleManifest,
    entry: &PluginEntry,
    component: &mut Component,
    declares: bool,
) -> Result<()> {
    let several = component.plugins.len() > 1;
    for (name, (value, place)) in &entry.settings {
        let (plugin, key) = match name.split_once('.').filter(|_| several) {
            Some((plugin, key)) => {
                (component.plugins.iter_mut().find(|other| other.name == plugin), key)
            }
            None => (component.plugins.first_mut().filter(|_| !several), name.as_str()),
        };
        let Some(plugin) = plugin else {
            let names = component
                .plugins
                .iter()
                .map(|plugin| format!("`settings.{}`", plugin.name))
                .collect::<Vec<_>>()
                .join(", ");
            let what = format!(
                "`settings.{}` belongs to no plugin: the component holds several, whose settings are {names}",
                one_line(name, 128)
            );
            return Err(manifest.error_at(*place, what));
        };
        if declares {
            let above =
                if several { format!("settings.{}.", plugin.name) } else { "settings.".to_owned() };
            wrong_setting(plugin, key, value, &above)
                .map_or(Ok(()), |what| Err(manifest.error_at(*place, what)))?;
        }
        plugin.settings.insert(key.to_owned(), to_json(value));
    }
    Ok(())
}

/// Returns what is wrong with a setting, according to the plugin's declarations. A plugin without a
/// descriptor declares nothing; it reports missing settings itself when it is loaded.
fn wrong_setting(plugin: &Plugin, key: &str, value: &SettingValue, above: &str) -> Option<String> {
    let declared = plugin
        .schema
        .iter()
        .map(|one| serde_json::from_value::<SettingDeclaration>(one.clone()))
        .collect::<Result<Vec<_>, _>>();
    match declared {
        Ok(declared) => {
            find_misfit(&declared, &plugin.name, (key, value), (&format!("{above}{key}"), above))
        }
        Err(error) => {
            let error = one_line(&error.to_string(), 200);
            Some(format!(
                "`{above}{}` cannot be checked: the plugin's descriptor has settings that cannot be read, {error}",
                one_line(key, 128)
            ))
        }
    }
}

fn file_name(about: &About) -> String {
    format!("{}-{}.tar", about.name.as_str().replace('/', "-"), about.version)
}

fn format_result(bundle: &Bundle, out: &Path, written: bool, as_json: bool) -> Result<String> {
    let (about, digest) = (bundle.about(), bundle.index().digest());
    if as_json {
        let document =
            json!({ "archive": out, "written": written, "digest": digest, "about": about });
        return Ok(format!("{}\n", serde_json::to_string(&document)?));
    }
    let done = if written {
        paint::good("built")
    } else {
        paint::dim("exists already, with the same bytes:")
    };
    let mut text = format!("{done} `{}`\n", one_line(&out.to_string_lossy(), 400));
    let _ =
        writeln!(text, "{}  {digest}", paint::bold(format!("{} {}", about.name, about.version)));
    text.push_str(&render_contents(about));
    Ok(text)
}

/// Formats the plugins of a bundle and their requests, as derived from their bytes.
pub fn render_contents(about: &About) -> String {
    let mut text = String::new();
    for (component, plugin) in about.plugins() {
        let Plugin { name, kind, version, settings, .. } = plugin;
        let version = one_line(version, 32);
        let _ = writeln!(
            text,
            "  {}  {kind} {version}, {}, {}",
            paint::bold(name),
            format_size(component.size),
            component.digest
        );
        if !settings.is_empty() {
            let _ = writeln!(text, "    settings {}", one_line(&settings_text(settings), 400));
        }
        for grant in &component.wants.grants {
            let _ =
                writeln!(text, "    {}", paint::warn(format!("asks for {}", one_line(grant, 200))));
        }
        if component.wants.grants.is_empty() {
            let _ = writeln!(text, "    asks for no grant");
        }
    }
    text
}

fn settings_text(settings: &Map<String, serde_json::Value>) -> String {
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
