//! Keys, bundles and material of one test.

use crate::common::process::Ended;
use crate::common::site::Site;
use crate::guests;
use anyhow::{Context, Result, ensure};
use portcullis_bundle::{Bundle, PublicKey, SecretKey, Signature, Statement, read_archive};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The passphrase of all keys here.
pub const PASSPHRASE: &str = "a passphrase of the tests";

/// Labelled actions. The builtin plugins object to one of them, the guest `careful` to two, and one
/// row contains no action.
pub const CORPUS: &str = r#"{"id":"b1","tool":"Bash","input":{"command":"ls"},"label":"benign"}
{"id":"b2","tool":"Bash","input":{"command":"git status"},"label":"benign"}
{"id":"b3","tool":"Bash","input":{"command":"git log --oneline"},"label":"benign"}
{"id":"b4","tool":"Bash","input":{"command":"cat README.md"},"label":"benign"}
{"id":"b5","label":"benign"}
{"id":"d1","tool":"Bash","input":{"command":"echo frob"},"label":"dangerous"}
{"id":"d2","tool":"Bash","input":{"command":"git push --force origin main"},"label":"dangerous"}
{"id":"o1","tool":"Bash","input":{"command":"echo frob more"},"label":"ask"}
"#;

/// A session of two calls, one of which `careful` objects to.
pub const SESSION: &str = r#"{"hook_event_name":"PreToolUse","session_id":"one","cwd":"/project","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"1"}
{"hook_event_name":"PostToolUse","session_id":"one","cwd":"/project","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a","stderr":"","interrupted":false},"tool_use_id":"1"}
{"hook_event_name":"PreToolUse","session_id":"one","cwd":"/project","tool_name":"Bash","tool_input":{"command":"echo frob"},"tool_use_id":"2"}
"#;

/// Cases that `careful` passes.
pub const CASES: &str = r#"[[case]]
name = "frobbing is asked about"
[[case.step]]
tool = "Bash"
input = { command = "frob" }
[[case.step.expect]]
rule = "no_frobbing"
verdict = "ask"

[[case]]
name = "ls is nobody's business"
[[case.step]]
tool = "Bash"
input = { command = "ls" }
"#;

/// A site with a publisher's key `release.key`, a reviewer's key `security.key`, and the material
/// above in files.
pub struct VettingSite {
    pub site: Site,
}

impl VettingSite {
    pub fn new(name: &str) -> Result<Self> {
        let stage = Self { site: Site::new(name)? };
        stage.write("passphrase", PASSPHRASE)?;
        fs::set_permissions(stage.path("passphrase"), Permissions::from_mode(0o600))?;
        for key in ["release", "security"] {
            stage.site.output(&[
                "bundle",
                "key",
                "new",
                "--output",
                &format!("{key}.key"),
                "--passphrase-file",
                "passphrase",
            ])?;
        }
        for (file, text) in
            [("corpus.jsonl", CORPUS), ("session.jsonl", SESSION), ("cases.toml", CASES)]
        {
            stage.write(file, text)?;
        }
        Ok(stage)
    }

    /// Returns the path of a file in the folder that all commands run in.
    pub fn path(&self, name: &str) -> PathBuf {
        self.site.project().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().context("it is in no folder")?)?;
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Builds the bundle `acme/checks` of these guests and signs it as its publisher; returns its
    /// archive.
    pub fn bundle(&self, guests: &[(&str, &str)]) -> Result<PathBuf> {
        let mut manifest =
            "name = \"acme/checks\"\nversion = \"1.0.0\"\nlicence = \"Apache-2.0\"\n".to_owned();
        for (guest, settings) in guests {
            manifest.push_str(&format!(
                "[[plugin]]\nfile = {:?}\nsettings = {{ {settings} }}\n",
                guests::built(guest)?
            ));
        }
        self.built(&manifest)
    }

    /// Builds a manifest as `checks.tar`, and signs it as its publisher.
    pub fn built(&self, manifest: &str) -> Result<PathBuf> {
        self.write("bundle.toml", manifest)?;
        let archive = self.path("checks.tar");
        if archive.exists() {
            fs::remove_file(&archive)?;
        }
        self.site.output(&["bundle", "build", "--output", "checks.tar"])?;
        self.site.output(&[
            "bundle",
            "sign",
            "checks.tar",
            "--key",
            "release.key",
            "--passphrase-file",
            "passphrase",
        ])?;
        Ok(archive)
    }

    /// Vets `checks.tar` with the reviewer's key.
    pub fn vet(&self, arguments: &[&str]) -> Result<Ended> {
        let head = [
            "bundle",
            "vet",
            "checks.tar",
            "--key",
            "security.key",
            "--passphrase-file",
            "passphrase",
            "--reviewer",
            "Ann",
        ];
        self.site.run(&[&head, arguments].concat())
    }

    /// Vets successfully and returns the JSON output.
    pub fn vetted(&self, arguments: &[&str]) -> Result<Value> {
        let ended = self.vet(&[arguments, &["--json"]].concat())?;
        ensure!(ended.code == Some(0), "{}", ended.all());
        serde_json::from_str(&ended.text()).with_context(|| ended.all())
    }

    pub fn read(&self, archive: &str) -> Result<(Bundle, Vec<Signature>)> {
        Ok(read_archive(fs::File::open(self.path(archive))?)?)
    }

    pub fn secret(&self, name: &str) -> Result<SecretKey> {
        Ok(SecretKey::from_pem(
            &fs::read_to_string(self.path(&format!("{name}.key")))?,
            PASSPHRASE,
        )?)
    }

    pub fn public(&self, name: &str) -> Result<PublicKey> {
        Ok(PublicKey::from_pem(&fs::read_to_string(self.path(&format!("{name}.key.pub")))?)?)
    }

    /// Returns the statement of the reviewer's key about the bundle in an archive.
    pub fn attestation(&self, archive: &str) -> Result<Statement> {
        let key = self.public("security")?;
        let all: Vec<Statement> = self
            .read(archive)?
            .1
            .iter()
            .filter_map(|signature| signature.verify_statement(&key).ok())
            .collect();
        ensure!(all.len() == 1, "{} statements of the reviewer: {all:?}", all.len());
        all.into_iter().next().context("there is none")
    }
}
