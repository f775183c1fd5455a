//! Groups, conditions, loops, tests.

use super::cursor::{Closer, Parser};
use super::tree::{Body, Part, Script, Word};
use super::words::Mode;

/// The distance within which `((` looks for its `))`.
const ARITHMETIC: usize = 4096;

impl Parser<'_> {
    /// Reads the compound command at this position.
    pub(super) fn compound(&mut self) -> Option<Body> {
        if self.at("(") {
            return Some(self.bracket());
        }
        let word = self.reserved()?;
        if self.flat {
            self.skip_reserved();
            return None;
        }
        let read: fn(&mut Self) -> Option<Body> = match word {
            "{" => |parser| Some(parser.group()),
            "if" => |parser| Some(parser.condition()),
            "while" => |parser| Some(parser.while_loop(false)),
            "until" => |parser| Some(parser.while_loop(true)),
            "for" | "select" => |parser| Some(parser.for_loop()),
            "case" => |parser| Some(parser.case()),
            "function" => Self::function_keyword,
            "[[" => |parser| Some(parser.test()),
            _ => return None,
        };
        self.pos += word.len();
        if !self.enter() {
            return Some(Body::Group(Vec::new()));
        }
        let body = read(self);
        self.leave();
        body
    }

    fn skip_reserved(&mut self) {
        while let Some(
            word @ ("if" | "while" | "until" | "for" | "select" | "case" | "function" | "time"
            | "then" | "do" | "else" | "elif"),
        ) = self.reserved()
        {
            self.pos += word.len();
            self.skip_blanks();
        }
    }

    fn bracket(&mut self) -> Body {
        if self.at("((")
            && let Some(close) = self.arithmetic_end(self.pos + 2)
        {
            self.pos += 2;
            return Body::Test(vec![self.arithmetic(close)]);
        }
        self.pos += 1;
        Body::Subshell(self.bracketed())
    }

    /// Reads the list up to `)`, whose `(` was consumed.
    pub(super) fn bracketed(&mut self) -> Script {
        if !self.enter() {
            return Vec::new();
        }
        let script = self.script(&[Closer::Paren]);
        if !self.take(")") {
            self.gap("a `(` without its `)`");
        }
        self.leave();
        script
    }

    /// Returns the position of the `))` that ends the arithmetic which begins at `from`.
    pub(super) fn arithmetic_end(&self, from: usize) -> Option<usize> {
        let mut open = 0_usize;
        let text = self.text.as_bytes().get(from..self.end.min(from + ARITHMETIC))?;
        for (offset, byte) in text.iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                // `((a); (b))` is a subshell with two in it: its last brackets are not those of the
                // first.
                b')' => return (text.get(offset + 1) == Some(&b')')).then_some(from + offset),
                _ => {}
            }
        }
        None
    }

    /// Reads the arithmetic up to `close`, with the substitutions in it.
    pub(super) fn arithmetic(&mut self, close: usize) -> Word {
        let start = self.pos;
        let end = std::mem::replace(&mut self.end, close);
        let parts = self.quoted_parts(None);
        self.end = end;
        self.pos = (close + 2).min(end);
        Word { parts, span: self.span(start), open: None }
    }

    fn group(&mut self) -> Body {
        let script = self.script(&[Closer::Brace]);
        self.close("}");
        Body::Group(script)
    }

    fn close(&mut self, word: &str) {
        if self.reserved() == Some(word) {
            self.pos += word.len();
        } else {
            self.gap("a construct without its end");
        }
    }

    fn condition(&mut self) -> Body {
        let mut arms = vec![self.script(&[Closer::Then, Closer::Fi])];
        loop {
            let word = self.reserved().unwrap_or("");
            match word {
                "then" | "elif" => {
                    self.pos += 4;
                    arms.push(self.script(&[Closer::Then, Closer::Else, Closer::Fi]));
                }
                "else" => {
                    self.pos += 4;
                    arms.push(self.script(&[Closer::Fi]));
                }
                _ => break,
            }
        }
        self.close("fi");
        Body::Branches { subject: Vec::new(), arms }
    }

    fn while_loop(&mut self, until: bool) -> Body {
        let condition = Some(self.script(&[Closer::Do]));
        let body = self.loop_body();
        Body::Repeat { subject: Vec::new(), condition, until, body }
    }

    fn loop_body(&mut self) -> Script {
        self.skip_separators();
        // bash takes braces in the place of `do` and `done`.
        if self.reserved() == Some("{") {
            self.pos += 1;
            let script = self.script(&[Closer::Brace]);
            self.close("}");
            return script;
        }
        if self.reserved() == Some("do") {
            self.pos += 2;
        }
        let script = self.script(&[Closer::Done]);
        self.close("done");
        script
    }

    fn for_loop(&mut self) -> Body {
        self.skip_blanks();
        if self.at("((") {
            let head = self.arithmetic_end(self.pos + 2);
            self.pos += 2;
            let subject = head.map(|close| self.arithmetic(close));
            let body = self.loop_body();
            let subject = subject.into_iter().collect();
            return Body::Repeat { subject, condition: None, until: false, body };
        }
        let variable = self.run(super::commands::ends_word).to_owned();
        self.skip_line_breaks();
        let values = (self.reserved() == Some("in")).then(|| {
            self.pos += 2;
            self.words_of_line()
        });
        let body = self.loop_body();
        Body::Loop { variable, values, body }
    }

    fn words_of_line(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            let before = self.pos;
            if matches!(self.peek(), None | Some(b'\n' | b';')) {
                return words;
            }
            let word = self.word(Mode::Plain);
            if self.pos == before {
                return words;
            }
            words.push(word);
        }
    }

    fn case(&mut self) -> Body {
        self.skip_blanks();
        let subject = vec![self.word(Mode::Plain)];
        self.skip_line_breaks();
        if self.reserved() == Some("in") {
            self.pos += 2;
        }
        let mut arms = Vec::new();
        loop {
            self.skip_separators();
            if self.peek().is_none() || self.reserved() == Some("esac") {
                break;
            }
            let before = self.pos;
            self.pattern();
            arms.push(self.script(&[Closer::Arm, Closer::Esac]));
            let _ = self.take(";;&") || self.take(";;") || self.take(";&");
            if self.pos == before {
                break;
            }
        }
        self.close("esac");
        Body::Branches { subject, arms }
    }

    /// Reads the pattern of a case's arm with its `)`; nothing in it runs.
    fn pattern(&mut self) {
        self.take("(");
        loop {
            self.skip_line_breaks();
            let before = self.pos;
            self.word(Mode::Plain);
            self.skip_blanks();
            self.take("|");
            if self.take(")") {
                return;
            }
            if self.pos == before {
                self.gap("a pattern without its `)`");
                return;
            }
        }
    }

    fn function_keyword(&mut self) -> Option<Body> {
        self.skip_blanks();
        let start = self.pos;
        let name = self.run(super::commands::ends_word).to_owned();
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            self.take(")");
        }
        self.function_body(start, name).map(|stage| stage.body)
    }

    fn test(&mut self) -> Body {
        let mut words = Vec::new();
        loop {
            self.skip_line_breaks();
            if self.peek().is_none() {
                self.gap("a `[[` without its `]]`");
                break;
            }
            if self.reserved() == Some("]]") {
                self.pos += 2;
                break;
            }
            let word = self.word(Mode::Test);
            if word.parts.is_empty() {
                self.character();
            // Plain words of a test run nothing.
            } else if word.parts.iter().any(|part| !matches!(part, Part::Text { .. })) {
                words.push(word);
            }
        }
        Body::Test(words)
    }
}
