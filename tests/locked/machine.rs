//! A machine that trusts a publisher, and the publisher's folder.

use crate::common::process::Ended;
use crate::common::reply::{Answer, Reply};
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of every bundle here.
pub const NAME: &str = "acme/checks";
/// A plugin that asks before a migration is changed; it imports only the host.
pub const ASKS: &str = "risk-calculator";
/// A plugin that reports nothing about a single action.
pub const NOTICES: &str = "pattern";

pub struct Machine {
    pub site: Site,
}

impl Machine {
    /// Creates a machine whose person trusts only the publisher of `acme/`.
    pub fn new(name: &str) -> Result<Self> {
        let machine = Self { site: Site::new(name)? };
        let publisher_folder = machine.publisher_folder();
        fs::create_dir_all(&publisher_folder)?;
        fs::create_dir_all(machine.site.project().join("migrations"))?;
        fs::write(
            machine.site.project().join("migrations/0001.sql"),
            "create table users (id int);\n",
        )?;
        fs::write(publisher_folder.join("passphrase"), "seven quiet otters\n")?;
        fs::set_permissions(
            publisher_folder.join("passphrase"),
            fs::Permissions::from_mode(0o600),
        )?;
        machine.key("release")?;
        machine.trust(&[machine.rule("release", "")?])?;
        Ok(machine)
    }

    /// Returns the publisher's folder.
    pub fn publisher_folder(&self) -> PathBuf {
        self.site.root().join("publisher")
    }

    /// Returns the path of a file in the publisher's folder, as an argument.
    pub fn made(&self, name: &str) -> String {
        self.publisher_folder().join(name).display().to_string()
    }

    pub fn key(&self, name: &str) -> Result<()> {
        let (file, passphrase) = (self.made(&format!("{name}.key")), self.made("passphrase"));
        self.done(&["bundle", "key", "new", "--output", &file, "--passphrase-file", &passphrase])
            .map(drop)
    }

    /// Returns the part of a policy that trusts that key for all of `acme/`, with more lines for
    /// the rule.
    pub fn rule(&self, key: &str, more: &str) -> Result<String> {
        let public = fs::read_to_string(self.publisher_folder().join(format!("{key}.key.pub")))?;
        Ok(format!(
            "[[key]]\nname = \"{key}\"\npublic = \"\"\"\n{public}\"\"\"\n\n[[rule]]\nnames = [\"acme/\"]\npublishers = [\"{key}\"]\n{more}\n"
        ))
    }

    /// Writes the person's policy.
    pub fn trust(&self, parts: &[String]) -> Result<()> {
        Ok(fs::write(self.policy(), parts.concat())?)
    }

    pub fn policy(&self) -> PathBuf {
        self.site.state().join("trust.toml")
    }

    pub fn lock(&self) -> PathBuf {
        self.site.project().join("portcullis.lock")
    }

    pub fn bundles_folder(&self) -> PathBuf {
        self.site.state().join("bundles")
    }

    /// Builds and signs a version with one of the released plugins; returns the archive.
    pub fn publish(&self, version: &str, plugin: &str) -> Result<String> {
        self.published(NAME, version, plugin, "release")
    }

    /// Does the same under another name, or with another key.
    pub fn published(&self, name: &str, version: &str, plugin: &str, key: &str) -> Result<String> {
        self.built(name, version, &released(plugin)?, key)
    }

    fn built(&self, name: &str, version: &str, component: &Path, key: &str) -> Result<String> {
        let manifest = format!(
            "name = \"{name}\"\nversion = \"{version}\"\n\n[[plugin]]\nfile = \"{}\"\n",
            component.display()
        );
        let plugin = component
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let folder = self
            .publisher_folder()
            .join(format!("{}-{version}-{plugin}-{key}", name.replace('/', "-")));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("bundle.toml"), manifest)?;
        let (folder, archive) =
            (folder.display().to_string(), folder.join("bundle.tar").display().to_string());
        self.done(&["bundle", "build", &folder, "--output", &archive])?;
        let (key, passphrase) = (self.made(&format!("{key}.key")), self.made("passphrase"));
        self.done(&["bundle", "sign", &archive, "--key", &key, "--passphrase-file", &passphrase])?;
        Ok(archive)
    }

    /// Does the same with another name for its plugin, so that both can be installed.
    pub fn published_as(&self, name: &str, version: &str, plugin: &str) -> Result<String> {
        let bytes = fs::read(released(plugin)?)?;
        // Both have the same length, so that nothing else of the component moves.
        let (old, new) = (b"\"name\":\"released\"".as_slice(), b"\"name\":\"another1\"");
        let at = bytes
            .windows(old.len())
            .position(|found| found == old)
            .context("the plugin says its name otherwise")?;
        let mut bytes = bytes;
        bytes[at..at + old.len()].copy_from_slice(new);
        let file = self.publisher_folder().join("another1.wasm");
        fs::write(&file, bytes)?;
        self.built(name, version, &file, "release")
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.site.run(arguments)?;
        ensure!(ended.code == Some(0), "`{}`: {}", arguments.join(" "), ended.all());
        Ok(ended.text())
    }

    /// Runs a command that must be refused for that reason.
    pub fn refused(&self, arguments: &[&str], why: &str) -> Result<Ended> {
        let ended = self.site.run(arguments)?;
        ensure!(
            ended.code == Some(1),
            "`{}` was not refused: {}",
            arguments.join(" "),
            ended.all()
        );
        ensure!(
            ended.stderr.contains(why),
            "`{}` does not say {why:?}: {}",
            arguments.join(" "),
            ended.all()
        );
        Ok(ended)
    }

    /// Returns a hook's answer before a migration is changed.
    pub fn migration(&self) -> Result<Reply> {
        self.site.hook(&self.change())
    }

    pub fn change(&self) -> Value {
        let path = self.site.project().join("migrations/0001.sql");
        self.site.calls("s").before(
            "m1",
            "Write",
            json!({ "file_path": path, "content": "drop table users;" }),
        )
    }

    /// Checks that the plugin is called, without a fault.
    pub fn runs(&self) -> Result<()> {
        let reply = self.migration()?;
        ensure!(
            reply.answer == Answer::Asked && reply.said.contains("migration"),
            "it does not run: {:?}",
            reply.said
        );
        ensure!(!reply.said.contains("could not review"), "{}", reply.said);
        Ok(())
    }

    /// Checks that every action is refused, for that reason.
    pub fn stops(&self, why: &str) -> Result<()> {
        let reply = self.site.hook(&self.site.calls("s").bash("b1", "ls"))?;
        ensure!(reply.answer == Answer::Refused, "{:?}: {:?}", reply.answer, reply.said);
        reply.says(&["could not review", why])
    }

    /// Returns the document of `bundle list`.
    pub fn list(&self) -> Result<Value> {
        serde_json::from_str(&self.done(&["bundle", "list", "--json"])?).context("it is not JSON")
    }
}

/// Returns a plugin that was built for the released WIT package.
pub fn released(plugin: &str) -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../host/engine/tests/released/0.1.0")
        .join(plugin)
        .with_extension("wasm");
    path.canonicalize().with_context(|| format!("cannot find `{}`", path.display()))
}

/// Replaces a folder by a copy of another.
pub fn copied(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let done = Command::new("cp").arg("-a").args([from, to]).status()?;
    ensure!(done.success(), "cannot copy `{}`", from.display());
    Ok(())
}
