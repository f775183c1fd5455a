//! Tests of the way of a plugin to others: `plugin publish` says what is missing, and then takes
//! the project that `plugin new` makes to an archive that can be signed.

use crate::common::site::Site;
use crate::keys::{make_key, passphrase, policy_key};
use crate::real::{Kind, Registry};
use crate::{done, made, run, tools};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const BUNDLE: &str = "name = \"acme/my-risk-calculator\"\nversion = \"0.1.0\"\ndescription = \"A check.\"\n\
                      licence = \"Apache-2.0\"\nsource = \"https://git.example.com/acme/check\"\n\n[[plugin]]\nfile = \".\"\n";

/// Runs it, and returns what it says.
fn published(site: &Site, arguments: &[&str], code: i32) -> Result<Value> {
    let ended = run(site, &[&["plugin", "publish", "--json"], arguments].concat())?;
    ensure!(ended.code == Some(code), "{}", ended.all());
    serde_json::from_str(&ended.text()).with_context(|| ended.all())
}

/// A new project in C lacks what strangers need; with it, each step is done.
pub fn whole_way() -> Result<()> {
    if tools::missing("c")?.is_some() {
        return Ok(());
    }
    let site = Site::new("plugin publish")?;
    let project = made(&site, "risk-calculator", "c")?;
    tools::lend("c", &project)?;
    let folder = project.display().to_string();
    let dry = [folder.as_str(), "--dry-run"];
    let said = published(&site, &dry, 1)?;
    let missing: Vec<&str> = said["missing"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["what"].as_str())
        .collect();
    ensure!(missing == ["a bundle"], "{said}");
    ensure!(!project.join("build").exists(), "something was built");

    fs::write(project.join("bundle.toml"), BUNDLE.replace("licence = \"Apache-2.0\"\n", ""))?;
    let said = published(&site, &dry, 1)?;
    ensure!(said["missing"][0]["what"] == "`licence` of the bundle", "{said}");

    fs::write(project.join("bundle.toml"), BUNDLE)?;
    let page = fs::read_to_string(project.join("README.md"))?;
    fs::write(project.join("README.md"), page.replace("folders", "places"))?;
    let said = published(&site, &dry, 1)?;
    ensure!(said["missing"][0]["what"] == "the setting `folders` on the plugin's page", "{said}");
    fs::write(project.join("README.md"), page)?;
    // Twice: a second run replaces what the first one left.
    for _ in 0..2 {
        let said = published(&site, &dry, 0)?;
        let steps: Vec<(&str, bool)> = said["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|step| Some((step["step"].as_str()?, step["ok"].as_bool()?)))
            .collect();
        ensure!(
            steps == [("build", true), ("test", true), ("bundle", true), ("vet", true)],
            "{said}"
        );
    }
    // A version that says less than what changed ends it before the bundle.
    let built = project.join("build/my-risk-calculator.wasm");
    let previous = site.root().join("previous").join("my-risk-calculator.wasm");
    fs::create_dir_all(site.root().join("previous"))?;
    fs::copy(&built, &previous)?;
    let manifest = project.join("plugin.toml");
    let text = fs::read_to_string(&manifest)?;
    let (start, rest) = text.split_once("version = \"").context("no version")?;
    let (_, end) = rest.split_once('"').context("no version")?;
    fs::write(&manifest, format!("{start}version = \"0.0.1\"{end}"))?;
    let previous = previous.display().to_string();
    let said = published(&site, &[&folder, "--dry-run", "--previous", &previous], 1)?;
    let last = said["steps"].as_array().and_then(|steps| steps.last()).context("no steps")?;
    ensure!(last["step"] == "diff" && last["ok"] == false, "{said}");
    Ok(())
}

/// The command that a calculator made by `plugin new` objects to.
const OBJECTED: &str = "rm db/migrations/0001.sql";
/// What it says.
const OBJECTION: &str = "an applied migration must stay as it was run";
/// What its next version says.
const OTHER_OBJECTION: &str = "a migration that was run stays as it is";
const NAME: &str = "acme/my-risk-calculator";
const INDEX: &str = "acme/index";

/// From a new project to a registry and an index, from there to a person, and to one without a
/// network: with the commands that they type, one after another.
pub fn listed() -> Result<()> {
    if tools::missing("c")?.is_some() {
        return Ok(());
    }
    let Some(registry) = Registry::start(Kind::Plain) else { return Ok(()) };
    let host = format!("127.0.0.1:{}", registry.port);
    let author = Site::new("publish author")?;
    let project = made(&author, "risk-calculator", "c")?;
    tools::lend("c", &project)?;
    let folder = project.display().to_string();
    fs::write(project.join("bundle.toml"), BUNDLE)?;
    let (key, secret) = (make_key(&author, "release.key")?, passphrase(&author));
    let to = format!("{host}/{NAME}");
    let publish = [
        folder.as_str(),
        "--to",
        &to,
        "--key",
        &key,
        "--passphrase-file",
        &secret,
        "--plain-http",
        &host,
    ];
    let said = published(&author, &publish, 0)?;
    let last = said["steps"].as_array().and_then(|steps| steps.last()).context("no steps")?;
    ensure!(last["step"] == "push" && last["ok"] == true, "{said}");
    // A version that others may have is not replaced.
    let said = published(&author, &publish, 1)?;
    ensure!(said["missing"][0]["what"] == "a new version of the bundle", "{said}");
    ensure!(said["steps"].as_array().is_some_and(Vec::is_empty), "{said}");

    let archives = author.root().join("archives");
    fs::create_dir_all(&archives)?;
    let list = |serial: u64| -> Result<()> {
        fs::copy(project.join("build/publish.tar"), archives.join(format!("{serial}.tar")))?;
        let index = author.root().join(format!("index-{serial}.tar")).display().to_string();
        let (serial, archives) = (serial.to_string(), archives.display().to_string());
        let words = ["bundle", "index", "build", &archives, "--name", INDEX, "--serial", &serial];
        let more = ["--registry", &host, "--output", &index];
        done(&author, &[words.as_slice(), &more].concat())?;
        let words = ["bundle", "index", "sign", &index, "--key", &key, "--passphrase-file"];
        done(&author, &[words.as_slice(), &[&secret]].concat())?;
        let place = format!("{host}/{INDEX}");
        done(&author, &["bundle", "index", "push", &index, &place, "--plain-http", &host])?;
        Ok(())
    };
    list(1)?;

    let person = Site::new("publish person")?;
    trust(&person, &key, &format!("{host}/{INDEX}"))?;
    let reach = |words: &[&str]| done(&person, &[words, &["--plain-http", &host]].concat());
    reach(&["bundle", "index", "update"])?;
    ensure!(done(&person, &["bundle", "search", "risk"])?.contains(NAME), "it is not found");
    ensure!(!objects(&person)?, "it objects before it is installed");
    let before = count_compiled(&person)?;
    reach(&["bundle", "install", NAME])?;
    // The first action does not wait for a compiler.
    ensure!(count_compiled(&person)? == before + 1, "it was not compiled");
    ensure!(objects(&person)?, "it does not object");

    // The next version objects in other words.
    fs::write(project.join("bundle.toml"), BUNDLE.replace("0.1.0", "0.2.0"))?;
    let source = project.join("src/check.c");
    let text = fs::read_to_string(&source)?;
    ensure!(text.contains(OBJECTION), "it has other words");
    fs::write(&source, text.replace(OBJECTION, OTHER_OBJECTION))?;
    published(&author, &publish, 0)?;
    list(2)?;
    let text = reach(&["bundle", "update", "--yes"])?;
    ensure!(text.contains(&format!("{NAME} 0.2.0 is locked")), "{text}");
    ensure!(count_compiled(&person)? == before + 2, "the update was not compiled");
    ensure!(!objects(&person)?, "the first version still objects");
    ensure!(objects_with(&person, OTHER_OBJECTION)?, "the second version does not object");
    // What is locked and not compiled is compiled, too.
    fs::remove_dir_all(person.state().join("cache"))?;
    fs::create_dir_all(person.state().join("cache"))?;
    fs::set_permissions(person.state().join("cache"), fs::Permissions::from_mode(0o700))?;
    reach(&["bundle", "install"])?;
    ensure!(count_compiled(&person)? == 1, "it was not compiled again");

    let mirror = person.root().join("mirror").display().to_string();
    reach(&["bundle", "index", "mirror", INDEX, "--output", &mirror])?;
    done(&person, &["bundle", "revoke", NAME])?;
    let refused = run(&person, &["bundle", "install", NAME, "--plain-http", &host, "--yes"])?;
    ensure!(refused.code == Some(1) && refused.stderr.contains("is revoked"), "{}", refused.all());
    // The lock still names it, so each action is refused until a person decides.
    let reviewed = run(&person, &["review", "--json", "--command", "ls"])?;
    ensure!(reviewed.code == Some(1) && reviewed.stderr.contains("revoked"), "{}", reviewed.all());
    drop(registry);

    let offline = Site::new("publish offline")?;
    trust(&offline, &key, &mirror)?;
    done(&offline, &["bundle", "index", "update"])?;
    done(&offline, &["bundle", "install", NAME])?;
    ensure!(objects_with(&offline, OTHER_OBJECTION)?, "it does not object without a network");
    Ok(())
}

/// Lets a person trust what this key signs below `acme/`, and an index at that place.
fn trust(site: &Site, key: &str, index: &str) -> Result<()> {
    let key = policy_key("release", key)?;
    let policy = format!(
        "{key}[[rule]]\nnames = [\"acme/\"]\npublishers = [\"release\"]\n\
         [[index]]\nname = \"{INDEX}\"\nsigners = [\"release\"]\nnames = [\"acme/\"]\nsource = \"{index}\"\n"
    );
    site.write("trust.toml", &policy)
}

/// Returns how many components are compiled in the person's home.
fn count_compiled(site: &Site) -> Result<usize> {
    let files = fs::read_dir(site.state().join("cache"))?.collect::<Result<Vec<_>, _>>()?;
    Ok(files.iter().filter(|file| file.path().extension().is_some_and(|end| end == "code")).count())
}

/// Returns true if a review of the person's project holds the objection of the first version.
fn objects(site: &Site) -> Result<bool> {
    objects_with(site, OBJECTION)
}

fn objects_with(site: &Site, objection: &str) -> Result<bool> {
    let ended = run(site, &["review", "--json", "--command", OBJECTED])?;
    let record: Value = serde_json::from_str(&ended.text()).with_context(|| ended.all())?;
    let faults = record["faults"].as_array().map_or(0, Vec::len);
    ensure!(faults == 0, "{record}");
    Ok(record.to_string().contains(objection))
}
