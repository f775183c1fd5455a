//! The shapes in which commands change many files, and the project that they change.

use crate::{Tree, tree};
use anyhow::{Result, ensure};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// The number of text files of a project.
const FILES: usize = 300;

/// The end of the preparations, in a shell.
const PREPARE: &str = "git init -q . && cp -r src over && sed -i s/number/over/ over/*.txt && mkdir pack && cp -r over pack/src && tar cf over.tar -C pack src && rm -r pack";

/// A command that changes many files.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// The command line, which runs in the project.
    pub command: &'static str,
    /// The minimum number of paths that it changes.
    pub changes: usize,
}

const fn shape(name: &'static str, command: &'static str, changes: usize) -> Shape {
    Shape { name, command, changes }
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    shape("rm", "rm -r src", 300),
    shape("git-clean", "git clean -fdxq", 300),
    shape("find", "find . -name '*.txt' -delete", 300),
    shape("xargs", "find src -name '*.txt' -print0 | xargs -0 sed -i s/number/other/", 300),
    shape("perl", "perl -pi -e 's/number/other/' src/*.txt", 300),
    shape("loop", "for f in src/*.txt; do echo new > \"$f\"; done", 300),
    shape("mv", "mv src elsewhere", 300),
    shape("chmod", "chmod -R 700 src", 300),
    shape("ln", "ln -sfn /nowhere src/link && ln -sf ../other src/1.txt", 2),
    shape("make", "make rewrite", 300),
    shape("script", "sh rewrite.sh", 300),
    shape("tar", "tar xf over.tar", 300),
    shape("cp", "cp -r over/. src/", 300),
    shape("sed", "sed -i s/number/other/ src/*.txt", 300),
    shape("truncate", "truncate -s 0 src/*.txt", 300),
    shape(
        "walk",
        "python3 -c 'import os\nfor d, _, names in os.walk(\"src\"):\n  for name in names:\n    path = os.path.join(d, name)\n    if not os.path.islink(path): open(path, \"w\").write(\"x\")'",
        300,
    ),
    // It names one file and changes all others too.
    shape(
        "named-and-walk",
        "python3 -c 'import os\nopen(\"made.txt\", \"w\").write(\"x\")\nfor d, _, names in os.walk(\"src\"):\n  for name in names: os.path.islink(os.path.join(d, name)) or open(os.path.join(d, name), \"a\").write(\"x\")'",
        300,
    ),
    shape(
        "node",
        "node -e 'const fs = require(\"fs\"); for (const name of fs.readdirSync(\"src\")) if (name.endsWith(\".txt\")) fs.writeFileSync(\"src/\" + name, \"x\")'",
        299,
    ),
];

/// Creates a project of 300 files with modes, links, empty folders, and a name that is not UTF-8.
///
/// # Errors
/// Fails if a file cannot be written, or if one of `git`, `sed` and `tar` is missing.
pub fn create_project(project: &Path) -> Result<()> {
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
    let output = Command::new("/bin/sh").args(["-c", PREPARE]).current_dir(project).output()?;
    ensure!(output.status.success(), "`{PREPARE}`: {output:?}");
    Ok(())
}

/// Reads a project without git's own folder and ours, which no undo touches.
///
/// # Errors
/// Fails if the system refuses to read some of it.
pub fn read_project(project: &Path) -> Result<Tree> {
    let mut files = tree(project)?;
    files.retain(|path, _| {
        ![".git", ".portcullis"].iter().any(|own| path.split('/').next() == Some(*own))
    });
    Ok(files)
}
