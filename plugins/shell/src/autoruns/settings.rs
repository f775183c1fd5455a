//! Commands in files of lines: settings of git, ssh and the system, build files of images.

use super::{Part, joined};

/// Keys of an ssh configuration whose values run on this machine.
const SSH: &[&str] = &["knownhostscommand", "localcommand", "proxycommand"];
/// The words before a command in a `RUN` line of several forms.
const IMAGE_STEPS: &[&str] = &["cmd", "entrypoint", "onbuild", "run", "healthcheck"];
/// Keys of cargo's configuration that name a program.
const TOOLS: &[&str] = &["linker", "runner", "rustc", "rustc-wrapper", "rustdoc"];

/// Reads a configuration of git: each setting is what `git config` would set.
pub(super) fn git(text: &str) -> Vec<Part> {
    let line = |(key, value): (String, String)| {
        Part::shell(joined(["git", "config", &key, &value].into_iter()))
    };
    git_settings(text).into_iter().map(line).collect()
}

/// Returns the settings in a configuration of git: the key and the value of each.
pub(crate) fn git_settings(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut parts = Vec::new();
    let whole = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in whole.lines().map(str::trim) {
        if line.starts_with(['#', ';']) || line.is_empty() {
            continue;
        }
        let mut line = line;
        if let Some(rest) = line.strip_prefix('[') {
            let (name, rest) = rest.split_once(']').unwrap_or((rest, ""));
            section = match name.split_once('"') {
                Some((name, sub)) => {
                    format!("{}.{}", name.trim(), sub.trim_end().trim_end_matches('"'))
                }
                None => name.trim().to_owned(),
            };
            line = rest.trim();
            if line.is_empty() {
                continue;
            }
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.trim();
        let value = match value.strip_prefix('"') {
            Some(rest) => rest.strip_suffix('"').unwrap_or(rest),
            None => value.split(" #").next().unwrap_or(value).trim_end(),
        };
        let value = value.replace("\\\"", "\"").replace("\\\\", "\\");
        // Only an alias and a few others may begin so; a piece does not name its section.
        let section = if value.starts_with('!') && section == "core" { "alias" } else { &section };
        let key = format!("{section}.{}", key.trim());
        parts.push((key, value));
    }
    parts
}

/// Reads a configuration of ssh.
pub(super) fn ssh(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim) {
        let (key, value) = line.split_once([' ', '\t', '=']).unwrap_or((line, ""));
        let key = key.to_ascii_lowercase();
        let value = value.trim_start_matches([' ', '\t', '=']).trim();
        if SSH.contains(&key.as_str()) && !value.eq_ignore_ascii_case("none") {
            parts.push(Part::shell(value.trim_matches('"')));
        } else if key == "match"
            && let Some((_, command)) = value.split_once("exec ")
        {
            let command = command.trim();
            let quoted = command.strip_prefix('"').and_then(|rest| rest.split('"').next());
            parts.push(Part::shell(quoted.unwrap_or(command)));
        }
    }
    parts
}

/// Reads a unit of systemd.
pub(super) fn unit(text: &str) -> Vec<Part> {
    let whole = text.replace("\\\n", " ");
    whole
        .lines()
        .filter_map(|line| line.trim().split_once('='))
        .filter(|(key, _)| key.starts_with("Exec"))
        // The marks in front tell systemd how to start it: `-` ignores its failure, `+` gives it
        // all rights.
        .map(|(_, value)| Part::shell(value.trim_start_matches(['@', '-', ':', '+', '!', ' '])))
        .collect()
}

/// Reads an entry of a desktop.
pub(super) fn desktop(text: &str) -> Vec<Part> {
    let lines = text.lines().filter_map(|line| line.trim().split_once('='));
    lines
        .filter(|(key, _)| matches!(key.trim(), "Exec" | "TryExec"))
        .map(|(_, value)| Part::shell(value.trim()))
        .collect()
}

/// Reads scheduled jobs.
pub(super) fn crontab(text: &str, user: bool) -> Vec<Part> {
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields = if line.starts_with('@') { 1 } else { 5 } + usize::from(user);
        let mut rest = line;
        for _ in 0..fields {
            rest = rest.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start());
        }
        // A setting, or a line of another form.
        let set = line.split_once('=').is_some_and(|(name, _)| !name.contains([' ', '\t', '*']));
        if !set && !rest.is_empty() {
            // cron makes a line break of `%`, but not of `\%`.
            parts.push(Part::shell(rest.replace("\\%", "%")));
        }
    }
    parts
}

/// Reads a property list of macOS.
pub(super) fn property_list(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let texts = |block: &str| -> Vec<String> {
        let all = block.split("<string>").skip(1).take(64);
        all.filter_map(|text| text.split_once("</string>"))
            .map(|(text, _)| {
                // The ampersand comes last: `&amp;lt;` is the text `&lt;`.
                let text = text.replace("&lt;", "<").replace("&gt;", ">");
                text.replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
            })
            .collect()
    };
    for block in text.split("<key>ProgramArguments</key>").skip(1).take(8) {
        let words = texts(block.split("</array>").next().unwrap_or(block));
        parts.push(Part::shell(joined(words.iter().map(String::as_str))));
    }
    for block in text.split("<key>Program</key>").skip(1).take(8) {
        parts.extend(texts(block).into_iter().take(1).map(Part::shell));
    }
    parts
}

/// Reads the build file of an image.
pub(super) fn dockerfile(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (word, rest) = line.trim().split_once([' ', '\t']).unwrap_or((line, ""));
        // What a recipe adds from an address is there for its next steps.
        if matches!(word.to_ascii_lowercase().as_str(), "add" | "copy") {
            parts.extend(crate::walk::fetch_of(rest).map(Part::shell));
        }
        if !IMAGE_STEPS.contains(&word.to_ascii_lowercase().as_str()) {
            continue;
        }
        let mut step = rest.trim().to_owned();
        while step.ends_with('\\') {
            step.pop();
            let Some(next) = lines.next() else { break };
            // A comment between continued lines does not end them.
            if !next.trim_start().starts_with('#') {
                step.push_str(next.trim_end());
            } else {
                step.push('\\');
            }
        }
        let mut step = step.trim_start();
        while step.starts_with("--") {
            step = step.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        }
        // `HEALTHCHECK CMD x`, `ONBUILD RUN x`
        for start in ["CMD ", "RUN "] {
            step = step.strip_prefix(start).unwrap_or(step);
        }
        if let Some(heredoc) = step.strip_prefix("<<") {
            let mark = heredoc.trim_start_matches('-').split_ascii_whitespace().next();
            let mark = mark.unwrap_or("").trim_matches(['"', '\'']);
            let own: Vec<&str> =
                lines.by_ref().take_while(|line| line.trim_start_matches('\t') != mark).collect();
            parts.push(Part::shell(own.join("\n")));
        } else if step.starts_with('[') {
            let words: Vec<&str> = step.split('"').skip(1).step_by(2).collect();
            parts.push(Part::shell(joined(words.into_iter())));
        } else {
            parts.push(Part::shell(step));
        }
    }
    parts
}

/// Reads the steps of a pipeline in Groovy: `sh 'make'`.
pub(super) fn pipeline(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for start in ["sh ", "sh(", "sh\t", "script: ", "script:"] {
        for (at, _) in text.match_indices(start).take(256) {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            if before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.')) {
                continue;
            }
            let rest = text.get(at + start.len()..).unwrap_or("").trim_start();
            let quote = ["'''", "\"\"\"", "'", "\""].iter().find(|quote| rest.starts_with(**quote));
            let Some(quote) = quote else { continue };
            let inner = rest.get(quote.len()..).unwrap_or("");
            let end = inner
                .match_indices(*quote)
                .find(|(at, _)| !inner.get(..*at).is_some_and(|text| text.ends_with('\\')))
                .map_or(inner.len(), |(at, _)| at);
            let inner = inner.get(..end).unwrap_or(inner);
            parts.push(Part::shell(inner.replace("\\\"", "\"").replace("\\'", "'")));
        }
    }
    parts
}

/// Reads the tasks in a project's TOML.
pub(super) fn toml(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut section = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_start_matches('[').split(']').next().unwrap_or("").to_owned();
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let key = key.trim().trim_matches('"');
        let last = section.rsplit('.').next().unwrap_or("");
        // These two name entry points of a package, not commands.
        let own = section != "project.scripts" && section != "tool.poetry.scripts";
        let holds = own && matches!(last, "alias" | "aliases" | "scripts" | "tasks");
        let task = section
            .split('.')
            .rev()
            .nth(1)
            .is_some_and(|above| own && matches!(above, "scripts" | "tasks"));
        let says = matches!(key, "cmd" | "command" | "run" | "script" | "shell" | "args");
        let tool = TOOLS.contains(&key) && (section == "build" || section.starts_with("target"));
        if !(holds || task && says || tool) {
            continue;
        }
        let mut value = value.trim().to_owned();
        for quote in ["\"\"\"", "'''"] {
            while value.matches(quote).count() == 1 {
                let Some(next) = lines.next() else { break };
                value.push('\n');
                value.push_str(next);
            }
        }
        let open = |value: &str| {
            value.starts_with('[') && value.matches('[').count() > value.matches(']').count()
        };
        while open(&value) {
            let Some(next) = lines.next() else { break };
            value.push(' ');
            value.push_str(next.trim());
        }
        let texts = quoted_texts(&value);
        if value.starts_with('[') {
            parts.push(Part::shell(joined(texts.iter().map(String::as_str))));
        }
        parts.extend(texts.into_iter().map(Part::shell));
    }
    parts
}

/// Returns the texts in quotes in a value.
pub(super) fn quoted_texts(value: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find(['"', '\'']).filter(|_| texts.len() < 256) {
        rest = rest.get(at..).unwrap_or("");
        let quote = ["\"\"\"", "'''", "\"", "'"].iter().find(|quote| rest.starts_with(**quote));
        let Some(quote) = quote else { break };
        let inner = rest.get(quote.len()..).unwrap_or("");
        let ends = |at: usize| {
            quote.starts_with('"') && inner.get(..at).is_some_and(|text| text.ends_with('\\'))
        };
        let end = inner.match_indices(*quote).map(|(at, _)| at).find(|at| !ends(*at));
        let end = end.unwrap_or(inner.len());
        let text = inner.get(..end).unwrap_or(inner);
        let basic = quote.starts_with('"');
        texts.push(if basic { unescaped(text) } else { text.to_owned() });
        rest = inner.get(end + quote.len()..).unwrap_or("");
    }
    texts
}

fn unescaped(text: &str) -> String {
    text.replace("\\\"", "\"").replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
}
