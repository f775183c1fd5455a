//! Finds the tokens of JavaScript and TypeScript, for their nesting alone.

use super::{Nesting, Refused, SIZE};

/// The kind of the token before the current one.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// An operand is expected: the start, an operator, a separator.
    Nothing,
    /// A word that an operand follows.
    Keyword,
    /// A word after which both is possible.
    Either,
    /// A name, a literal, or the end of brackets.
    Operand,
    /// `)`; the flag says that a statement follows.
    Round(bool),
    /// `}`.
    Brace,
    /// A dot: the next word is a name.
    Dot,
}

/// Words that an operand or a statement follows.
const KEYWORDS: &[&str] = &[
    "async",
    "case",
    "class",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "for",
    "function",
    "if",
    "in",
    "instanceof",
    "new",
    "return",
    "switch",
    "throw",
    "typeof",
    "void",
    "while",
    "with",
    "default",
    "try",
    "finally",
    "catch",
    "var",
    "const",
];
/// Words that are names in some places.
const CONTEXTUAL: &[&str] = &[
    "abstract",
    "accessor",
    "as",
    "asserts",
    "await",
    "declare",
    "from",
    "infer",
    "is",
    "keyof",
    "let",
    "of",
    "out",
    "readonly",
    "satisfies",
    "static",
    "unique",
    "using",
    "yield",
    "get",
    "set",
    "type",
    "interface",
    "namespace",
    "module",
    "enum",
    "import",
    "implements",
];
/// Words that do not deepen a tree.
const FLAT: &[&str] = &[
    "in",
    "instanceof",
    "of",
    "as",
    "satisfies",
    "from",
    "var",
    "let",
    "const",
    "export",
    "import",
    "default",
    "case",
    "return",
    "throw",
    "static",
    "get",
    "set",
    "type",
    "switch",
    "try",
    "finally",
    "catch",
    "extends",
    "enum",
    "interface",
    "using",
];
/// Words that go on with what ended at a brace.
const CONTINUING: &[&str] =
    &["else", "catch", "finally", "while", "of", "in", "instanceof", "as", "satisfies", "from"];

/// Scans JavaScript.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
    before: Before,
    /// The last word, if it was the token before.
    word: &'t str,
    newline: bool,
    /// The token before is a semicolon.
    ended: bool,
    nesting: Nesting,
}

/// Checks a text of JavaScript or TypeScript.
pub(crate) fn check_javascript(text: &str) -> Result<(), Refused> {
    if text.len() > SIZE {
        return Err(Refused::Deep);
    }
    // These begin comments in a script and are operators in a module.
    let markup = text.contains("<!--")
        || text.lines().any(|line| line.trim_start().starts_with("-->"))
        || text.contains("*/") && text.contains("-->");
    if markup {
        return Err(Refused::Unclear);
    }
    let at = if text.starts_with("#!") { text.find('\n').unwrap_or(text.len()) } else { 0 };
    let mut scanner = Scanner {
        text,
        at,
        before: Before::Nothing,
        word: "",
        newline: true,
        ended: false,
        nesting: Nesting::default(),
    };
    while scanner.at < text.len() {
        scanner.token()?;
        if scanner.nesting.deepest {
            return Err(Refused::Deep);
        }
    }
    Ok(())
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Skips a blank or a comment; returns true if there was one.
    fn skip_blank(&mut self, c: char) -> Result<bool, Refused> {
        let rest = self.rest();
        match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                self.newline = true;
                self.at += c.len_utf8();
            }
            c if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
            '/' if rest.starts_with("//") => {
                self.at += rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len());
            }
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/").ok_or(Refused::Unclear)?;
                self.newline |= rest.get(..end).is_some_and(|text| text.contains(['\n', '\r']));
                self.at += end + 2;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn token(&mut self) -> Result<(), Refused> {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return Ok(()) };
        if self.skip_blank(c)? {
            return Ok(());
        }
        if std::mem::take(&mut self.ended) && !CONTINUING.contains(&first_word(rest)) {
            self.nesting.begin_statement();
        }
        match c {
            '\'' | '"' => {
                self.begin_operand("");
                self.quoted(c)?;
            }
            '`' => {
                self.at += 1;
                self.nesting.open(None);
                self.template()?;
            }
            '/' => self.slash()?,
            '(' | '[' | '{' => {
                let header = c == '('
                    && self.before == Before::Keyword
                    && matches!(self.word, "if" | "for" | "while" | "with" | "await" | "catch");
                self.nesting.open(Some(match c {
                    '(' => ')',
                    '[' => ']',
                    _ => '}',
                }));
                self.nesting.current.header = header;
                (self.before, self.newline) = (Before::Nothing, false);
                self.at += 1;
            }
            ')' | ']' | '}' => self.closing(c)?,
            c if is_word(c) => self.name(rest),
            _ => self.sign(c),
        }
        if self.before != Before::Keyword && self.before != Before::Either {
            self.word = "";
        }
        self.newline = false;
        Ok(())
    }

    /// Notes the start of an operand: after another operand on a line of its own it begins a
    /// statement.
    fn begin_operand(&mut self, word: &str) {
        let apart = match self.before {
            Before::Operand | Before::Round(false) => {
                self.newline && !CONTEXTUAL.contains(&word) && !CONTINUING.contains(&word)
            }
            Before::Brace => !CONTINUING.contains(&word),
            _ => false,
        };
        if apart {
            self.nesting.begin_statement();
        }
        self.before = Before::Operand;
    }

    fn quoted(&mut self, quote: char) -> Result<(), Refused> {
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\n' | '\r' => return Err(Refused::Unclear),
                c if c == quote => {
                    self.at += at + 1;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(Refused::Unclear)
    }

    /// Scans the text of a template, up to a value in it or to its end.
    fn template(&mut self) -> Result<(), Refused> {
        let mut escaped = false;
        let rest = self.rest();
        for (at, c) in rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '`' => {
                    self.at += at + 1;
                    self.nesting.close(None)?;
                    self.before = Before::Operand;
                    return Ok(());
                }
                '$' if rest.get(at + 1..).is_some_and(|next| next.starts_with('{')) => {
                    self.at += at + 2;
                    self.nesting.open(Some('}'));
                    self.nesting.current.template = true;
                    self.before = Before::Nothing;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(Refused::Unclear)
    }

    fn closing(&mut self, c: char) -> Result<(), Refused> {
        self.at += 1;
        let closed = self.nesting.close(Some(c))?;
        if c == '}' && closed.template {
            return self.template();
        }
        self.before = match c {
            ')' => Before::Round(closed.header),
            ']' => Before::Operand,
            _ => Before::Brace,
        };
        Ok(())
    }

    fn name(&mut self, rest: &'t str) {
        let word = first_word(rest);
        self.at += word.len();
        // `x.if` is a member.
        if self.before == Before::Dot {
            self.before = Before::Operand;
            return;
        }
        self.begin_operand(word);
        let known = KEYWORDS.contains(&word);
        if !known && !CONTEXTUAL.contains(&word) {
            return;
        }
        if matches!(word, "case" | "default") {
            self.nesting.begin_item();
        } else if word == "else" {
            self.nesting.last();
        } else if !FLAT.contains(&word) {
            self.nesting.heavy();
        } else {
            self.nesting.chain();
        }
        self.before = if known { Before::Keyword } else { Before::Either };
        self.word = word;
    }

    fn slash(&mut self) -> Result<(), Refused> {
        let rest = self.rest();
        let line = rest.split(['\n', '\r', '\u{2028}', '\u{2029}']).next().unwrap_or("");
        let end = end_of_expression(line);
        let is_expression = match self.before {
            Before::Nothing | Before::Keyword => true,
            Before::Operand | Before::Dot => false,
            Before::Either | Before::Round(_) | Before::Brace => {
                let body = end.and_then(|end| line.get(1..end)).unwrap_or("");
                if body.contains(['\'', '"', '`', '{', '}', '(', ')', '[', ']', '/']) {
                    return Err(Refused::Unclear);
                }
                false
            }
        };
        if is_expression {
            self.at += end.ok_or(Refused::Unclear)? + 1;
            self.before = Before::Operand;
        } else {
            self.sign('/');
        }
        Ok(())
    }

    fn sign(&mut self, c: char) {
        let rest = self.rest();
        let operand = matches!(
            self.before,
            Before::Operand | Before::Round(_) | Before::Brace | Before::Either
        );
        let (length, next) = match c {
            ';' => {
                self.nesting.begin_item();
                self.nesting.current.angles = 0;
                self.ended = true;
                (1, Before::Nothing)
            }
            ',' => {
                self.nesting.begin_item();
                (1, Before::Nothing)
            }
            '=' if rest.starts_with("=>") => {
                self.nesting.heavy();
                (2, Before::Nothing)
            }
            '<' if !rest.starts_with("<=") => {
                // It may begin type arguments, which contain commas.
                self.nesting.current.angles += 1;
                self.nesting.heavy();
                (1, Before::Nothing)
            }
            '>' => {
                self.nesting.current.angles = self.nesting.current.angles.saturating_sub(1);
                self.nesting.chain();
                (1, Before::Nothing)
            }
            '.' if rest.starts_with("...") => {
                self.nesting.heavy();
                (3, Before::Nothing)
            }
            '.' => {
                self.nesting.chain();
                (1, Before::Dot)
            }
            '?' if rest.starts_with("?.")
                && !rest.starts_with("?.(")
                && !rest.starts_with("?.[") =>
            {
                self.nesting.chain();
                (2, Before::Dot)
            }
            '+' | '-' if rest.starts_with("++") || rest.starts_with("--") => {
                self.nesting.heavy();
                // A prefix or a suffix: a slash after it is not clear.
                (2, if operand { Before::Round(false) } else { Before::Nothing })
            }
            '+' | '-' if operand => {
                self.nesting.chain();
                (1, Before::Nothing)
            }
            '*' if rest.starts_with("**") => {
                self.nesting.heavy();
                (2, Before::Nothing)
            }
            '=' if rest.starts_with("===") => {
                self.nesting.chain();
                (3, Before::Nothing)
            }
            '=' | '!' if rest.starts_with("==") || rest.starts_with("!=") => {
                self.nesting.chain();
                (2, Before::Nothing)
            }
            '!' if operand => {
                self.nesting.chain();
                (1, Before::Round(false))
            }
            '&' | '|' | '*' | '/' | '%' | '^' => {
                self.nesting.chain();
                (1, Before::Nothing)
            }
            c => {
                self.nesting.heavy();
                (c.len_utf8(), Before::Nothing)
            }
        };
        self.at += length;
        self.before = next;
    }
}

fn is_word(c: char) -> bool {
    // A name may be written with escapes (`\u0061`) and hold these signs.
    c.is_alphanumeric() || matches!(c, '_' | '$' | '\\' | '\u{200c}' | '\u{200d}' | '\u{fffd}')
}

/// Returns the word that begins a text, or "".
fn first_word(text: &str) -> &str {
    let length = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    text.get(..length).unwrap_or("")
}

/// Returns the end of a regular expression that begins a line.
fn end_of_expression(line: &str) -> Option<usize> {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in line.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '/' if !class => return Some(at),
            _ => {}
        }
    }
    None
}
