//! Scripts in a project's manifest: `package.json`, `composer.json` and the tasks of `deno.json`.

use super::expand::Field;
use super::written::Change;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;

/// The maximum nesting of JSON, and the maximum number of values of one object.
const DEPTH: usize = 32;
const VALUES: usize = 1024;

/// Scripts that a call of npm runs besides those before and after it, by subcommand.
const LIFE: &[(&[&str], &[&str])] = &[
    (&["test", "t", "tst"], &["test"]),
    (&["start"], &["start"]),
    (&["stop"], &["stop"]),
    (&["restart"], &["restart", "stop", "start"]),
    (
        &["install", "i", "ci", "clean-install", "add", "install-test", "it"],
        &["install", "prepublish", "prepare"],
    ),
    (&["uninstall", "remove", "rm"], &["uninstall"]),
    (&["rebuild"], &["install"]),
    (&["publish"], &["prepublishOnly", "prepare", "pack", "publish"]),
    (&["pack"], &["prepare", "pack"]),
    (&["version"], &["version"]),
];

impl Walker<'_> {
    /// Notes the scripts that `npm pkg set scripts.NAME=TEXT` puts into a manifest.
    pub(super) fn sets_scripts(&mut self, rest: &[Field], command: Option<u32>) {
        let words: Vec<&str> = rest.iter().map(|field| field.text.as_str()).collect();
        let sets = words.windows(2).any(|pair| pair == ["pkg", "set"]);
        for field in rest.iter().filter(|field| sets && field.known) {
            let given = field.text.strip_prefix("scripts.").and_then(|text| text.split_once('='));
            let Some((name, text)) = given else { continue };
            let (path, _) = places::resolve("package.json", &self.env.folder);
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let hunk = format!("\"scripts\": {{\"{name}\": \"{text}\"}}");
            self.note_change(Change { path, hunks: vec![(String::new(), hunk)], command });
        }
    }

    /// Reads the scripts of `package.json` that a package manager runs.
    pub(super) fn package_scripts(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if rest.iter().any(|field| field.text == "--ignore-scripts") {
            return;
        }
        let words: Vec<&Field> = rest.iter().filter(|field| !field.text.starts_with('-')).collect();
        let verb = words.first().map_or("", |field| field.text.as_str());
        let named = match verb {
            "run" | "run-script" | "rum" | "urn" => words.get(1).map(|field| field.text.clone()),
            // `npm x` is not a script, but `yarn x`, `pnpm x` and `bun x` are.
            _ if name != "npm" && plan.subcommand.is_empty() || name == "bun" => {
                Some(verb.to_owned()).filter(|verb| !verb.is_empty())
            }
            _ => None,
        };
        let life = LIFE.iter().find(|(verbs, _)| verbs.contains(&verb));
        let installs = verb.is_empty() && name == "yarn";
        let wanted: Vec<String> = match (&named, life) {
            (Some(named), _) => vec![named.clone()],
            (None, Some((_, scripts))) => {
                scripts.iter().map(|script| (*script).to_owned()).collect()
            }
            (None, None) if installs => vec!["install".to_owned(), "prepare".to_owned()],
            (None, None) if name != "npm" && !verb.is_empty() => vec![verb.to_owned()],
            (None, None) => return,
        };
        let Some((path, text)) = self.first_file(&["package.json"], command, setting) else {
            return;
        };
        let scripts = scripts_of(&text);
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        for script in wanted {
            for stage in [format!("pre{script}"), script.clone(), format!("post{script}")] {
                let lines: Vec<String> = scripts
                    .iter()
                    .filter(|(known, _)| *known == stage)
                    .map(|(_, line)| line.clone())
                    .collect();
                self.run_lines((&path, &text), &stage, &lines, None, span, command, setting);
            }
        }
    }

    /// Reads the task of `deno.json` that a call runs.
    pub(super) fn deno_task(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        let mut words = rest.iter().filter(|field| !field.text.starts_with('-'));
        let runs = words.next().is_some_and(|field| field.text == "task");
        let Some(task) = words.next().filter(|_| runs).map(|field| field.text.clone()) else {
            return;
        };
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        for file in ["deno.json", "deno.jsonc", "package.json"] {
            let Some((path, text)) = self.first_file(&[file], command, setting) else { continue };
            let all = scripts_of(&text).into_iter();
            let lines: Vec<String> =
                all.filter(|(known, _)| *known == task).map(|(_, line)| line).collect();
            self.run_lines((&path, &text), &task, &lines, None, span, command, setting);
        }
    }

    /// Reads the scripts of `composer.json` that a call runs.
    pub(super) fn composer_scripts(
        &mut self,
        rest: &[Field],
        _plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if rest.iter().any(|field| field.text == "--no-scripts") {
            return;
        }
        let mut words = rest.iter().filter(|field| !field.text.starts_with('-'));
        let Some(verb) = words.next().map(|field| field.text.clone()) else { return };
        let named = match verb.as_str() {
            "run" | "run-script" | "exec" => match words.next() {
                Some(field) => field.text.clone(),
                None => return,
            },
            _ => verb,
        };
        let Some((path, text)) = self.first_file(&["composer.json"], command, setting) else {
            return;
        };
        let scripts = scripts_of(&text);
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let event = |name: &str| {
            name == named
                || name == format!("pre-{named}-cmd")
                || name == format!("post-{named}-cmd")
                || (name.ends_with("-autoload-dump")
                    && matches!(named.as_str(), "install" | "update" | "require" | "dump-autoload"))
        };
        // `Class::method` is code of a package, `@name` another script.
        let lines: Vec<String> = scripts
            .iter()
            .filter(|(name, line)| event(name) && !line.contains("::"))
            .map(|(_, line)| match line.strip_prefix('@') {
                Some(php) if php.starts_with("php ") => php.to_owned(),
                // `@putenv` sets a variable for the lines behind it.
                Some(other) if !other.starts_with("putenv") => format!("composer run {other}"),
                _ => line.clone(),
            })
            .collect();
        self.run_lines((&path, &text), &named, &lines, None, span, command, setting);
    }
}

/// Returns the scripts of a manifest: each name with a line; a name that has several lines comes
/// once for each.
pub(super) fn scripts_of(text: &str) -> Vec<(String, String)> {
    let mut json = Json { rest: text.trim_start_matches('\u{feff}') };
    let mut found = Vec::new();
    // A mistake in the file ends the reading; the scripts before it count.
    json.object(0, &mut |json, key, depth| {
        if !matches!(key, "scripts" | "tasks") {
            return json.skip(depth);
        }
        json.object(depth, &mut |json, name, depth| {
            if json.peek() == Some('[') {
                return json.array(depth, &mut |json, depth| match json.peek() {
                    Some('"') => {
                        let line = json.string()?;
                        found.push((name.to_owned(), line));
                        Some(())
                    }
                    _ => json.skip(depth),
                });
            }
            match json.peek() {
                Some('"') => {
                    let line = json.string()?;
                    found.push((name.to_owned(), line));
                    Some(())
                }
                // `{"command": LINE}`
                Some('{') => json.object(depth, &mut |json, key, depth| {
                    if key != "command" || json.peek() != Some('"') {
                        return json.skip(depth);
                    }
                    found.push((name.to_owned(), json.string()?));
                    Some(())
                }),
                _ => json.skip(depth),
            }
        })
    });
    found
}

/// A reader of JSON that keeps nothing but its place.
struct Json<'t> {
    rest: &'t str,
}

type Member<'f, 't> = dyn FnMut(&mut Json<'t>, &str, usize) -> Option<()> + 'f;
type Item<'f, 't> = dyn FnMut(&mut Json<'t>, usize) -> Option<()> + 'f;

impl<'t> Json<'t> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, sign: char) -> Option<()> {
        let found = self.peek()?;
        self.rest = self.rest.strip_prefix(sign).filter(|_| found == sign)?;
        Some(())
    }

    fn object(&mut self, depth: usize, each: &mut Member<'_, 't>) -> Option<()> {
        self.take('{')?;
        for _ in 0..VALUES {
            if self.peek()? == '}' {
                return self.take('}');
            }
            let key = self.string()?;
            self.take(':')?;
            each(self, &key, depth + 1)?;
            if self.peek()? == ',' {
                self.take(',')?;
            }
        }
        None
    }

    fn array(&mut self, depth: usize, each: &mut Item<'_, 't>) -> Option<()> {
        self.take('[')?;
        for _ in 0..VALUES {
            if self.peek()? == ']' {
                return self.take(']');
            }
            each(self, depth + 1)?;
            if self.peek()? == ',' {
                self.take(',')?;
            }
        }
        None
    }

    fn skip(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match self.peek()? {
            '"' => self.string().map(|_| ()),
            '{' => self.object(depth, &mut |json, _, depth| json.skip(depth)),
            '[' => self.array(depth, &mut |json, depth| json.skip(depth)),
            _ => {
                let end = self.rest.find([',', '}', ']'])?;
                self.rest = self.rest.get(end..)?;
                Some(())
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            let end = self.rest.find(['"', '\\'])?;
            text.push_str(self.rest.get(..end)?);
            let sign = self.rest.get(end..)?.chars().next()?;
            self.rest = self.rest.get(end + 1..)?;
            if sign == '"' {
                return Some(text);
            }
            let escape = self.rest.chars().next()?;
            self.rest = self.rest.get(escape.len_utf8()..)?;
            text.push(match escape {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' | 'f' => ' ',
                'u' => {
                    let code = u32::from_str_radix(self.rest.get(..4)?, 16).ok()?;
                    self.rest = self.rest.get(4..)?;
                    char::from_u32(code).unwrap_or('\u{fffd}')
                }
                other => other,
            });
        }
    }
}
