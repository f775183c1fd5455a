//! awk's programs: what they run, and the files and connections that they read and write.

use super::expand::Field;
use super::feed::Feed;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::types::EffectKind;
use portcullis_inline_code::HOLE;

/// The destination of awk's output, or the source of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// `system(x)`, `x | getline`.
    Run,
    /// `print | x`.
    Feed,
    /// `print > x`.
    Write,
    /// `getline < x`.
    Read,
    /// `x |& getline`, `print |& x`: a connection, or a program.
    Both,
}

impl Walker<'_> {
    /// Follows awk's programs: the first operand, or the files of `-f`.
    pub(super) fn awk(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let mut programs = Vec::new();
        let mut named = false;
        for (at, field) in rest.iter().enumerate() {
            let text = field.text.as_str();
            let attached = text
                .strip_prefix("-f")
                .or_else(|| text.strip_prefix("--file="))
                .or_else(|| text.strip_prefix("-E"))
                .filter(|file| !file.is_empty());
            let source = text.strip_prefix("--source=").or_else(|| {
                matches!(text, "-e" | "--source")
                    .then(|| rest.get(at + 1))
                    .flatten()
                    .map(|f| f.text.as_str())
            });
            if let Some(source) = source {
                named = true;
                programs.push(Field { text: source.to_owned(), ..field.clone() });
            }
            let file = match text {
                "-f" | "--file" | "-E" | "--exec" => rest.get(at + 1).map(|f| f.text.clone()),
                _ => attached.filter(|_| text.starts_with('-')).map(str::to_owned),
            };
            if let Some(file) = file {
                named = true;
                if let Some(text) = self.commands_in(&file, command, setting) {
                    programs.push(Field { text: text.to_string(), ..field.clone() });
                }
            }
            if !text.starts_with('-') {
                break;
            }
        }
        if !named {
            programs.extend(plan.operands.first().and_then(|at| rest.get(*at)).cloned());
        }
        for program in programs {
            self.awk_program(&program, command, setting);
        }
    }

    fn awk_program(&mut self, program: &Field, command: Option<u32>, setting: &Setting) {
        self.spend(4 * program.text.len());
        let (streams, cut) = super::inline::awk_streams(&program.text);
        if cut {
            self.out.limit("more code than is followed");
        }
        let connects = streams.iter().any(|(_, text)| text.starts_with("/inet"));
        let runs_lines = streams.iter().any(|(stream, text)| {
            matches!(stream, Stream::Run | Stream::Feed) && text.chars().all(|c| c == HOLE)
        });
        // A program that runs the lines of a connection is a shell for whoever is at the other end.
        if connects && runs_lines {
            self.out.form("remote-shell", command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        for (stream, text) in streams {
            let stream = match stream {
                Stream::Both | Stream::Read | Stream::Write if text.starts_with("/inet") => {
                    // `/inet/tcp/LOCAL-PORT/HOST/PORT`
                    let host = text.split('/').nth(4).unwrap_or("").to_owned();
                    let host = Field { text: host, ..program.clone() };
                    self.network(&host, command, setting);
                    continue;
                }
                // `|&` starts a coprocess unless its other side is a connection.
                Stream::Both => Stream::Run,
                other => other,
            };
            let known = program.known && !text.contains(HOLE);
            let text = super::inline::at_home(&text, self.home);
            let word = Field { known, text, ..program.clone() };
            match stream {
                Stream::Write => self.file(EffectKind::FileModify, &word, false, command, setting),
                Stream::Read => self.file(EffectKind::FileRead, &word, false, command, setting),
                _ if word.text.chars().all(|c| c == HOLE || c.is_whitespace()) => {
                    self.unseen(setting.input.source, command, setting);
                    self.out.gap("a text that is run but known only when it runs");
                    self.plain(EffectKind::ProcessStart, "", false, command, setting);
                }
                Stream::Feed => {
                    let source = setting.input.source;
                    let input = Feed { open: true, source, ..Feed::default() };
                    self.nested(&word, "awk", &Setting { input, ..setting.clone() });
                }
                _ => {
                    self.nested(&word, "awk", setting);
                }
            }
        }
    }
}
