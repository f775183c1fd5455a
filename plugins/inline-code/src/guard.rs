//! Counts the nesting of a text before a parser sees it: parsers recurse, and a hostile text must
//! not exhaust the stack.
//!
//! The count is an upper bound of the depth of the tree. Python is counted over the parser's own
//! tokens. JavaScript's lexer is not public, so that a small scanner finds its tokens; a slash may
//! begin a regular expression or divide. If the two would leave different brackets after it, the
//! text is refused.

mod scanner;

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::Mode;
use ruff_python_parser::lexer::lex;
pub(crate) use scanner::check_javascript;

/// The largest text that is parsed, in bytes.
const SIZE: usize = 128 * 1024;
/// The greatest depth of what a parser recurses for: brackets, blocks, prefixes.
const NESTING: u32 = 64;
/// The greatest depth with operators and members, for which a parser loops but a tree is deep.
const CHAIN: u32 = 192;

/// A text that must not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is too large or too deeply nested.
    Deep,
    /// Its brackets cannot be told.
    Unclear,
}

/// The counts of one pair of brackets, since the last separator.
#[derive(Clone, Copy, Default)]
struct Level {
    heavy: u32,
    chain: u32,
    /// Constructs that neither a comma nor a semicolon ends: alternatives of conditions, parameters
    /// of a lambda.
    lasting: u32,
    /// The type arguments that may be open, which a comma does not end.
    angles: u32,
    /// The bracket that closes the pair.
    closing: Option<char>,
    /// The brackets belong to `if`, `for`, `while` or `with`.
    header: bool,
    /// The brackets are those of a value in a template.
    template: bool,
}

/// The brackets around the current token.
#[derive(Default)]
struct Nesting {
    levels: Vec<Level>,
    current: Level,
    heavy: u32,
    chain: u32,
    deepest: bool,
}

impl Nesting {
    fn check(&mut self) {
        let depth = u32::try_from(self.levels.len()).unwrap_or(u32::MAX);
        let heavy = depth.saturating_add(self.heavy).saturating_add(self.current.heavy);
        let heavy = heavy.saturating_add(self.current.lasting + self.current.angles);
        let all = heavy.saturating_add(self.chain).saturating_add(self.current.chain);
        self.deepest |= heavy > NESTING || all > CHAIN;
    }

    /// Opens a pair that `closing` closes. Blocks and templates, whose ends the tokens tell, have
    /// none.
    fn open(&mut self, closing: Option<char>) {
        self.current.chain += 1;
        self.heavy += self.current.heavy + self.current.lasting + self.current.angles;
        self.chain += self.current.chain;
        self.levels.push(self.current);
        self.current = Level { closing, ..Level::default() };
        self.check();
    }

    /// Closes the innermost pair. A bracket that does not match it is refused: a parser that
    /// recovers from it leaves the pair open.
    fn close(&mut self, closing: Option<char>) -> Result<Level, Refused> {
        let closed = self.current;
        if closed.closing != closing {
            return Err(Refused::Unclear);
        }
        let outer = self.levels.pop().ok_or(Refused::Unclear)?;
        self.current = outer;
        self.heavy -= outer.heavy + outer.lasting + outer.angles;
        self.chain -= outer.chain;
        Ok(closed)
    }

    fn heavy(&mut self) {
        self.current.heavy += 1;
        self.check();
    }

    fn chain(&mut self) {
        self.current.chain += 1;
        self.check();
    }

    fn last(&mut self) {
        self.current.lasting += 1;
        self.check();
    }

    /// Begins the next item of a list.
    fn begin_item(&mut self) {
        (self.current.heavy, self.current.chain) = (0, 0);
    }

    /// Begins a statement that does not go on with the one before.
    fn begin_statement(&mut self) {
        self.begin_item();
        (self.current.lasting, self.current.angles) = (0, 0);
    }
}

/// Checks a text of Python.
///
/// The parser recovers from errors by rereading tokens, as lines outside of brackets for
/// example, so that its tokens need not be those of the lexer. Thus a text with an error that the
/// lexer sees is refused, and lines are counted as blocks also inside brackets.
pub(crate) fn check_python(text: &str) -> Result<(), Refused> {
    if text.len() > SIZE {
        return Err(Refused::Deep);
    }
    check_indentation(text)?;
    let mut lexer = lex(text, Mode::Module);
    let mut nesting = Nesting::default();
    let mut operand = false;
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => return Ok(()),
            TokenKind::Unknown => return Err(Refused::Unclear),
            TokenKind::Lpar => nesting.open(Some(')')),
            TokenKind::Lsqb => nesting.open(Some(']')),
            TokenKind::Lbrace => nesting.open(Some('}')),
            TokenKind::Indent | TokenKind::FStringStart | TokenKind::TStringStart => {
                nesting.open(None);
            }
            TokenKind::Rpar => {
                nesting.close(Some(')'))?;
            }
            TokenKind::Rsqb => {
                nesting.close(Some(']'))?;
            }
            TokenKind::Rbrace => {
                nesting.close(Some('}'))?;
            }
            TokenKind::Dedent | TokenKind::FStringEnd | TokenKind::TStringEnd => {
                nesting.close(None)?;
            }
            TokenKind::Newline | TokenKind::Semi => nesting.begin_statement(),
            TokenKind::Comma => nesting.begin_item(),
            // A default may be another lambda, so that commas do not end its parameters.
            TokenKind::Lambda => nesting.last(),
            // A colon ends the parameters of a lambda, if one is open.
            TokenKind::Colon => {
                nesting.current.lasting = nesting.current.lasting.saturating_sub(1);
                nesting.heavy();
            }
            TokenKind::Not
            | TokenKind::Tilde
            | TokenKind::If
            | TokenKind::Else
            | TokenKind::DoubleStar
            | TokenKind::Await
            | TokenKind::Yield
            | TokenKind::ColonEqual
            | TokenKind::Star
            | TokenKind::Equal
            | TokenKind::For => nesting.heavy(),
            TokenKind::Plus | TokenKind::Minus => {
                // A sign without an operand before it is a prefix.
                nesting.current.heavy += u32::from(!operand);
                nesting.chain();
            }
            TokenKind::Name
            | TokenKind::String
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline => {}
            _ => nesting.chain(),
        }
        operand = matches!(
            kind,
            TokenKind::Name
                | TokenKind::String
                | TokenKind::FStringEnd
                | TokenKind::Int
                | TokenKind::Float
                | TokenKind::Rpar
                | TokenKind::Rsqb
                | TokenKind::Rbrace
        );
        if nesting.deepest {
            return Err(Refused::Deep);
        }
    }
}

/// Counts how deep the lines of a text are indented within each other.
fn check_indentation(text: &str) -> Result<(), Refused> {
    let mut outer: Vec<usize> = Vec::new();
    for line in text.split(['\n', '\r']) {
        let rest = line.trim_start();
        if rest.is_empty() {
            continue;
        }
        let width = line.len() - rest.len();
        while outer.last().is_some_and(|outer| *outer >= width) {
            outer.pop();
        }
        outer.push(width);
        if outer.len() > NESTING as usize {
            return Err(Refused::Deep);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Refused, check_javascript, check_python};

    #[test]
    fn depth_is_counted_whatever_makes_it() {
        for part in [
            "(",
            "[",
            "{",
            "-",
            "not ",
            "~",
            "lambda: ",
            "f(",
            "a if b else ",
            "a ** ",
            "await ",
            "f'{",
            "f\"{f'{",
            "a = ",
            "lambda a, b=",
        ] {
            assert_eq!(check_python(&part.repeat(5_000)), Err(Refused::Deep), "{part}");
        }
        for part in ["{)", "({]", "f\"{\"{", "switch (x) { c);\n", "(]\n"] {
            assert!(check_python(&part.repeat(5_000)).is_err(), "{part}");
        }
        // An error in brackets makes the parser read the lines after it as statements.
        let lines: String =
            (0..300).map(|depth| format!("{:depth$}if a:\n{:depth$} b,\n", "", "")).collect();
        assert_eq!(check_python(&format!("x = [\n{lines}]\n")), Err(Refused::Deep));
        for part in ["a.", "a + ", "a and ", "a < "] {
            assert_eq!(check_python(&(part.repeat(5_000) + "a")), Err(Refused::Deep), "{part}");
        }
        let blocks: String =
            (0..200).map(|depth| " ".repeat(depth) + "if a:\n").collect::<String>() + "pass";
        assert_eq!(check_python(&blocks), Err(Refused::Deep));
        for part in [
            "(",
            "[",
            "{",
            "-",
            "!",
            "~ ",
            "typeof ",
            "new ",
            "a => ",
            "a ? b : ",
            "a = ",
            "if (a) ",
            "if (a) b; else ",
            "for (;;) ",
            "while (a) ",
            "`${",
            "a ** ",
            "a.",
            "a?.",
            "a(",
            "a + ",
            "a && ",
            "async a => ",
            "a:",
            "/'/; (",
            "/[/]'/; (",
            "x\n(",
            "-\n",
            "do ",
            "function a() { ",
            "class a extends ",
            "a < ",
            "(a = ",
            "a.case.",
            "with (a)\n",
            "{)",
            "a<b,",
            "let x: A<b, () => ",
            "a<b\n,",
            "A<B, C<D>, () => ",
        ] {
            assert!(check_javascript(&part.repeat(5_000)).is_err(), "{part}");
        }
    }

    #[test]
    fn everyday_texts_pass() {
        for text in [
            "a = [1, 2, 3]\nfor x in a:\n    print(x + 1)\n".repeat(300),
            "if a:\n    pass\nelif b:\n    pass\nelse:\n    pass\n".repeat(300),
            format!("a = [{}]", "(1, -2), ".repeat(3_000)),
            format!("x = {{{}}}", "'a': {'b': -1},".repeat(2_000)),
            format!("x = [{}]", "lambda a, b=1: a, ".repeat(300)),
        ] {
            assert_eq!(check_python(&text), Ok(()), "{}", &text[..40]);
        }
        for text in [
            "const a = [1, -2]\nif (a) { b() }\nx.y(z => z + 1)\n".repeat(300),
            "const a = b / 2 / c;\nx = /['\"(]/.test(y);\n".repeat(300),
            "const s = `a ${b} c`\nfoo(s)\n".repeat(300),
            format!("x = {{{}}}", "a: {b: [1, 2]},".repeat(2_000)),
            "switch (a) {\ncase 1:\n  b()\n  break\ncase 2:\ncase 3:\n}\n".repeat(300),
            "function f(a) {\n  return a ? 1 : 2\n}\n".repeat(300),
            "const r = (a + b) / (c * d)\n".to_owned(),
            "if (a) b; else c;\n".repeat(300),
            "if (a) { b } else { c }\n".repeat(300),
            format!("x = [{}]", "new Map<string, Set<number>>(), a <= b, c => d,".repeat(300)),
            "const a = b < c\n".repeat(300),
        ] {
            assert_eq!(check_javascript(&text), Ok(()), "{}", &text[..20]);
        }
    }
}
