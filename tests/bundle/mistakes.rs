//! Tests of publishers' mistakes: each has a message that names the cause and the fix.
//! `tests/snapshots/bundle` has the whole messages.

use crate::common::{snapshot, trial};
use crate::stall::{ARCHIVE, MANIFEST, Stall, component, descriptor};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// A mistake, made in a valid folder.
struct Mistake {
    does: &'static str,
    spoil: fn(&Stall) -> Result<()>,
    /// The arguments after `portcullis bundle`.
    words: &'static str,
    code: i32,
}

/// An invalid manifest.
struct Manifest {
    does: &'static str,
    text: fn() -> String,
}

const MANIFESTS: &[Manifest] = &[
    Manifest {
        does: "has keys that nobody knows",
        text: || {
            MANIFEST
                .replace("licence", "license")
                .replace("most = 5", "most = 5, mots = 5")
                .replace("file = \"asks", "flie = \"asks")
        },
    },
    Manifest { does: "writes no TOML", text: || "name = acme/checks\n".into() },
    Manifest { does: "says nothing", text: String::new },
    Manifest {
        does: "writes values of other kinds",
        text: || {
            MANIFEST
                .replace("\"1.0.0\"", "1")
                .replace("\"loops.wasm\"", "[\"loops.wasm\"]")
                .replace("settings = {", "settings = 3 #")
        },
    },
    Manifest {
        does: "has a name and a version that are none",
        text: || MANIFEST.replace("acme/checks", "Acme Checks").replace("1.0.0", "1.0"),
    },
    Manifest {
        does: "has a licence that is none",
        text: || MANIFEST.replace("Apache-2.0", "see LICENSE, or ask!"),
    },
    Manifest {
        does: "writes one plugin as a table",
        text: || {
            MANIFEST
                .replace("[[plugin]]\nfile = \"asks.wasm\"\n", "")
                .replace("[[plugin]]", "[plugin]")
        },
    },
    Manifest {
        does: "names a file that is not there",
        text: || MANIFEST.replace("asks.wasm", "ask.wasm"),
    },
    Manifest {
        does: "names a file that is not a plugin",
        text: || MANIFEST.replace("asks.wasm", "bundle.toml"),
    },
    Manifest {
        does: "names a folder without a project",
        text: || MANIFEST.replace("asks.wasm", "."),
    },
    Manifest {
        does: "names a component twice",
        text: || MANIFEST.replace("asks.wasm", "loops.wasm"),
    },
    Manifest {
        does: "gives a name to a component that says one",
        text: || MANIFEST.replace("file = \"asks.wasm\"", "file = \"asks.wasm\"\nname = \"other\""),
    },
    Manifest {
        does: "gives a setting that is unknown",
        text: || MANIFEST.replace("most =", "mosts ="),
    },
    Manifest {
        does: "gives a setting out of its range",
        text: || MANIFEST.replace("most = 5", "most = 50"),
    },
    Manifest {
        does: "gives a setting of another type",
        text: || MANIFEST.replace("most = 5", "words.bad = true"),
    },
    Manifest {
        does: "gives a setting that none can be",
        text: || MANIFEST.replace("most = 5", "most = 2020-01-01"),
    },
    Manifest {
        does: "gives a setting twice",
        text: || MANIFEST.replace("most = 5", "words.a = [], \"words.a\" = []"),
    },
];

const MISTAKES: &[Mistake] = &[
    mistake(
        "builds where there is no manifest",
        |stall| Ok(fs::remove_file(stall.path("bundle.toml"))?),
        "build",
    ),
    mistake(
        "builds with a component that says no name",
        |stall| stall.put("asks.wasm", component(&[], &[])?),
        "build",
    ),
    mistake(
        "builds with a component that has a builtin plugin's name",
        |stall| stall.put("asks.wasm", component(&[], &[descriptor("loop")])?),
        "build",
    ),
    mistake(
        "builds with a component whose name is none",
        |stall| stall.put("asks.wasm", component(&[], &[descriptor("As Ks")])?),
        "build",
    ),
    mistake(
        "builds with two plugins of one name",
        |stall| {
            stall.put(
                "asks.wasm",
                component(&["wasi:clocks/wall-clock@0.2.3"], &[descriptor("loops")])?,
            )
        },
        "build",
    ),
    mistake(
        "gives a setting to none of several plugins",
        |stall| {
            stall.put("loops.wasm", component(&[], &[descriptor("first"), descriptor("second")])?)
        },
        "build",
    ),
    mistake(
        "builds with a project that was not built",
        |stall| {
            fs::create_dir(stall.path("project"))?;
            stall.put(
                "project/plugin.toml",
                "name = \"mine\"\nkind = \"pattern\"\nlanguage = \"c\"\n",
            )?;
            stall.put("bundle.toml", MANIFEST.replace("asks.wasm", "project"))
        },
        "build",
    ),
    mistake(
        "signs what is not an archive",
        |_| Ok(()),
        "sign bundle.toml --key release.key --passphrase-file passphrase",
    ),
    mistake(
        "signs what is not there",
        |_| Ok(()),
        "sign nothing.tar --key release.key --passphrase-file passphrase",
    ),
    Mistake {
        does: "signs without a key",
        spoil: |_| Ok(()),
        words: "sign acme-checks-1.0.0.tar",
        code: 2,
    },
    mistake(
        "signs with another passphrase",
        |stall| stall.put("passphrase", "eleven blue heron\n"),
        "sign acme-checks-1.0.0.tar --key release.key --passphrase-file passphrase",
    ),
    mistake(
        "signs with a passphrase of two lines",
        |stall| stall.put("passphrase", "eleven blue herons\nand more\n"),
        "sign acme-checks-1.0.0.tar --key release.key --passphrase-file passphrase",
    ),
    mistake(
        "signs with a key that others may read",
        |stall| Ok(fs::set_permissions(stall.path("release.key"), Permissions::from_mode(0o644))?),
        "sign acme-checks-1.0.0.tar --key release.key --passphrase-file passphrase",
    ),
    mistake(
        "signs with a passphrase that others may read",
        |stall| Ok(fs::set_permissions(stall.path("passphrase"), Permissions::from_mode(0o640))?),
        "sign acme-checks-1.0.0.tar --key release.key --passphrase-file passphrase",
    ),
    mistake(
        "signs with a public key",
        |stall| {
            Ok(fs::set_permissions(stall.path("release.key.pub"), Permissions::from_mode(0o600))?)
        },
        "sign acme-checks-1.0.0.tar --key release.key.pub --passphrase-file passphrase",
    ),
    mistake(
        "signs with a key that has no passphrase",
        |stall| {
            stall.put("plain.key", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n")?;
            Ok(fs::set_permissions(stall.path("plain.key"), Permissions::from_mode(0o600))?)
        },
        "sign acme-checks-1.0.0.tar --key plain.key --passphrase-file passphrase",
    ),
    mistake(
        "attaches what is not a signature",
        |_| Ok(()),
        "sign acme-checks-1.0.0.tar --attach bundle.toml",
    ),
    mistake(
        "makes a key with a short passphrase",
        |stall| stall.put("passphrase", "eleven\n"),
        "key new --output other.key --passphrase-file passphrase",
    ),
    mistake(
        "makes a key where one is",
        |_| Ok(()),
        "key new --output release.key --passphrase-file passphrase",
    ),
    mistake("shows a key that is none", |_| Ok(()), "key show bundle.toml"),
    mistake("verifies what is not there", |_| Ok(()), "verify nothing.tar"),
    mistake(
        "verifies without a policy",
        |_| Ok(()),
        "verify acme-checks-1.0.0.tar --trust nothing.toml",
    ),
];

const fn mistake(
    does: &'static str,
    spoil: fn(&Stall) -> Result<()>,
    words: &'static str,
) -> Mistake {
    Mistake { does, spoil, words, code: 1 }
}

/// The folder of the messages.
const MESSAGES: &str = "mistakes";

pub fn trials() -> Vec<Trial> {
    let manifests = MANIFESTS.iter().map(|manifest| {
        trial(format!("bundle: a manifest that {}", manifest.does), || described(manifest))
    });
    let mistakes = MISTAKES
        .iter()
        .map(|mistake| trial(format!("bundle: one who {}", mistake.does), || made(mistake)));
    manifests.chain(mistakes).collect()
}

fn described(manifest: &Manifest) -> Result<()> {
    let stall = Stall::new(&format!("manifest {}", manifest.does))?;
    stall.put("bundle.toml", (manifest.text)())?;
    refused(&stall, manifest.does, "build", 1)?;
    ensure!(!stall.path(ARCHIVE).exists(), "an archive was written all the same");
    Ok(())
}

fn made(mistake: &Mistake) -> Result<()> {
    let stall = Stall::new(&format!("mistake {}", mistake.does))?;
    if !mistake.words.starts_with("build") {
        stall.signed("release.key")?;
    }
    let before = stall.get(ARCHIVE).ok();
    (mistake.spoil)(&stall)?;
    refused(&stall, mistake.does, mistake.words, mistake.code)?;
    ensure!(stall.get(ARCHIVE).ok() == before, "the archive was changed all the same");
    ensure!(
        !stall.path("other.key").exists() && !stall.path("other.key.pub").exists(),
        "a key was made all the same"
    );
    Ok(())
}

fn refused(stall: &Stall, does: &str, words: &str, code: i32) -> Result<()> {
    let ended = stall.run(words)?;
    ensure!(ended.code == Some(code) && ended.stdout.is_empty(), "{}", ended.all());
    let words: Vec<&str> = std::iter::once("bundle").chain(words.split_whitespace()).collect();
    snapshot::compare_command(MESSAGES, does, &stall.site, &words, &ended)
}
