//! Lists, pipelines and simple commands.

use super::cursor::{Closer, Parser};
use super::tree::{Assignment, Body, Part, Pipeline, Redirect, Script, Stage, Word};
use super::windows::begins_windows;
use super::words::Mode;
use std::rc::Rc;

impl Parser<'_> {
    /// Reads commands up to one of `closers`, which is not consumed, or to the end.
    pub(super) fn script(&mut self, closers: &[Closer]) -> Script {
        for closer in closers {
            self.expect_closer(*closer, true);
        }
        let mut script = Script::new();
        let mut otherwise = false;
        loop {
            self.skip_separators();
            if self.peek().is_none() || (closers.is_empty() && !otherwise && self.ends_piece()) {
                break;
            }
            if let Some((closer, token)) = self.closer() {
                if closers.contains(&closer) {
                    break;
                }
                if self.is_awaited(closer) {
                    self.gap("a construct without its end");
                    break;
                }
                if !self.flat {
                    self.gap("an end without its construct");
                }
                // An end that nothing waits for is skipped, so that a stray `)` hides no command
                // behind it.
                self.pos += token.len();
                continue;
            }
            otherwise = self.pipeline(&mut script, otherwise);
        }
        for closer in closers {
            self.expect_closer(*closer, false);
        }
        script
    }

    /// Skips blanks, comments and line continuations.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.pos += 1,
                Some(b'\\') if self.at("\\\n") => self.pos += 2,
                Some(b'\\') if self.at("\\\r\n") => self.pos += 3,
                Some(b'#') => {
                    self.run(|byte| byte == b'\n');
                }
                _ => return,
            }
        }
    }

    /// Skips the separators between commands, and reads the heredocs that start after a line break.
    pub(super) fn skip_separators(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => {
                    self.pos += 1;
                    self.read_heredocs();
                }
                Some(b';') if !self.at_arm_end() => self.pos += 1,
                Some(b'&') if !self.at("&>") && !self.at_arm_end() => self.pos += 1,
                Some(b'|') => {
                    self.gap("a pipe without a command");
                    self.pos += 1;
                }
                _ => return,
            }
        }
    }

    fn at_arm_end(&self) -> bool {
        (self.at(";;") || self.at(";&")) && self.is_awaited(Closer::Arm)
    }

    /// Returns the end of a construct at this position.
    fn closer(&self) -> Option<(Closer, &'static str)> {
        let found = match self.peek()? {
            b')' => (Closer::Paren, ")"),
            b';' if self.at_arm_end() => (Closer::Arm, ";;"),
            _ => match self.reserved()? {
                "}" => (Closer::Brace, "}"),
                "then" => (Closer::Then, "then"),
                "else" => (Closer::Else, "else"),
                "elif" => (Closer::Else, "elif"),
                "fi" => (Closer::Fi, "fi"),
                "do" => (Closer::Do, "do"),
                "done" => (Closer::Done, "done"),
                "esac" => (Closer::Esac, "esac"),
                _ => return None,
            },
        };
        Some(found)
    }

    /// Returns the unquoted word at this position, if it can be a reserved one.
    pub(super) fn reserved(&self) -> Option<&str> {
        let length = (0..10)
            .take_while(|ahead| self.peek_at(*ahead).is_some_and(|byte| !ends_word(byte)))
            .count();
        let word = self.text.get(self.pos..self.pos + length)?;
        (length < 10 && !word.is_empty()).then_some(word)
    }

    /// Skips `time` and `coproc [NAME]` before a compound command, which is read unchanged. Before
    /// a simple command they are programs that start another.
    fn skip_prefix(&mut self) {
        let Some(word @ ("coproc" | "time")) = self.reserved() else { return };
        let start = self.pos;
        let mut words = if word == "coproc" { 1 } else { 0 };
        self.pos += word.len();
        self.skip_blanks();
        if self.at("-p") {
            self.pos += 2;
            self.skip_blanks();
        }
        while words > 0 && !self.at_compound() {
            let Some(name) = self.reserved().map(str::len) else { break };
            self.pos += name;
            self.skip_blanks();
            words -= 1;
        }
        if !self.at_compound() {
            self.pos = start;
        }
    }

    fn at_compound(&self) -> bool {
        self.at("(")
            || matches!(
                self.reserved(),
                Some("{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[")
            )
    }

    /// Reads a pipeline and the operator that joins it to the next; true if that is `||`.
    fn pipeline(&mut self, script: &mut Script, otherwise: bool) -> bool {
        let mut stages = Vec::new();
        loop {
            self.skip_blanks();
            while self.reserved() == Some("!") {
                self.pos += 1;
                self.skip_blanks();
            }
            self.skip_prefix();
            let before = self.pos;
            if let Some(stage) = self.stage() {
                self.count();
                stages.push(stage);
            } else if self.at("|") {
                self.gap("a pipe without a command");
            } else if self.pos == before && !self.at_command_end() {
                self.gap("an unexpected character");
                self.character();
            }
            self.skip_blanks();
            if self.at("||") || !(self.take("|&") || self.take("|")) {
                break;
            }
            self.skip_line_breaks();
        }
        let background = self.at("&") && !self.at("&&") && !self.at("&>");
        let alternative = self.take("||");
        if !alternative && !self.at_arm_end() && !self.take("&&") && !self.take(";") && background {
            self.pos += 1;
        }
        if !stages.is_empty() {
            script.push(Pipeline { stages, background, otherwise });
        }
        alternative
    }

    pub(super) fn skip_line_breaks(&mut self) {
        self.skip_blanks();
        while self.take("\n") {
            self.read_heredocs();
            self.skip_blanks();
        }
    }

    fn at_command_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')'))
    }

    fn stage(&mut self) -> Option<Stage> {
        let start = self.pos;
        let Some(body) = self.compound() else { return self.simple(start) };
        let mut redirects = Vec::new();
        self.skip_blanks();
        while self.at_redirect() {
            redirects.extend(self.redirect());
            self.skip_blanks();
        }
        Some(Stage { body, redirects, span: self.span(start) })
    }

    /// Reads a command of assignments, words and redirections; or a function, which is recognised
    /// only after its name.
    fn simple(&mut self, start: usize) -> Option<Stage> {
        let mut assignments = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let mut redirects: Vec<Redirect> = Vec::new();
        let mut end = start;
        let around = std::mem::replace(&mut self.windows, false);
        loop {
            self.skip_blanks();
            if self.at_redirect() {
                redirects.extend(self.redirect());
            } else if self.at("(")
                && words.len() == 1
                && assignments.is_empty()
                && self.is_function_head()
            {
                self.windows = around;
                return self
                    .function(start, words.first().and_then(Word::bare).unwrap_or("").to_owned());
            } else if self.at("(") && !words.is_empty() && !self.windows {
                self.gap("a bracket inside a command");
                self.pos += 1;
                continue;
            } else if self.at_command_end() {
                break;
            } else {
                let before = self.pos;
                let mut word = self.word(Mode::Plain);
                if self.pos == before {
                    break;
                }
                word.open = self.open.take();
                match split_assignment(word, words.is_empty()) {
                    Ok(assignment) => assignments.push(assignment),
                    Err(word) => {
                        self.windows |= words.is_empty() && begins_windows(&word);
                        words.push(word);
                    }
                }
            }
            end = self.pos;
        }
        self.windows = around;
        if assignments.is_empty() && words.is_empty() && redirects.is_empty() {
            return None;
        }
        let mut span = self.span(start);
        if self.fixed.is_none() {
            span.end = u32::try_from(end).unwrap_or(u32::MAX);
        }
        Some(Stage { body: Body::Simple { assignments, words }, redirects, span })
    }

    fn is_function_head(&self) -> bool {
        let blanks = (1..8).take_while(|ahead| self.peek_at(*ahead) == Some(b' ')).count();
        self.peek_at(1 + blanks) == Some(b')')
    }

    fn function(&mut self, start: usize, name: String) -> Option<Stage> {
        self.run(|byte| byte == b')');
        self.pos += 1;
        self.function_body(start, name)
    }

    pub(super) fn function_body(&mut self, start: usize, name: String) -> Option<Stage> {
        self.skip_line_breaks();
        if !self.enter() {
            return None;
        }
        let body = self.stage();
        self.leave();
        Some(Stage {
            body: Body::Function { name, body: Rc::new(body?) },
            redirects: Vec::new(),
            span: self.span(start),
        })
    }
}

pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Takes `NAME=value` and `NAME+=value` apart, if an assignment may be in this position.
fn split_assignment(mut word: Word, may_assign: bool) -> Result<Assignment, Word> {
    let Some(Part::Text { text, quoted: false }) = word.parts.first_mut() else { return Err(word) };
    let Some((left, right)) = text.split_once('=') else { return Err(word) };
    let append = left.ends_with('+');
    let left = left.trim_end_matches('+');
    let (name, subscript) =
        left.strip_suffix(']').and_then(|left| left.split_once('[')).unwrap_or((left, ""));
    let (name, subscript) =
        (name.to_owned(), Some(subscript.to_owned()).filter(|subscript| !subscript.is_empty()));
    if !may_assign || !is_name(&name) {
        return Err(word);
    }
    *text = right.to_owned();
    if text.is_empty() {
        word.parts.remove(0);
    }
    Ok(Assignment { name, subscript, append, value: word })
}

/// Returns true if it can be the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
