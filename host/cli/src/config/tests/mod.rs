//! The configuration as its owners write it: what is refused, what holds, what a project may say.

mod arbitrary;
mod changed;
mod errors;
mod layered;
mod schemas;
mod table;

use super::layers::{Layer, Read, Scene, Settled, settle};
use super::{Config, parsed};
use crate::places::Places;
use std::path::{Path, PathBuf};

/// The person's home folder.
const PERSON: &str = "/home/me";
/// The project.
const PROJECT: &str = "/home/me/work/shop";

fn places() -> Places {
    Places {
        person: PERSON.into(),
        config: PathBuf::from(PERSON).join(".config/portcullis"),
        state: PathBuf::from(PERSON).join(".local/state/portcullis"),
        managed: "/etc/portcullis/config.toml".into(),
        project: Some(PROJECT.into()),
    }
}

fn file(layer: Layer, text: &str) -> Read {
    parsed(layer, Path::new(layer.as_str()), text).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Organisation, person, project.
fn settled(texts: [&str; 3], trusted: bool) -> Settled {
    let layers = [Layer::Managed, Layer::User, Layer::Project];
    let files: Vec<Read> = layers.into_iter().zip(texts).map(|(layer, text)| file(layer, text)).collect();
    settle(&files, &Scene { person: PERSON, project: Some(Path::new(PROJECT)), trusted, pipeline: None })
}

fn config(texts: [&str; 3], trusted: bool) -> Config {
    Config::of(&settled(texts, trusted), &places())
}

fn user(text: &str) -> Config {
    config(["", text, ""], false)
}
