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

/// Options with a value: the letter, and the long name, which may be abbreviated.
const VALUED: &[(char, &str)] = &[
    ('F', "field-separator"),
    ('v', "assign"),
    ('f', "file"),
    ('e', "source"),
    ('E', "exec"),
    ('i', "include"),
    ('l', "load"),
];

/// Letters behind which the rest of the word is an optional value.
const LOOSE: &[char] = &['d', 'D', 'L', 'o', 'p', 'W'];

/// Returns awk's options that have a value, by their letters: they end at the first operand.
fn options(rest: &[Field]) -> Vec<(char, Field)> {
    let mut options = Vec::new();
    let mut fields = rest.iter();
    while let Some(field) = fields.next() {
        let Some(word) = field.text.strip_prefix('-').filter(|word| !word.is_empty()) else {
            break;
        };
        let (letter, value) = if let Some(long) = word.strip_prefix('-') {
            if long.is_empty() {
                break;
            }
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            let known = VALUED.iter().find(|(_, known)| name.len() > 1 && known.starts_with(name));
            let Some((letter, _)) = known else { continue };
            (*letter, value)
        } else {
            let stops = |c: char| LOOSE.contains(&c) || VALUED.iter().any(|(known, _)| *known == c);
            let Some((at, letter)) = word.char_indices().find(|(_, c)| stops(*c)) else { continue };
            if LOOSE.contains(&letter) {
                continue;
            }
            (letter, word.get(at + 1..).filter(|value| !value.is_empty()))
        };
        let value = match value {
            Some(value) => Field { text: value.to_owned(), ..field.clone() },
            None => match fields.next() {
                Some(value) => value.clone(),
                None => break,
            },
        };
        options.push((letter, value));
        // No option follows the file of `-E`.
        if letter == 'E' {
            break;
        }
    }
    options
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
        for (option, value) in options(rest) {
            match option {
                'e' => programs.push(value),
                'f' | 'E' => {
                    if let Some(text) = self.commands_in(&value.text, command, setting) {
                        programs.push(Field { text: text.to_string(), ..value });
                    }
                }
                _ => continue,
            }
            named = true;
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
                Stream::Write => self.writes_in_code(&word, command, setting),
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
