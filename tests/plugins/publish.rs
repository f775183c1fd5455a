//! Tests of the way of a plugin to others: `plugin publish` says what is missing, and then takes
//! the project that `plugin new` makes to an archive that can be signed.

use crate::common::site::Site;
use crate::keys::{make_key, passphrase, policy_key};
use crate::page::{PAGE, PLACEHOLDER, list_sections};
use crate::real::{Kind, Registry};
use crate::workflow::run_publish_script;
use crate::{done, made, run, tools};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const BUNDLE: &str = "name = \"acme/my-risk-calculator\"\nversion = \"0.1.0\"\ndescription = \"A check.\"\n\
                      licence = \"Apache-2.0\"\nsource = \"https://git.example.com/acme/check\"\n\n[[plugin]]\nfile = \".\"\n";
/// A setting of the template that its page does not name.
const UNEXPLAINED: &str = "the setting `folders` on the plugin's page";

/// Runs it, and returns what it says.
fn published(site: &Site, arguments: &[&str], code: i32) -> Result<Value> {
    let ended = run(site, &[&["plugin", "publish", "--json"], arguments].concat())?;
    ensure!(ended.code == Some(code), "{}", ended.all());
    serde_json::from_str(&ended.text()).with_context(|| ended.all())
}

/// Returns what is missing.
fn missing(said: &Value) -> Vec<&str> {
    let parts = said["missing"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["what"].as_str()).collect()
}

/// Returns the names of the steps that succeeded.
fn succeeded(said: &Value) -> Vec<&str> {
    let steps = said["steps"].as_array().into_iter().flatten();
    steps.filter(|step| step["ok"] == true).filter_map(|step| step["step"].as_str()).collect()
}

/// Puts an author's words into the place of the placeholders of a new page, and returns the page.
fn write_page(project: &Path) -> Result<String> {
    let path = project.join(PAGE);
    let page = fs::read_to_string(&path)?;
    let lines =
        page.lines().map(|line| if line.starts_with(PLACEHOLDER) { "As said." } else { line });
    let page: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(path, &page)?;
    Ok(page)
}

/// Gives the next build another version of its own.
fn set_version(project: &Path, version: &str) -> Result<()> {
    let manifest = project.join("plugin.toml");
    let text = fs::read_to_string(&manifest)?;
    let (start, rest) = text.split_once("version = \"").context("no version")?;
    let (_, end) = rest.split_once('"').context("no version")?;
    Ok(fs::write(&manifest, format!("{start}version = \"{version}\"{end}"))?)
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
    let placeholders = list_sections("risk-calculator").len();
    let all = missing(&said);
    let (own, bundle) = all.split_at_checked(placeholders).with_context(|| said.to_string())?;
    ensure!(own.iter().all(|what| what.starts_with("your own words in line ")), "{said}");
    ensure!(bundle == ["a bundle"], "{said}");
    ensure!(!project.join("build").exists(), "something was built");

    fs::write(project.join("bundle.toml"), BUNDLE.replace("licence = \"Apache-2.0\"\n", ""))?;
    let page = write_page(&project)?;
    fs::write(project.join(PAGE), page.replace("## Lets pass", "## False alarms"))?;
    let said = published(&site, &dry, 1)?;
    ensure!(
        missing(&said)
            == ["the section `Lets pass` of the plugin's page", "`licence` of the bundle"],
        "{said}"
    );

    fs::write(project.join("bundle.toml"), BUNDLE)?;
    fs::write(project.join(PAGE), page.replace("`folders`", "folders"))?;
    let said = published(&site, &dry, 1)?;
    ensure!(missing(&said) == [UNEXPLAINED] && succeeded(&said) == ["build"], "{said}");
    fs::write(project.join(PAGE), &page)?;
    let said = published(&site, &dry, 0)?;
    ensure!(succeeded(&said) == ["build", "test", "bench", "bundle", "vet"], "{said}");
    let cost = &said["steps"][2]["cost"];
    ensure!(cost["name"] == "my-risk-calculator", "{said}");
    for key in ["size", "call_us", "fuel", "memory_bytes"] {
        ensure!(cost[key].as_u64().is_some_and(|number| number > 0), "{key}: {said}");
    }
    let built = project.join("build/my-risk-calculator.wasm");
    let previous = site.root().join("previous").join("my-risk-calculator.wasm");
    fs::create_dir_all(site.root().join("previous"))?;
    fs::copy(&built, &previous)?;
    // A version that says less than what changed ends it before the bundle.
    set_version(&project, "0.0.1")?;
    let previous = previous.display().to_string();
    let said = published(&site, &[&folder, "--dry-run", "--previous", &previous], 1)?;
    let last = said["steps"].as_array().and_then(|steps| steps.last()).context("no steps")?;
    ensure!(last["step"] == "diff" && last["ok"] == false, "{said}");

    // The settings are those of the component, wherever it has them from: a plugin in Rust says them in its source.
    fs::copy(&built, project.join("mine.wasm"))?;
    let own = "name = \"my-risk-calculator\"\nkind = \"risk-calculator\"\nlanguage = \"other\"\n\
               [build]\ncommand = [\"/bin/true\"]\noutput = \"mine.wasm\"\n";
    fs::write(project.join("plugin.toml"), own)?;
    fs::write(project.join(PAGE), page.replace("`folders`", "folders"))?;
    let said = published(&site, &dry, 1)?;
    ensure!(missing(&said) == [UNEXPLAINED] && succeeded(&said) == ["build"], "{said}");
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
    write_page(&project)?;
    // A version of the bundle for each serial of the index.
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

    // Another than the author vets it.
    let vetter = Site::new("publish vetter")?;
    let vetted = vetter.root().join("vetted.tar").display().to_string();
    let version = format!("{to}:0.1.0");
    done(&vetter, &["bundle", "pull", &version, "--output", &vetted, "--plain-http", &host])?;
    let (key_file, cases) = (make_key(&vetter, "vetting.key")?, project.join("cases.toml"));
    let cases = format!("my-risk-calculator={}", cases.display());
    let words = ["bundle", "vet", &vetted, "--reviewer", "Ann", "--cases", &cases, "--key"];
    let more = [key_file.as_str(), "--passphrase-file", &passphrase(&vetter)];
    done(&vetter, &[words.as_slice(), &more].concat())?;
    let words = ["bundle", "push", &vetted, &to, "--signatures-only", "--plain-http", &host];
    done(&vetter, &words)?;

    let archives = author.root().join("archives");
    fs::create_dir_all(&archives)?;
    let list = |serial: u64| -> Result<()> {
        let archive = archives.join(format!("{serial}.tar")).display().to_string();
        let version = format!("{to}:0.{serial}.0");
        done(&author, &["bundle", "pull", &version, "-o", &archive, "--plain-http", &host])?;
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
    check_info(&person)?;
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
    // A version of the plugin that says less than that is refused, by what is in the registry.
    let said = published(&author, &publish, 1)?;
    ensure!(succeeded(&said) == ["build", "test"] && said["steps"][2]["step"] == "diff", "{said}");
    set_version(&project, "0.1.1")?;
    let (tried, shown) = run_publish_script(&author, &host, &folder, &to, None)?;
    ensure!(tried, "{shown}");
    let versions =
        || run(&author, &["bundle", "pull", &format!("{to}:0.2.0"), "--plain-http", &host]);
    ensure!(versions()?.code == Some(1), "it was pushed when it was only tried");
    let (pushed, shown) = run_publish_script(&author, &host, &folder, &to, Some(&key))?;
    ensure!(pushed && shown.contains("the version before is 0.1.0"), "{shown}");
    for step in ["build", "test", "diff", "bench", "bundle", "vet", "sign", "push"] {
        ensure!(shown.contains(&format!("\n{step}: portcullis ")), "no `{step}`: {shown}");
    }
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

/// Checks that a person sees who vetted it, on what and with which costs.
fn check_info(person: &Site) -> Result<()> {
    let said: Value = serde_json::from_str(&done(person, &["bundle", "info", NAME, "--json"])?)?;
    let vetting = &said["listed"]["vettings"][0];
    ensure!(vetting["reviewer"] == "Ann" && vetting["material"][0]["kind"] == "cases", "{said}");
    let cost = &vetting["plugins"][0];
    for key in ["calls", "fuel_median", "time_us_median", "memory_most"] {
        ensure!(cost[key].as_u64().is_some_and(|number| number > 0), "{key}: {said}");
    }
    let text = done(person, &["bundle", "info", NAME])?;
    let words = [
        "vetted by Ann at ",
        "cases: 4 cases in 1 file",
        "my-risk-calculator: ",
        "the most memory of one is ",
    ];
    for expected in words {
        ensure!(text.contains(expected), "`{expected}` is not said: {text}");
    }
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
