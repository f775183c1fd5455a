//! The version before the one that is published: a file that the command line names, or else the
//! newest older one in the registry.

use super::Arguments;
use crate::bundles::manifest::{BundleManifest, MANIFEST};
use crate::bundles::source::pull_bundle;
use crate::error::{Error, Result};
use portcullis_author::project::{BUILD, PluginProject, write_file};
use portcullis_core::text::one_line;
use portcullis_registry::Tag;
use semver::Version;
use std::path::PathBuf;

/// The folder for its component, below the one for build output.
const PREVIOUS: &str = "previous";

/// The version to compare with.
#[derive(Debug)]
pub(super) struct PreviousVersion {
    /// Its component.
    pub(super) file: Option<PathBuf>,
    /// Its origin, or the reason why there is none.
    pub(super) note: String,
}

/// The versions that a registry has.
#[derive(Debug, Default)]
pub(super) struct PublishedVersions {
    /// The newest last.
    pub(super) versions: Vec<Version>,
    /// Why it could not be asked. Its repository may not be there yet, and a push says the rest.
    unknown: Option<String>,
}

/// Asks the registry for its versions, once there is a bundle to publish.
pub(super) fn list_published(
    project: &PluginProject,
    arguments: &Arguments,
) -> Result<PublishedVersions> {
    let Some(to) = arguments.to.as_ref().filter(|_| project.folder.join(MANIFEST).is_file()) else {
        return Ok(PublishedVersions::default());
    };
    Ok(match arguments.reach.client()?.list_versions(to) {
        Ok(found) => {
            let versions = found.into_iter().map(|(version, _)| version).collect();
            PublishedVersions { versions, unknown: None }
        }
        Err(error) => PublishedVersions { versions: Vec::new(), unknown: Some(error.to_string()) },
    })
}

/// Finds the version before, and fetches it if it is in the registry.
pub(super) fn find_previous(
    project: &PluginProject,
    arguments: &Arguments,
    published: &PublishedVersions,
) -> Result<PreviousVersion> {
    if let Some(file) = &arguments.previous {
        return Ok(PreviousVersion { file: Some(file.clone()), note: String::new() });
    }
    let none = |note: String| Ok(PreviousVersion { file: None, note });
    let Some(to) = &arguments.to else {
        return none(
            "nothing is compared: name a registry, or a component with `--previous`".into(),
        );
    };
    if let Some(why) = &published.unknown {
        return none(format!("nothing is compared: {}", one_line(why, 400)));
    }
    let own = BundleManifest::read_manifest(&project.folder)?.version;
    let Some(version) = published.versions.iter().rfind(|version| **version < own) else {
        return none(format!("nothing is compared: `{to}` has no version before {own}"));
    };
    let reference = to.with_tag(Tag::for_version(version));
    let pulled = pull_bundle(&arguments.reach.client()?, &reference)?;
    let name = &project.manifest.name;
    let mut plugins = pulled.bundle.about().plugins();
    let Some((component, _)) = plugins.find(|(_, plugin)| plugin.name == *name) else {
        return none(format!("nothing is compared: `{reference}` holds no `{name}`"));
    };
    let bytes = pulled
        .bundle
        .component_bytes(component)
        .ok_or_else(|| Error::invalid(format!("`{reference}` lacks the component of `{name}`")))?;
    // The host names a plugin by its file.
    let file = project.folder.join(BUILD).join(PREVIOUS).join(name).with_extension("wasm");
    write_file(&file, bytes)?;
    Ok(PreviousVersion {
        file: Some(file),
        note: format!("the version before is {version}, of `{reference}`"),
    })
}
