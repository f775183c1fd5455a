//! Reads the files of a configuration, and merges them into the values in force.

use crate::clock::now_ms;
use crate::layers::{self, Layer, LayerContext, LayerFile, MergedSettings};
use crate::named_files::read_project_file;
use crate::order_scope::find_foreign;
use crate::paths::{PROJECT_FILE, Paths};
use crate::problem::{self, BadConfiguration, Problems};
use crate::{FILE, file, ladders, order, parse, plugins, prompts, rules, trust};
use portcullis_fleet::orders::Orders;
use portcullis_fleet::{FleetFiles, HeldOrders};
use portcullis_store::Home;
use std::path::{Path, PathBuf};

/// Returns the values in force in these places, with their origins. `pipeline` replaces the
/// matching one. `home` knows which project files a person trusted, and the fleet's orders.
///
/// # Errors
/// Fails like `Config::load`.
pub fn settle_layers(
    places: &Paths,
    home: Option<&Home>,
    pipeline: Option<&str>,
) -> Result<MergedSettings, BadConfiguration> {
    let orders = match home {
        Some(home) => read_order_text(home, now_ms()),
        None => Ok(None),
    };
    let texts = ConfigTexts { files: read_texts(places), orders };
    texts.parse(places)?.settle(places, home, pipeline)
}

/// The texts of a configuration, as they were read.
pub(crate) struct ConfigTexts {
    /// Those of the files, whether they exist or not.
    pub(crate) files: Vec<LayerText>,
    /// The orders in force, with the path of their file.
    pub(crate) orders: Result<Option<(String, PathBuf)>, Problems>,
}

/// The text of one file.
pub(crate) struct LayerText {
    /// Its owner.
    pub(crate) layer: Layer,
    path: PathBuf,
    /// `None` if there is no such file.
    pub(crate) text: Result<Option<String>, Problems>,
}

/// The same texts, parsed.
pub(crate) struct ParsedTexts {
    files: Vec<LayerFile>,
    orders: Result<Option<LayerFile>, Problems>,
}

impl ConfigTexts {
    /// Parses the texts.
    ///
    /// # Errors
    /// Fails with the problems of the files; those of the orders count when they are merged.
    pub(crate) fn parse(self, places: &Paths) -> Result<ParsedTexts, BadConfiguration> {
        let files = parse_texts(places, self.files)?;
        let parse = |(text, path): (String, PathBuf)| parse_orders(&text, &path);
        let orders = self.orders.and_then(|orders| orders.map(parse).transpose());
        Ok(ParsedTexts { files, orders })
    }
}

impl ParsedTexts {
    /// Returns true if a file names one of templates, in force or not.
    pub(crate) fn names_templates(&self) -> bool {
        let orders = self.orders.iter().flatten();
        self.files.iter().chain(orders).any(|file| prompts::names_file(&file.document))
    }

    /// Returns the values in force.
    ///
    /// # Errors
    /// Fails like `Config::load`.
    pub(crate) fn settle(
        self,
        places: &Paths,
        home: Option<&Home>,
        pipeline: Option<&str>,
    ) -> Result<MergedSettings, BadConfiguration> {
        settle_beside(places, home, pipeline, self.files, self.orders)
    }
}

/// Returns the values that would be in force under other orders than those that the machine is held
/// to.
///
/// # Errors
/// Fails like `Config::load`.
pub(crate) fn settle_tried(
    places: &Paths,
    home: &Home,
    orders: &Orders,
) -> Result<MergedSettings, BadConfiguration> {
    let files = FleetFiles::of_home(home);
    let tried = parse_orders(&orders.configuration, files.orders().path()).map(Some);
    settle_beside(places, Some(home), None, read_files(places)?, tried)
}

/// Returns the values in force with this layer of orders.
fn settle_beside(
    places: &Paths,
    home: Option<&Home>,
    pipeline: Option<&str>,
    mut files: Vec<LayerFile>,
    orders: Result<Option<LayerFile>, Problems>,
) -> Result<MergedSettings, BadConfiguration> {
    files.extend(orders.map_err(|problems| BadConfiguration(vec![problems]))?);
    let project = files.iter().find(|file| file.layer == Layer::Project);
    let trusted = match (project, home, &places.project) {
        (Some(file), Some(home), Some(folder)) => trust::is_trusted(home, folder, &file.digest),
        _ => false,
    };
    Ok(settle_files(places, &files, trusted, pipeline))
}

/// Returns the values of one file alone.
///
/// # Errors
/// Fails like [`read_one`].
pub fn settle_file(path: &Path, places: &Paths) -> Result<MergedSettings, BadConfiguration> {
    let context =
        LayerContext { person: &places.person, project: None, trusted: false, pipeline: None };
    Ok(layers::merge_layers(&[read_one(path)?], &context))
}

/// Returns the values in force by these files, with the project's file trusted or not.
pub fn settle_files(
    places: &Paths,
    files: &[LayerFile],
    trusted: bool,
    pipeline: Option<&str>,
) -> MergedSettings {
    layers::merge_layers(
        files,
        &LayerContext { person: &places.person, project: places.real_project(), trusted, pipeline },
    )
}

/// Reads the existing files.
///
/// # Errors
/// Fails with the problems of any of them.
pub fn read_files(places: &Paths) -> Result<Vec<LayerFile>, BadConfiguration> {
    parse_texts(places, read_texts(places))
}

/// Reads the texts of the files.
pub(crate) fn read_texts(places: &Paths) -> Vec<LayerText> {
    let own = places.config.join(FILE);
    // Behind a boundary, root writes a user's file too.
    let own_text = match &places.handed {
        None => file::read_file(&own),
        Some(_) => file::read_managed(&own),
    };
    let managed = file::read_managed(&places.managed);
    let mut texts = vec![
        LayerText { layer: Layer::Managed, path: places.managed.clone(), text: managed },
        LayerText { layer: Layer::User, path: own, text: own_text },
    ];
    if let Some(project) = &places.project {
        texts.push(LayerText {
            layer: Layer::Project,
            path: project.join(PROJECT_FILE),
            text: read_project_file(places, project, PROJECT_FILE),
        });
    }
    texts
}

fn parse_texts(places: &Paths, texts: Vec<LayerText>) -> Result<Vec<LayerFile>, BadConfiguration> {
    let (mut files, mut bad) = (Vec::new(), Vec::new());
    for LayerText { layer, path, text } in texts {
        match text.and_then(|text| text.map(|text| parse_layer(layer, &path, &text)).transpose()) {
            Ok(Some(mut file)) => {
                if layer == Layer::Project {
                    let digest = file.digest;
                    file.digest = prompts::digest_with_prompts(digest, &file.document, places);
                }
                files.push(file);
            }
            Ok(None) => {}
            Err(problems) => bad.push(problems),
        }
    }
    if bad.is_empty() { Ok(files) } else { Err(BadConfiguration(bad)) }
}

/// Reads one file, as if it were the person's.
///
/// # Errors
/// Fails with its problems; the file has to exist.
pub fn read_one(path: &Path) -> Result<LayerFile, BadConfiguration> {
    let text = file::read_file(path).and_then(|text| {
        text.ok_or_else(|| Problems::in_file(path, "there is no such file".into()))
    });
    text.and_then(|text| parse_layer(Layer::User, path, &text))
        .map_err(|problems| BadConfiguration(vec![problems]))
}

/// Returns the configuration of the orders that a machine is held to at `now`, in milliseconds since
/// 1970, with the path of their file; none without orders.
///
/// # Errors
/// Fails if the orders were changed, removed or are not understood, and if they have expired and say
/// that nothing may run then: half of a configuration is none.
pub(crate) fn read_order_text(
    home: &Home,
    now: u64,
) -> Result<Option<(String, PathBuf)>, Problems> {
    let files = FleetFiles::of_home(home);
    let path = files.orders().path();
    let held = files.read_orders(now).map_err(|error| {
        let fix = "a person can run `portcullis fleet leave --force` and join again";
        Problems::in_file(path, format!("{error}; {fix}"))
    })?;
    let Some(held) = held.filter(HeldOrders::in_force) else { return Ok(None) };
    if held.blocks_all() {
        let what = "the fleet's orders have expired, and say that nothing may run until newer ones \
                    come; `portcullis fleet status` shows why none come";
        return Err(Problems::in_file(path, what.to_owned()));
    }
    Ok(Some((held.orders.configuration, path.to_owned())))
}

/// Parses the configuration of orders.
///
/// # Errors
/// Fails if it is not a configuration, or holds what is not for orders.
pub(crate) fn parse_orders(text: &str, path: &Path) -> Result<LayerFile, Problems> {
    let file = parse_layer(Layer::Orders, path, text)?;
    match find_foreign(&file.document) {
        None => Ok(file),
        Some((place, what)) => Err(Problems::at_place(path, place, what)),
    }
}

pub(crate) fn parse_layer(layer: Layer, path: &Path, text: &str) -> Result<LayerFile, Problems> {
    let (mut document, mut problems, more) = parse::parse_document(text);
    problems.extend(plugins::wrong_settings(document.all()));
    problems.extend(plugins::wrong_interventions(document.all()));
    problems.extend(ladders::find_wrong_ladders(document.all()));
    problems.extend(order::out_of_order(&document));
    problems.extend(rules::merge_rules(&mut document, layer, path));
    problems.extend(prompts::merge_prompts(&mut document, layer, path));
    if problems.is_empty() {
        return Ok(LayerFile {
            layer,
            path: path.to_owned(),
            document,
            digest: blake3::hash(text.as_bytes()),
        });
    }
    problems.sort();
    let over = problems.len().saturating_sub(problem::MOST);
    problems.truncate(problem::MOST);
    Err(Problems { file: path.to_owned(), problems, more: more + over })
}
