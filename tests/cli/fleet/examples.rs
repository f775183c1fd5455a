//! The examples of the page on fleets: the unit for systemd, the compose file and its image. Their
//! commands are those of the program; none is started under systemd or in a container here.

use super::fleets::hub_command;
use crate::common::process::{self, Ended};
use crate::common::site::LIMIT;
use crate::common::{Ground, in_ci, tell};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

const PROGRAM: &str = "/usr/local/bin/portcullis";
const FOLDER: &str = "/etc/portcullis/hub";

fn example(name: &str) -> Result<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../host/docs/hub").join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Runs the hub's command of an example, with another folder in the place of its own.
fn run_in(folder: &str, words: &[&str]) -> Result<Ended> {
    ensure!(words.iter().any(|word| word.contains(FOLDER)), "{words:?} names no folder");
    let words: Vec<String> = words.iter().map(|word| word.replace(FOLDER, folder)).collect();
    let words: Vec<&str> = ["hub"].into_iter().chain(words.iter().map(String::as_str)).collect();
    process::run(hub_command(&words)?, b"", LIMIT)
}

/// Checks that `serve` of an example gets as far as reading its folder.
fn serves(words: &[&str]) -> Result<()> {
    let ended = run_in("nowhere", words)?;
    ensure!(ended.stderr.contains("no `nowhere/hub.toml`"), "{words:?}: {}", ended.all());
    Ok(())
}

pub fn unit() -> Result<()> {
    let text = example("portcullis-hub.service")?;
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).context("no start")?;
    let words: Vec<&str> = line.split(' ').collect();
    ensure!(words[..2] == [PROGRAM, "hub"], "{line}");
    serves(&words[2..])?;
    let ground = Ground::get()?;
    let path = ground.root.join("portcullis-hub.service");
    fs::write(&path, text.replace(PROGRAM, &ground.binary.display().to_string()))?;
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--system"]).arg(&path);
    match process::run(command, b"", LIMIT) {
        Ok(ended) => ensure!(
            ended.code == Some(0) && !ended.stderr.contains("portcullis-hub.service"),
            "{}",
            ended.all()
        ),
        Err(error) if in_ci() => return Err(error),
        Err(_) => tell("systemd-analyze is not installed: the unit was not verified"),
    }
    Ok(())
}

/// Returns a member of a mapping, also one that another mapping lends it.
fn member<'a>(mapping: &'a Yaml, name: &str) -> &'a Yaml {
    match &mapping[name] {
        Yaml::BadValue if !mapping["<<"].is_badvalue() => member(&mapping["<<"], name),
        found => found,
    }
}

fn names(mapping: &Yaml) -> Vec<String> {
    let keys = mapping.as_hash().into_iter().flat_map(|hash| hash.keys());
    keys.filter_map(|key| key.as_str().map(str::to_owned)).collect()
}

fn texts(list: &Yaml) -> Vec<&str> {
    list.as_vec().into_iter().flatten().filter_map(Yaml::as_str).collect()
}

pub fn compose() -> Result<()> {
    let text = example("compose.yaml")?;
    let read = YamlLoader::load_from_str(&text)?;
    let file = read.first().context("it is empty")?;
    let services = &file["services"];
    ensure!(names(services) == ["database", "init", "replica-1", "replica-2"]);
    let (volumes, secrets) = (names(&file["volumes"]), names(&file["secrets"]));
    let ground = Ground::get()?;
    for name in names(services) {
        let service = &services[name.as_str()];
        for volume in texts(member(service, "volumes")) {
            let source = volume.split(':').next().unwrap_or("");
            ensure!(
                source.starts_with("./") || volumes.iter().any(|known| known == source),
                "{name}: no volume `{source}`"
            );
        }
        for secret in texts(member(service, "secrets")) {
            ensure!(secrets.iter().any(|known| known == secret), "{name}: no secret `{secret}`");
        }
        for other in names(member(service, "depends_on")) {
            ensure!(names(services).contains(&other), "{name}: no service `{other}`");
        }
        let words = texts(member(service, "command"));
        match words.first() {
            None => ensure!(name == "database", "{name} has no command"),
            Some(&"init") => {
                let folder = ground.root.join("composed").display().to_string();
                let ended = run_in(&folder, &words)?;
                ensure!(ended.code == Some(0), "{}", ended.all());
                // The connection is understood, and nobody listens at its socket here.
                let list = hub_command(&["hub", "machines", "--folder", &folder])?;
                let ended = process::run(list, b"", LIMIT)?;
                ensure!(
                    ended.stderr.contains("the hub's database was not used"),
                    "{}",
                    ended.all()
                );
            }
            Some(_) => serves(&words)?,
        }
    }
    let image = example("Containerfile")?;
    let line = |start: &str| image.lines().find(|line| line.starts_with(start)).unwrap_or("");
    ensure!(line("COPY") == "COPY portcullis portcullis-hub /usr/local/bin/");
    ensure!(line("ENTRYPOINT") == format!("ENTRYPOINT [\"{PROGRAM}\", \"hub\"]"));
    let words: Vec<String> = serde_json::from_str(line("CMD").trim_start_matches("CMD "))?;
    serves(&words.iter().map(String::as_str).collect::<Vec<_>>())
}
