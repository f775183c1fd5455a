//! The files together: blocks filled in, names sorted, and the checks that need more than a single
//! item.

use crate::document::{self, Block, Document, Entry};
use crate::items;
use crate::names::{expand, nearest};
use crate::problem::{Mistake, Problem};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use toml::Spanned;

/// The catalogue, ready to be written.
#[derive(Debug)]
pub struct Table {
    /// By name: the encoded entry. `>NAME` makes it an alias of another.
    pub entries: BTreeMap<String, String>,
    /// By name: label and weight.
    pub forms: BTreeMap<String, (String, u16)>,
    /// By name: the role of an environment variable's value.
    pub variables: BTreeMap<String, String>,
    /// By configuration and key: the role of the value.
    pub settings: BTreeMap<(String, String), String>,
}

/// A file of the catalogue.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct File {
    /// The name in messages.
    pub name: String,
    /// Its TOML.
    pub text: String,
}

/// A part of a file, for messages.
#[derive(Clone, Debug)]
struct Part<'d> {
    file: &'d File,
    at: usize,
    kind: &'static str,
    name: &'d str,
}

impl<'d> Part<'d> {
    fn new<T>(file: &'d File, kind: &'static str, name: &'d str, part: &Spanned<T>) -> Self {
        Self { file, at: part.span().start, kind, name }
    }

    fn line(&self) -> usize {
        document::line_at(&self.file.text, self.at)
    }

    /// Returns the line of a text of this part, or the part's own if it is written otherwise.
    fn line_of(&self, text: &str) -> usize {
        let rest = self.file.text.get(self.at..).unwrap_or_default();
        let mut lines = rest.lines().enumerate();
        // The head of the next table ends this part.
        let found = lines
            .by_ref()
            .take_while(|(number, line)| *number == 0 || !line.starts_with('['))
            .find(|(_, line)| {
                ['"', '\''].iter().any(|mark| line.contains(&format!("{mark}{text}{mark}")))
            });
        self.line() + found.map_or(0, |(number, _)| number)
    }

    /// Returns a mistake of this part, at the line of `text`.
    fn problem(&self, text: &str, mistake: Mistake) -> Problem {
        Problem {
            file: self.file.name.clone(),
            line: self.line_of(text),
            kind: self.kind,
            name: self.name.to_owned(),
            mistake,
        }
    }
}

/// The state collected so far.
#[derive(Default)]
struct Builder<'d> {
    blocks: BTreeMap<&'d str, (Part<'d>, &'d Block)>,
    used: BTreeSet<&'d str>,
    forms: BTreeMap<String, (String, u16)>,
    entries: BTreeMap<String, (Part<'d>, String)>,
    variables: BTreeMap<String, String>,
    settings: BTreeMap<(String, String), String>,
    problems: Vec<Problem>,
}

impl Table {
    /// Combines files.
    ///
    /// # Errors
    ///
    /// Every mistake in them.
    pub fn combine(files: &[File]) -> Result<Self, Vec<Problem>> {
        let (mut documents, mut problems) = (Vec::new(), Vec::new());
        for file in files {
            match document::parse(&file.name, &file.text) {
                Ok(document) => documents.push((file, document)),
                Err(problem) => problems.push(problem),
            }
        }
        let mut builder = Builder { problems, ..Builder::default() };
        builder.shared(&documents);
        for (file, document) in &documents {
            for entry in &document.entry {
                let name = entry.get_ref().names.first().map_or("", String::as_str);
                builder.entry(&Part::new(file, "entry", name, entry), entry.get_ref());
            }
        }
        for (file, document) in &documents {
            builder.carriers(file, document);
        }
        builder.finish()
    }

    /// Writes the tables as Rust, for `src/catalogue/mod.rs`.
    #[must_use]
    pub fn to_rust(&self) -> String {
        let mut specs: Vec<&str> = self.entries.values().map(String::as_str).collect();
        specs.sort_unstable();
        specs.dedup();
        let mut names = String::new();
        let mut rows = String::new();
        for (name, spec) in &self.entries {
            let at = specs.binary_search(&spec.as_str()).unwrap_or_default();
            let _ = writeln!(
                rows,
                "    Row {{ at: {}, length: {}, spec: {at} }},",
                names.len(),
                name.len()
            );
            names.push_str(name);
        }
        let list = |texts: &[&str]| {
            texts
                .iter()
                .fold(String::new(), |list, text| list + "    " + &format!("{text:?}") + ",\n")
        };
        let forms = self.forms.iter().fold(String::new(), |list, (name, (label, weight))| {
            list + &format!("    ({name:?}, {label:?}, {weight}),\n")
        });
        let variables = self.variables.iter().fold(String::new(), |list, (name, role)| {
            list + &format!("    ({name:?}, {role:?}),\n")
        });
        let settings = self.settings.iter().fold(String::new(), |list, ((family, key), role)| {
            list + &format!("    ({family:?}, {key:?}, {role:?}),\n")
        });
        format!(
            "static NAMES: &str = {names:?};\n\nstatic ROWS: &[Row] = &[\n{rows}];\n\nstatic \
             SPECS: &[&str] = &[\n{}];\n\n\
             static FORMS: &[(&str, &str, u16)] = &[\n{forms}];\n\n\
             static VARIABLES: &[(&str, &str)] = &[\n{variables}];\n\nstatic SETTINGS: &[(&str, \
             &str, &str)] = &[\n{settings}];\n",
            list(&specs)
        )
    }
}

impl<'d> Builder<'d> {
    /// Collects blocks and forms, which any file may use.
    fn shared(&mut self, documents: &'d [(&'d File, Document)]) {
        for (file, document) in documents {
            for (name, form) in &document.form {
                let part = Part::new(file, "form", name, form);
                let form = form.get_ref();
                if !(100..=300).contains(&form.weight) {
                    let what = format!("the weight {} is out of range", form.weight);
                    self.mistake(&part, "", what, "write one from 100 to 300");
                }
                if self.forms.insert(name.clone(), (form.label.clone(), form.weight)).is_some() {
                    self.mistake(&part, "", "it is given twice", "leave one out");
                }
            }
            for (name, block) in &document.block {
                let part = Part::new(file, "block", name, block);
                if let Some((other, _)) = self.blocks.get(name.as_str()) {
                    let what = format!("{}:{} has it too", other.file.name, other.line());
                    self.mistake(&part, "", what, "rename one");
                }
                self.blocks.insert(name, (part, block.get_ref()));
            }
        }
        for (file, document) in documents {
            // Forms of every file are known now, so each block is checked, used or not.
            for (name, block) in &document.block {
                let part = Part::new(file, "block", name, block);
                self.spec(&part, [block.get_ref()].into_iter());
            }
        }
    }

    fn entry(&mut self, part: &Part<'d>, entry: &'d Entry) {
        let spec = self.meaning(part, entry);
        if entry.names.is_empty() {
            self.mistake(part, "", "it has no names", "list at least one");
        }
        for name in &entry.names {
            let names = self.checked(part, name, expand(name)).unwrap_or_default();
            names.into_iter().for_each(|expanded| self.insert(part, name, expanded, &spec));
        }
    }

    fn insert(&mut self, part: &Part<'d>, written: &str, name: String, spec: &str) {
        match self.entries.get(&name) {
            Some((other, _)) => {
                let what = format!("`{name}` is in {}:{} too", other.file.name, other.line());
                self.mistake(part, written, what, "leave one out");
            }
            None => {
                self.entries.insert(name, (part.clone(), spec.to_owned()));
            }
        }
    }

    /// Collects variables, flags and keys that hold something that is run.
    fn carriers(&mut self, file: &'d File, document: &'d Document) {
        for variable in &document.variable {
            let name = variable.get_ref().names.first().map_or("", String::as_str);
            let part = Part::new(file, "variable", name, variable);
            let variable = variable.get_ref();
            let role = self.checked(&part, &variable.holds, items::role(&variable.holds));
            let Some(role) = role else { continue };
            for name in &variable.names {
                if self.variables.insert(name.clone(), role.clone()).is_some() {
                    let what = format!("`{name}` is given twice");
                    self.mistake(&part, name, what, "leave one out");
                }
            }
        }
        for setting in &document.setting {
            let part = Part::new(file, "setting", &setting.get_ref().of, setting);
            let setting = setting.get_ref();
            let role = self.checked(&part, &setting.holds, items::role(&setting.holds));
            let Some(role) = role else { continue };
            for key in &setting.keys {
                if self.settings.insert((setting.of.clone(), key.clone()), role.clone()).is_some() {
                    let what = format!("`{key}` is given twice");
                    self.mistake(&part, key, what, "leave one out");
                }
            }
        }
        for option in &document.option {
            let part = Part::new(file, "option", &option.get_ref().flags, option);
            let option = option.get_ref();
            let flags = self.checked(&part, &option.flags, items::flags(&option.flags));
            let role = self.checked(&part, &option.holds, items::role(&option.holds));
            let Some((flags, role)) = flags.zip(role) else { continue };
            for pattern in &option.of {
                let names = self.checked(&part, pattern, expand(pattern)).unwrap_or_default();
                names.iter().for_each(|name| self.option(&part, name, &flags, &role));
            }
        }
    }

    /// Adds an option; it overrides the entry's own role for these flags.
    fn option(&mut self, part: &Part<'d>, name: &str, flags: &str, role: &str) {
        match self.entries.get_mut(name) {
            None => {
                let known = self.entries.keys().map(String::as_str);
                let fix = nearest(name, known, "add the entry first");
                self.mistake(part, name, format!("there is no entry `{name}`"), fix);
            }
            Some((_, spec)) if spec.starts_with('>') => {
                let what = format!("`{name}` is the same as another entry");
                self.mistake(part, name, what, "name that one");
            }
            Some((_, spec)) => *spec = with_option(spec, flags, role),
        }
    }

    /// Encodes an entry.
    fn meaning(&mut self, part: &Part<'d>, entry: &'d Entry) -> String {
        let own = Block {
            effects: entry.effects.clone().unwrap_or_default(),
            when: entry.when.clone(),
            values: entry.values.clone(),
            switches: entry.switches.clone(),
        };
        let says = entry.effects.is_some()
            || !own.when.is_empty()
            || !own.values.is_empty()
            || !own.switches.is_empty()
            || !entry.blocks.is_empty();
        if let Some(other) = &entry.same_as {
            if says {
                let what = format!("it is the same as `{other}` and says something of its own");
                self.mistake(part, other, what, "leave one of them out");
            }
            return format!(">{other}");
        }
        if !says {
            self.mistake(
                part,
                "",
                "it says nothing",
                "write `does = []` for a program that only looks",
            );
        }
        let mut blocks = vec![];
        for name in &entry.blocks {
            match self.blocks.get_key_value(name.as_str()) {
                Some((key, (_, block))) => {
                    self.used.insert(key);
                    blocks.push(*block);
                }
                None => {
                    let fix = nearest(name, self.blocks.keys().copied(), "add `[block.NAME]`");
                    self.mistake(part, name, format!("there is no block `{name}`"), fix);
                }
            }
        }
        let mut spec = self.spec(part, [&own].into_iter().chain(blocks));
        match entry.style.as_deref() {
            None => {}
            Some(style @ ("windows" | "gnu" | "exact")) => {
                if !spec.is_empty() {
                    spec.insert(0, '\n');
                }
                spec.insert_str(0, style);
            }
            Some(style) => {
                let what = format!("`{style}` is not a style");
                self.mistake(part, style, what, "write `gnu`, `exact` or `windows`");
            }
        }
        spec
    }

    /// Encodes items, conditions and values, one a line.
    fn spec<'b>(
        &mut self,
        part: &Part<'d>,
        blocks: impl Iterator<Item = &'b Block> + Clone,
    ) -> String {
        let mut lines = Vec::new();
        for item in blocks.clone().flat_map(|block| &block.effects) {
            lines.extend(self.item(part, item));
        }
        for (written, items) in blocks.clone().flat_map(|block| &block.when) {
            let condition = self.checked(part, written, items::condition(written));
            for item in items {
                let item = self.item(part, item);
                lines.extend(
                    condition
                        .iter()
                        .zip(item)
                        .map(|(condition, item)| format!("?{condition}\t{item}")),
                );
            }
        }
        for block in blocks.clone().filter(|block| !block.switches.is_empty()) {
            let switches = self.checked(part, &block.switches, items::flags(&block.switches));
            lines.extend(switches.map(|switches| format!("~{switches}")));
        }
        let mut seen = BTreeSet::new();
        for (written, role) in blocks.flat_map(|block| &block.values) {
            let names = self.checked(part, written, items::flags(written));
            let role = self.checked(part, role, items::role(role));
            let Some((names, role)) = names.zip(role) else { continue };
            if let Some(flag) = names.split(' ').find(|flag| !seen.insert((*flag).to_owned())) {
                let what = format!("the value of `{flag}` is given twice");
                self.mistake(part, written, what, "leave one out");
            }
            lines.push(format!("={names}\t{role}"));
        }
        lines.join("\n")
    }

    fn item(&mut self, part: &Part<'d>, text: &str) -> Option<String> {
        let item = self.checked(part, text, items::item(text))?;
        if let Some(form) = item.strip_prefix('!').filter(|form| !self.forms.contains_key(*form)) {
            let known = self.forms.keys().map(String::as_str);
            let fix = nearest(form, known, "add `[form.NAME]` to `forms.toml`");
            self.mistake(part, text, format!("there is no form `{form}`"), fix);
        }
        Some(item)
    }

    /// Reports the mistake in `text`, if there is one.
    fn checked<T>(&mut self, part: &Part<'d>, text: &str, result: Result<T, Mistake>) -> Option<T> {
        result.map_err(|mistake| self.problems.push(part.problem(text, mistake))).ok()
    }

    fn mistake(
        &mut self,
        part: &Part<'d>,
        text: &str,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.problems.push(part.problem(text, Mistake::new(what, fix)));
    }

    /// Checks everything that requires all entries.
    fn finish(mut self) -> Result<Table, Vec<Problem>> {
        let unused = self.blocks.iter().filter(|(name, _)| !self.used.contains(*name));
        let mut problems: Vec<Problem> = unused
            .map(|(_, (part, _))| {
                part.problem("", Mistake::new("no entry uses it", "leave it out"))
            })
            .collect();
        for (name, (part, spec)) in &self.entries {
            let program = name.split(' ').next().unwrap_or(name);
            if !self.entries.contains_key(program) {
                let what = format!("`{name}` has no entry `{program}`");
                let fix = "add one that says what the program does otherwise";
                problems.push(part.problem(name, Mistake::new(what, fix)));
            }
            let Some(other) = spec.strip_prefix('>') else { continue };
            match self.entries.get(other) {
                None => {
                    let known = self.entries.keys().map(String::as_str);
                    let fix = nearest(other, known, "name an entry, or write `does`");
                    let what = format!("there is no entry `{other}`");
                    problems.push(part.problem(other, Mistake::new(what, fix)));
                }
                Some((_, spec)) if spec.starts_with('>') => {
                    let what = format!("`{other}` is itself the same as another entry");
                    problems.push(part.problem(other, Mistake::new(what, "name that one")));
                }
                Some(_) => {}
            }
        }
        self.problems.append(&mut problems);
        if self.problems.is_empty() {
            let entries = self.entries.into_iter().map(|(name, (_, spec))| (name, spec)).collect();
            return Ok(Table {
                entries,
                forms: self.forms,
                variables: self.variables,
                settings: self.settings,
            });
        }
        self.problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Err(self.problems)
    }
}

/// Adds the role of these flags to an encoded entry.
fn with_option(spec: &str, flags: &str, role: &str) -> String {
    let new: Vec<&str> = flags.split(' ').collect();
    let mut lines: Vec<String> = Vec::new();
    for line in spec.lines() {
        match line.strip_prefix('=').and_then(|line| line.split_once('\t')) {
            Some((old, old_role)) => {
                let kept: Vec<&str> = old.split(' ').filter(|flag| !new.contains(flag)).collect();
                if !kept.is_empty() {
                    lines.push(format!("={}\t{old_role}", kept.join(" ")));
                }
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines.push(format!("={flags}\t{role}"));
    lines.join("\n")
}
