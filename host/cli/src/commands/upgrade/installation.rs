//! Finds out how this program was installed, by its path and the files beside it, and the command
//! that brings a newer one the same way.

use portcullis_bundle::{Digest, Release};
use semver::Version;
use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of the package, wherever there is one.
const PACKAGE: &str = "portcullis";

/// A way in which the program is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallWay {
    /// A package of Debian or a relative.
    Debian,
    /// A package of Fedora, openSUSE or a relative.
    Rpm,
    /// npm, for all projects.
    NpmGlobal,
    /// npm, in one project.
    NpmProject,
    /// `npx`, which keeps a copy.
    Npx,
    /// pip, in an environment or for one user.
    Pip,
    /// pipx.
    Pipx,
    /// `uv tool install`.
    UvTool,
    /// `uvx`, which keeps a copy.
    Uvx,
    /// Homebrew.
    Homebrew,
    /// cargo, from a clone of the sources.
    Cargo,
    /// A build folder of cargo: a clone of the sources.
    Build,
    /// A copy from the archive, or from a build.
    Copy,
}

/// The program with the way in which it is installed.
pub struct Installation {
    /// The program's real path.
    pub program: PathBuf,
    /// The way.
    pub way: InstallWay,
}

impl Installation {
    /// Finds out how a program is installed. Package managers are asked only for what lies where
    /// they put programs.
    pub fn detect(program: &Path) -> Self {
        let way = find_way(program, &|tool, options| is_owned(tool, options, program));
        Self { program: program.to_owned(), way }
    }

    /// Returns the file of a version that fits this machine and the way, with its digest.
    pub fn fitting_file<'a>(&self, release: &'a Release) -> Option<(&'a str, &'a Digest)> {
        let found = release.files.iter().find(|(name, _)| self.way.fits(name, &release.version));
        found.map(|(name, digest)| (name.as_str(), digest))
    }

    /// Returns true if the command takes a file from a registry, which nobody has compared with the signed
    /// digest.
    pub const fn takes_from_registry(&self) -> bool {
        matches!(
            self.way,
            InstallWay::NpmGlobal
                | InstallWay::NpmProject
                | InstallWay::Npx
                | InstallWay::Pip
                | InstallWay::Pipx
                | InstallWay::UvTool
                | InstallWay::Uvx
                | InstallWay::Homebrew
        )
    }

    /// Returns the command that brings a version; `None` stands for a version that is not known yet.
    /// The commit is one of the signed statement.
    pub fn upgrade_command(&self, version: Option<&Version>, commit: Option<&str>) -> String {
        let version = version.map_or_else(|| "VERSION".to_owned(), ToString::to_string);
        let folder = self.program.parent().unwrap_or(Path::new("/"));
        match self.way {
            InstallWay::Debian => {
                format!("sudo dpkg -i {PACKAGE}_{version}_{}.deb", names().debian)
            }
            InstallWay::Rpm => format!("sudo rpm -U {PACKAGE}-{version}-1.{ARCH}.rpm"),
            InstallWay::NpmGlobal => format!("npm install --global {PACKAGE}@{version}"),
            InstallWay::NpmProject => format!("npm install {PACKAGE}@{version}"),
            InstallWay::Npx => format!("npx {PACKAGE}@{version}"),
            InstallWay::Pip => {
                let python = folder.join("python");
                if python.exists() {
                    format!("{} -m pip install {PACKAGE}=={version}", quote(&python))
                } else {
                    format!("python3 -m pip install --user {PACKAGE}=={version}")
                }
            }
            InstallWay::Pipx => format!("pipx install --force {PACKAGE}=={version}"),
            InstallWay::UvTool => format!("uv tool install {PACKAGE}=={version}"),
            InstallWay::Uvx => format!("uvx {PACKAGE}@{version}"),
            InstallWay::Homebrew => format!("brew update && brew upgrade {PACKAGE}"),
            // Nobody publishes a crate of this name yet, and whoever does may be somebody else.
            InstallWay::Cargo => copy_command(folder, &version),
            InstallWay::Build => {
                let is_id = |commit: &&str| {
                    !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
                };
                let commit = commit.filter(is_id).unwrap_or("COMMIT");
                // `ROOT/target/PROFILE/portcullis`: the sources are above the build folder.
                let root = quote(folder.ancestors().nth(2).unwrap_or(folder));
                format!(
                    "git -C {root} fetch && git -C {root} checkout {commit} && \
                     cargo build --release --manifest-path {root}/Cargo.toml"
                )
            }
            InstallWay::Copy => copy_command(folder, &version),
        }
    }
}

/// Returns the command that replaces the copies in a folder by those of an archive. Each is renamed
/// over the old one, so that no hook finds half a program.
fn copy_command(folder: &Path, version: &str) -> String {
    let name = format!("{PACKAGE}-{version}-{ARCH}-unknown-linux-musl");
    let programs = [PACKAGE, "portcullis-hook", "portcullis-plugin", "portcullis-hub"];
    // One that was renamed is not among them; the program itself always is.
    let there: Vec<&str> = programs
        .into_iter()
        .filter(|program| *program == PACKAGE || folder.join(program).exists())
        .collect();
    let is_roots = fs::metadata(folder).is_ok_and(|found| found.uid() == 0);
    let (sudo, owner) = if is_roots { ("sudo ", "-o root ") } else { ("", "") };
    let place = quote(folder);
    format!(
        "tar -xzf {name}.tar.gz && for p in {}; do {sudo}install {owner}-m 755 {name}/bin/$p \
         {place}/$p.new && {sudo}mv {place}/$p.new {place}/$p; done",
        there.join(" ")
    )
}

impl InstallWay {
    /// Returns the name in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debian => "debian",
            Self::Rpm => "rpm",
            Self::NpmGlobal => "npm-global",
            Self::NpmProject => "npm-project",
            Self::Npx => "npx",
            Self::Pip => "pip",
            Self::Pipx => "pipx",
            Self::UvTool => "uv-tool",
            Self::Uvx => "uvx",
            Self::Homebrew => "homebrew",
            Self::Cargo => "cargo",
            Self::Build => "build",
            Self::Copy => "copy",
        }
    }

    /// Returns a description for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Debian => "by a Debian package",
            Self::Rpm => "by an RPM package",
            Self::NpmGlobal => "by npm, for all projects",
            Self::NpmProject => "by npm, in a project",
            Self::Npx => "by npx, which keeps a copy",
            Self::Pip => "by pip",
            Self::Pipx => "by pipx",
            Self::UvTool => "by `uv tool`",
            Self::Uvx => "by uvx, which keeps a copy",
            Self::Homebrew => "by Homebrew",
            Self::Cargo => "by cargo",
            Self::Build => "as a build of the sources",
            Self::Copy => "as a copy",
        }
    }

    /// Returns true if a file of a version is the one for this way and machine.
    fn fits(self, name: &str, version: &str) -> bool {
        let names = names();
        match self {
            Self::Debian => name == format!("{PACKAGE}_{version}_{}.deb", names.debian),
            Self::Rpm => name == format!("{PACKAGE}-{version}-1.{ARCH}.rpm"),
            Self::NpmGlobal | Self::NpmProject | Self::Npx => {
                name == format!("npm-{PACKAGE}-linux-{}-{version}.tgz", names.npm)
            }
            Self::Pip | Self::Pipx | Self::UvTool | Self::Uvx => {
                name.starts_with(&format!("{PACKAGE}-{version}-py3-none-"))
                    && name.ends_with(&format!("_{ARCH}.whl"))
            }
            Self::Homebrew | Self::Cargo | Self::Copy => {
                name == format!("{PACKAGE}-{version}-{ARCH}-unknown-linux-musl.tar.gz")
            }
            // The sources are a commit, and no file.
            Self::Build => false,
        }
    }
}

/// The names of this machine's processor, where they differ from Rust's.
struct ProcessorNames {
    debian: &'static str,
    npm: &'static str,
}

fn names() -> ProcessorNames {
    match ARCH {
        "x86_64" => ProcessorNames { debian: "amd64", npm: "x64" },
        "aarch64" => ProcessorNames { debian: "arm64", npm: "arm64" },
        other => ProcessorNames { debian: other, npm: other },
    }
}

/// Determines the way. `owns` asks a package manager whether the program is its own.
fn find_way(program: &Path, owns: &dyn Fn(&str, &[&str]) -> bool) -> InstallWay {
    let path = program.to_string_lossy();
    let folder = program.parent().unwrap_or(Path::new("/"));
    if path.contains("/node_modules/") {
        let ways = [("/_npx/", InstallWay::Npx), ("/lib/node_modules/", InstallWay::NpmGlobal)];
        let found = ways.into_iter().find(|(part, _)| path.contains(part));
        return found.map_or(InstallWay::NpmProject, |(_, way)| way);
    }
    if path.contains(&format!("/Cellar/{PACKAGE}/")) {
        return InstallWay::Homebrew;
    }
    if folder.join(".fingerprint").is_dir() {
        return InstallWay::Build;
    }
    if path.contains(&format!("/uv/tools/{PACKAGE}/")) {
        return InstallWay::UvTool;
    }
    if path.contains("/uv/") && path.contains("/archive-v") {
        return InstallWay::Uvx;
    }
    if path.contains(&format!("/pipx/venvs/{PACKAGE}/")) {
        return InstallWay::Pipx;
    }
    if path.starts_with("/usr/bin/") {
        if owns("/usr/bin/dpkg", &["-S"]) {
            return InstallWay::Debian;
        }
        if owns("/usr/bin/rpm", &["-q", "--quiet", "-f"]) {
            return InstallWay::Rpm;
        }
    }
    if folder.parent().is_some_and(has_wheel) {
        return InstallWay::Pip;
    }
    let is_cargos = folder.parent().is_some_and(|above| {
        [".crates.toml", "binstall/crates-v1.json"].iter().any(|list| {
            let is_ours = |text: String| {
                text.contains(&format!("\"{PACKAGE} ")) || text.contains(&format!("\"{PACKAGE}\""))
            };
            fs::read_to_string(above.join(list)).is_ok_and(is_ours)
        })
    });
    if is_cargos { InstallWay::Cargo } else { InstallWay::Copy }
}

/// Returns true if a Python below a folder has our package.
fn has_wheel(above: &Path) -> bool {
    let folders =
        |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_python = |path: &PathBuf| named(path).starts_with("python3");
    let is_ours = |path: PathBuf| {
        let name = named(&path);
        name.starts_with(&format!("{PACKAGE}-")) && name.ends_with(".dist-info")
    };
    folders(&above.join("lib")).filter(is_python).any(|python| {
        ["site-packages", "dist-packages"]
            .iter()
            .any(|packages| folders(&python.join(packages)).any(is_ours))
    })
}

fn named(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Asks a package manager, by its own path, whether it installed a program.
fn is_owned(tool: &str, options: &[&str], program: &Path) -> bool {
    let mut command = Command::new(tool);
    command.args(options).arg("--").arg(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A machine without that manager has no packages of it.
    command.status().is_ok_and(|status| status.success())
}

/// Quotes a path for a shell, unless it needs no quotes.
fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| "PROGRAM".to_owned(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const NOBODY: fn(&str, &[&str]) -> bool = |_, _| false;

    #[test]
    fn the_way_is_known_by_the_path() {
        for (path, way) in [
            (
                "/usr/lib/node_modules/portcullis/node_modules/portcullis-linux-x64/bin/portcullis",
                InstallWay::NpmGlobal,
            ),
            (
                "/home/me/.npm/_npx/0a1b/node_modules/portcullis-linux-x64/bin/portcullis",
                InstallWay::Npx,
            ),
            (
                "/home/me/work/node_modules/portcullis-linux-x64/bin/portcullis",
                InstallWay::NpmProject,
            ),
            (
                "/home/linuxbrew/.linuxbrew/Cellar/portcullis/0.1.0/bin/portcullis",
                InstallWay::Homebrew,
            ),
            ("/home/me/.local/share/uv/tools/portcullis/bin/portcullis", InstallWay::UvTool),
            ("/home/me/.cache/uv/archive-v0/x1/bin/portcullis", InstallWay::Uvx),
            ("/home/me/.local/share/pipx/venvs/portcullis/bin/portcullis", InstallWay::Pipx),
            ("/usr/local/bin/portcullis", InstallWay::Copy),
            ("/usr/bin/portcullis", InstallWay::Copy),
        ] {
            assert_eq!(find_way(Path::new(path), &NOBODY), way, "{path}");
        }
    }

    #[test]
    fn package_managers_are_asked_for_their_own_folder_alone() {
        let owner = |owner: &'static str| move |tool: &str, _: &[&str]| tool == owner;
        let program = Path::new("/usr/bin/portcullis");
        assert_eq!(find_way(program, &owner("/usr/bin/dpkg")), InstallWay::Debian);
        assert_eq!(find_way(program, &owner("/usr/bin/rpm")), InstallWay::Rpm);
        let elsewhere = Path::new("/usr/local/bin/portcullis");
        assert_eq!(find_way(elsewhere, &owner("/usr/bin/dpkg")), InstallWay::Copy);
    }

    #[test]
    fn files_beside_the_program_tell_of_pip_cargo_and_builds() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (made, way) in [
            ("pip/lib/python3.13/site-packages/portcullis-0.1.0.dist-info/RECORD", InstallWay::Pip),
            ("build/release/.fingerprint/x", InstallWay::Build),
        ] {
            let path = root.join(made);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let place = if way == InstallWay::Build { "build/release" } else { "pip/bin" };
            let program = root.join(place).join("portcullis");
            assert_eq!(find_way(&program, &NOBODY), way);
        }
        let program = root.join("cargo/bin/portcullis");
        fs::create_dir_all(root.join("cargo/binstall")).unwrap();
        fs::write(root.join("cargo/.crates.toml"), "[v1]\n\"portcullis-lint 1.0.0\" = []\n")
            .unwrap();
        assert_eq!(find_way(&program, &NOBODY), InstallWay::Copy);
        fs::write(root.join("cargo/binstall/crates-v1.json"), "{\"name\":\"portcullis\"}").unwrap();
        assert_eq!(find_way(&program, &NOBODY), InstallWay::Cargo);
    }

    #[test]
    fn each_way_has_a_command_and_at_most_one_file() {
        let version = Version::parse("1.2.3").unwrap();
        let digest = Digest::of_bytes(b"");
        let mut files: BTreeMap<String, Digest> = BTreeMap::new();
        for (deb, npm, arch) in [("amd64", "x64", "x86_64"), ("arm64", "arm64", "aarch64")] {
            for name in [
                format!("portcullis_1.2.3_{deb}.deb"),
                format!("portcullis-1.2.3-1.{arch}.rpm"),
                format!("npm-portcullis-linux-{npm}-1.2.3.tgz"),
                format!("portcullis-1.2.3-py3-none-manylinux_2_17_{arch}.musllinux_1_1_{arch}.whl"),
                format!("portcullis-1.2.3-{arch}-unknown-linux-musl.tar.gz"),
            ] {
                files.insert(name, digest);
            }
        }
        files.insert("npm-portcullis-1.2.3.tgz".into(), digest);
        let release = Release { version: "1.2.3".into(), commit: "c0ffee".into(), files };
        for (way, command, file) in [
            (InstallWay::Debian, "sudo dpkg -i portcullis_1.2.3_", ".deb"),
            (InstallWay::Rpm, "sudo rpm -U portcullis-1.2.3-1.", ".rpm"),
            (InstallWay::NpmGlobal, "npm install --global portcullis@1.2.3", ".tgz"),
            (InstallWay::NpmProject, "npm install portcullis@1.2.3", ".tgz"),
            (InstallWay::Npx, "npx portcullis@1.2.3", ".tgz"),
            (InstallWay::Pip, "pip install --user portcullis==1.2.3", ".whl"),
            (InstallWay::Pipx, "pipx install --force portcullis==1.2.3", ".whl"),
            (InstallWay::UvTool, "uv tool install portcullis==1.2.3", ".whl"),
            (InstallWay::Uvx, "uvx portcullis@1.2.3", ".whl"),
            (InstallWay::Homebrew, "brew upgrade portcullis", ".tar.gz"),
            (InstallWay::Cargo, "tar -xzf portcullis-1.2.3-", ".tar.gz"),
            (InstallWay::Build, "git -C / checkout c0ffee", ""),
            (InstallWay::Copy, "tar -xzf portcullis-1.2.3-", ".tar.gz"),
        ] {
            let installed = Installation { program: "/nowhere/bin/portcullis".into(), way };
            let said = installed.upgrade_command(Some(&version), Some("c0ffee"));
            assert!(said.contains(command), "{way:?}: {said}");
            let found = installed.fitting_file(&release).map_or("", |(name, _)| name);
            assert!(
                found.ends_with(file) && found.is_empty() == file.is_empty(),
                "{way:?}: {found}"
            );
        }
        let build = Installation { program: "/x/portcullis".into(), way: InstallWay::Build };
        let said = build.upgrade_command(Some(&version), Some("$(touch x)"));
        assert!(said.contains("git -C /x checkout COMMIT"), "{said}");
    }
}
