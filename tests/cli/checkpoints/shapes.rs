//! Undo of the shapes in which commands change many files: each runs as the hook answers, and
//! `portcullis undo` restores the project byte for byte.

use super::{act, each, shell};
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_tests::{Tree, differing, tree};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

/// The files of a project.
const FILES: usize = 300;

/// The name, the command, and the number of paths that it changes at least.
const SHAPES: &[(&str, &str, usize)] = &[
    ("rm", "rm -r src", 300),
    ("git-clean", "git clean -fdxq", 300),
    ("find", "find . -name '*.txt' -delete", 300),
    ("xargs", "find src -name '*.txt' -print0 | xargs -0 sed -i s/number/other/", 300),
    ("perl", "perl -pi -e 's/number/other/' src/*.txt", 300),
    ("loop", "for f in src/*.txt; do echo new > \"$f\"; done", 300),
    ("mv", "mv src elsewhere", 300),
    ("chmod", "chmod -R 700 src", 300),
    ("ln", "ln -sfn /nowhere src/link && ln -sf ../other src/1.txt", 2),
    ("make", "make rewrite", 300),
    ("script", "sh rewrite.sh", 300),
    ("tar", "tar xf over.tar", 300),
    ("cp", "cp -r over/. src/", 300),
    ("sed", "sed -i s/number/other/ src/*.txt", 300),
    ("truncate", "truncate -s 0 src/*.txt", 300),
    (
        "walk",
        "python3 -c 'import os\nfor d, _, names in os.walk(\"src\"):\n  for name in names:\n    path = os.path.join(d, name)\n    if not os.path.islink(path): open(path, \"w\").write(\"x\")'",
        300,
    ),
    // It names one file and changes all others too.
    (
        "named-and-walk",
        "python3 -c 'import os\nopen(\"made.txt\", \"w\").write(\"x\")\nfor d, _, names in os.walk(\"src\"):\n  for name in names: os.path.islink(os.path.join(d, name)) or open(os.path.join(d, name), \"a\").write(\"x\")'",
        300,
    ),
    (
        "node",
        "node -e 'const fs = require(\"fs\"); for (const name of fs.readdirSync(\"src\")) if (name.endsWith(\".txt\")) fs.writeFileSync(\"src/\" + name, \"x\")'",
        299,
    ),
];

pub fn shapes() -> Result<()> {
    each(SHAPES, |(name, command, changes)| {
        // No configuration: undo is on by default.
        let site = Site::new(&format!("checkpoints-shape-{name}"))?;
        furnish(&site)?;
        let before = files(&site)?;
        act(&site, "s", "c1", command).with_context(|| (*name).to_owned())?;
        let changed = differing(&before, &files(&site)?).len();
        ensure!(changed >= *changes, "{name}: {changed} paths changed, not {changes}");
        let undone = undo(&site, &[]).with_context(|| (*name).to_owned())?;
        let after = files(&site)?;
        let lost = differing(&before, &after);
        ensure!(lost.is_empty(), "{name}: {} are not as before: {lost:?}", lost.len());
        ensure!(undone["not_restored"] == json!([]), "{name}: {undone}");
        site.verify()
    })
}

/// Runs `portcullis undo` for a person who has confirmed.
pub fn undo(site: &Site, more: &[&str]) -> Result<Value> {
    let ended = site.run(&[&["undo", "--yes", "--json"], more].concat())?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(serde_json::from_slice(&ended.stdout)?)
}

/// Creates 300 files with modes, links, empty folders, and a name that is no UTF-8.
fn furnish(site: &Site) -> Result<()> {
    let project = site.project();
    fs::create_dir_all(project.join("src/deep/empty"))?;
    fs::create_dir_all(project.join("src/private"))?;
    fs::set_permissions(project.join("src/private"), Permissions::from_mode(0o700))?;
    for number in 0..FILES {
        fs::write(project.join(format!("src/{number}.txt")), format!("number {number}\n"))?;
    }
    for (path, mode) in [("src/2.txt", 0o755), ("src/3.txt", 0o600), ("src/4.txt", 0o640)] {
        fs::set_permissions(project.join(path), Permissions::from_mode(mode))?;
    }
    fs::write(project.join("src").join(OsStr::from_bytes(b"caf\xe9.txt")), "number of bytes\n")?;
    fs::write(project.join("src/deep/data.bin"), [0, 159, 146, 150, 10, 0])?;
    symlink("5.txt", project.join("src/link"))?;
    symlink("/nowhere/at/all", project.join("src/dangling"))?;
    fs::write(
        project.join("rewrite.sh"),
        "for f in src/*.txt; do echo rewritten > \"$f\"; done\nrm -r src/deep\n",
    )?;
    fs::write(project.join("Makefile"), "rewrite:\n\tsh rewrite.sh\n")?;
    shell(
        site,
        "git init -q . && cp -r src over && sed -i s/number/over/ over/*.txt && mkdir pack && cp -r over pack/src && tar cf over.tar -C pack src && rm -r pack",
    )
}

/// Returns the project without git's own folder and ours.
fn files(site: &Site) -> Result<Tree> {
    let mut files = tree(&site.project())?;
    files.retain(|path, _| {
        ![".git", ".portcullis"].iter().any(|own| path.split('/').next() == Some(*own))
    });
    Ok(files)
}
