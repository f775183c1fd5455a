//! Cuts statements into tokens: comments are left out, texts and quoted names are one token each.
//!
//! Databases disagree about where a text ends, so a lexer has a language. It never fails: what it
//! does not know is a symbol, and a text that does not end goes on to the end.

/// What reads the statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// SQL as most databases read it.
    Standard,
    /// PostgreSQL: dollar quotes, `E'...'`, comments in comments.
    Postgres,
    /// MySQL and MariaDB: backslashes, `"` for texts, `#` comments, comments whose text runs.
    Mysql,
    /// SQL Server: `[names]`, no semicolon needed.
    SqlServer,
    /// A document database's shell: JavaScript.
    Script,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'t> {
    /// A keyword or a plain name.
    Word(&'t str),
    /// A quoted name, without its quotes.
    Name(&'t str),
    /// A text, without its quotes.
    Text(&'t str),
    /// A number.
    Number(&'t str),
    /// Anything else that is one character.
    Symbol(char),
    /// A value that only the run can tell.
    Unknown,
}

impl<'t> Token<'t> {
    /// Returns true for a keyword, whatever its case.
    pub fn is(self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Returns true for one of these keywords.
    pub fn is_one_of(self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }

    /// Returns a name, quoted or not.
    pub const fn name(self) -> Option<&'t str> {
        match self {
            Self::Word(name) | Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// Reads tokens from a text.
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    language: Language,
    /// A comment whose text runs (`/*!50000 ... */`) is open.
    running_comment: bool,
}

impl<'t> Lexer<'t> {
    /// Begins at the start of a text.
    pub const fn new(text: &'t str, language: Language) -> Self {
        Self { text, at: 0, language, running_comment: false }
    }

    /// Returns where it is in the text, in bytes.
    pub const fn offset(&self) -> usize {
        self.at
    }

    /// Goes on at an offset behind the current one.
    pub fn skip_to(&mut self, offset: usize) {
        self.at = self.text.ceil_char_boundary(offset.max(self.at));
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or_default()
    }

    /// Takes text up to the next `end`, and goes behind that; to the end of the text without one.
    fn take_until(&mut self, end: &str) -> &'t str {
        let rest = self.rest();
        let (taken, next) = match rest.find(end) {
            Some(at) => (rest.get(..at), at + end.len()),
            None => (Some(rest), rest.len()),
        };
        self.at += next;
        taken.unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.skip_comment() {
                return;
            }
        }
    }

    fn skip_comment(&mut self) -> bool {
        let (first, second) = (self.byte(0), self.byte(1));
        let mysql = self.language == Language::Mysql;
        match (first, second) {
            (b'-', b'-') if self.language != Language::Script => {
                // MySQL wants a blank behind the dashes: `5--1` is a sum.
                if mysql && !self.byte(2).is_ascii_whitespace() && self.byte(2) != 0 {
                    return false;
                }
                self.take_until("\n");
            }
            (b'#', _) if mysql => {
                self.take_until("\n");
            }
            (b'/', b'/') if self.language == Language::Script => {
                self.take_until("\n");
            }
            (b'/', b'*') if mysql && matches!(self.byte(2), b'!' | b'M') => {
                let rest = self.rest();
                let head = rest.trim_start_matches(['/', '*', 'M', '!']);
                let head = head.trim_start_matches(|c: char| c.is_ascii_digit());
                self.at += rest.len() - head.len();
                self.running_comment = true;
            }
            (b'*', b'/') if self.running_comment => {
                self.at += 2;
                self.running_comment = false;
            }
            (b'/', b'*') => self.skip_block_comment(),
            _ => return false,
        }
        true
    }

    /// Skips `/* ... */`; PostgreSQL and SQL Server nest them.
    fn skip_block_comment(&mut self) {
        let nests = matches!(self.language, Language::Postgres | Language::SqlServer);
        self.at += 2;
        let mut depth = 1;
        while depth > 0 && self.at < self.text.len() {
            let rest = self.rest();
            let end = rest.find("*/").unwrap_or(rest.len());
            let inner = rest.get(..end).unwrap_or_default();
            if nests {
                depth += inner.matches("/*").count();
            }
            depth -= 1;
            self.at = (self.at + end + 2).min(self.text.len());
        }
    }

    /// Takes a quoted text behind its first quote. A doubled quote belongs to it.
    fn take_quoted(&mut self, quote: u8, escapes: bool) -> &'t str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at).copied() {
            let escaped = byte == b'\\' && escapes;
            if escaped || (byte == quote && self.byte(1) == quote) {
                self.at += 2;
            } else if byte == quote {
                let text = self.text.get(start..self.at).unwrap_or_default();
                self.at += 1;
                return text;
            } else {
                self.at += 1;
            }
        }
        self.at = bytes.len();
        self.text.get(start..).unwrap_or_default()
    }

    /// Takes `$tag$ ... $tag$`.
    fn take_dollar_quoted(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let inner = rest.strip_prefix('$')?;
        let end = inner.find('$')?;
        let tag = inner.get(..end)?;
        let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !tag.starts_with(|c: char| c.is_ascii_digit());
        if !is_tag {
            return None;
        }
        let quote = rest.get(..end + 2)?;
        self.at += quote.len();
        Some(self.take_until(quote))
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }
}

impl<'t> Iterator for Lexer<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        self.skip_blanks();
        let first = self.rest().chars().next()?;
        let language = self.language;
        let escapes = matches!(language, Language::Mysql | Language::Script);
        let is_text_quote = match first {
            '\'' => true,
            '"' => escapes,
            '`' => language == Language::Script,
            _ => false,
        };
        if is_text_quote {
            self.at += 1;
            return Some(Token::Text(self.take_quoted(first as u8, escapes)));
        }
        if first == '\u{FFFD}' {
            self.at += first.len_utf8();
            return Some(Token::Unknown);
        }
        match first {
            '"' | '`' => {
                self.at += 1;
                return Some(Token::Name(self.take_quoted(first as u8, false)));
            }
            '[' if language == Language::SqlServer => {
                self.at += 1;
                return Some(Token::Name(self.take_until("]")));
            }
            // `E'...'`, `N'...'`, `b'...'`, `x'...'`
            'e' | 'E' | 'n' | 'N' | 'b' | 'B' | 'x' | 'X' if self.byte(1) == b'\'' => {
                self.at += 2;
                let escaped = escapes || matches!(first, 'e' | 'E');
                return Some(Token::Text(self.take_quoted(b'\'', escaped)));
            }
            '$' if matches!(language, Language::Postgres | Language::Standard) => {
                if let Some(text) = self.take_dollar_quoted() {
                    return Some(Token::Text(text));
                }
            }
            // A variable of psql; `::` is a cast.
            ':' if language == Language::Postgres => {
                if self.byte(1) == b':' {
                    self.at += 2;
                    return Some(Token::Symbol(':'));
                }
                self.at += 1;
                let quote = self.byte(0);
                if matches!(quote, b'\'' | b'"') {
                    self.at += 1;
                    self.take_quoted(quote, false);
                    return Some(Token::Unknown);
                }
                let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
                return Some(if name.is_empty() { Token::Symbol(':') } else { Token::Unknown });
            }
            _ => {}
        }
        if first.is_ascii_digit() {
            return Some(Token::Number(self.take_while(|c| c.is_alphanumeric() || c == '.')));
        }
        if first.is_alphabetic() || matches!(first, '_' | '@' | '#' | '$') {
            let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$');
            return Some(Token::Word(self.take_while(|c| in_word(c) && c != '\u{FFFD}')));
        }
        self.at += first.len_utf8();
        Some(Token::Symbol(first))
    }
}

#[cfg(test)]
mod tests {
    use super::Language::{Mysql, Postgres, Script, SqlServer, Standard};
    use super::*;

    fn show(text: &str, language: Language) -> String {
        let parts: Vec<String> = Lexer::new(text, language)
            .map(|token| match token {
                Token::Word(word) => word.to_owned(),
                Token::Name(name) => format!("<{name}>"),
                Token::Text(text) => format!("'{text}'"),
                Token::Number(number) => number.to_owned(),
                Token::Symbol(symbol) => symbol.to_string(),
                Token::Unknown => "?".to_owned(),
            })
            .collect();
        parts.join(" ")
    }

    #[test]
    fn comments_and_texts_end_where_the_database_ends_them() {
        for (language, text, tokens) in [
            (Standard, "a -- b\nc", "a c"),
            (Standard, "a /* b /* c */ d", "a d"),
            (Postgres, "a /* b /* c */ d */ e", "a e"),
            (Postgres, "a /* b", "a"),
            (Standard, "'it''s' x", "'it''s' x"),
            (Standard, r"'a\' b", r"'a\' b"),
            (Mysql, r"'a\' b' c", r"'a\' b' c"),
            (Postgres, r"E'a\' b' c", r"'a\' b' c"),
            (Postgres, r"'a\' b", r"'a\' b"),
            (Postgres, "$$a;b$$ c", "'a;b' c"),
            (Postgres, "$x$a$$b$x$ c", "'a$$b' c"),
            (Postgres, "$1 + $2", "$1 + $2"),
            (Mysql, "a # b\nc", "a c"),
            (Standard, "a # b", "a # b"),
            (Mysql, "a -- b\nc --d", "a c - - d"),
            (Mysql, "/*!50000 DROP */ TABLE t", "DROP TABLE t"),
            (Mysql, "/*M! DROP */ x", "DROP x"),
            (Standard, "/*!50000 DROP */ TABLE t", "TABLE t"),
            (Mysql, "\"a\" `b`", "'a' <b>"),
            (Standard, "\"a\"\"b\" c", "<a\"\"b> c"),
            (SqlServer, "[a b].[c]", "<a b> . <c>"),
            (Script, "db.a // b\n.drop('x')", "db . a . drop ( 'x' )"),
            (Postgres, ":x::int :'y' a:b", "? : int ? a ?"),
            (Standard, "a=\u{FFFD}", "a = ?"),
            (Standard, "t_\u{FFFD}", "t_ ?"),
            (Standard, "1.5e3 ünï", "1.5e3 ünï"),
            (Standard, "'open", "'open'"),
            (Standard, "", ""),
        ] {
            assert_eq!(show(text, language), tokens, "{language:?} {text}");
        }
    }

    #[test]
    fn every_text_comes_to_an_end() {
        let pieces = [
            "'", "\"", "\\", "$$", "/*", "*/", "--", "#", "ü", "\u{FFFD}", "[", ":'", "E'", "`",
            "/*!",
        ];
        for language in [Standard, Postgres, Mysql, SqlServer, Script] {
            for first in pieces {
                for second in pieces {
                    let text = format!("{first}{second}x{first}");
                    assert!(
                        Lexer::new(&text, language).count() <= text.len(),
                        "{language:?} {text}"
                    );
                }
            }
        }
    }
}
