//! The recipe of an image: what a build runs, with the files that it fetched before. It runs in a
//! container, so that only what leaves it counts, and code that nobody has seen.

use super::expand::Field;
use super::{Setting, Walker};
use crate::autoruns::{Format, list_parts};
use crate::catalogue::Plan;
use crate::places::{self, Place};
use std::rc::Rc;

const RECIPES: &[&str] = &["Dockerfile", "Containerfile"];

impl Walker<'_> {
    /// Reads the recipe of a build, unless people have seen it: it is as it was committed.
    pub(super) fn image_recipe(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let builds = |field: &Field| matches!(field.text.as_str(), "build" | "bud" | "b");
        let words = plan.subcommand.iter().chain(&plan.operands).filter_map(|at| rest.get(*at));
        let words: Vec<&Field> = words.collect();
        let Some(at) = words.iter().take(3).position(|field| builds(field)) else { return };
        let context = words.get(at + 1).map_or(".", |field| field.text.as_str());
        if context == "-" || context.contains("://") || setting.place != Place::Here {
            return;
        }
        let named = rest.iter().enumerate().find_map(|(at, field)| match field.text.as_str() {
            "-f" | "--file" => rest.get(at + 1).map(|field| field.text.clone()),
            text => text.strip_prefix("--file=").map(str::to_owned),
        });
        let names: Vec<String> = match named {
            Some(name) => vec![name],
            None => RECIPES.iter().map(|name| format!("{context}/{name}")).collect(),
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let Some((path, text)) = self.first_file(&names, command, setting) else { return };
        if self.is_committed(&path) {
            return;
        }
        let (parts, _) = list_parts(Format::Dockerfile, &text);
        let lines: Vec<String> = parts.into_iter().map(|part| part.text).collect();
        let place = Place::Container(String::new(), Rc::from([]));
        let inside = Setting { place, ..setting.clone() };
        let span = rest.first().map_or_else(Default::default, |field| field.span);
        // Its files are those of the image.
        let (files, folder) = (self.files.clone(), self.env.folder.clone());
        let mark = self.env.mark();
        self.env.enter("/", true, true);
        self.run_lines((&path, &text), "step", &lines, None, span, command, &inside);
        self.env.restore(mark);
        (self.files, self.env.folder) = (files, folder);
    }
}

/// Returns a step of a recipe that fetches a file, as the command that does the same.
pub(crate) fn fetch_of(step: &str) -> Option<String> {
    let words: Vec<&str> =
        step.split_ascii_whitespace().filter(|word| !word.starts_with("--")).collect();
    let (to, from) = words.split_last()?;
    let lines = from.iter().filter(|address| address.contains("://")).map(|address| {
        let name = address.split(['?', '#']).next().unwrap_or("").rsplit('/').next().unwrap_or("");
        let file =
            if to.ends_with('/') || *to == "." { format!("{to}/{name}") } else { (*to).to_owned() };
        let (file, _) = places::resolve(&file, "/");
        format!(
            "curl -fsSL -o {} {}",
            super::routines::quoted(&file),
            super::routines::quoted(address)
        )
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}
