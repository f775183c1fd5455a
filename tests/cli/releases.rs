//! The files of a version: signed once, compared by whoever downloads them, and looked for by
//! whoever has an earlier one.

use crate::common::process::{self, Ended};
use crate::common::site::{LIMIT, Site};
use crate::common::trial;
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use portcullis_bundle::Digest;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub fn tests() -> Vec<Trial> {
    vec![
        trial("release: files are compared with what was signed", compared),
        trial("upgrade: a newer version is found in a folder", found_in_folder),
        trial("upgrade: a newer version is found at an address", found_at_address),
        trial("upgrade: the configuration says where, and no project does", configured),
        trial("upgrade: without --check it says how, and asks nobody", described),
    ]
}

/// A publisher with keys, and a folder of what is published.
struct Publisher {
    site: Site,
    folder: PathBuf,
}

impl Publisher {
    fn new(name: &str) -> Result<Self> {
        let site = Site::new(name)?;
        let folder = site.project().join("files");
        fs::create_dir_all(&folder)?;
        let publisher = Self { site, folder };
        fs::write(publisher.place("passphrase"), "a passphrase of these tests\n")?;
        fs::set_permissions(publisher.place("passphrase"), fs::Permissions::from_mode(0o600))?;
        for key in ["release.key", "other.key"] {
            let (key, passphrase) = (publisher.place(key), publisher.place("passphrase"));
            publisher.site.output(&[
                "bundle",
                "key",
                "new",
                "--output",
                &key,
                "--passphrase-file",
                &passphrase,
            ])?;
        }
        Ok(publisher)
    }

    fn place(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Writes and signs the statement about a version.
    fn sign(&self, key: &str, name: &str, version: &str, commit: &str) -> Result<()> {
        let files: Vec<Value> = published(version)
            .iter()
            .map(|name| {
                json!({ "name": name, "digest": { "sha256": Digest::of_bytes(name.as_bytes()).hex() } })
            })
            .collect();
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1", "subject": files,
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": { "buildDefinition": {
                "externalParameters": { "version": version },
                "resolvedDependencies": [{ "digest": { "gitCommit": commit } }],
            } },
        });
        let (text, signature) =
            (self.place("statement.json"), self.place(&format!("portcullis-{name}.sigstore.json")));
        fs::write(&text, statement.to_string())?;
        let (key, passphrase) = (self.place(key), self.place("passphrase"));
        // A signature is not overwritten.
        let _earlier = fs::remove_file(&signature);
        self.site
            .output(&[
                "release",
                "sign",
                &text,
                "--key",
                &key,
                "--output",
                &signature,
                "--passphrase-file",
                &passphrase,
            ])
            .map(drop)
    }

    fn point(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.place("latest.json"), text)?)
    }

    fn check(&self, from: &str) -> Result<Ended> {
        let key = self.place("release.key.pub");
        self.site.run(&["upgrade", "--check", "--from", from, "--key", &key, "--json"])
    }

    /// Checks, and expects this exit code and this newest version.
    fn finds(&self, from: &str, code: i32, newest: &str) -> Result<Value> {
        let ended = self.check(from)?;
        let said: Value = serde_json::from_str(&ended.text())
            .with_context(|| format!("no document: {}", ended.all()))?;
        ensure!(
            ended.code == Some(code)
                && said["newest"] == newest
                && said["newer"] == (code == NEWER)
                && said["version"] == env!("CARGO_PKG_VERSION"),
            "{newest}: {}",
            ended.all()
        );
        Ok(said)
    }

    /// Checks, and expects an error of this kind that says this.
    fn refuses(&self, from: &str, kind: &str, says: &str) -> Result<()> {
        let ended = self.check(from)?;
        let last = ended.stderr.lines().last().unwrap_or_default();
        let error: Value =
            serde_json::from_str(last).with_context(|| format!("no error: {}", ended.all()))?;
        let error = &error["error"];
        ensure!(
            ended.code == Some(1) && ended.stdout.is_empty() && error["kind"] == kind,
            "{says}: {}",
            ended.all()
        );
        ensure!(error.to_string().contains(says), "it does not say `{says}`: {error}");
        Ok(())
    }
}

/// The exit code of a check that finds a newer version.
const NEWER: i32 = 6;

/// The files of a version for each way of installation and both processors.
fn published(version: &str) -> Vec<String> {
    [("amd64", "x64", "x86_64"), ("arm64", "arm64", "aarch64")]
        .iter()
        .flat_map(|(debian, npm, arch)| {
            [
                format!("portcullis_{version}_{debian}.deb"),
                format!("npm-portcullis-linux-{npm}-{version}.tgz"),
                format!("portcullis-{version}-{arch}-unknown-linux-musl.tar.gz"),
            ]
        })
        .collect()
}

fn found_in_folder() -> Result<()> {
    let publisher = Publisher::new("upgrade-folder")?;
    let folder = publisher.folder.display().to_string();
    publisher.refuses(&folder, "not-found", "no signed statement of a version is in")?;
    let own = env!("CARGO_PKG_VERSION");
    publisher.sign("release.key", own, own, "c0ffee")?;
    let said = publisher.finds(&folder, 0, own)?;
    ensure!(said["command"].is_null() && said["commit"] == "c0ffee", "{said}");

    publisher.sign("release.key", "9.0.0-rc.1", "9.0.0-rc.1", "c1")?;
    publisher.sign("release.key", "9.0.0", "9.0.0", "c2")?;
    let said = publisher.finds(&folder, NEWER, "9.0.0")?;
    let (name, digest) = (&said["file"]["name"], &said["file"]["sha256"]);
    let name = name.as_str().context("no file fits")?;
    ensure!(
        published("9.0.0").iter().any(|file| file == name)
            && *digest == Digest::of_bytes(name.as_bytes()).hex(),
        "{said}"
    );
    // The program of these tests is a copy in a folder of its own.
    ensure!(said["installed"]["way"] == "copy", "{said}");
    ensure!(said["command"].as_str().is_some_and(|command| command.contains(name)), "{said}");
    let key = publisher.place("release.key.pub");
    let text = publisher.site.run(&["upgrade", "--check", "--from", "files", "--key", &key])?;
    ensure!(
        text.code == Some(NEWER) && text.text().contains("there is a newer version"),
        "{}",
        text.all()
    );

    // Another key announces nothing, and what it announces changes nothing for the right one.
    publisher.sign("other.key", "10.0.0", "10.0.0", "c3")?;
    let ended = publisher.check(&folder)?;
    ensure!(
        ended.code == Some(NEWER)
            && ended.text().contains("\"newest\":\"9.0.0\"")
            && ended.stderr.contains("left out"),
        "{}",
        ended.all()
    );
    let other = publisher.place("other.key.pub");
    let ended = publisher
        .site
        .run(&["upgrade", "--check", "--from", &folder, "--key", &other, "--json"])?;
    ensure!(ended.text().contains("\"newest\":\"10.0.0\""), "{}", ended.all());
    publisher.finds(&folder, NEWER, "9.0.0")?;
    fs::remove_file(publisher.place("portcullis-10.0.0.sigstore.json"))?;

    // The newest one disappears, or becomes another one.
    publisher.sign("release.key", "9.0.0", "9.0.0", "c4")?;
    publisher.refuses(&folder, "integrity", "a version never changes")?;
    fs::remove_file(publisher.place("portcullis-9.0.0.sigstore.json"))?;
    publisher.refuses(
        &folder,
        "integrity",
        "9.0.0 was seen before: somebody offers an older one",
    )?;
    publisher.sign("release.key", "9.0.1", "9.0.1", "c5")?;
    publisher.finds(&folder, NEWER, "9.0.1").map(drop)
}

/// Serves the files of a folder by HTTP on loopback, and notes what is asked for.
struct FileServer {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
    server: Arc<tiny_http::Server>,
}

impl FileServer {
    fn start(folder: &Path) -> Result<Self> {
        let server = tiny_http::Server::http("127.0.0.1:0").map_err(|error| anyhow!("{error}"))?;
        let server = Arc::new(server);
        let address = format!("http://{}/releases", server.server_addr());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (noted, serving, folder) = (asked.clone(), server.clone(), folder.to_owned());
        std::thread::spawn(move || {
            for request in serving.incoming_requests() {
                let name = request.url().trim_start_matches("/releases/").to_owned();
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(request.url().to_owned());
                let answer = match fs::read(folder.join(&name)) {
                    Ok(bytes) => tiny_http::Response::from_data(bytes),
                    Err(_) => tiny_http::Response::from_data("gone").with_status_code(404),
                };
                // A client that has enough goes away.
                let _ = request.respond(answer);
            }
        });
        Ok(Self { address, asked, server })
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

fn found_at_address() -> Result<()> {
    let publisher = Publisher::new("upgrade-address")?;
    let server = FileServer::start(&publisher.folder)?;
    let from = server.address.as_str();
    publisher.refuses(from, "not-found", "the server answered 404")?;
    publisher.sign("release.key", "9.0.0", "9.0.0", "c0ffee")?;
    publisher.point("{\"statement\": \"portcullis-9.0.0.sigstore.json\"}")?;
    server.asked();
    publisher.finds(from, NEWER, "9.0.0")?;
    let asked = server.asked();
    ensure!(
        asked == ["/releases/latest.json", "/releases/portcullis-9.0.0.sigstore.json"],
        "{asked:?}"
    );
    // The pointer alone is not believed, whatever it says.
    for (pointer, kind, says) in [
        ("no document".to_owned(), "invalid", "names no statement"),
        (
            "{\"statement\": \"../portcullis-9.0.0.sigstore.json\"}".into(),
            "invalid",
            "not the name of",
        ),
        ("{\"statement\": \"passphrase\"}".into(), "invalid", "not the name of a statement"),
        ("{\"statement\": \"portcullis-9.1.0.sigstore.json\"}".into(), "not-found", "404"),
        (format!("{{\"statement\": \"{}\"}}", "x".repeat(5000)), "invalid", "more than 4096 bytes"),
    ] {
        publisher.point(&pointer)?;
        publisher.refuses(from, kind, says)?;
    }
    // A statement about another version than its name says counts as what it says.
    publisher.sign("release.key", "9.9.9", "9.0.0", "c0ffee")?;
    publisher.point("{\"statement\": \"portcullis-9.9.9.sigstore.json\"}")?;
    publisher.finds(from, NEWER, "9.0.0")?;
    // An older one, a foreign one, and one with a text that paints over a terminal.
    publisher.sign("release.key", "8.0.0", "8.0.0", "c0ffee")?;
    publisher.point("{\"statement\": \"portcullis-8.0.0.sigstore.json\"}")?;
    publisher.refuses(from, "integrity", "somebody offers an older one")?;
    publisher.sign("other.key", "9.2.0", "9.2.0", "c0ffee")?;
    publisher.point("{\"statement\": \"portcullis-9.2.0.sigstore.json\"}")?;
    publisher.refuses(from, "integrity", "not this key's signature")?;
    publisher.sign("release.key", "9.3.0", "9.3.0", "\u{1b}[2Jc0ffee\u{202e}")?;
    publisher.point("{\"statement\": \"portcullis-9.3.0.sigstore.json\"}")?;
    let key = publisher.place("release.key.pub");
    let shown = publisher.site.run(&["upgrade", "--check", "--from", from, "--key", &key])?;
    ensure!(shown.code == Some(NEWER), "{}", shown.all());
    ensure!(!shown.text().contains(['\u{1b}', '\u{202e}']), "{:?}", shown.text());
    publisher.refuses("http://127.0.0.1:1/x", "io", "the server cannot be reached")
}

fn configured() -> Result<()> {
    let publisher = Publisher::new("upgrade-configured")?;
    let site = &publisher.site;
    publisher.sign("release.key", "9.0.0", "9.0.0", "c0ffee")?;
    let folder = publisher.folder.display();
    let lines =
        format!("[upgrade]\nsource = \"{folder}\"\nkeys = [\"{folder}/release.key.pub\"]\n");
    // What a project's file says has no effect, also if it is trusted.
    let project = site.project().join(".portcullis");
    fs::create_dir_all(&project)?;
    fs::write(project.join("config.toml"), &lines)?;
    let ended = site.run(&["upgrade", "--check"])?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("where new versions are announced"),
        "{}",
        ended.all()
    );
    let checked = site.run(&["config", "check"])?;
    ensure!(
        checked.code == Some(1) && checked.text().contains("`upgrade.source` has no effect"),
        "{}",
        checked.all()
    );
    fs::remove_file(project.join("config.toml"))?;
    site.write("config.toml", &lines)?;
    site.output(&["config", "check"])?;
    let ended = site.run(&["upgrade", "--check"])?;
    ensure!(ended.code == Some(NEWER) && ended.text().contains("9.0.0"), "{}", ended.all());
    site.write("config.toml", "[upgrade]\nsource = \"http://example.org/x\"\n")?;
    let checked = site.run(&["config", "check"])?;
    ensure!(
        checked.code == Some(1) && checked.text().contains("loopback address alone"),
        "{}",
        checked.all()
    );
    Ok(())
}

fn described() -> Result<()> {
    let publisher = Publisher::new("upgrade-described")?;
    let (site, server) = (&publisher.site, FileServer::start(&publisher.folder)?);
    site.write("config.toml", format!("[upgrade]\nsource = \"{}\"\n", server.address))?;
    let text = site.output(&["upgrade"])?;
    ensure!(text.contains("installed as a copy") && text.contains("VERSION"), "{text}");
    let said: Value = serde_json::from_str(&site.output(&["upgrade", "--json"])?)?;
    ensure!(said["installed"]["program"] == json!(site.binary()), "{said}");
    ensure!(server.asked().is_empty(), "a server was asked without --check");
    ensure!(site.run(&["upgrade", "--from", "x"])?.code == Some(2), "--from without --check");
    let mut by_agent = site.command(&["upgrade", "--check", "--from", &server.address]);
    by_agent.env("CLAUDECODE", "1");
    let by_agent = process::run(by_agent, b"", LIMIT)?;
    ensure!(
        by_agent.code == Some(1) && by_agent.stderr.contains("an agent runs this command"),
        "{}",
        by_agent.all()
    );
    ensure!(server.asked().is_empty(), "a server was asked by an agent");
    Ok(())
}

fn compared() -> Result<()> {
    let site = Site::new("release")?;
    let folder = site.project().join("files");
    fs::create_dir_all(&folder)?;
    let place = |name: &str| folder.join(name).display().to_string();
    fs::write(place("passphrase"), "a passphrase of these tests\n")?;
    fs::set_permissions(place("passphrase"), fs::Permissions::from_mode(0o600))?;
    for key in ["release.key", "other.key"] {
        site.output(&[
            "bundle",
            "key",
            "new",
            "--output",
            &place(key),
            "--passphrase-file",
            &place("passphrase"),
        ])?;
    }
    let files = [("portcullis.tar.gz", "one"), ("portcullis.deb", "two")];
    let subject: Vec<Value> = files
        .iter()
        .map(|(name, text)| {
            json!({ "name": name, "digest": { "sha256": Digest::of_bytes(text.as_bytes()).hex() } })
        })
        .collect();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1", "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": { "buildDefinition": {
            "externalParameters": { "version": "0.2.0" },
            "resolvedDependencies": [{ "digest": { "gitCommit": "c0ffee" } }],
        } },
    });
    fs::write(place("p-0.2.0.provenance.json"), statement.to_string())?;
    let signed = site.output(&[
        "release",
        "sign",
        &place("p-0.2.0.provenance.json"),
        "--key",
        &place("release.key"),
        "--passphrase-file",
        &place("passphrase"),
    ])?;
    ensure!(signed.contains("version 0.2.0, commit c0ffee, 2 files"), "{signed}");

    let (signature, key) = (place("p-0.2.0.sigstore.json"), place("release.key.pub"));
    let verify = |more: &[&str]| {
        site.run(&[&["release", "verify", &signature, "--key", &key], more].concat())
    };
    let nothing = verify(&[])?;
    ensure!(nothing.stderr.contains("no file of version 0.2.0"), "{}", nothing.all());
    for (name, text) in files {
        fs::write(place(name), text)?;
    }
    let good = verify(&["--json"])?;
    let said: Value = serde_json::from_str(&good.text())?;
    ensure!(good.code == Some(0) && said["ok"] == true, "{}", good.all());
    ensure!(
        said["files"].as_array().map(Vec::len) == Some(2) && said["commit"] == "c0ffee",
        "{said}"
    );

    fs::write(place("portcullis.deb"), "changed")?;
    fs::write(place("stranger.deb"), "two")?;
    for (name, problem) in [
        ("portcullis.deb", "changed: it is not what"),
        ("stranger.deb", "not a file of this version"),
    ] {
        let bad = verify(&[&place(name)])?;
        ensure!(bad.code == Some(1) && bad.text().contains(problem), "{name}: {}", bad.all());
        let twin = verify(&[&place("portcullis.tar.gz")])?;
        ensure!(twin.code == Some(0), "{}", twin.all());
    }
    let other = site.run(&["release", "verify", &signature, "--key", &place("other.key.pub")])?;
    ensure!(
        other.code == Some(1) && other.stderr.contains("not this key's signature"),
        "{}",
        other.all()
    );
    Ok(())
}
