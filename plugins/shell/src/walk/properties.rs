//! Properties that a call hands to a build: some name what it runs, loads or fetches, and a build
//! may run any other that is a command.

use super::builders::literals;
use super::expand::Field;
use super::followed::begins_grave_command;
use super::routines::quoted;
use super::{Setting, Walker};
use crate::places;
use crate::types::EffectKind;

/// The maximum number of properties of one call.
const PROPERTIES: usize = 64;

/// Programs with properties, and the beginnings of the words that hold one; `:` or `=` may follow.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("ant", &["-D"]),
    ("cmake", &["-D"]),
    ("dotnet", &["-p", "/p", "--property", "-property", "/property"]),
    ("gradle", &["-D", "-P", "--project-prop", "--system-prop"]),
    ("gradlew", &["-D", "-P", "--project-prop", "--system-prop"]),
    ("meson", &["-D"]),
    ("mill", &["-D"]),
    ("msbuild", &["-p", "/p", "-property", "/property"]),
    ("mvn", &["-D", "-P", "--define"]),
    ("mvnw", &["-D", "-P", "--define"]),
    ("sbt", &["-D"]),
];
/// Programs whose properties one family of settings describes.
const FAMILIES: &[(&str, &str)] = &[
    ("ant", "jvm"),
    ("cmake", "cmake"),
    ("dotnet", "msbuild"),
    ("gradle", "jvm"),
    ("gradlew", "jvm"),
    ("msbuild", "msbuild"),
    ("mvn", "jvm"),
    ("mvnw", "jvm"),
    ("sbt", "jvm"),
];
/// Groups of artifacts that everybody who builds with Java uses.
const GROUPS: &[&str] = &[
    "com.diffplug.",
    "com.github.spotbugs",
    "com.google.",
    "io.micronaut.",
    "io.quarkus",
    "net.revelc.",
    "org.apache.",
    "org.codehaus.",
    "org.eclipse.",
    "org.flywaydb",
    "org.jacoco",
    "org.jetbrains.",
    "org.jooq",
    "org.liquibase",
    "org.openapitools",
    "org.openrewrite",
    "org.owasp",
    "org.scala-",
    "org.scalameta",
    "org.sonarsource.",
    "org.springframework.",
];

impl Walker<'_> {
    /// Follows the properties of a call, and the programs that two of them name together.
    pub(super) fn properties(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let name = name.rsplit('/').next().unwrap_or(name);
        let starts = PROGRAMS.iter().find(|(program, _)| *program == name);
        let Some((_, starts)) = starts else { return self.of_others(name, rest, command, setting) };
        let all = properties_in(rest, starts);
        if all.len() > PROPERTIES {
            self.out.limit("more properties than are followed");
        }
        let family = FAMILIES.iter().find(|(program, _)| *program == name);
        for (key, value) in all.iter().take(PROPERTIES) {
            if let Some((_, family)) = family {
                self.configured(family, key, value, command, setting);
            }
            if matches!(key.as_str(), "groovy.source" | "source") && name.starts_with("mvn") {
                self.code("groovy", value, command, setting);
            }
            if begins_grave_command(&value.text) {
                self.nested(value, name, setting);
            }
        }
        if matches!(name, "mvn" | "mvnw") {
            self.maven_goals(rest, &all, command, setting);
        }
        self.of_others(name, rest, command, setting);
    }

    /// Follows the goals of Maven: one that starts a program, and plugins that nobody vouches for.
    fn maven_goals(
        &mut self,
        rest: &[Field],
        all: &[(String, Field)],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let value = |names: &[&str]| {
            all.iter().find(|(key, _)| names.contains(&key.as_str())).map(|(_, value)| value)
        };
        let goals = || rest.iter().filter(|field| !field.text.starts_with('-'));
        let starts = goals().any(|field| field.text.contains("exec"));
        if let Some(program) = value(&["exec.executable"]).filter(|_| starts) {
            let words = value(&["exec.args", "exec.arguments", "exec.commandlineArgs"]);
            let words = words.map_or("", |words| words.text.as_str());
            let text = format!("{} {words}", quoted(&program.text));
            self.nested(&Field { text, ..program.clone() }, "mvn", setting);
        }
        for goal in goals() {
            let parts: Vec<&str> = goal.text.split(':').collect();
            let plugin = parts.len() >= 3 && parts.first().is_some_and(|group| group.contains('.'));
            let known = GROUPS.iter().any(|group| goal.text.starts_with(group));
            if plugin && !known {
                self.unvouched(&goal.text, command, setting);
            }
        }
    }

    /// Follows the words of other builds that name what they run.
    fn of_others(&mut self, name: &str, rest: &[Field], command: Option<u32>, setting: &Setting) {
        match name {
            "sbt" => self.sbt_orders(rest, command, setting),
            "cs" | "coursier" => self.launched_artifacts(rest, command, setting),
            "jbang" => self.jbang(rest, command, setting),
            "cmake" => self.cmake_tool(rest, setting),
            "nim" => self.nim(rest, command, setting),
            "nimble" => self.nimble(command, setting),
            "gradle" | "gradlew" => self.other_builds(rest, command, setting),
            _ => {}
        }
    }

    /// Notes an artifact that is fetched and run at once, and that the project does not name.
    fn unvouched(&mut self, artifact: &str, command: Option<u32>, setting: &Setting) {
        let artifact: String = artifact.chars().take(80).collect();
        self.out.gap(&format!("a package from a source that nobody vouches for: {artifact}"));
        self.plain(EffectKind::UnseenCode, "", false, command, setting);
    }

    /// Follows the orders of sbt: `eval CODE`, `set KEY := CODE`, and files that it loads.
    fn sbt_orders(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        for field in rest {
            for order in field.text.split(';').map(str::trim).take(32) {
                let code = ["eval ", "set ", "eval(", "apply "]
                    .iter()
                    .find_map(|start| order.strip_prefix(start));
                if let Some(code) = code {
                    let code = Field { text: code.to_owned(), ..field.clone() };
                    self.code("scala", &code, command, setting);
                }
            }
            let text = field.text.trim_start_matches('-');
            let loaded =
                ["addPluginSbtFile=", "sbt-jar="].iter().find_map(|f| text.strip_prefix(f));
            if let Some(file) = loaded {
                let file = Field { text: file.to_owned(), ..field.clone() };
                self.loaded_build(&file, command, setting);
            }
        }
        let jar = super::rehearsals::flag_value(rest, &["--sbt-jar", "-sbt-jar"]);
        if let Some(jar) = jar {
            let file = Field::plain(jar, rest.first().map_or_else(Default::default, |f| f.span));
            self.loaded_build(&file, command, setting);
        }
    }

    /// Notes a file or a folder whose code a build loads from outside the project.
    fn loaded_build(&mut self, file: &Field, command: Option<u32>, setting: &Setting) {
        self.file(EffectKind::FileRead, file, false, command, setting);
        let (path, certain) = places::resolve(&file.text, &self.env.folder);
        let content = self.content_of(&path);
        if let Some(content) = content {
            self.unseen(content.source, command, setting);
        }
        if !certain || !self.is_project(&path) {
            self.plain(EffectKind::ProcessStart, &path, false, command, setting);
        }
    }

    fn launched_artifacts(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        let verb = rest.iter().position(|field| !field.text.starts_with('-'));
        let runs = verb.and_then(|at| rest.get(at)).is_some_and(|field| {
            matches!(field.text.as_str(), "bootstrap" | "install" | "launch" | "setup")
        });
        let words = verb.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
        let words = words.iter().take_while(|field| field.text != "--").filter(|_| runs);
        let elsewhere = words.clone().any(|field| {
            matches!(field.text.as_str(), "-r" | "--repository")
                || field.text.starts_with("--repository=")
        });
        for field in words.filter(|field| field.text.matches(':').count() >= 2) {
            let known = GROUPS.iter().any(|group| field.text.starts_with(group));
            let group = field.text.split(':').next().unwrap_or_default();
            // The central repository gives nobody a group without a dot any more.
            let open = elsewhere || group.contains('.');
            if open && !known && !field.text.contains("://") {
                self.unvouched(&field.text, command, setting);
            }
        }
    }

    /// Notes what jbang fetches and runs: an artifact, or a name in somebody's catalogue.
    fn jbang(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        const VERBS: &[&str] = &["app", "build", "install", "run"];
        let mut words = rest.iter().filter(|field| !field.text.starts_with('-'));
        let Some(field) = words.find(|field| !VERBS.contains(&field.text.as_str())) else { return };
        let text = field.text.as_str();
        let is_file = text.contains(['/', ' ']) || text.ends_with(".java");
        let is_artifact = text.matches(':').count() >= 2;
        let known = GROUPS.iter().any(|group| text.starts_with(group));
        let is_named =
            text.split_once('@').is_some_and(|(name, of)| !name.is_empty() && !of.is_empty());
        if !is_file && (is_artifact && !known || is_named) {
            self.unvouched(text, command, setting);
        }
    }

    /// Follows the tools of CMake, which do what the programs of the system do.
    fn cmake_tool(&mut self, rest: &[Field], setting: &Setting) {
        let Some(at) = rest.iter().position(|field| field.text == "-E") else { return };
        let Some((tool, words)) = rest.get(at + 1..).and_then(<[Field]>::split_first) else {
            return;
        };
        let start: &[&str] = match tool.text.as_str() {
            "rm" => &["rm"],
            "remove" => &["rm"],
            "remove_directory" => &["rm", "-r"],
            "copy" | "copy_if_different" => &["cp"],
            "copy_directory" | "copy_directory_if_different" => &["cp", "-r"],
            "rename" => &["mv"],
            "touch" | "touch_nocreate" => &["touch"],
            "make_directory" => &["mkdir", "-p"],
            "create_symlink" => &["ln", "-s"],
            "create_hardlink" => &["ln"],
            "cat" => &["cat"],
            "env" => &["env"],
            "time" => &[],
            "chdir" => {
                let Some((folder, inner)) = words.split_first() else { return };
                let line: Vec<String> = inner.iter().map(|word| quoted(&word.text)).collect();
                let text = format!("cd {} && {}", quoted(&folder.text), line.join(" "));
                self.nested(&Field { text, ..tool.clone() }, "cmake", setting);
                return;
            }
            _ => return,
        };
        let fields: Vec<Field> = start
            .iter()
            .map(|word| Field::plain(word, tool.span))
            .chain(words.iter().cloned())
            .collect();
        self.run(&fields, &super::simple::Call::default(), setting);
    }

    /// Follows other builds that Gradle takes into its own, and other files of its build.
    fn other_builds(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        let flags = ["--include-build", "-b", "--build-file", "-c", "--settings-file"];
        for (at, field) in rest.iter().enumerate() {
            let given = flags.iter().find_map(|flag| {
                let rest = field.text.strip_prefix(flag)?;
                rest.strip_prefix('=').map(str::to_owned).or(rest.is_empty().then(String::new))
            });
            let value = match given {
                Some(value) if value.is_empty() => rest.get(at + 1).cloned(),
                Some(value) => Some(Field { text: value, ..field.clone() }),
                None => None,
            };
            if let Some(value) = value {
                self.loaded_build(&value, command, setting);
            }
        }
    }

    /// Follows the compiler of Nim: the programs and libraries that its options name, and the orders
    /// in a file that it runs.
    fn nim(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        for field in rest {
            let Some((option, value)) = field.text.split_once([':', '=']) else { continue };
            let value = Field { text: value.to_owned(), ..field.clone() };
            let option = option.to_ascii_lowercase();
            if option.ends_with(".exe") || option.ends_with(".linkerexe") {
                self.held("program", &value, "nim", command, setting);
            } else if matches!(option.as_str(), "--passc" | "-t" | "--passl" | "-l") {
                for word in value.text.split_ascii_whitespace() {
                    if let Some(plugin) = word.strip_prefix("-fplugin=") {
                        let plugin = Field { text: plugin.to_owned(), ..value.clone() };
                        self.held("library", &plugin, "nim", command, setting);
                    }
                }
            }
        }
        let runs =
            rest.iter().any(|field| matches!(field.text.as_str(), "r" | "e" | "-r" | "--run"));
        let file =
            rest.iter().find(|field| [".nim", ".nims"].iter().any(|end| field.text.ends_with(end)));
        if let Some(file) = file.filter(|_| runs) {
            self.orders_in_file(&file.text.clone(), file, command, setting);
        }
    }

    /// Follows the orders in the file of a package of Nim, which has the folder's name as a rule.
    fn nimble(&mut self, command: Option<u32>, setting: &Setting) {
        let name = self.env.folder.rsplit('/').next().unwrap_or("").to_owned();
        let place = Field::plain(&name, Default::default());
        self.orders_in_file(&format!("{name}.nimble"), &place, command, setting);
    }

    fn orders_in_file(
        &mut self,
        name: &str,
        place: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let Some((path, text)) = self.first_file(&[name], command, setting) else { return };
        let lines = orders_of_nim(&text);
        self.run_lines((&path, &text), "order", &lines, None, place.span, command, setting);
    }
}

/// Returns the properties among words: `-Dkey=value`, `-D key=value`, `-p:key=value`.
fn properties_in(rest: &[Field], starts: &[&str]) -> Vec<(String, Field)> {
    let mut found = Vec::new();
    for (at, field) in rest.iter().enumerate() {
        let text = starts.iter().find_map(|start| field.text.strip_prefix(start));
        let pair = match text {
            Some("") => rest.get(at + 1).map(|next| next.text.as_str()),
            Some(text) => Some(text.trim_start_matches([':', '='])),
            None => None,
        };
        let Some((key, value)) = pair.and_then(|pair| pair.split_once('=')) else { continue };
        // CMake's properties may have a type: `-DNAME:STRING=VALUE`.
        let key = key.split(':').next().unwrap_or(key);
        found.push((key.to_owned(), Field { text: value.to_owned(), ..field.clone() }));
    }
    found
}

/// Returns the programs that a text in Nim starts with constant texts, and the folders and files
/// that it deletes, as lines for a shell.
fn orders_of_nim(text: &str) -> Vec<String> {
    const SHELL: &[&str] =
        &["exec", "execCmd", "execCmdEx", "execProcess", "execShellCmd", "selfExec", "shell"];
    const DELETES: &[(&str, &str)] =
        &[("removeDir", "rm -r"), ("removeFile", "rm"), ("rmDir", "rm -r"), ("rmFile", "rm")];
    let mut lines = Vec::new();
    for line in text.lines().take(4096) {
        let line = line.split('#').next().unwrap_or(line);
        let called = |name: &str| {
            let (before, after) = line.split_once(name)?;
            let apart = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let after = after.trim_start_matches(['(', ' ']);
            (apart && after.starts_with('"')).then(|| literals(after).into_iter().next())?
        };
        lines.extend(SHELL.iter().find_map(|name| called(name)));
        for (name, order) in DELETES {
            lines.extend(called(name).map(|path| format!("{order} {}", quoted(&path))));
        }
    }
    lines.truncate(256);
    lines
}
