//! `portcullis bundle build`: components and what `bundle.toml` says of them become one archive.
//!
//! What a bundle says of a component is read from its bytes: its author names no grant and no world. Components stand in
//! the order of their plugins' names, whatever the manifest's, so that the same inputs give the same digest.

use super::builtin;
use crate::amount::size;
use crate::bundles::manifest::{Entry, Manifest};
use crate::bundles::{archive, described, exports};
use crate::config::parse::is_name;
use crate::config::plugins::{Declared, misfit};
use crate::config::schema::to_json;
use crate::paint;
use crate::project::Project;
use anyhow::{Context, Result, anyhow};
use portcullis_bundle::{About, Bundle, Component, Part, Plugin};
use portcullis_core::text::one_line;
use portcullis_engine::{SettingValue, read_component};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = r#"A manifest:
  name = "acme/checks"
  version = "1.0.0"
  description = "What every repository of ours is checked for."
  licence = "Apache-2.0"
  source = "https://git.example.com/acme/checks"

  [[plugin]]
  file = "no-old-migrations"           # a component, or the folder of a plugin's project that is built
  settings = { folders = ["db"] }      # what the bundle gives it; the operator's own settings go before these

Examples:
  portcullis bundle build
  portcullis bundle build checks/bundle.toml --out checks.tar
  portcullis bundle build --builtin"#;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The manifest, or the folder of a `bundle.toml`
    #[arg(default_value = ".")]
    manifest: PathBuf,
    /// The plugins that come with this program, in place of a manifest's
    #[arg(long, conflicts_with = "manifest")]
    builtin: bool,
    /// The archive; beside the manifest, by name and version, when absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    let (bundle, folder) = if arguments.builtin {
        (builtin::bundle()?, PathBuf::new())
    } else {
        let manifest = Manifest::read(&arguments.manifest)?;
        (assembled(&manifest)?, manifest.path.parent().map(Path::to_owned).unwrap_or_default())
    };
    let out = arguments.out.clone().unwrap_or_else(|| folder.join(file_name(bundle.about())));
    let written = archive::put_new(&out, &bundle)?;
    paint::print(&told(&bundle, &out, written, arguments.json)?);
    Ok(0)
}

/// A component on its way into a bundle.
struct Made {
    component: Component,
    bytes: Vec<u8>,
    exports: Vec<String>,
}

fn assembled(manifest: &Manifest) -> Result<Bundle> {
    let mut all = manifest.plugins.iter().map(|entry| made(manifest, entry)).collect::<Result<Vec<_>>>()?;
    told_apart(manifest, &all)?;
    all.sort_by(|a, b| first(a).cmp(first(b)));
    let Manifest { name, version, description, licence, source, .. } = manifest;
    let about = About {
        name: name.clone(),
        version: version.clone(),
        description: description.clone(),
        licence: licence.clone(),
        source: source.clone(),
        components: all.iter().map(|made| made.component.clone()).collect(),
    };
    let parts: Vec<Part<'_>> = all.iter().map(|made| Part { bytes: &made.bytes, exports: &made.exports }).collect();
    Bundle::assemble(about, &parts).context("the bundle cannot be built")
}

fn first(made: &Made) -> &str {
    made.component.plugins.first().map_or("", |plugin| &plugin.name)
}

/// Neither a component nor a plugin's name is there twice.
fn told_apart(manifest: &Manifest, all: &[Made]) -> Result<()> {
    let (mut names, mut digests) = (BTreeMap::new(), BTreeMap::new());
    for (entry, made) in manifest.plugins.iter().zip(all) {
        if let Some(line) = digests.insert(made.component.digest, entry.place.0) {
            let what = format!("it is the component of line {line} once more; take one of them out");
            return Err(manifest.wrong(entry.place, what));
        }
        for plugin in &made.component.plugins {
            if let Some(line) = names.insert(plugin.name.as_str(), entry.place.0) {
                let what = format!("two plugins have the name `{}`, this one and that of line {line}; give each its own", plugin.name);
                return Err(manifest.wrong(entry.place, what));
            }
        }
    }
    Ok(())
}

fn made(manifest: &Manifest, entry: &Entry) -> Result<Made> {
    let here = |error: anyhow::Error| manifest.wrong(entry.place, format!("{error:#}"));
    let file = located(manifest, &entry.file).map_err(here)?;
    let shown = one_line(&file.to_string_lossy(), 400);
    let bytes = read_component(&file).with_context(|| format!("`{shown}`")).map_err(here)?;
    let own = described(&bytes, None).ok();
    if let (Some(own), Some(_)) = (&own, &entry.name) {
        let name = own.plugins.first().map_or("", |plugin| &plugin.name);
        return Err(here(anyhow!("`{shown}` says its name itself, `{}`; take `name` out", one_line(name, 64))));
    }
    let says_settings = own.is_some();
    let mut component =
        own.map_or_else(|| described(&bytes, entry.name.as_deref()), Ok).with_context(|| format!("`{shown}`")).map_err(here)?;
    for plugin in &component.plugins {
        named_well(&plugin.name).map_err(here)?;
    }
    give_settings(manifest, entry, &mut component, says_settings)?;
    let exports = exports(&bytes).map_err(here)?;
    Ok(Made { component, bytes, exports })
}

/// The component that an entry names.
fn located(manifest: &Manifest, file: &Path) -> Result<PathBuf> {
    let file = manifest.path.parent().unwrap_or(Path::new("")).join(file);
    if file.is_dir() {
        return Project::find(&file)?.built();
    }
    if !file.exists() {
        let shown = one_line(&file.to_string_lossy(), 400);
        return Err(anyhow!("there is no `{shown}`; name a component, or the folder of a plugin's project"));
    }
    Ok(file)
}

fn named_well(name: &str) -> Result<()> {
    let shown = one_line(name, 64);
    if !is_name(name) {
        return Err(anyhow!("the plugin calls itself `{shown}`; a name has 1 to 64 lower-case letters, digits, `-` and `_`"));
    }
    if portcullis_builtin::find(name).is_some() {
        return Err(anyhow!("the plugin calls itself `{shown}`, as one that comes with Portcullis; give it another name"));
    }
    Ok(())
}

/// Gives the settings of an entry to its plugin; where a component holds several, the first part of a setting's name says
/// to which.
fn give_settings(manifest: &Manifest, entry: &Entry, component: &mut Component, declares: bool) -> Result<()> {
    let several = component.plugins.len() > 1;
    for (name, (value, place)) in &entry.settings {
        let (plugin, key) = match name.split_once('.').filter(|_| several) {
            Some((plugin, key)) => (component.plugins.iter_mut().find(|other| other.name == plugin), key),
            None => (component.plugins.first_mut().filter(|_| !several), name.as_str()),
        };
        let Some(plugin) = plugin else {
            let names = component.plugins.iter().map(|plugin| format!("`settings.{}`", plugin.name)).collect::<Vec<_>>().join(", ");
            let what =
                format!("`settings.{}` is nobody's: the component holds several plugins, whose settings are {names}", one_line(name, 128));
            return Err(manifest.wrong(*place, what));
        };
        if declares {
            let above = if several { format!("settings.{}.", plugin.name) } else { "settings.".to_owned() };
            wrong_setting(plugin, key, value, &above).map_or(Ok(()), |what| Err(manifest.wrong(*place, what)))?;
        }
        plugin.settings.insert(key.to_owned(), to_json(value));
    }
    Ok(())
}

/// What is wrong with a setting, by what the plugin declares. One without a descriptor declares nothing; it says itself
/// what it misses when it is loaded.
fn wrong_setting(plugin: &Plugin, key: &str, value: &SettingValue, above: &str) -> Option<String> {
    let declared = plugin.schema.iter().map(|one| serde_json::from_value::<Declared>(one.clone())).collect::<Result<Vec<_>, _>>();
    match declared {
        Ok(declared) => misfit(&declared, &plugin.name, (key, value), (&format!("{above}{key}"), above)),
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

fn told(bundle: &Bundle, out: &Path, written: bool, as_json: bool) -> Result<String> {
    let (about, digest) = (bundle.about(), bundle.index().digest());
    if as_json {
        let document = json!({ "archive": out, "written": written, "digest": digest, "about": about });
        return Ok(format!("{}\n", serde_json::to_string(&document)?));
    }
    let done = if written { paint::good("built") } else { paint::dim("there already, with these very bytes:") };
    let mut text = format!("{done} `{}`\n", one_line(&out.to_string_lossy(), 400));
    let _ = writeln!(text, "{}  {digest}", paint::bold(format!("{} {}", about.name, about.version)));
    text.push_str(&contents(about));
    Ok(text)
}

/// The plugins of a bundle, and what they ask for, as their bytes tell.
pub fn contents(about: &About) -> String {
    let mut text = String::new();
    for (component, plugin) in about.plugins() {
        let Plugin { name, kind, version, settings, .. } = plugin;
        let version = one_line(version, 32);
        let _ = writeln!(text, "  {}  {kind} {version}, {}, {}", paint::bold(name), size(component.size), component.digest);
        if !settings.is_empty() {
            let _ = writeln!(text, "    settings {}", one_line(&settings_text(settings), 400));
        }
        for grant in &component.wants.grants {
            let _ = writeln!(text, "    {}", paint::warn(format!("asks for {}", one_line(grant, 200))));
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
