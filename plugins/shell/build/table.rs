//! The files together: blocks filled in, names sorted, and the checks that need more than a single
//! item.

use super::document::{self, Block, Document, Entry};
use super::items;
use super::names::{expand, nearest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The catalogue, ready to be written.
#[derive(Debug)]
pub(crate) struct Table {
    /// By name: the encoded entry. `>NAME` makes it an alias of another.
    pub entries: BTreeMap<String, String>,
    /// By name: label and weight.
    pub forms: BTreeMap<String, (String, u16)>,
    /// By name: the role of an environment variable's value.
    pub variables: BTreeMap<String, String>,
    /// By configuration and key: the role of the value.
    pub settings: BTreeMap<(String, String), String>,
}

/// The state collected so far.
#[derive(Default)]
struct Builder<'d> {
    blocks: BTreeMap<&'d str, &'d Block>,
    used: BTreeSet<&'d str>,
    forms: BTreeMap<String, (String, u16)>,
    entries: BTreeMap<String, (String, String)>,
    variables: BTreeMap<String, String>,
    settings: BTreeMap<(String, String), String>,
    problems: Vec<String>,
}

impl Table {
    /// Combines files, given as name and text; fails with every mistake in them.
    pub(crate) fn of(files: &[(String, String)]) -> Result<Table, Vec<String>> {
        let (mut documents, mut problems) = (Vec::new(), Vec::new());
        for (file, text) in files {
            match document::parse(text) {
                Ok(document) => documents.push((file.as_str(), document)),
                Err(problem) => problems.push(format!("catalogue/{file}: {problem}")),
            }
        }
        let mut builder = Builder { problems, ..Builder::default() };
        builder.shared(&documents);
        for (file, document) in &documents {
            for entry in &document.entry {
                builder.entry(file, entry);
            }
        }
        for (file, document) in &documents {
            builder.carriers(file, document);
        }
        builder.finish()
    }

    /// Writes the tables as Rust, for `src/catalogue/mod.rs`.
    pub(crate) fn to_rust(&self) -> String {
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
            "static NAMES: &str = {names:?};\n\nstatic ROWS: &[Row] = &[\n{rows}];\n\nstatic SPECS: &[&str] = &[\n{}];\n\n\
             static FORMS: &[(&str, &str, u16)] = &[\n{forms}];\n\n\
             static VARIABLES: &[(&str, &str)] = &[\n{variables}];\n\nstatic SETTINGS: &[(&str, &str, &str)] = &[\n{settings}];\n",
            list(&specs)
        )
    }
}

impl<'d> Builder<'d> {
    /// Collects blocks and forms, which any file may use.
    fn shared(&mut self, documents: &'d [(&str, Document)]) {
        for (file, document) in documents {
            for (name, form) in &document.form {
                let place = format!("catalogue/{file}: form `{name}`");
                if !(100..=300).contains(&form.weight) {
                    self.problems.push(format!(
                        "{place}: the weight {} is out of range: it has to be from 100 to 300",
                        form.weight
                    ));
                }
                if self.forms.insert(name.clone(), (form.label.clone(), form.weight)).is_some() {
                    self.problems.push(format!("{place} is given twice: leave one out"));
                }
            }
            for (name, block) in &document.block {
                if self.blocks.insert(name, block).is_some() {
                    self.problems.push(format!(
                        "catalogue/{file}: block `{name}` is given twice: rename one"
                    ));
                }
            }
        }
        for (file, document) in documents {
            for (name, block) in &document.block {
                let place = format!("catalogue/{file}: block `{name}`");
                self.spec(&place, [block].into_iter());
            }
        }
    }

    fn entry(&mut self, file: &str, entry: &'d Entry) {
        let place =
            format!("catalogue/{file}: entry `{}`", entry.names.first().map_or("", String::as_str));
        let spec = self.meaning(&place, entry);
        if entry.names.is_empty() {
            self.problems.push(format!("{place} has no names: list at least one"));
        }
        for name in &entry.names {
            match expand(name) {
                Ok(names) => names.into_iter().for_each(|name| self.insert(&place, name, &spec)),
                Err(problem) => self.problems.push(format!("{place}: {problem}")),
            }
        }
    }

    fn insert(&mut self, place: &str, name: String, spec: &str) {
        match self.entries.get(&name) {
            Some((other, _)) => {
                self.problems.push(format!("{place}: `{name}` is in {other} too: leave one out"))
            }
            None => {
                self.entries.insert(name, (place.to_owned(), spec.to_owned()));
            }
        }
    }

    /// Collects variables, flags and keys that hold something that is run.
    fn carriers(&mut self, file: &str, document: &Document) {
        for variable in &document.variable {
            let place = format!(
                "catalogue/{file}: variable `{}`",
                variable.names.first().map_or("", String::as_str)
            );
            let Some(role) = self.checked(&place, items::role(&variable.holds)) else { continue };
            for name in &variable.names {
                if self.variables.insert(name.clone(), role.clone()).is_some() {
                    self.problems.push(format!("{place}: `{name}` is given twice: leave one out"));
                }
            }
        }
        for setting in &document.setting {
            let place = format!("catalogue/{file}: setting of `{}`", setting.of);
            let Some(role) = self.checked(&place, items::role(&setting.holds)) else { continue };
            for key in &setting.keys {
                if self.settings.insert((setting.of.clone(), key.clone()), role.clone()).is_some() {
                    self.problems.push(format!("{place}: `{key}` is given twice: leave one out"));
                }
            }
        }
        for option in &document.option {
            let place = format!("catalogue/{file}: option `{}`", option.flags);
            let (flags, role) = (
                self.checked(&place, items::flags(&option.flags)),
                self.checked(&place, items::role(&option.holds)),
            );
            let Some((flags, role)) = flags.zip(role) else { continue };
            for pattern in &option.of {
                match expand(pattern) {
                    Ok(names) => {
                        names.iter().for_each(|name| self.option(&place, name, &flags, &role))
                    }
                    Err(problem) => self.problems.push(format!("{place}: {problem}")),
                }
            }
        }
    }

    /// Adds an option; it overrides the entry's own role for these flags.
    fn option(&mut self, place: &str, name: &str, flags: &str, role: &str) {
        match self.entries.get_mut(name) {
            None => self.problems.push(format!(
                "{place}: there is no entry `{name}`{}",
                nearest(name, self.entries.keys().map(String::as_str))
            )),
            Some((_, spec)) if spec.starts_with('>') => {
                self.problems
                    .push(format!("{place}: `{name}` is the same as another entry: name that one"));
            }
            Some((_, spec)) => *spec = with_option(spec, flags, role),
        }
    }

    /// Encodes an entry.
    fn meaning(&mut self, place: &str, entry: &'d Entry) -> String {
        let own = Block {
            deeds: entry.deeds.clone().unwrap_or_default(),
            when: entry.when.clone(),
            values: entry.values.clone(),
        };
        let says = entry.deeds.is_some()
            || !own.when.is_empty()
            || !own.values.is_empty()
            || !entry.blocks.is_empty();
        if let Some(other) = &entry.same_as {
            if says {
                self.problems.push(format!("{place} is the same as `{other}` and says something of its own: leave one of them out"));
            }
            return format!(">{other}");
        }
        if !says {
            self.problems.push(format!(
                "{place} says nothing: write `does = []` for a program that only looks"
            ));
        }
        let mut blocks = vec![];
        for name in &entry.blocks {
            match self.blocks.get_key_value(name.as_str()) {
                Some((key, block)) => {
                    self.used.insert(key);
                    blocks.push(*block);
                }
                None => {
                    let hint = nearest(name, self.blocks.keys().copied());
                    self.problems.push(format!("{place}: there is no block `{name}`{hint}"));
                }
            }
        }
        let mut spec = self.spec(place, [&own].into_iter().chain(blocks));
        match entry.style.as_deref() {
            None => {}
            Some("windows") => {
                spec.insert_str(0, if spec.is_empty() { "windows" } else { "windows\n" })
            }
            Some(style) => self
                .problems
                .push(format!("{place}: `{style}` is not a style: the only one is `windows`")),
        }
        spec
    }

    /// Encodes items, conditions and values, one a line.
    fn spec<'b>(&mut self, place: &str, blocks: impl Iterator<Item = &'b Block> + Clone) -> String {
        let mut lines = Vec::new();
        for item in blocks.clone().flat_map(|block| &block.deeds) {
            lines.extend(self.item(place, item));
        }
        for (condition, items) in blocks.clone().flat_map(|block| &block.when) {
            let condition = self.checked(place, items::condition(condition));
            for item in items {
                let item = self.item(place, item);
                lines.extend(
                    condition
                        .iter()
                        .zip(item)
                        .map(|(condition, item)| format!("?{condition}\t{item}")),
                );
            }
        }
        let mut seen = BTreeSet::new();
        for (flags, role) in blocks.flat_map(|block| &block.values) {
            let (names, role) =
                (self.checked(place, items::flags(flags)), self.checked(place, items::role(role)));
            let Some((names, role)) = names.zip(role) else { continue };
            if let Some(flag) = names.split(' ').find(|flag| !seen.insert((*flag).to_owned())) {
                self.problems
                    .push(format!("{place}: the value of `{flag}` is given twice: leave one out"));
            }
            lines.push(format!("={names}\t{role}"));
        }
        lines.join("\n")
    }

    fn item(&mut self, place: &str, text: &str) -> Option<String> {
        let item = self.checked(place, items::item(text))?;
        if let Some(form) = item.strip_prefix('!').filter(|form| !self.forms.contains_key(*form)) {
            let hint = nearest(form, self.forms.keys().map(String::as_str));
            self.problems.push(format!("{place}: there is no form `{form}`{hint}"));
        }
        Some(item)
    }

    fn checked(&mut self, place: &str, result: Result<String, String>) -> Option<String> {
        result.map_err(|problem| self.problems.push(format!("{place}: {problem}"))).ok()
    }

    /// Checks everything that requires all entries.
    fn finish(mut self) -> Result<Table, Vec<String>> {
        for name in self.blocks.keys().filter(|name| !self.used.contains(*name)) {
            self.problems.push(format!("block `{name}` is used by no entry: leave it out"));
        }
        for (name, (place, spec)) in &self.entries {
            let program = name.split(' ').next().unwrap_or(name);
            if !self.entries.contains_key(program) {
                self.problems
                    .push(format!("{place}: `{name}` has no entry `{program}`: add one that says what the program does otherwise"));
            }
            let Some(other) = spec.strip_prefix('>') else { continue };
            match self.entries.get(other) {
                None => self.problems.push(format!(
                    "{place}: there is no entry `{other}`{}",
                    nearest(other, self.entries.keys().map(String::as_str))
                )),
                Some((_, spec)) if spec.starts_with('>') => {
                    self.problems.push(format!(
                        "{place}: `{other}` is itself the same as another entry: name that one"
                    ));
                }
                Some(_) => {}
            }
        }
        if self.problems.is_empty() {
            let entries = self.entries.into_iter().map(|(name, (_, spec))| (name, spec)).collect();
            return Ok(Table {
                entries,
                forms: self.forms,
                variables: self.variables,
                settings: self.settings,
            });
        }
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
