//! The configuration as its owners write it: refused files, values in force, and the rights of a
//! project.

mod arbitrary;
mod changed;
mod errors;
mod kept;
mod layered;
mod orders;
mod schemas;
mod table;

use super::Config;
use super::layers::{Layer, LayerContext, LayerFile, MergedSettings, merge_layers};
use crate::paths::Paths;
use crate::reading::parse_layer;
use std::path::{Path, PathBuf};

/// The person's home folder.
const PERSON: &str = "/home/me";
/// The project.
const PROJECT: &str = "/home/me/work/shop";

fn places() -> Paths {
    Paths {
        person: PERSON.into(),
        config: PathBuf::from(PERSON).join(".config/portcullis"),
        state: PathBuf::from(PERSON).join(".local/state/portcullis"),
        managed: "/etc/portcullis/config.toml".into(),
        project: Some(PROJECT.into()),
        environment: portcullis_agents::HookEnvironment::of_process(),
        handed: None,
    }
}

fn file(layer: Layer, text: &str) -> LayerFile {
    parse_layer(layer, Path::new(layer.as_str()), text)
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Merges organisation, person and project.
fn settled(texts: [&str; 3], trusted: bool) -> MergedSettings {
    let layers = [Layer::Managed, Layer::User, Layer::Project];
    let files: Vec<LayerFile> =
        layers.into_iter().zip(texts).map(|(layer, text)| file(layer, text)).collect();
    merge_layers(
        &files,
        &LayerContext {
            person: PERSON,
            project: Some(Path::new(PROJECT)),
            trusted,
            pipeline: None,
        },
    )
}

fn config(texts: [&str; 3], trusted: bool) -> Config {
    Config::of(&settled(texts, trusted), &places())
}

fn user(text: &str) -> Config {
    config(["", text, ""], false)
}
