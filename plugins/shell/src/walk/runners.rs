//! Programs that run the code of a file of their own which nothing here reads: unless git holds the
//! file as it is, the reading is partial.

use super::expand::Field;
use super::{Setting, Walker};
use crate::autoruns::{self, Format};
use crate::places;

/// A runner: the verbs with which it runs code (none: all), and the files, of which the first that
/// there is counts.
struct Runner {
    name: &'static str,
    verbs: &'static [&'static str],
    files: &'static [&'static str],
    /// Signs of commands in such a file, where not every file holds some (none: every file does).
    signs: &'static [&'static str],
}

const CMAKE: &[&str] = &[
    "execute_process",
    "exec_program",
    "ExternalProject",
    "FetchContent",
    "REMOVE",
    "DOWNLOAD",
    "cmake_language",
    ".cmake",
];
const ANT: &[&str] =
    &["<delete", "<exec", "<get", "<import", "<java", "<move", "<script", "<sshexec", "<taskdef"];
const MESON: &[&str] = &["run_command", "custom_target", "install_script", "run_target"];
const TOX: &[&str] = &["commands", "install_command"];

const RUNNERS: &[Runner] = &[
    Runner {
        name: "act",
        verbs: &[],
        files: &[
            ".github/workflows/ci.yml",
            ".github/workflows/ci.yaml",
            ".github/workflows/main.yml",
            ".github/workflows/test.yml",
        ],
        signs: &[],
    },
    Runner { name: "ant", verbs: &[], files: &["build.xml"], signs: ANT },
    Runner { name: "cmake", verbs: &[], files: &["CMakeLists.txt"], signs: CMAKE },
    Runner { name: "devbox", verbs: &["run", "shell"], files: &["devbox.json"], signs: &[] },
    Runner { name: "doit", verbs: &[], files: &["dodo.py"], signs: &[] },
    Runner { name: "fab", verbs: &[], files: &["fabfile.py"], signs: &[] },
    Runner { name: "foreman", verbs: &["start"], files: &["Procfile"], signs: &[] },
    Runner { name: "honcho", verbs: &["start"], files: &["Procfile"], signs: &[] },
    Runner { name: "invoke", verbs: &[], files: &["tasks.py"], signs: &[] },
    Runner { name: "mage", verbs: &[], files: &["magefile.go"], signs: &[] },
    Runner { name: "meson", verbs: &["setup", "compile"], files: &["meson.build"], signs: MESON },
    Runner { name: "nix-shell", verbs: &[], files: &["shell.nix", "default.nix"], signs: &[] },
    Runner { name: "nox", verbs: &[], files: &["noxfile.py"], signs: &[] },
    Runner { name: "overmind", verbs: &["start", "s"], files: &["Procfile"], signs: &[] },
    Runner { name: "sbt", verbs: &[], files: &["build.sbt"], signs: &[] },
    Runner { name: "scons", verbs: &[], files: &["SConstruct"], signs: &[] },
    Runner {
        name: "task",
        verbs: &[],
        files: &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml"],
        signs: &[],
    },
    Runner { name: "tox", verbs: &[], files: &["tox.ini", "setup.cfg"], signs: TOX },
    Runner {
        name: "vagrant",
        verbs: &["up", "provision", "reload"],
        files: &["Vagrantfile"],
        signs: &[],
    },
    Runner { name: "waf", verbs: &[], files: &["wscript"], signs: &[] },
];

/// Runners of hooks: the words that run them, and the file that lists them.
const LISTED: &[(&str, &[&str], &str)] = &[
    ("lefthook", &["run"], "lefthook.yml"),
    ("pre-commit", &["run", "try-repo"], ".pre-commit-config.yaml"),
    ("prek", &["run"], ".pre-commit-config.yaml"),
];

/// Flags of calls that only show something.
const SHOWS: &[&str] = &[
    "--dry-run",
    "--dryrun",
    "--help",
    "--list",
    "--list-all",
    "--listenvs",
    "--version",
    "-V",
    "-h",
    "-l",
    "-n",
    "-p",
    "-projecthelp",
    "-version",
    "list",
    "l",
];

impl Walker<'_> {
    /// Notes the file that a runner runs, if it is not as it was committed.
    pub(super) fn note_runner(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        if name == "ansible-playbook" {
            let shows = ["--check", "-C", "--syntax-check", "--list-tasks", "--list-hosts"];
            if !rest.iter().any(|field| shows.contains(&field.text.as_str())) {
                for field in rest.iter().filter(|field| is_playbook(&field.text)).take(8) {
                    self.mind_missing(&field.text, setting);
                    self.note_unread_file(&field.text, &[], command, setting);
                }
            }
            return;
        }
        self.run_listed(name, rest, command, setting);
        let Some(runner) = RUNNERS.iter().find(|runner| runner.name == name) else { return };
        let has = |words: &[&str]| rest.iter().any(|field| words.contains(&field.text.as_str()));
        if has(SHOWS) || !runner.verbs.is_empty() && !has(runner.verbs) {
            return;
        }
        // `cmake -E` and `-P` have files of their own, and `--build` those of the folder.
        let flag = |flags: &[&str]| {
            let at = rest.iter().position(|field| flags.contains(&field.text.as_str()))?;
            rest.get(at + 1).map(|field| field.text.clone())
        };
        if name == "cmake" && has(&["-E", "--install", "--build"]) {
            return;
        }
        let named = match name {
            "cmake" => flag(&["-P"]),
            "ant" => flag(&["-f", "-file", "-buildfile"]),
            "task" => flag(&["-t", "--taskfile"]),
            "tox" => flag(&["-c", "--conf"]),
            _ => flag(&["-f", "--file", "--procfile", "--noxfile"]),
        };
        let folder = match name {
            "cmake" => flag(&["-S"]).map_or(String::new(), |folder| format!("{folder}/")),
            "task" => flag(&["-d", "--dir"]).map_or(String::new(), |folder| format!("{folder}/")),
            _ => String::new(),
        };
        if let Some(file) = named {
            self.mind_missing(&file, setting);
            return self.note_unread_file(&file, runner.signs, command, setting);
        }
        for file in runner.files {
            self.note_unread_file(&format!("{folder}{file}"), runner.signs, command, setting);
        }
    }

    /// Reads the commands in the YAML of a runner of hooks: `pre-commit run`.
    fn run_listed(&mut self, name: &str, rest: &[Field], command: Option<u32>, setting: &Setting) {
        let Some((_, verbs, file)) = LISTED.iter().find(|(known, ..)| *known == name) else {
            return;
        };
        let Some(verb) = rest.iter().find(|field| verbs.contains(&field.text.as_str())) else {
            return;
        };
        let Some((path, text)) = self.first_file(&[file], command, setting) else { return };
        let (parts, more) = autoruns::list_parts(Format::Yaml, &text);
        if more {
            self.file_gap(&path, "is longer than is read");
        }
        for (at, part) in parts.iter().enumerate() {
            let (name, lines) = (format!("hook {at}"), std::slice::from_ref(&part.text));
            let file = (path.as_str(), &text);
            self.run_lines(file, &name, lines, part.language, verb.span, command, setting);
        }
    }

    fn note_unread_file(
        &mut self,
        file: &str,
        signs: &[&str],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let (path, _) = places::resolve(file, &self.env.folder);
        let Some(text) = self.open_script(&path, false, command, setting) else { return };
        let runs = signs.is_empty() || signs.iter().any(|sign| text.contains(sign));
        if runs && !self.is_committed(&path) {
            let what = "is run, and its language is not read";
            self.file_gap(&path, what);
        }
    }
}

fn is_playbook(text: &str) -> bool {
    (text.ends_with(".yml") || text.ends_with(".yaml")) && !text.starts_with('-')
}
