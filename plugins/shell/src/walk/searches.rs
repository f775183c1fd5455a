//! `find` and `xargs`: the files found, and the commands applied to each.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::syntax::Span;
use crate::types::EffectKind;

impl Walker<'_> {
    pub(super) fn find(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let fd = matches!(name, "fd" | "fdfind").then(|| read_fd(rest));
        let folder = Field::plain(".", Span::default());
        let mut roots: Vec<&Field> = match &fd {
            Some(fd) => fd.roots.clone(),
            None => roots(rest).iter().collect(),
        };
        if roots.is_empty() {
            roots.push(&folder);
        }
        let fd_pattern = fd.as_ref().and_then(|fd| fd.name.as_deref());
        let name_pattern = fd_pattern.or_else(|| value_of(rest, &["-name", "-iname"]));
        let narrowed = name_pattern.is_some()
            || rest.iter().any(|field| {
                matches!(
                    field.text.as_str(),
                    "-path"
                        | "-regex"
                        | "-mtime"
                        | "-size"
                        | "-empty"
                        | "-newer"
                        | "-mmin"
                        | "-maxdepth"
                )
            })
            || fd.as_ref().is_some_and(|fd| fd.narrowed);
        let found: Vec<Field> =
            roots.iter().map(|root| matches_of(root, name_pattern, narrowed)).collect();
        // A search shows names, not what the files hold.
        self.metadata = true;
        for root in &roots {
            self.file(
                EffectKind::FileRead,
                &Field { text: root.text.clone(), ..(*root).clone() },
                true,
                command,
                setting,
            );
        }
        self.metadata = false;
        if rest.iter().any(|field| field.text == "-delete") {
            if !narrowed {
                self.out.form("recursive-force-delete", command);
            }
            // An empty file or folder takes nothing with it.
            let kind = match finds_only_empty(rest) {
                true => EffectKind::FileModify,
                false => EffectKind::FileDelete,
            };
            for field in &found {
                self.file(kind.clone(), field, !narrowed, command, setting);
            }
        }
        if let Some(file) = value_of(rest, &["-fprint", "-fprintf", "-fls", "-fprint0"]) {
            self.file(
                EffectKind::FileModify,
                &Field::plain(file, Span::default()),
                false,
                command,
                setting,
            );
        }
        match fd {
            Some(_) => self.executed(&apart(rest), &found, call, setting),
            None => self.executed(rest, &found, call, setting),
        }
        Feed {
            items: found.first().map(|field| field.text.clone()).filter(|_| found.len() == 1),
            ..Feed::default()
        }
    }

    /// Runs the commands after `-exec` and the like, with the found files in the place of `{}`.
    fn executed(&mut self, rest: &[Field], found: &[Field], call: &Call, setting: &Setting) {
        let is_start = |field: &Field| {
            let finds = ["-exec", "-execdir", "-ok", "-okdir"].contains(&field.text.as_str());
            finds || FD_EXECS.contains(&field.text.as_str())
        };
        let starts = rest.iter().enumerate().filter(|(_, field)| is_start(field));
        let starts: Vec<(usize, bool)> =
            starts.map(|(at, field)| (at, FD_EXECS.contains(&field.text.as_str()))).collect();
        let mut after = 0;
        for (start, is_fd) in starts {
            let words = rest.get(start + 1..).unwrap_or_default();
            // The word belongs to the command of an earlier `-exec`.
            if start < after {
                continue;
            }
            let length = words
                .iter()
                .position(|field| field.text == ";" || field.text == "+")
                .unwrap_or(words.len());
            after = start + 1 + length;
            let mut fields = Vec::new();
            for field in words.iter().take(length) {
                if field.text == "{}" {
                    fields.extend(found.iter().cloned());
                } else if field.text.contains("{}") {
                    fields.push(Field {
                        text: field.text.replace("{}", &UNKNOWN.to_string()),
                        known: false,
                        ..field.clone()
                    });
                } else {
                    fields.push(field.clone());
                }
            }
            // Without a place for it, fd puts what it finds at the end.
            let placed = |field: &Field| ["{", "}"].iter().all(|brace| field.text.contains(brace));
            if is_fd && !words.iter().take(length).any(placed) {
                fields.extend(found.iter().cloned());
            }
            let mut inner = setting.clone();
            inner.wrappers.push("find -exec".to_owned());
            self.run(
                &fields,
                &Call {
                    assignments: Vec::new(),
                    redirections: Vec::new(),
                    input: Feed::default(),
                    end: call.end,
                },
                &inner,
            );
        }
    }

    /// Runs `xargs` and `parallel`: the words that come from elsewhere go at the end, or to the
    /// position given by `-I`.
    pub(super) fn xargs(
        &mut self,
        name: &str,
        plan: &Plan,
        rest: &[Field],
        mut fields: Vec<Field>,
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        let span = fields.first().map_or(Span::default(), |field| field.span);
        let own = rest.get(..plan.run.unwrap_or(rest.len())).unwrap_or_default();
        let named = value_of(own, &["-a", "--arg-file"]).map(|file| self.file_content(file));
        let call = &Call { input: named.unwrap_or_else(|| call.input.clone()), ..call.clone() };
        let mut more = arguments(&call.input, span);
        if call.input.text.is_none() && self.lists_found(call.input.from) {
            // A search finds no more than its pattern says.
            for field in more.iter_mut().filter(|field| names_a_kind(&field.text)) {
                field.known = true;
            }
        }
        let from_file = |field: &Field| field.text == "::::";
        if fields.first().is_some_and(from_file) {
            self.run_lines_of_input(rest, call, None, setting);
            return Feed::default();
        }
        if let Some(at) = fields.iter().position(|field| field.text == ":::") {
            let tail = fields.split_off(at).split_off(1);
            return self.parallel(fields, tail, call, setting);
        }
        // The words after the command's name belong to the command.
        let replaces = own.iter().any(|field| matches!(field.text.as_str(), "-i" | "--replace"));
        let named = own
            .iter()
            .find_map(|field| {
                field.text.strip_prefix("--replace=").or_else(|| field.text.strip_prefix("-i"))
            })
            .filter(|text| !text.is_empty());
        let marker =
            value_of(own, &["-I"]).or(named).or((replaces || name == "parallel").then_some("{}"));
        let attached = plan
            .flags
            .iter()
            .filter_map(|at| rest.get(*at))
            .find_map(|field| field.text.strip_prefix("-I").filter(|text| !text.is_empty()));
        let marked = |marker: &&str| {
            name != "parallel" || fields.iter().any(|field| field.text.contains(*marker))
        };
        if let Some(marker) = attached.or(marker).filter(marked) {
            let text = more.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ");
            let known = more.iter().all(|field| field.known);
            for field in fields.iter_mut().filter(|field| field.text.contains(marker)) {
                if field.text == marker {
                    field.pieces.clone_from(&call.input.pieces);
                }
                field.text = field.text.replace(marker, &text);
                field.known &= known;
            }
            if name == "parallel" && fields.len() == 1 {
                return self.nested(&fields.swap_remove(0), name, setting);
            }
        } else {
            for field in more {
                fields.push(Field { source: field.source.max(call.input.source), ..field });
            }
        }
        let runs_text = fields
            .first()
            .is_some_and(|field| matches!(field.text.as_str(), "sh" | "bash" | "zsh"));
        // Without a text of its own the shell runs the first word that comes in.
        if runs_text && fields.len() == 2 && fields.get(1).is_some_and(|field| field.text == "-c") {
            fields.extend(arguments(&call.input, span));
        }
        self.run(&fields, call, setting)
    }

    /// Returns true if a command's output is what a search found, or a part of it.
    fn lists_found(&self, from: Option<u32>) -> bool {
        let mut next = from;
        for _ in 0..8 {
            let at = next.and_then(|at| usize::try_from(at).ok());
            let Some(command) = at.and_then(|at| self.out.commands.get(at)) else { return false };
            match command.program.as_str() {
                "find" | "fd" | "fdfind" => return true,
                "grep" | "egrep" | "sort" | "uniq" | "head" | "tail" => next = command.input_from,
                _ => return false,
            }
        }
        false
    }

    fn parallel(
        &mut self,
        mut fields: Vec<Field>,
        values: Vec<Field>,
        call: &Call,
        setting: &Setting,
    ) -> Feed {
        if fields.is_empty() {
            let mut feed = Feed::default();
            for value in &values {
                feed = self.nested(value, "parallel", setting);
            }
            return feed;
        }
        if fields.len() == 1 && fields.first().is_some_and(|field| field.text.contains(' ')) {
            let mut feed = Feed::default();
            for (field, value) in
                fields.iter().flat_map(|field| values.iter().map(move |value| (field, value)))
            {
                let text = field.text.replace("{}", &value.text);
                let text = if field.text.contains("{}") {
                    text
                } else {
                    format!("{text} {}", super::routines::quoted(&value.text))
                };
                feed = self.nested(&Field { text, ..field.clone() }, "parallel", setting);
            }
            return feed;
        }
        fields.retain(|field| field.text != "{}");
        fields.extend(values);
        self.run(&fields, call, setting)
    }
}

fn arguments(input: &Feed, span: Span) -> Vec<Field> {
    match (&input.text, &input.items) {
        (Some(text), _) => {
            let words = super::several(text.split_ascii_whitespace().map(str::to_owned));
            words
                .iter()
                .map(|word| Field { source: input.source, ..Field::plain(word, span) })
                .collect()
        }
        (None, Some(items)) => vec![Field {
            text: items.clone(),
            known: false,
            source: input.source,
            span,
            ..Field::default()
        }],
        (None, None) => vec![Field {
            text: UNKNOWN.to_string(),
            known: false,
            pieces: input.pieces.clone(),
            source: input.source,
            span,
            ..Field::default()
        }],
    }
}

/// Returns true for a pattern that only files of one kind match: `./**/*.pyc`.
fn names_a_kind(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or_default();
    let kind = name.strip_prefix("*.").unwrap_or_default();
    !text.contains(UNKNOWN)
        && !kind.is_empty()
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

/// The flags of fd behind which a command begins.
const FD_EXECS: &[&str] = &["-x", "-X", "--exec", "--exec-batch"];
/// The flags of fd that take a value.
const FD_VALUES: &[&str] = &[
    "-C",
    "-E",
    "-S",
    "-c",
    "-d",
    "-e",
    "-j",
    "-o",
    "-t",
    "--and",
    "--base-directory",
    "--batch-size",
    "--changed-before",
    "--changed-within",
    "--color",
    "--exact-depth",
    "--exclude",
    "--extension",
    "--format",
    "--ignore-file",
    "--max-depth",
    "--max-results",
    "--min-depth",
    "--newer",
    "--older",
    "--owner",
    "--path-separator",
    "--search-path",
    "--size",
    "--threads",
    "--type",
];
/// Those that leave out most files.
const FD_NARROWS: &[&str] = &[
    "-S",
    "-d",
    "--changed-before",
    "--changed-within",
    "--exact-depth",
    "--max-depth",
    "--newer",
    "--older",
    "--size",
];

/// The search of a call of fd.
struct FdSearch<'f> {
    roots: Vec<&'f Field>,
    /// The names that it finds, as a glob.
    name: Option<String>,
    narrowed: bool,
}

fn read_fd(rest: &[Field]) -> FdSearch<'_> {
    let is_exec = |field: &&Field| {
        FD_EXECS.iter().any(|flag| match flag.strip_prefix("--") {
            Some(_) => field.text.split('=').next() == Some(*flag),
            None => field.text.starts_with(*flag),
        })
    };
    let own = rest.iter().take_while(|field| !is_exec(field)).collect::<Vec<_>>();
    let mut search = FdSearch { roots: Vec::new(), name: None, narrowed: false };
    let (mut pattern, mut ending) = (None, None);
    let mut words = own.iter().copied();
    while let Some(word) = words.next() {
        let (flag, value) = match word.text.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
            _ => (word.text.as_str(), None),
        };
        if !flag.starts_with('-') || flag == "-" {
            match pattern {
                None => pattern = Some(word.text.as_str()),
                Some(_) => search.roots.push(word),
            }
            continue;
        }
        search.narrowed |= FD_NARROWS.contains(&flag);
        let next = if value.is_none() && FD_VALUES.contains(&flag) { words.next() } else { None };
        match flag {
            "-e" | "--extension" => ending = value.or_else(|| next.map(|word| word.text.clone())),
            "-C" | "--base-directory" | "--search-path" => search.roots.extend(next),
            _ => {}
        }
    }
    let all = pattern.is_none_or(|pattern| matches!(pattern, "" | "." | ".*" | "*"));
    let plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    search.narrowed |= !all || ending.is_some();
    let stem = pattern.filter(|pattern| !all && plain(pattern));
    search.name = match (stem, ending) {
        (Some(stem), Some(ending)) => Some(format!("*{stem}*.{ending}")),
        (Some(stem), None) => Some(format!("*{stem}*")),
        (None, Some(ending)) => Some(format!("*.{ending}")),
        (None, None) => None,
    };
    search
}

/// Returns the words with the flags of fd that a command is attached to in words of their own:
/// `-Xrm`, `--exec=rm`.
fn apart(rest: &[Field]) -> Vec<Field> {
    let mut fields = Vec::with_capacity(rest.len() + 1);
    let mut seen = false;
    for field in rest {
        let attached = FD_EXECS.iter().find_map(|flag| {
            let command = field.text.strip_prefix(flag)?;
            let command = if flag.len() > 2 { command.strip_prefix('=')? } else { command };
            (!command.is_empty() && !seen).then(|| (*flag, command.to_owned()))
        });
        seen |= FD_EXECS.contains(&field.text.as_str()) || attached.is_some();
        match attached {
            Some((flag, text)) => {
                fields.push(Field { text: flag.to_owned(), ..field.clone() });
                fields.push(Field { text, ..field.clone() });
            }
            None => fields.push(field.clone()),
        }
    }
    fields
}

/// Returns the folders that a search begins in.
fn roots(rest: &[Field]) -> &[Field] {
    let skip =
        rest.iter().take_while(|field| matches!(field.text.as_str(), "-L" | "-H" | "-P")).count();
    let rest = rest.get(skip..).unwrap_or_default();
    let count = rest.iter().take_while(|field| !field.text.starts_with(['-', '(', '!'])).count();
    rest.get(..count).unwrap_or_default()
}

fn value_of<'f>(rest: &'f [Field], flags: &[&str]) -> Option<&'f str> {
    let at = rest.iter().position(|field| flags.contains(&field.text.as_str()))?;
    rest.get(at + 1).map(|field| field.text.as_str())
}

/// Returns the files that a search finds below a folder, as a glob.
fn matches_of(root: &Field, name: Option<&str>, narrowed: bool) -> Field {
    let base = root.text.trim_end_matches('/');
    let base = if base.is_empty() && root.text.starts_with('/') { "" } else { base };
    let text = match name {
        Some(name) => format!("{base}/**/{name}"),
        None if narrowed => format!("{base}/**"),
        None if root.text == "/" => "/".to_owned(),
        None => base.to_owned(),
    };
    Field { text, ..root.clone() }
}

/// Returns true if every file or folder that `find` comes to after its conditions is empty.
fn finds_only_empty(rest: &[Field]) -> bool {
    let words: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
    let empty = words.iter().position(|word| *word == "-empty");
    let delete = words.iter().position(|word| *word == "-delete");
    let negated = empty
        .and_then(|at| words.get(at.checked_sub(1)?))
        .is_some_and(|word| matches!(*word, "!" | "-not"));
    let branches = words.iter().any(|word| matches!(*word, "-o" | "-or" | "," | "("));
    // `find` goes from left to right: `-delete -empty` has deleted by then.
    empty < delete && empty.is_some() && !negated && !branches
}
