//! Programs that start commands in their own ways: recipes of `make`, lines of a crontab, keys that
//! are typed into a terminal, hooks of a long `git` command.

use super::expand::Field;
use super::feed::Feed;
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::syntax::Span;

/// Returns the text that a wrapper runs instead of words: `flock FILE -c TEXT`,
/// `runuser -l USER -c TEXT`.
pub(super) fn text_of(name: &str, fields: &[Field]) -> Option<Field> {
    let takes = matches!(name, "flock" | "runuser" | "su" | "script");
    let at = fields
        .iter()
        .position(|field| matches!(field.text.as_str(), "-c" | "--command"))
        .filter(|_| takes)?;
    fields.get(at + 1).cloned()
}

impl Walker<'_> {
    /// Follows the commands that a program starts, if its words or its input contain them.
    pub(super) fn launched(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        setting: &Setting,
    ) {
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        match name {
            "make" | "gmake" => self.recipes(rest, call, setting),
            "crontab" => self.jobs(call, setting),
            "tmux" | "screen" => {
                let reads = |field: &Field| matches!(field.text.as_str(), "source" | "source-file");
                if let Some(file) = rest.last().filter(|_| rest.iter().any(reads)) {
                    self.prompt_file(("script-prompt", "tmux"), file, None, setting);
                }
                for field in rest
                    .iter()
                    .filter(|field| field.text.contains(' ') && !field.text.starts_with('-'))
                {
                    self.nested(field, name, setting);
                }
            }
            "script" if operands.len() > 1 => {
                let words: Vec<Field> =
                    operands.iter().skip(1).map(|field| (*field).clone()).collect();
                self.run(&words, &fresh(call), setting);
            }
            "perf"
                if operands.first().is_some_and(|field| {
                    matches!(field.text.as_str(), "stat" | "record" | "trace" | "mem" | "c2c")
                }) =>
            {
                let words: Vec<Field> =
                    operands.iter().skip(1).map(|field| (*field).clone()).collect();
                self.run(&words, &fresh(call), setting);
            }
            "gdb" | "nix" => {
                let flags: &[&str] = if name == "gdb" { &["--args"] } else { &["-c", "--command"] };
                if let Some(at) = rest.iter().position(|field| flags.contains(&field.text.as_str()))
                {
                    self.run(rest.get(at + 1..).unwrap_or_default(), &fresh(call), setting);
                }
            }
            _ => {}
        }
    }

    /// Follows the recipes of a makefile that is piped in, or that this command line wrote.
    fn recipes(&mut self, rest: &[Field], call: &Call, setting: &Setting) {
        let at = rest
            .iter()
            .position(|field| matches!(field.text.as_str(), "-f" | "--file" | "--makefile"));
        let text = match at.and_then(|at| rest.get(at + 1)).map(|field| field.text.as_str()) {
            Some("-" | "/dev/stdin") => call.input.text.clone(),
            Some(file) => self.file_content(file).text,
            None => ["GNUmakefile", "makefile", "Makefile"]
                .iter()
                .find_map(|file| self.file_content(file).text),
        };
        let Some(text) = text else { return };
        let lines: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix('\t'))
            // The marks are make's own: do not print, ignore errors, run despite `-n`.
            .map(|line| line.trim_start_matches(['@', '-', '+']))
            .collect();
        self.lines(&lines.join("\n"), "make", rest, setting);
    }

    /// Follows the commands of a crontab that is piped in.
    fn jobs(&mut self, call: &Call, setting: &Setting) {
        let Some(text) =
            call.input.text.clone().or_else(|| call.input.items.clone().map(Into::into))
        else {
            return;
        };
        let command = |line: &str| {
            // `@daily COMMAND`; otherwise five fields of time are before the command.
            let skip = if line.trim_start().starts_with('@') { 1 } else { 5 };
            line.split_ascii_whitespace().skip(skip).collect::<Vec<_>>().join(" ")
        };
        let lines: Vec<String> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .take(1024)
            .map(command)
            .collect();
        self.lines(&lines.join("\n"), "crontab", &[], setting);
    }

    fn lines(&mut self, text: &str, label: &str, rest: &[Field], setting: &Setting) {
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let inner = Setting {
            input: Feed::default(),
            fixed: setting.fixed.or(Some(span)),
            ..setting.clone()
        };
        self.nested(&Field::plain(text, span), label, &inner);
    }
}

fn fresh(call: &Call) -> Call {
    Call { end: call.end, ..Call::default() }
}
