//! Variables, options and configuration keys whose value a program runs
//! (`catalogue/commands.toml`), each read in its own language. The value counts at the place that
//! sets it, since the program that will use it cannot be known.

use super::environment::{UNKNOWN, Value};
use super::expand::Field;
use super::feed::{Feed, Source};
use super::named_files::shell_order;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue;
use crate::places;
use crate::syntax::Span;
use crate::types::{Attribute, EffectKind};

/// Prefixes of commands in a program's own prompt that go to a shell.
const PROMPTS: &[&str] =
    &["platform shell ", "silent !", "silent! !", "shell ", "system ", "!", "terminal ", "term "];

/// Programs that destroy the files that they are given.
const DESTROYS: &[&str] = &["dd", "rm", "shred", "truncate", "unlink"];

/// The maximum number of orders that one text gives to an editor.
const ORDERS: usize = 1024;

impl Walker<'_> {
    /// Follows the value of an environment variable, if it is run in some way.
    pub(super) fn carried_by_variable(
        &mut self,
        name: &str,
        value: &Value,
        span: Span,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let role = catalogue::variable(name);
        let Some(role) = role.filter(|role| !value.text.is_empty() || role.starts_with("off-"))
        else {
            return;
        };
        // Outside of shells a two-letter name may be used by anyone: a value that is not a path is
        // not a script.
        if name == "ENV" && value.known && !value.text.contains(['/', '$', '`']) {
            return;
        }
        let field = Field {
            text: value.text.clone(),
            known: value.known,
            source: value.source,
            feed: value.feed.clone(),
            span,
            ..Field::default()
        };
        let given = std::mem::take(&mut self.given);
        // Anybody may use this name; for git it names hooks.
        let concerns = name != "SKIP" || !given.is_empty();
        let switch = !concerns || self.switch_off(role, &field, &given, command);
        self.given = given;
        if !switch {
            self.held(role, &field, name, command, setting);
        }
    }

    /// Follows `GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=...`.
    pub(super) fn carried_by_pairs(
        &mut self,
        set: &[Attribute],
        span: Span,
        command: Option<u32>,
        setting: &Setting,
    ) {
        for key in set {
            let Some(number) = key.name.strip_prefix("GIT_CONFIG_KEY_") else { continue };
            let Some(value) = set
                .iter()
                .find(|other| other.name.strip_prefix("GIT_CONFIG_VALUE_") == Some(number))
            else {
                continue;
            };
            self.configured("git", &key.value, &Field::plain(&value.value, span), command, setting);
        }
    }

    /// Follows a text that a program runs according to its role.
    pub(super) fn held(
        &mut self,
        role: &str,
        value: &Field,
        label: &str,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if let Some(family) = role.strip_prefix("source-") {
            return self.package_source(family, value, command, setting);
        }
        // The program that will run the value starts later, with an input of its own.
        let quiet = Setting { input: Feed::default(), beside: false, ..setting.clone() };
        self.unseen(value.source, command, setting);
        if !value.text.is_empty() && value.text.chars().all(|c| c == UNKNOWN || c.is_whitespace()) {
            self.out.gap("a text that is run but known only when it runs");
            return self.plain(EffectKind::ProcessStart, "", false, command, setting);
        }
        let call = Call { end: value.span.end, ..Call::default() };
        let runs = matches!(role, "shell" | "tool" | "program" | "filter");
        if runs || role.starts_with("script") {
            self.note_unread(value);
        }
        if role.starts_with("script") && command.is_some() {
            self.mind_missing(&value.text, &quiet);
        }
        match role.split_once('-').unwrap_or((role, "")) {
            ("shell", _) => self.command_text(value, label, &quiet),
            ("tool", _) => {
                let name = value
                    .text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte));
                // A bare name that no program has is a tool which the program itself knows.
                if !(name && catalogue::find(&value.text, &[]).is_none()) {
                    self.command_text(value, label, &quiet);
                }
            }
            ("filter", _) => {
                // The marks in front are those of `LESSOPEN="|-PROGRAM %s"`.
                let text = value.text.trim_start_matches(['|', '-', ' ']).to_owned();
                let input = Feed { open: true, ..Feed::default() };
                self.command_text(
                    &Field { text, ..value.clone() },
                    label,
                    &Setting { input, ..quiet },
                );
            }
            ("program", _) if value.text.contains(' ') => self.command_text(value, label, &quiet),
            ("program", _) => {
                let mut fields = vec![value.clone()];
                if DESTROYS.contains(&value.text.rsplit('/').next().unwrap_or("")) {
                    // It gets names of files.
                    fields.push(Field::plain(&UNKNOWN.to_string(), value.span));
                }
                if !is_harmless(&fields) {
                    self.run(&fields, &call, &quiet);
                }
            }
            ("expansion", _) => self.expanded(value, &quiet),
            ("library", _) => self.load_library(value, command, setting),
            ("module", language) => {
                for module in value.text.split(',') {
                    let value = Field { text: module.to_owned(), ..value.clone() };
                    self.load_module(language, &value, command, &quiet);
                }
            }
            ("folders", _) => self.search_folders(value, command, setting),
            ("jvm", _) => self.java_options(value, command, &quiet),
            ("off" | "on", _) => {
                self.switch_off(role, value, &[], command);
            }
            ("settings", format) if format != "file" => {
                self.named_settings(format, label, value, command, &quiet);
            }
            ("settings", _) => {
                self.foreign_hooks(label, value);
                self.foreign_file(value, command, setting);
            }
            ("script", "prompt" | "lisp") => {
                self.prompt_file((role, label), value, command, &quiet);
            }
            ("script", language) if self.run_in_language(language, value, command, &quiet) => {}
            ("script", "shell") => {
                self.started_file(&Field::plain("source", value.span), value, &call, &quiet)
            }
            ("script", language) => {
                self.started_file(&Field::plain(language, value.span), value, &call, &quiet)
            }
            ("code", "lua") if value.text.starts_with('@') => {
                let file = value.text.trim_start_matches('@').to_owned();
                let value = Field { text: file, ..value.clone() };
                self.held("script-lua", &value, label, command, setting);
            }
            ("code", "prompt") => self.prompted(value, &quiet),
            ("code", "make") => {
                let text = value.text.replace("$(shell ", "$(").replace("${shell ", "$(");
                self.expanded(&Field { text, ..value.clone() }, &quiet);
            }
            ("code", language) => {
                self.code(language, value, command, &quiet);
            }
            ("options", program) => {
                let words = value.text.split_ascii_whitespace().map(|word| Field {
                    text: word.trim_matches(['"', '\'']).to_owned(),
                    ..value.clone()
                });
                let fields: Vec<Field> = [Field::plain(program, value.span)]
                    .into_iter()
                    .chain(words.take(256))
                    .collect();
                self.run(&fields, &call, &quiet);
            }
            ("setting", family) => self.setting_text(family, value, command, &quiet),
            ("helper", _) => match value.text.strip_prefix('!') {
                Some(text) => self.command_text(
                    &Field { text: text.to_owned(), ..value.clone() },
                    label,
                    &quiet,
                ),
                None if value.text.starts_with(['/', '~', '.']) => {
                    self.command_text(value, label, &quiet)
                }
                // Any other name is a helper of git's own: `git credential-NAME`.
                None => {}
            },
            ("git", _) => match value.text.strip_prefix('!') {
                Some(text) => self.command_text(
                    &Field { text: text.to_owned(), ..value.clone() },
                    label,
                    &quiet,
                ),
                None => self.command_text(
                    &Field { text: format!("git {}", value.text), ..value.clone() },
                    label,
                    &quiet,
                ),
            },
            _ => {}
        }
    }

    /// Notes that a value names a file of the project whose text is not known yet.
    fn note_unread(&mut self, value: &Field) {
        let first = value.text.split_ascii_whitespace().next().unwrap_or("");
        let (path, certain) = places::resolve(first, &self.env.folder);
        if certain && first.contains('/') && self.is_project(&path) && !self.is_known(&path) {
            self.out.gap("code that another program runs, and that was not read");
        }
    }

    /// Reads `KEY=VALUE`, and `KEY VALUE` of ssh; several, each in quotes, for git.
    fn setting_text(
        &mut self,
        family: &str,
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if family == "cargo" && !value.text.contains('=') {
            return self.named_settings("cargo", "cargo", value, command, setting);
        }
        let several: Vec<String> = if value.text.starts_with('\'') {
            value.text.split('\'').map(str::to_owned).filter(|part| part.contains('=')).collect()
        } else {
            vec![value.text.clone()]
        };
        for text in several {
            let parted = text
                .split_once('=')
                .or_else(|| text.trim_start().split_once([' ', '\t']).filter(|_| family == "ssh"));
            if let Some((key, given)) = parted {
                let given = given.trim().trim_matches(['"', '\'']).to_owned();
                self.configured(
                    family,
                    key.trim(),
                    &Field { text: given, ..value.clone() },
                    command,
                    setting,
                );
            }
        }
    }

    /// Follows the value of a configuration key.
    pub(super) fn configured(
        &mut self,
        family: &str,
        key: &str,
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // A token in an address says nothing of the host.
        let named = key
            .strip_prefix("url.")
            .and_then(|base| base.rsplit_once('@'))
            .is_some_and(|(_, host)| !host.contains(UNKNOWN));
        if key.contains(UNKNOWN) && !named && !value.text.is_empty() {
            self.out.gap("a setting whose name is known only when it runs");
        }
        // Some keys hold a switch or a command (`core.fsmonitor`); a switch runs nothing.
        let switch = matches!(
            value.text.as_str(),
            "" | "true" | "false" | "yes" | "no" | "none" | "0" | "1" | "on" | "off"
        );
        if family == "git" {
            self.redirected(key, value, command);
            self.set_remote(key, value);
            let nowhere = matches!(value.text.as_str(), "" | "/dev/null");
            if nowhere && key.eq_ignore_ascii_case("core.hookspath") {
                self.out.hides("skip-checks", "", command);
            }
        }
        let role = catalogue::setting(family, key);
        let protects = role.is_some_and(|role| role.starts_with("off-") || role.starts_with("on-"));
        if let Some(role) = role.filter(|_| !switch || protects) {
            self.held(role, value, key, command, setting);
        }
    }

    /// Follows a command line, unless it does nothing by itself.
    fn command_text(&mut self, value: &Field, label: &str, setting: &Setting) {
        let words: Vec<Field> = value
            .text
            .split_ascii_whitespace()
            .map(|word| Field::plain(word, value.span))
            .collect();
        let plain = value
            .text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" -_./=:,@%+".contains(&byte));
        if !(plain && is_harmless(&words)) {
            self.nested(value, label, setting);
        }
    }

    /// Follows a text whose substitutions are run.
    pub(super) fn expanded(&mut self, value: &Field, setting: &Setting) {
        if value.text.contains("$(") || value.text.contains('`') {
            // The colon does nothing, so that only the substitutions in its word run.
            let text = format!(": \"{}\"", value.text.replace('"', "\\\""));
            self.nested(&Field { text, ..value.clone() }, "eval", setting);
        }
    }

    /// Notes hooks, or settings of a package manager, outside the project, which nobody here reads.
    pub(super) fn foreign_hooks(&mut self, label: &str, value: &Field) {
        const NAMES: &[&str] = &[
            "bundle_app_config",
            "condarc",
            "core.hookspath",
            "git",
            "include.path",
            "init.templatedir",
            "npm_config_globalconfig",
            "npm_config_userconfig",
            "pip_config_file",
            "uv_config_file",
        ];
        let (path, _) = places::resolve(&value.text, &self.env.folder);
        let empty = matches!(value.text.as_str(), "" | "/dev/null");
        let named = NAMES.iter().any(|name| label.eq_ignore_ascii_case(name));
        let own = label.eq_ignore_ascii_case("include.path") && places::is_below(&path, self.home);
        if named && !empty && !own && !self.is_project(&path) {
            self.out.gap("hooks or settings outside the project that are not read");
        }
    }

    /// Notes a file of settings, or a folder of programs, that replaces another one.
    pub(super) fn foreign_file(&mut self, value: &Field, command: Option<u32>, setting: &Setting) {
        let (path, _) = places::resolve(&value.text, &self.env.folder);
        let own = path
            .strip_prefix(self.home)
            .is_some_and(|rest| !self.home.is_empty() && rest.starts_with("/."));
        if matches!(value.text.as_str(), "/dev/null" | "")
            || path.starts_with("/etc/")
            || path.starts_with("/usr/")
        {
            return;
        }
        if own && !self.files.contains_key(&path) {
            return;
        }
        self.plain(EffectKind::ProcessStart, &path, false, command, setting);
        if self.files.contains_key(&path) {
            self.out.gap("settings that this command line writes itself");
        }
    }

    /// Follows a script that runs when something starts.
    fn started_file(&mut self, runner: &Field, value: &Field, call: &Call, setting: &Setting) {
        self.expanded(value, setting);
        self.run(&[runner.clone(), value.clone()], call, setting);
    }

    /// Follows a file of commands of an editor's or a terminal's own prompt, or of Lisp.
    pub(super) fn prompt_file(
        &mut self,
        (role, label): (&str, &str),
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let (path, _) = places::resolve(&value.text, &self.env.folder);
        if value.text.ends_with(".lua") {
            let manner = super::scripts::Manner::Interpreted;
            return self.run_script(value, &path, Some("lua"), manner, &[], command, setting);
        }
        if role == "script-lisp" {
            let manner = super::scripts::Manner::Interpreted;
            return self.run_script(value, &path, Some("lisp"), manner, &[], command, setting);
        }
        let Some(text) = self.open_script(&path, false, command, setting) else {
            return self.plain(EffectKind::ProcessStart, &path, false, command, setting);
        };
        if label != "tmux" {
            return self.prompted(&Field::plain(&text, value.span), setting);
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        for line in lines.filter(|line| !line.starts_with('#')).take(ORDERS) {
            let text = format!("tmux {line}");
            self.nested(&Field { text, ..value.clone() }, "tmux", setting);
        }
    }

    /// Follows commands of an editor's or a debugger's own prompt: those that go to a shell.
    pub(super) fn prompted(&mut self, value: &Field, setting: &Setting) {
        for line in orders(&value.text) {
            let text = PROMPTS.iter().find_map(|start| line.strip_prefix(start));
            if let Some(text) = text.or_else(|| shell_order(line)) {
                self.nested(&Field { text: text.to_owned(), ..value.clone() }, "prompt", setting);
            } else if let Some(text) = super::prompts::line_of_order(line) {
                self.nested(&Field { text, ..value.clone() }, "prompt", setting);
            } else if line.contains("system(") || line.starts_with("py") || line.starts_with("lua")
            {
                let language = if line.starts_with("py") { "python" } else { "lua" };
                self.code(
                    language,
                    &Field { text: line.to_owned(), ..value.clone() },
                    None,
                    setting,
                );
            }
        }
    }

    /// Follows a name with a subscript that a builtin evaluates: `a[$(COMMAND)]`.
    pub(super) fn subscripts(&mut self, value: &Field, setting: &Setting) {
        let from = value.text.find('[').and_then(|at| value.text.get(at..));
        if let Some(text) = from.filter(|text| text.contains("$(") || text.contains('`')) {
            self.expanded(
                &Field { text: text.to_owned(), source: Source::LOCAL, ..value.clone() },
                setting,
            );
        }
    }
}

/// Splits a text for an editor's prompt into its orders. `|` joins two of them, but the rest of a
/// line belongs to the shell once one goes there.
fn orders(text: &str) -> Vec<&str> {
    let mut orders = Vec::new();
    for line in text.split('\n') {
        let mut left = Some(line);
        while let Some(rest) = left.filter(|_| orders.len() < ORDERS) {
            let order = rest.trim().trim_start_matches([':', '+']).trim_start();
            if PROMPTS.iter().any(|start| order.starts_with(start)) || shell_order(order).is_some()
            {
                orders.push(order);
                break;
            }
            let parts = order.split_once('|');
            orders.push(parts.map_or(order, |(first, _)| first).trim());
            left = parts.map(|(_, rest)| rest);
        }
    }
    orders
}

/// Returns true for a program that does nothing by itself, with these words.
fn is_harmless(fields: &[Field]) -> bool {
    let Some((first, rest)) = fields.split_first() else { return true };
    let texts: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
    let runs = super::languages::runs_text(&first.text);
    !first.text.contains('/')
        && !runs
        && catalogue::find(&first.text, &texts).is_some_and(|found| {
            let plan = catalogue::plan(&found, &texts);
            plan.nothing
                || (plan.items.is_empty() && plan.run.is_none() && plan.operands.is_empty())
        })
}
