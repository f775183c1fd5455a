//! The recipe of an image: what a build runs, with the files that it fetched before. It runs in a
//! container, so that only what leaves it counts, and code that nobody has seen.

use super::expand::Field;
use super::{Setting, Walker};
use crate::autoruns::{Format, list_parts};
use crate::catalogue::Plan;
use crate::places::{self, Place};
use std::rc::Rc;

const RECIPES: &[&str] = &["Dockerfile", "Containerfile"];

/// Owners on the hub of images that publish their own products.
const OWNERS: &[&str] = &[
    "adoptopenjdk",
    "alpine",
    "amazon",
    "anchore",
    "apache",
    "aquasec",
    "bash",
    "bats",
    "bitnami",
    "bufbuild",
    "cimg",
    "circleci",
    "clickhouse",
    "cloudflare",
    "codercom",
    "confluentinc",
    "consensys",
    "curlimages",
    "cypress",
    "databricks",
    "datadog",
    "davidanson",
    "dart",
    "denoland",
    "docker",
    "eclipse-temurin",
    "elastic",
    "envoyproxy",
    "fluent",
    "gcr.io",
    "gitea",
    "gitlab",
    "golangci",
    "google",
    "grafana",
    "hadolint",
    "hashicorp",
    "ibmcom",
    "infracost",
    "istio",
    "jaegertracing",
    "jekyll",
    "jenkins",
    "jupyter",
    "kong",
    "koalaman",
    "library",
    "lycheeverse",
    "mcr",
    "microsoft",
    "minio",
    "mongodb",
    "mvdan",
    "mysql",
    "nginxinc",
    "nixos",
    "node",
    "nvidia",
    "oamdev",
    "open-policy-agent",
    "openapitools",
    "openjdk",
    "openpolicyagent",
    "opensearchproject",
    "oven",
    "pandoc",
    "peterevans",
    "phpmyadmin",
    "plantuml",
    "postgis",
    "prom",
    "pulumi",
    "python",
    "pyfound",
    "pytorch",
    "rabbitmq",
    "rancher",
    "redhat",
    "redis",
    "redocly",
    "returntocorp",
    "rust",
    "rustlang",
    "semgrep",
    "selenium",
    "sonarsource",
    "sqlfluff",
    "squidfunk",
    "stoplight",
    "swaggerapi",
    "tensorflow",
    "terraform",
    "texlive",
    "timescale",
    "traefik",
    "trufflesecurity",
    "tsl0922",
    "ubuntu",
    "vault",
    "wordpress",
    "yandex",
    "zaproxy",
    "zricethezav",
];
/// Files in which a project names the images that it uses.
const NAMING: &[&str] = &[
    ".gitlab-ci.yml",
    "Dockerfile",
    "Makefile",
    "compose.yaml",
    "compose.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
];

impl Walker<'_> {
    /// Notes an image that nobody vouches for and that gets the home or the project of a person: it
    /// runs code with both in its hands.
    pub(super) fn note_mounts_of_image(
        &mut self,
        image: &Field,
        rest: &[Field],
        setting: &Setting,
    ) {
        if !image.known || setting.place != Place::Here {
            return;
        }
        let mounts = self.mounts(rest);
        let sees = |path: &str| !path.is_empty() && mounts.iter().any(|mount| mount.here == path);
        let (home, project) = (sees(self.home), sees(self.project));
        if !(home || project) || self.is_vouched_image(&image.text, home) {
            return;
        }
        let shown = if home { "the person's home" } else { "the project" };
        let text = &image.text;
        self.out.gap(&format!("the image `{text}`, for which nobody vouches, gets {shown}"));
    }

    fn is_vouched_image(&mut self, image: &str, home: bool) -> bool {
        let name = image.split('@').next().unwrap_or(image);
        let (host, owner) = match name.split('/').collect::<Vec<_>>().as_slice() {
            [_] => return true,
            [owner, _] if !owner.contains(['.', ':']) && *owner != "localhost" => ("", *owner),
            [host, owner, ..] => (*host, *owner),
            [] => return true,
        };
        let bare = host.split(':').next().unwrap_or(host);
        let known = match host {
            // Most people's tools are there; a home is given to the known ones alone.
            "" => OWNERS.contains(&owner) || !home,
            _ if places::is_loopback(bare) || bare == "localhost" => true,
            "docker.io" => OWNERS.contains(&owner) || !home,
            _ => super::sources::is_image_host(bare) && !home,
        };
        let base = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
        let base = base.map_or(name, |(base, _)| base);
        known || self.is_named_in_project(base)
    }

    /// Returns true if the project's own files name an image.
    fn is_named_in_project(&mut self, image: &str) -> bool {
        let folder = self.project.trim_end_matches('/').to_owned();
        NAMING.iter().any(|file| {
            let text = self.text_on_disk(&format!("{folder}/{file}"));
            text.is_some_and(|text| text.contains(image))
        })
    }

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
