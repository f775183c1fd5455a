//! `portcullis bundle info`: shows what an index says of a bundle, and whether this machine would
//! trust it.

use crate::bundles::indexes::{find_bundle, format_age, list_versions};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_bundle::{
    BundleName, BundleStore, Judgement, ListedBundle, ListedPlugin, ListedVersion, ListedVetting,
};
use portcullis_config::amount::format_size;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::bundles::indexes::FoundBundle;
use portcullis_review::bundles::locks::LockTexts;
use portcullis_review::bundles::{BUNDLES_FOLDER, Policies};
use portcullis_store::Home;
use semver::Version;
use serde_json::{Value, json};
use std::fmt::Write;
use std::str::FromStr;

#[derive(clap::Args)]
pub struct Arguments {
    /// The bundle's name, with an optional version (default: the newest that can be installed)
    #[arg(value_name = "NAME[@VERSION]")]
    bundle: NamedVersion,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A name with an optional version.
#[derive(Clone)]
struct NamedVersion {
    name: BundleName,
    version: Option<Version>,
}

impl FromStr for NamedVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let version = version.map(str::parse).transpose();
        Ok(Self {
            name: name.parse().map_err(|error| format!("{error}"))?,
            version: version.map_err(|error| format!("it is not a version: {error}"))?,
        })
    }
}

/// What is shown of a bundle.
struct BundleInfo {
    found: FoundBundle,
    listed: ListedVersion,
    /// The judgement, if the signatures are as the index lists them.
    forecast: Judgement,
    /// The versions that are installed, and the one that is locked here.
    installed: Vec<Version>,
    locked: Option<Version>,
}

pub fn run_info(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let policies = Policies::read_policies(&places)?;
    let NamedVersion { name, version } = &arguments.bundle;
    let now = now_ms();
    let found = find_bundle(&home, &policies, name)?;
    let listed = listed_version(&found.bundle, version.as_ref())?.clone();
    let installed = installed_versions(&places, name)?;
    let forecast = policies.preview_bundle(name, &listed, installed.iter().max(), now);
    let required = LockTexts::read_texts(&places)?.required_bundles()?;
    let locked = required.into_iter().find(|required| required.locked.name == *name);
    let locked = locked.map(|required| required.locked.version);
    let info = BundleInfo { found, listed, forecast, installed, locked };
    if arguments.json {
        paint::print_text(&format!("{}\n", info.document(now)));
    } else {
        paint::print_wrapped(&info.page(now), 4);
    }
    Ok(CommandExit::Success)
}

/// Returns the wanted version; without one the newest that can be installed, or else the newest.
fn listed_version<'a>(
    bundle: &'a ListedBundle,
    wanted: Option<&Version>,
) -> Result<&'a ListedVersion> {
    let name = &bundle.name;
    match wanted {
        Some(version) => bundle.find_version(version).ok_or_else(|| {
            Error::not_found(format!("no index lists `{name} {version}`"))
                .with_hint(format!("`portcullis bundle info {name}` lists the versions"))
        }),
        None => bundle
            .newest_version()
            .or_else(|| bundle.versions.first())
            .ok_or_else(|| Error::not_found(format!("the index lists no version of `{name}`"))),
    }
}

/// Returns the installed versions of a bundle, without creating a folder for them.
fn installed_versions(places: &Paths, name: &BundleName) -> Result<Vec<Version>> {
    let folder = places.state.join(BUNDLES_FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let all = BundleStore::open_folder(&folder)?.installed()?;
    Ok(all.into_iter().filter(|one| one.name == *name).map(|one| one.version).collect())
}

impl BundleInfo {
    fn install_command(&self) -> String {
        format!("portcullis bundle install {}@{}", self.found.bundle.name, self.listed.version)
    }

    fn page(&self, now: u64) -> String {
        let (listed, bundle) = (&self.listed, &self.found.bundle);
        let mut text = format!(
            "{} {}  {}\n",
            paint::bold(&bundle.name),
            listed.version,
            paint::dim(listed.digest)
        );
        for words in
            [&listed.description, &listed.source].into_iter().filter(|words| !words.is_empty())
        {
            let _ = writeln!(text, "{}", one_line(words, 400));
        }
        if !listed.licence.is_empty() {
            let _ = writeln!(text, "licence {}", one_line(&listed.licence, 200));
        }
        let _ = writeln!(
            text,
            "from {}, listed by the index `{}`, which is {} old",
            one_line(&listed.reference, 300),
            self.found.index.name,
            format_age(self.found.fetched, now)
        );
        if let Some(reason) = &listed.yanked {
            let reason = one_line(reason, 400);
            let _ = writeln!(text, "{}: {reason}", paint::bad("withdrawn"));
        }
        if !listed.change.is_empty() {
            let _ = writeln!(text, "changes: {}", one_line(&listed.change, 1000));
        }
        text.push('\n');
        listed.plugins.iter().for_each(|plugin| add_plugin(&mut text, plugin));
        let _ = match listed.grants.as_slice() {
            [] => writeln!(text, "asks for no grant"),
            grants => writeln!(text, "{}", paint::warn(format!("asks for {}", grants.join(", ")))),
        };
        text.push('\n');
        if listed.vettings.is_empty() {
            text.push_str("nobody vetted it\n");
        }
        listed.vettings.iter().for_each(|vetting| add_vetting(&mut text, vetting, now));
        self.add_versions(&mut text);
        self.add_forecast(&mut text);
        text
    }

    fn add_versions(&self, text: &mut String) {
        let _ = writeln!(text, "\nversions {}", list_versions(&self.found.bundle));
        let installed: Vec<String> = self.installed.iter().map(ToString::to_string).collect();
        if !installed.is_empty() {
            let _ = writeln!(text, "installed {}", installed.join(", "));
        }
        if let Some(locked) = &self.locked {
            let _ = writeln!(text, "locked here as {locked}");
        }
    }

    fn add_forecast(&self, text: &mut String) {
        text.push('\n');
        for requirement in &self.forecast.requirements {
            let (mark, how) = match &requirement.met {
                Ok(how) => (paint::good("ok     "), how),
                Err(why) => (paint::bad("missed "), why),
            };
            let _ = writeln!(text, "{mark} {}: {}", requirement.what, one_line(how, 400));
        }
        if self.forecast.is_trusted() {
            let _ = writeln!(
                text,
                "{} if its signatures are as the index lists them, which an installation checks: `{}`",
                paint::good("trusted"),
                self.install_command()
            );
        } else {
            let _ = writeln!(text, "{}", paint::bad("not trusted here"));
        }
    }

    fn document(&self, now: u64) -> Value {
        let requirements = self.forecast.requirements.iter().map(|requirement| {
            let (met, how) = match &requirement.met {
                Ok(how) => (true, how),
                Err(why) => (false, why),
            };
            json!({ "what": requirement.what, "met": met, "how": how })
        });
        let versions = self.found.bundle.versions.iter().map(
            |one| json!({ "version": one.version, "digest": one.digest, "yanked": one.yanked }),
        );
        json!({
            "name": self.found.bundle.name,
            "index": self.found.index.name,
            "fetched": self.found.fetched,
            "age_ms": now.saturating_sub(self.found.fetched),
            "listed": self.listed,
            "versions": versions.collect::<Vec<_>>(),
            "installed": self.installed,
            "locked": self.locked,
            "would_be_trusted": self.forecast.is_trusted(),
            "requirements": requirements.collect::<Vec<_>>(),
            "install": self.install_command(),
        })
    }
}

fn add_plugin(text: &mut String, plugin: &ListedPlugin) {
    let reads = if plugin.reads.is_empty() {
        String::new()
    } else {
        format!(", reads {}", one_line(&plugin.reads.join(", "), 200))
    };
    let _ = writeln!(
        text,
        "  {}  {} {}{reads}, {}",
        paint::bold(one_line(&plugin.name, 64)),
        one_line(&plugin.kind, 32),
        one_line(&plugin.version, 32),
        format_size(plugin.size)
    );
    if !plugin.description.is_empty() {
        let _ = writeln!(text, "    {}", one_line(&plugin.description, 400));
    }
    let _ = writeln!(text, "    {}", paint::dim(plugin.digest));
}

fn add_vetting(text: &mut String, vetting: &ListedVetting, now: u64) {
    let until = match vetting.expires {
        None => String::new(),
        Some(end) if end <= now => format!(", {}", paint::bad("expired")),
        Some(end) => format!(", until {} UTC", paint::time(end)),
    };
    let _ = writeln!(
        text,
        "vetted by {} at {} UTC{until}",
        one_line(&vetting.reviewer, 200),
        paint::time(vetting.at)
    );
    for material in &vetting.material {
        let noun = match material.kind.as_str() {
            "corpus" => "action",
            "cases" => "case",
            other => other,
        };
        let _ = writeln!(
            text,
            "  {}: {} in {}",
            one_line(&material.kind, 32),
            count_noun(material.holds, &one_line(noun, 32)),
            count_noun(material.files, "file")
        );
    }
    for counts in &vetting.corpus {
        let _ = writeln!(
            text,
            "  objects to {} of {} {}, {} without it",
            counts.with,
            counts.actions,
            one_line(&counts.label, 32),
            counts.without
        );
    }
    for row in &vetting.plugins {
        let memory = match row.memory_most {
            0 => String::new(),
            most => format!(", and the most memory of one is {}", format_size(most)),
        };
        let _ = writeln!(
            text,
            "  {}: {}, of which half take at most {} fuel and {} us{memory}",
            one_line(&row.name, 64),
            count_noun(row.calls, "call"),
            row.fuel_median,
            row.time_us_median
        );
    }
    if let Some(despite) = &vetting.despite {
        let _ = writeln!(
            text,
            "  {}: {}",
            paint::warn(format!("signed despite {}", count_noun(vetting.problems, "problem"))),
            one_line(despite, 400)
        );
    }
}
