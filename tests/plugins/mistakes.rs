//! What authors do wrong on their way to a component: each mistake has a message that names the cause and the mend.

use crate::common::site::Site;
use crate::common::trial;
use crate::{done, made, name, run};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;

/// The manifest of a project that its author builds.
pub const OWN: &str = "name = \"mine\"\nkind = \"audit-exporter\"\nlanguage = \"other\"\nversion = \"1\"\ndescription = \"says nothing\"\n\
    [build]\ncommand = [\"/bin/true\"]\noutput = \"module.wasm\"\n";

/// A core module with what an exporter exports, as a language without components of its own writes it.
pub const EXPORTER: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
    (func (export "portcullis:plugin/exporter@0.1.0#prepare") (param i32 i32) (result i32) i32.const 16)
    (func (export "portcullis:plugin/exporter@0.1.0#render") (param i32 i32 i32 i32 i32) (result i32) i32.const 16))"#;

/// A mistake in a project of the author's own way.
struct Mistake {
    does: &'static str,
    /// The manifest, where it is not `OWN`.
    manifest: fn() -> String,
    /// What `build.output` names: text of a module, or any bytes.
    output: fn() -> String,
    says: &'static [&'static str],
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        does: "has a key that nobody knows",
        manifest: || format!("nme = 1\n{OWN}"),
        output: || EXPORTER.into(),
        says: &["plugin.toml`, line 1: unknown field `nme`", "expected one of `name`"],
    },
    Mistake {
        does: "names a program that is not there",
        manifest: || OWN.replace("/bin/true", "no-such-program"),
        output: || EXPORTER.into(),
        says: &["cannot start `no-such-program`"],
    },
    Mistake {
        does: "has a build that fails",
        manifest: || OWN.replace("/bin/true", "/bin/false"),
        output: || EXPORTER.into(),
        says: &["`/bin/false` failed (exit status: 1)"],
    },
    Mistake {
        does: "names another output than the build's",
        manifest: || OWN.replace("module.wasm", "plugin.wasm"),
        output: || EXPORTER.into(),
        says: &["`build.command` ended well, but cannot read `build.output`", "plugin.wasm"],
    },
    Mistake {
        does: "builds something else than WebAssembly",
        manifest: || OWN.into(),
        output: || "text".into(),
        says: &["is not WebAssembly: does `build.output` in `plugin.toml` name the right file?"],
    },
    Mistake {
        does: "exports for another kind",
        manifest: || OWN.replace("audit-exporter", "pattern"),
        output: || EXPORTER.into(),
        says: &["does not fit the world `pattern`", "export `portcullis:plugin/detector@0.1.0`"],
    },
    Mistake {
        does: "leaves an export out",
        manifest: || OWN.into(),
        output: || EXPORTER.replace("#render", "#renders"),
        says: &[
            "does not fit the world `audit-exporter`",
            "failed to find export of interface `portcullis:plugin/exporter@0.1.0` function `render`",
        ],
    },
    Mistake {
        does: "imports what no host offers",
        manifest: || OWN.into(),
        output: || EXPORTER.replace("(module", "(module (import \"env\" \"secret\" (func))"),
        says: &["import no more than it offers", "env"],
    },
];

/// A command that cannot be done, before anything is built.
struct Refused {
    does: &'static str,
    arguments: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
}

const REFUSED: &[Refused] = &[
    Refused {
        does: "has a name with spaces",
        arguments: &["plugin", "new", "No Force", "--kind", "pattern", "--lang", "rust"],
        code: 1,
        says: &["`No Force` cannot be a plugin's name", "`no-force`?"],
    },
    Refused {
        does: "has the name of a builtin plugin",
        arguments: &["plugin", "new", "loop", "--kind", "pattern", "--lang", "rust"],
        code: 1,
        says: &["a plugin of that name comes with Portcullis"],
    },
    Refused {
        does: "wants a template that is not there",
        arguments: &["plugin", "new", "mine", "--kind", "audit-exporter", "--lang", "c"],
        code: 1,
        says: &[
            "there is no template for `audit-exporter` in c yet",
            "in c there is: risk-calculator, pattern",
            "for `audit-exporter`: rust",
        ],
    },
    Refused {
        does: "wants a kind that is not there",
        arguments: &["plugin", "new", "mine", "--kind", "patern", "--lang", "c"],
        code: 2,
        says: &["risk-calculator", "pattern"],
    },
    Refused { does: "says no language", arguments: &["plugin", "new", "mine", "--kind", "pattern"], code: 2, says: &["--lang <LANGUAGE>"] },
    Refused {
        does: "builds where there is no project",
        arguments: &["plugin", "build", "/"],
        code: 1,
        says: &["`/` holds no plugin project: there is no `plugin.toml`", "portcullis plugin new NAME"],
    },
    Refused {
        does: "builds in a folder that is not there",
        arguments: &["plugin", "build", "/no/such/folder"],
        code: 1,
        says: &["there is no folder `/no/such/folder`"],
    },
];

/// What is missing where no tool is found, and the command that installs it.
const WITHOUT_TOOLS: &[(&str, &str)] = &[
    ("rust", "rustup.rs"),
    ("c", "python3 -m venv .venv && .venv/bin/pip install ziglang=="),
    ("python", "python3 -m venv .venv && .venv/bin/pip install componentize-py=="),
    ("js", "nodejs.org"),
];

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("plugins: nothing is overwritten, and nothing is left of what failed", overwrites),
        trial("plugins: a missing package is named with the command that installs it", without_packages),
    ];
    trials.extend(MISTAKES.iter().map(|mistake| trial(format!("plugins: one that {}", mistake.does), || built(mistake))));
    trials.extend(REFUSED.iter().map(|refused| trial(format!("plugins: one who {}", refused.does), || refuse(refused))));
    trials.extend(WITHOUT_TOOLS.iter().map(|(language, says)| {
        trial(format!("plugins: without the tools of {language}"), move || {
            let site = Site::new(&format!("without tools {language}"))?;
            let project = made(&site, "pattern", language)?;
            // The site's own environment has no path.
            let ended = site.run(&["plugin", "build", &project.display().to_string()])?;
            ensure!(ended.code == Some(1) && ended.stderr.contains("install it, in the project's folder:"), "{}", ended.all());
            ensure!(ended.stderr.contains(says), "{}", ended.all());
            Ok(())
        })
    }));
    trials
}

fn built(mistake: &Mistake) -> Result<()> {
    let site = Site::new(&format!("mistake {}", mistake.does))?;
    let project = site.root().join("mine");
    fs::create_dir_all(&project)?;
    fs::write(project.join("plugin.toml"), (mistake.manifest)())?;
    let output = (mistake.output)();
    let bytes = if output.starts_with('(') { wat::parse_str(&output)? } else { output.into_bytes() };
    fs::write(project.join("module.wasm"), bytes)?;
    let ended = run(&site, &["plugin", "build", &project.display().to_string()])?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    for said in mistake.says {
        ensure!(ended.stderr.contains(said), "`{said}` is not said: {}", ended.stderr);
    }
    ensure!(!project.join("build/mine.wasm").exists(), "a component was written all the same");
    Ok(())
}

fn refuse(refused: &Refused) -> Result<()> {
    let site = Site::new(&format!("refused {}", refused.does))?;
    let ended = run(&site, refused.arguments)?;
    ensure!(ended.code == Some(refused.code), "{}", ended.all());
    for said in refused.says {
        ensure!(ended.stderr.contains(said), "`{said}` is not said: {}", ended.stderr);
    }
    ensure!(entries(&site.project())?.is_empty(), "something was written all the same");
    Ok(())
}

fn overwrites() -> Result<()> {
    let site = Site::new("overwrites")?;
    let project = made(&site, "pattern", "python")?;
    fs::write(project.join("mine.txt"), "mine")?;
    let before = entries(site.root())?;
    let into = site.root().display().to_string();
    let name = name("pattern");
    let again = ["plugin", "new", &name, "--kind", "pattern", "--lang", "rust", "--into", &into];
    let ended = run(&site, &again)?;
    ensure!(ended.code == Some(1) && ended.stderr.contains("is there already, and nothing is overwritten"), "{}", ended.all());
    ensure!(project.join("mine.txt").exists() && !project.join("Cargo.toml").exists(), "it was overwritten");
    ensure!(entries(site.root())? == before, "something is left beside it");
    // A file in the way of the folder that is to be made.
    let ended = run(&site, &["plugin", "new", &name, "--kind", "pattern", "--lang", "c", "--into", &format!("{into}/{name}/mine.txt")])?;
    ensure!(ended.code == Some(1) && ended.stderr.contains("cannot make"), "{}", ended.all());
    done(&site, &["plugin", "new", "another", "--kind", "pattern", "--lang", "c", "--into", &format!("{into}/deep/er")])?;
    ensure!(site.root().join("deep/er/another/src/check.c").exists(), "the folder was not made");
    Ok(())
}

fn without_packages() -> Result<()> {
    let site = Site::new("without packages")?;
    let project = made(&site, "pattern", "js")?;
    let ended = run(&site, &["plugin", "build", &project.display().to_string()])?;
    ensure!(ended.code == Some(1) && ended.stderr.contains("there is no `componentize-qjs`"), "{}", ended.all());
    ensure!(ended.stderr.contains("npm install"), "{}", ended.all());
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}
