//! Code that another program loads before its own: modules that flags and variables name, folders
//! that are searched for code, agents of Java.

use super::expand::Field;
use super::scripts::Manner;
use super::{Setting, Walker};
use crate::places;
use crate::types::EffectKind;

/// The flags of a program that name a module.
struct Loader {
    programs: &'static [&'static str],
    /// Flags with the module in the next word, or after `=`.
    flags: &'static [&'static str],
    /// Flags with the module in the same word.
    joined: &'static [&'static str],
    language: &'static str,
}

const LOADERS: &[Loader] = &[
    Loader {
        programs: &["node", "nodejs", "mocha", "tsx", "ts-node", "electron"],
        flags: &["-r", "--require", "--import", "--loader", "--experimental-loader"],
        joined: &[],
        language: "node",
    },
    Loader {
        programs: &["bun", "deno"],
        flags: &["-r", "--preload"],
        joined: &[],
        language: "node",
    },
    Loader { programs: &["ruby", "irb"], flags: &["-r"], joined: &["-r"], language: "ruby" },
    Loader { programs: &["perl"], flags: &[], joined: &["-M", "-m"], language: "perl" },
    Loader {
        programs: &["pytest", "py.test"],
        flags: &["-p", "-c", "--rootdir", "--confcutdir"],
        joined: &[],
        language: "python",
    },
];

/// Servers that load the module of an application: `MODULE:NAME`.
const SERVERS: &[&str] = &["daphne", "granian", "gunicorn", "hypercorn", "uvicorn"];

/// Agents and libraries by whose name everybody knows what they do.
const KNOWN: &[&str] = &[
    "aspectjweaver",
    "byte-buddy",
    "dd-java-agent",
    "elastic-apm",
    "jacoco",
    "jdwp",
    "jmx_prometheus",
    "lombok",
    "mockito",
    "newrelic",
    "opentelemetry",
    "asan",
    "eatmydata",
    "fakeroot",
    "faketime",
    "gperftools",
    "jemalloc",
    "lsan",
    "mimalloc",
    "nss_wrapper",
    "snoopy",
    "tcmalloc",
    "tsan",
    "ubsan",
    "stdbuf",
];

/// Folders that only the administrator fills.
const SYSTEM: &[&str] = &["/usr", "/opt", "/lib", "/lib64", "/nix", "/etc", "/Library", "/System"];

/// The maximum number of folders and modules of one value.
const PARTS: usize = 32;

impl Walker<'_> {
    /// Follows the modules that the words of a program make it load.
    pub(super) fn load_modules(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        if SERVERS.contains(&name) {
            for field in rest.iter().filter(|field| is_application(&field.text)).take(1) {
                self.load_module("python", field, command, setting);
            }
        }
        let Some(loader) = LOADERS.iter().find(|loader| loader.programs.contains(&name)) else {
            return;
        };
        for (at, field) in rest.iter().enumerate().take(256) {
            let text = field.text.as_str();
            // pytest takes flags behind its operands; the others hand these to the script.
            if text == "--" || !text.starts_with('-') && loader.language != "python" {
                break;
            }
            if let Some(folder) = text.strip_prefix("-I").filter(|_| !loader.joined.is_empty()) {
                let next = || rest.get(at + 1).map_or("", |field| field.text.as_str());
                let folder = if folder.is_empty() { next() } else { folder };
                let field = Field { text: folder.to_owned(), ..field.clone() };
                self.search_folders(&field, command, setting);
            }
            let joined = || loader.joined.iter().find_map(|flag| text.strip_prefix(flag));
            let attached = text.split_once('=').filter(|(flag, _)| loader.flags.contains(flag));
            let module = if loader.flags.contains(&text) {
                rest.get(at + 1).map(|next| next.text.clone())
            } else {
                attached.map(|(_, value)| value).or_else(joined).map(str::to_owned)
            };
            if let Some(module) = module.filter(|module| !module.is_empty()) {
                let field = Field { text: module, ..field.clone() };
                self.load_module(loader.language, &field, command, setting);
            }
        }
    }

    /// Follows a module that a program loads: a file of this name, or a package that is installed.
    pub(super) fn load_module(
        &mut self,
        language: &str,
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        self.unseen(value.source, command, setting);
        let text = value.text.trim_matches(['"', '\'']);
        // `MODULE:NAME` is something that the module holds.
        let module = text.split_once(':').filter(|_| language == "python" && !text.contains("::"));
        let text = module.map_or(text, |(module, _)| module);
        let is_file = text.starts_with(['.', '/', '~'])
            || [".js", ".cjs", ".mjs", ".ts", ".rb", ".pl", ".pm", ".py", ".so"]
                .iter()
                .any(|end| text.ends_with(end));
        let (language, end) = match language {
            "node" => ("node", ".js"),
            "ruby" => ("ruby", ".rb"),
            "perl" => ("perl", ".pm"),
            _ => ("python", ".py"),
        };
        let dotted = text.replace("::", "/").replace('.', "/");
        let named = match (is_file, language) {
            (true, _) => text.to_owned(),
            (false, "python") => format!("{dotted}.py"),
            (false, "perl") => format!("{dotted}.pm"),
            (false, _) => return,
        };
        let (path, _) = places::resolve(&named, &self.env.folder);
        let own = self.content_of(&path).is_some();
        if !is_file && !own {
            // A module of the project with the name of a package is rare: only ask for it.
            let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
            if plain && language == "python" {
                self.run_script(
                    value,
                    &path,
                    Some("python"),
                    Manner::Interpreted,
                    &[],
                    command,
                    setting,
                );
            }
            return;
        }
        let last = path.rsplit('/').next().unwrap_or("");
        let path = if is_file && !last.contains('.') { format!("{path}{end}") } else { path };
        self.load_file(value, &path, language, command, setting);
    }

    /// Follows a file of code that another program loads.
    pub(super) fn load_file(
        &mut self,
        value: &Field,
        path: &str,
        language: &'static str,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if self.is_of_system(path) {
            return;
        }
        let known = self.is_known(path);
        self.run_script(value, path, Some(language), Manner::Interpreted, &[], command, setting);
        if !self.is_project(path) {
            self.plain(EffectKind::ProcessStart, path, false, command, setting);
        } else if !known {
            self.project_run(command, setting);
            self.out.gap("code that another program loads, and that was not read");
        }
    }

    /// Returns true for a folder, or a file in one, that only the administrator fills.
    fn is_of_system(&self, path: &str) -> bool {
        SYSTEM.iter().any(|folder| places::is_below(path, folder)) && !self.is_project(path)
    }

    /// Follows a list of folders that are searched for code before all others.
    pub(super) fn search_folders(
        &mut self,
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        self.unseen(value.source, command, setting);
        for part in value.text.split(':').take(PARTS) {
            if part.is_empty() || part.starts_with(super::environment::UNKNOWN) {
                continue;
            }
            let (path, certain) = places::resolve(part, &self.env.folder);
            let filled: Vec<_> = self
                .files
                .iter()
                .filter(|(file, _)| places::is_below(file, &path))
                .map(|(_, feed)| feed.source)
                .chain(self.content_of(&path).map(|feed| feed.source))
                .collect();
            let packages = path.contains("site-packages") || path.contains("/.venv/");
            if !filled.is_empty() && path != self.project {
                for source in filled {
                    self.unseen(source, command, setting);
                }
                self.plain(EffectKind::ProcessStart, &path, false, command, setting);
            } else if certain && !self.is_project(&path) && !self.is_of_system(&path) && !packages {
                self.plain(EffectKind::ProcessStart, &path, false, command, setting);
            }
        }
    }

    /// Follows a library that is put before those of a program.
    pub(super) fn load_library(&mut self, value: &Field, command: Option<u32>, setting: &Setting) {
        for part in value.text.split([':', ' ']).filter(|part| !part.is_empty()).take(PARTS) {
            let (path, _) = places::resolve(part, &self.env.folder);
            let file = path.rsplit('/').next().unwrap_or("");
            let bare = !part.contains('/') || self.is_of_system(&path);
            let known = bare && KNOWN.iter().any(|name| file.contains(name));
            if !known && !matches!(part, "none") {
                if let Some(content) = self.content_of(&path) {
                    self.unseen(content.source, command, setting);
                }
                self.out.form("preload", command);
                self.plain(EffectKind::ProcessStart, &path, false, command, setting);
            }
        }
    }

    /// Follows the options of Java: agents that it loads, and commands for when it fails.
    pub(super) fn java_options(&mut self, value: &Field, command: Option<u32>, setting: &Setting) {
        for start in ["-XX:OnError=", "-XX:OnOutOfMemoryError="] {
            if let Some((_, text)) = value.text.split_once(start) {
                let text = text.trim_matches(['"', '\'']).to_owned();
                self.nested(&Field { text, ..value.clone() }, "java", setting);
            }
        }
        for word in value.text.split_ascii_whitespace().take(PARTS) {
            let word = word.trim_matches(['"', '\'']);
            let agent = ["-javaagent:", "-agentpath:", "-agentlib:", "-Xbootclasspath/a:"]
                .iter()
                .find_map(|start| word.strip_prefix(start));
            if let Some(file) = agent.map(|agent| agent.split('=').next().unwrap_or(agent)) {
                let name = file.rsplit('/').next().unwrap_or("");
                if !KNOWN.iter().any(|known| name.contains(known)) {
                    let (path, _) = places::resolve(file, &self.env.folder);
                    if let Some(content) = self.content_of(&path) {
                        self.unseen(content.source, command, setting);
                    }
                    self.out.form("preload", command);
                    self.plain(EffectKind::ProcessStart, &path, false, command, setting);
                }
            }
        }
    }
}

/// Returns true for `MODULE:NAME`.
fn is_application(text: &str) -> bool {
    let is_name = |text: &str| {
        text.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let parts = text.trim_end_matches("()").split_once(':');
    parts.is_some_and(|(module, name)| is_name(module) && is_name(name))
}
