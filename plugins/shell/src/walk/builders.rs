//! Files that builders and test runners run without being told to: test files, generators, build
//! scripts, tasks, and the containers of a compose file.

use super::expand::Field;
use super::routines::quoted;
use super::scripts::Manner;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;
use std::collections::BTreeSet;

/// The maximum number of files that one call is read from.
const FILES: usize = 6;
/// The maximum number of lines and tasks that are read of one file.
const LINES: usize = 128;
/// Subcommands of cargo that run a build script.
const BUILDS: &[&str] = &[
    "b", "bench", "build", "c", "check", "clippy", "d", "doc", "fix", "r", "run", "rustc", "t",
    "test",
];
/// Files with generators, by the names that they often have.
const GENERATORS: &[&str] = &["generate.go", "gen.go", "main.go", "doc.go", "tools.go"];
impl Walker<'_> {
    /// Reads the test files that a call names, and what pytest loads before them.
    pub(super) fn test_files(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let mut names = vec!["conftest.py".to_owned()];
        for field in plan.operands.iter().filter_map(|at| rest.get(*at)).take(FILES) {
            let name = field.text.split("::").next().unwrap_or("").trim_end_matches('/');
            match (name.ends_with(".py"), name.rsplit_once('/')) {
                (true, Some((folder, _))) => {
                    names.push(format!("{folder}/conftest.py"));
                    names.push(name.to_owned());
                }
                (true, None) => names.push(name.to_owned()),
                (false, _) if !name.is_empty() => names.push(format!("{name}/conftest.py")),
                (false, _) => {}
            }
        }
        // Without names pytest collects the whole project, whose tests mostly are in `tests`.
        if names.len() == 1 {
            names.push("tests/conftest.py".to_owned());
        }
        names.dedup();
        for name in names.iter().take(FILES) {
            let (path, _) = places::resolve(name, &self.env.folder);
            let field = rest.first().cloned().unwrap_or_default();
            let (language, manner) = (Some("python"), Manner::Interpreted);
            let (forms, effects) = (self.out.forms.len(), self.out.effects.len());
            self.run_script(&field, &path, language, manner, &[], command, setting);
            self.trust_test(forms, effects);
        }
    }

    /// Reads the orders that `go generate` finds in comments.
    pub(super) fn generators(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let words: Vec<&str> = words_of(plan, rest);
        if words.first() != Some(&"generate") {
            return;
        }
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let mut names: Vec<String> = Vec::new();
        for word in words.iter().skip(1) {
            let folder = word.trim_end_matches("...").trim_end_matches('/');
            match (word.ends_with(".go"), folder) {
                (true, _) => names.push((*word).to_owned()),
                (false, "" | ".") => {
                    names.extend(GENERATORS.iter().map(|name| (*name).to_owned()));
                }
                (false, folder) => {
                    names.extend(GENERATORS.iter().map(|name| format!("{folder}/{name}")));
                }
            }
        }
        if words.len() == 1 {
            names.extend(GENERATORS.iter().map(|name| (*name).to_owned()));
        }
        for name in names.iter().take(FILES) {
            let (path, _) = places::resolve(name, &self.env.folder);
            let Some(text) = self.open_script(&path, false, command, setting) else { continue };
            let lines: Vec<String> = text
                .lines()
                .filter_map(|line| line.strip_prefix("//go:generate "))
                .map(str::to_owned)
                .take(LINES)
                .collect();
            self.run_lines((&path, &text), "generate", &lines, None, span, command, setting);
        }
    }

    /// Reads the build script that cargo runs first: the programs and files that it names.
    pub(super) fn build_script(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if !words_of(plan, rest).first().is_some_and(|verb| BUILDS.contains(verb)) {
            return;
        }
        let manifest = value_after(rest, &["--manifest-path"]);
        let folder = manifest.as_deref().and_then(|path| path.rsplit_once('/'));
        let name = folder.map_or("build.rs".to_owned(), |(folder, _)| format!("{folder}/build.rs"));
        let (path, _) = places::resolve(&name, &self.env.folder);
        let Some(text) = self.open_script(&path, false, command, setting) else { return };
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let lines = orders_of_rust(&text);
        self.run_lines((&path, &text), "build", &lines, None, span, command, setting);
    }

    /// Reads the tasks of a Rakefile that a call runs.
    pub(super) fn rake(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let names = ["Rakefile", "rakefile", "Rakefile.rb"];
        let Some((path, text)) = self.first_file(&names, command, setting) else { return };
        let mut tasks: Vec<String> =
            words_of(plan, rest).iter().filter(|w| !w.contains('=')).map(|w| bare(w)).collect();
        if tasks.is_empty() {
            tasks.push("default".to_owned());
        }
        let mut done = BTreeSet::new();
        let mut blocks = Vec::new();
        while let Some(task) = tasks.pop() {
            if done.len() < LINES && done.insert(task.clone()) {
                let (block, needs) = task_of_rake(&text, &task);
                blocks.extend(block);
                tasks.extend(needs);
            }
        }
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        self.run_lines((&path, &text), "task", &blocks, Some("ruby"), span, command, setting);
        // A text without a value in it is the shell's line unchanged.
        let lines: Vec<String> = blocks
            .iter()
            .flat_map(|block| block.lines())
            .filter(|line| {
                let call = line.trim_start();
                let plain = call.starts_with("sh '") || call.starts_with("sh('");
                let filled = call.starts_with("sh \"") || call.starts_with("sh(\"");
                plain || filled && !call.contains("#{")
            })
            .filter_map(|line| literals(line).into_iter().next())
            .collect();
        self.run_lines((&path, &text), "sh", &lines, None, span, command, setting);
    }

    /// Reads the tasks of a build file of Gradle that a call runs.
    pub(super) fn gradle(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let names = ["build.gradle", "build.gradle.kts"];
        let Some((path, text)) = self.first_file(&names, command, setting) else { return };
        let mut tasks: Vec<String> = words_of(plan, rest)
            .iter()
            .map(|word| word.rsplit(':').next().unwrap_or(word).to_owned())
            .collect();
        let mut done = BTreeSet::new();
        let mut lines = Vec::new();
        while let Some(task) = tasks.pop() {
            if done.len() < LINES && done.insert(task.clone()) {
                let (orders, needs) = task_of_gradle(&text, &task);
                lines.extend(orders);
                tasks.extend(needs);
            }
        }
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        self.run_lines((&path, &text), "task", &lines, None, span, command, setting);
    }
}

/// Returns the words of a call that are not flags.
fn words_of<'w>(plan: &Plan, rest: &'w [Field]) -> Vec<&'w str> {
    plan.subcommand
        .iter()
        .chain(&plan.operands)
        .filter_map(|at| rest.get(*at))
        .map(|field| field.text.as_str())
        .collect()
}

fn value_after(rest: &[Field], flags: &[&str]) -> Option<String> {
    rest.iter().enumerate().find_map(|(at, field)| {
        if flags.contains(&field.text.as_str()) {
            return rest.get(at + 1).map(|next| next.text.clone());
        }
        let (flag, value) = field.text.split_once('=')?;
        flags.contains(&flag).then(|| value.to_owned())
    })
}

/// Returns a task's name without its arguments: `release[1.0]`.
fn bare(word: &str) -> String {
    word.split('[').next().unwrap_or(word).to_owned()
}

/// Returns the texts in quotes.
pub(super) fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'']).filter(|_| found.len() < LINES) {
        let quote = rest.get(at..at + 1).unwrap_or("\"");
        let after = rest.get(at + 1..).unwrap_or("");
        let Some(end) = after.find(quote) else { break };
        found.push(after.get(..end).unwrap_or("").to_owned());
        rest = after.get(end + 1..).unwrap_or("");
    }
    found
}

/// Returns a command line of these words.
fn line_of(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the programs that a Rust text starts with constant words, and the folders that it
/// deletes, as lines for a shell.
fn orders_of_rust(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for part in text.split("Command::new(").skip(1).take(LINES) {
        let statement = part.split(';').next().unwrap_or("");
        // An escaped quote would end the literal too early.
        let words = literals(statement.replace("\\\"", "'").as_str());
        if statement.trim_start().starts_with('"') && !words.is_empty() {
            lines.push(line_of(&words));
        }
    }
    for (call, order) in [("remove_dir_all(", "rm -r"), ("remove_file(", "rm")] {
        for part in text.split(call).skip(1).take(LINES) {
            let argument = part.split(')').next().unwrap_or("");
            if let Some(path) = literals(argument).first().filter(|_| argument.starts_with('"')) {
                lines.push(format!("{order} {}", quoted(path)));
            }
        }
    }
    lines
}

/// Returns the block of a task of a Rakefile, and the tasks that run before it.
fn task_of_rake(text: &str, task: &str) -> (Vec<String>, Vec<String>) {
    let name = task.rsplit(':').next().unwrap_or(task);
    let (mut blocks, mut needs) = (Vec::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(head) = line.trim_start().strip_prefix("task ") else { continue };
        let head = head.trim_start_matches(['(', ' ', ':', '"', '\'']);
        let named = head
            .strip_prefix(name)
            .filter(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        let Some(after) = named else { continue };
        let list = after.split(" do").next().unwrap_or("");
        let list = list.split_once("=>").or_else(|| list.split_once(": ")).map_or("", |(_, l)| l);
        let plain = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'));
        needs.extend(list.split(plain).map(|need| need.trim_matches(':').to_owned()));
        if let Some((_, one)) = line.split_once(" { ") {
            blocks.push(one.trim_end().trim_end_matches('}').to_owned());
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let mut block = String::new();
        while let Some(next) = lines.next_if(|_| line.contains(" do")) {
            let depth = next.len() - next.trim_start().len();
            // Ruby is not parsed here: the indent tells this `end` from those of inner blocks.
            if depth <= indent && next.trim() == "end" {
                break;
            }
            block.push_str(next);
            block.push('\n');
        }
        blocks.push(block);
    }
    needs.retain(|need| !need.is_empty());
    (blocks, needs)
}

/// Returns the orders in the blocks of a task of Gradle as lines for a shell, and the tasks
/// that run
/// before it.
fn task_of_gradle(text: &str, task: &str) -> (Vec<String>, Vec<String>) {
    let (mut orders, mut needs) = (Vec::new(), Vec::new());
    let heads = [
        format!("task {task}"),
        format!("register(\"{task}\""),
        format!("register('{task}'"),
        format!("named(\"{task}\""),
        format!("named('{task}'"),
        format!("register<Exec>(\"{task}\""),
        format!("register<Delete>(\"{task}\""),
        format!("\n{task} {{"),
    ];
    for head in heads {
        for (at, _) in text.match_indices(&head).take(8) {
            let rest = text.get(at + head.len()..).unwrap_or("");
            let whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let Some(block) = block_of(rest).filter(|_| whole || head.ends_with('{')) else {
                continue;
            };
            for line in block.lines().map(str::trim).take(LINES) {
                let words = literals(line);
                let starts = |names: &[&str]| names.iter().any(|name| line.starts_with(name));
                if words.is_empty() {
                    continue;
                }
                if starts(&["commandLine", "exec {", "exec{"]) || line.contains("commandLine") {
                    orders.push(line_of(&words));
                } else if starts(&["delete ", "delete(", "project.delete"]) {
                    orders.push(format!("rm -r {}", line_of(&words)));
                } else if line.contains(".execute()") {
                    orders.extend(words);
                } else if starts(&["dependsOn", "finalizedBy"]) {
                    needs.extend(words.iter().map(|word| word.trim_start_matches(':').to_owned()));
                }
            }
        }
    }
    (orders, needs)
}

/// Returns the text between the first brace and the one that closes it.
fn block_of(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return text.get(start + 1..at),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.get(start + 1..)
}
