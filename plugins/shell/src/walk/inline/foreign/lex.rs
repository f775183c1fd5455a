//! The words of code in a language that no parser reads: names, texts, numbers, signs.
//!
//! Each character is looked at once. A text or a comment that has no end lasts until the code's.

/// The maximum number of words.
const TOKENS: usize = 20_000;
/// The maximum number of texts that begin behind their line (`<<EOF`).
const HEREDOCS: usize = 16;

/// A part of a text: written as it is, or computed by code in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Code(String),
}

/// A word of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name(String),
    Text(Vec<Part>),
    /// A list of plain words: `%w[a b]`.
    Words(Vec<String>),
    /// A command between backquotes and the like.
    Command(Vec<Part>),
    /// Code in a text that is replaced: `s/x/CODE/e`.
    Code(String),
    Number(String),
    Regex,
    Sign(&'static str),
    /// The end of a statement.
    End,
}

/// A word, and whether a blank is before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub spaced: bool,
}

const SIGNS: &[&str] = &[
    "<<-", "<<=", "===", "...", "::", "->", "=>", "..", "<>", "<-", ":=", "==", "=~", "!~", "||",
    "&&", "|>", "|&", "<<", ">>", "!=", "<=", ">=", "+=", ".=", "**", "++", "--", "//", "&.", "?.",
    "(", ")", "[", "]", "{", "}", ",", ".", ":", "=", "+", "-", "*", "/", "%", "&", "|", "!", "?",
    "<", ">", "~", "^", "\\", "@", "$", "#", "`", "'",
];

/// Reads code; the flag says that there is more than is read.
pub(super) fn read_tokens(code: &str, language: &str) -> (Vec<Token>, bool) {
    let mut lexer = Lexer { code, at: 0, language, tokens: Vec::new(), spaced: false, heredocs: 0 };
    while lexer.at < code.len() && lexer.tokens.len() < TOKENS {
        lexer.token();
    }
    (lexer.tokens, lexer.at < code.len())
}

/// Returns true if the next line that is not empty calls a method of the value before it.
fn continues_a_chain(rest: &str) -> bool {
    let next = rest.trim_start().strip_prefix('.');
    next.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

struct Lexer<'c> {
    code: &'c str,
    at: usize,
    language: &'c str,
    tokens: Vec<Token>,
    spaced: bool,
    heredocs: usize,
}

impl<'c> Lexer<'c> {
    fn rest(&self) -> &'c str {
        self.code.get(self.at..).unwrap_or("")
    }

    fn is(&self, languages: &[&str]) -> bool {
        languages.contains(&self.language)
    }

    fn push(&mut self, kind: Kind) {
        self.tokens.push(Token { kind, spaced: self.spaced });
        self.spaced = false;
    }

    /// Returns true behind a value, where a sign is an operator and begins no text.
    fn is_behind_value(&self) -> bool {
        match self.tokens.last().map(|token| &token.kind) {
            Some(Kind::Name(name)) => !matches!(
                name.as_str(),
                "if" | "unless"
                    | "and"
                    | "or"
                    | "not"
                    | "return"
                    | "while"
                    | "until"
                    | "split"
                    | "grep"
                    | "when"
                    | "in"
                    | "puts"
                    | "print"
                    | "p"
                    | "do"
                    | "then"
                    | "else"
                    | "system"
                    | "exec"
                    | "eval"
            ),
            Some(Kind::Text(_) | Kind::Number(_) | Kind::Words(_) | Kind::Command(_)) => true,
            Some(Kind::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
            _ => false,
        }
    }

    fn token(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return };
        if c == '\n' && continues_a_chain(rest) {
            self.at += 1;
            self.spaced = true;
            return;
        }
        if c == '\n' || c == ';' {
            self.at += 1;
            return self.push(Kind::End);
        }
        if c.is_whitespace() {
            self.at += c.len_utf8();
            self.spaced = true;
            return;
        }
        if rest.starts_with("\\\n") {
            self.at += 2;
            return;
        }
        if self.skips_comment(rest) || self.reads_special(rest, c) {
            return;
        }
        let sigil = c == '$' && self.is(&["perl", "php", "ruby", "tcl"])
            || c == '@' && self.is(&["perl", "ruby"])
            || c == '$' && self.is(&["awk"]);
        if c.is_alphabetic() || c == '_' || sigil {
            return self.name(rest, sigil);
        }
        if c.is_ascii_digit() {
            let len =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            self.at += len;
            return self.push(Kind::Number(number(rest.get(..len).unwrap_or(""))));
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.at += sign.len();
                self.push(Kind::Sign(sign));
            }
            None => self.at += c.len_utf8(),
        }
    }

    fn skips_comment(&mut self, rest: &str) -> bool {
        let hash = self.is(&["ruby", "perl", "php", "r", "julia", "elixir", "awk", "c"]);
        let slashes = self.is(&["php", "java", "go", "c", "rust"]);
        let dashes = self.is(&["lua", "osascript"]);
        if self.is(&["lua"]) && rest.starts_with("--[[") {
            self.at += rest.find("]]").map_or(rest.len(), |end| end + 2);
            return true;
        }
        let line = hash && rest.starts_with('#')
            || slashes && rest.starts_with("//")
            || dashes && rest.starts_with("--");
        if line {
            self.at += rest.find('\n').unwrap_or(rest.len());
            return true;
        }
        let block = slashes && rest.starts_with("/*") || dashes && rest.starts_with("(*");
        if block {
            let close = if dashes { "*)" } else { "*/" };
            self.at += rest.find(close).map_or(rest.len(), |end| end + 2);
        }
        block
    }

    /// Reads texts of all kinds.
    fn reads_special(&mut self, rest: &'c str, c: char) -> bool {
        if c == '"' {
            let triple = rest.starts_with("\"\"\"");
            let open = if triple && self.is(&["julia", "elixir", "java"]) { 3 } else { 1 };
            self.at += open;
            let parts = self.quoted('"', open, true);
            self.push(Kind::Text(parts));
            return true;
        }
        if c == '\'' {
            return self.single(rest);
        }
        if c == '`' && self.is(&["ruby", "perl", "php", "julia"]) {
            self.at += 1;
            let parts = self.quoted('`', 1, true);
            self.push(Kind::Command(parts));
            return true;
        }
        if c == '`' && self.is(&["go"]) {
            self.at += 1;
            let text = self.until("`");
            self.push(Kind::Text(vec![Part::Text(text)]));
            return true;
        }
        if rest.starts_with("[[") && self.is(&["lua"]) {
            self.at += 2;
            let text = self.until("]]");
            self.push(Kind::Text(vec![Part::Text(text)]));
            return true;
        }
        if c == '~' && self.is(&["elixir"]) {
            let mut letters = rest.chars().skip(1);
            if let (Some('s' | 'S' | 'c' | 'w'), Some(open)) = (letters.next(), letters.next())
                && !open.is_alphanumeric()
            {
                self.at += 2 + open.len_utf8();
                let parts = self.quoted(closing(open), 1, true);
                let words = rest.starts_with("~w");
                self.push(if words { words_of(&parts) } else { Kind::Text(parts) });
                return true;
            }
        }
        if c == '<' && self.is(&["ruby", "perl", "php"]) && self.heredoc(rest) {
            return true;
        }
        if c == '%' && self.is(&["ruby"]) && self.percent(rest) {
            return true;
        }
        if c == '/' && self.is(&["ruby", "perl", "awk", "groovy"]) && !self.is_behind_value() {
            self.at += 1;
            self.quoted('/', 1, false);
            self.flags();
            self.push(Kind::Regex);
            return true;
        }
        if self.is(&["rust"]) && (rest.starts_with("r\"") || rest.starts_with("r#\"")) {
            let hash = rest.starts_with("r#");
            self.at += if hash { 3 } else { 2 };
            let text = self.until(if hash { "\"#" } else { "\"" });
            self.push(Kind::Text(vec![Part::Text(text)]));
            return true;
        }
        self.is(&["perl"]) && c.is_ascii_lowercase() && self.quote_like(rest)
    }

    /// Reads `'...'`: a text, a character, or nothing of the kind.
    fn single(&mut self, rest: &str) -> bool {
        if self.is(&["c", "go", "rust", "awk", "osascript", "tcl", "java"]) {
            let mut inside = rest.chars().skip(1);
            let first = inside.next();
            let len = if first == Some('\\') { 2 } else { first.map_or(0, char::len_utf8) };
            let java = self.is(&["java"]) && !rest.get(1 + len..).unwrap_or("").starts_with('\'');
            if java {
                self.at += 1;
                let parts = self.quoted('\'', 1, false);
                self.push(Kind::Text(parts));
                return true;
            }
            if rest.get(1 + len..).unwrap_or("").starts_with('\'') {
                self.at += 2 + len;
                let text = rest.get(1..=len).unwrap_or("").to_owned();
                self.push(Kind::Text(vec![Part::Text(text)]));
                return true;
            }
            return false;
        }
        if self.is(&["julia"]) && self.is_behind_value() {
            return false;
        }
        self.at += 1;
        let plain = self.is(&["perl", "ruby", "php"]);
        let parts = self.quoted('\'', 1, !plain);
        self.push(Kind::Text(parts));
        true
    }

    /// Reads up to a mark, which is left out.
    fn until(&mut self, mark: &str) -> String {
        let rest = self.rest();
        let end = rest.find(mark).unwrap_or(rest.len());
        self.at = (self.at + end + mark.len()).min(self.code.len());
        rest.get(..end).unwrap_or("").to_owned()
    }

    fn flags(&mut self) -> String {
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or("").to_owned()
    }

    /// Reads a name, with the sigil before it.
    fn name(&mut self, rest: &str, sigil: bool) {
        let start = usize::from(sigil);
        let body = rest.get(start..).unwrap_or("");
        let mut len = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
        if sigil && len == 0 {
            // `$$`, `$<`, `$!`, and `${name}`.
            len = body.chars().next().filter(|c| "$<>!0&;".contains(*c)).map_or(0, char::len_utf8);
        }
        let mut name = rest.get(..start + len).unwrap_or("").to_owned();
        self.at += name.len().max(1);
        let bang = self.rest();
        if bang.starts_with(['!', '?'])
            && self.is(&["ruby", "elixir", "julia", "rust"])
            && !bang.starts_with("!=")
            && !bang.starts_with("?.")
        {
            self.at += 1;
        }
        if name.is_empty() {
            name.push('_');
        }
        self.push(Kind::Name(name));
    }

    /// Reads a text up to its closing mark, as often as it was opened.
    fn quoted(&mut self, close: char, times: usize, computes: bool) -> Vec<Part> {
        let open = opening(close);
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut depth = 0_usize;
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else { break };
            if c == close && depth == 0 {
                let run = rest.chars().take(times).take_while(|c| *c == close).count();
                if run == times {
                    self.at += times * close.len_utf8();
                    break;
                }
            }
            if c == '\\' {
                self.escape(rest, computes, &mut text);
                continue;
            }
            depth += usize::from(Some(c) == open);
            depth -= usize::from(c == close && open.is_some() && depth > 0);
            if computes && let Some((code, len)) = self.computed(rest) {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Code(code.to_owned()));
                self.at += len;
                continue;
            }
            text.push(c);
            self.at += c.len_utf8();
        }
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        parts
    }

    /// Reads an escape.
    fn escape(&mut self, rest: &str, computes: bool, text: &mut String) {
        let mut inside = rest.char_indices().skip(1);
        let Some((_, c)) = inside.next() else {
            self.at += 1;
            return;
        };
        self.at += 1 + c.len_utf8();
        let digits = |radix: u32, from: usize, most: usize| {
            let digits = rest.get(from..).unwrap_or("");
            let len = digits.bytes().take(most).take_while(|b| char::from(*b).is_digit(radix));
            let len = len.count();
            let value = u32::from_str_radix(digits.get(..len).unwrap_or(""), radix).unwrap_or(0);
            (char::from_u32(value).unwrap_or('\u{fffd}'), len)
        };
        match c {
            _ if !computes && matches!(c, '\\' | '\'') => text.push(c),
            _ if !computes => text.extend(['\\', c]),
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'e' => text.push('\u{1b}'),
            'x' | 'u' => {
                let braced = rest.get(2..).unwrap_or("").starts_with('{');
                let most = if c == 'x' && !braced { 2 } else { 6 };
                let most = if c == 'u' && !braced { 4 } else { most };
                let (c, len) = digits(16, 2 + usize::from(braced), most);
                text.push(c);
                self.at += len + 2 * usize::from(braced);
                self.at = self.at.min(self.code.len());
            }
            '0'..='9' => {
                let radix = if self.is(&["lua"]) { 10 } else { 8 };
                let (c, len) = digits(radix, 1, 3);
                text.push(c);
                self.at += len.saturating_sub(1);
            }
            '\n' => {}
            _ => text.push(c),
        }
        while self.at < self.code.len() && !self.code.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    /// Returns the code at the beginning of a text's rest, and its length: `#{x}`, `$x`, `$(x)`.
    fn computed<'r>(&self, rest: &'r str) -> Option<(&'r str, usize)> {
        let braced = |open: &str, start: usize| {
            rest.starts_with(open)
                .then(|| enclosed(rest, open.len()))
                .flatten()
                .map(|end| (rest.get(start..end).unwrap_or(""), end + 1))
        };
        match self.language {
            "ruby" | "elixir" => braced("#{", 2),
            "groovy" | "java" => braced("${", 2).or_else(|| dollar(rest, false)),
            "julia" => braced("$(", 2).or_else(|| dollar(rest, false)),
            "php" => braced("{$", 1).or_else(|| braced("${", 2)).or_else(|| dollar(rest, true)),
            "perl" => braced("@{[", 3)
                .map(|(code, len)| (code.trim_end_matches(']'), len))
                .or_else(|| braced("${", 2))
                .or_else(|| dollar(rest, true)),
            _ => None,
        }
    }

    /// Reads `<<EOF`: the lines behind the current one.
    fn heredoc(&mut self, rest: &str) -> bool {
        let php = self.is(&["php"]);
        let Some(body) = rest.strip_prefix(if php { "<<<" } else { "<<" }) else { return false };
        let name = body.trim_start_matches(['~', '-', '"', '\'']);
        let len = name.find(|c: char| !(c.is_ascii_uppercase() || c == '_')).unwrap_or(name.len());
        let name = name.get(..len).unwrap_or("");
        if name.is_empty() || self.heredocs >= HEREDOCS {
            return false;
        }
        self.heredocs += 1;
        let mut text = String::new();
        let mut lines = rest.split_inclusive('\n');
        let own = lines.next().unwrap_or("");
        let mut used = own.len();
        for line in lines {
            used += line.len();
            if line.trim().trim_end_matches(';') == name {
                break;
            }
            text.push_str(line);
        }
        // The rest of its own line is read behind it, without a text of its own.
        self.push(Kind::Text(vec![Part::Text(text)]));
        for sign in own.chars().filter(|c| matches!(c, ')' | ']' | '}')) {
            let kind = SIGNS.iter().find(|known| known.starts_with(sign) && known.len() == 1);
            self.tokens.extend(kind.map(|sign| Token { kind: Kind::Sign(sign), spaced: false }));
        }
        self.at += used;
        self.push(Kind::End);
        true
    }

    /// Reads Ruby's `%w[...]`, `%x(...)`, `%q(...)`, `%(...)`.
    fn percent(&mut self, rest: &str) -> bool {
        let mut chars = rest.chars().skip(1);
        let Some(first) = chars.next() else { return false };
        let (letter, open) = if first.is_ascii_alphabetic() {
            (first, chars.next().unwrap_or(' '))
        } else {
            ('Q', first)
        };
        let named = first.is_ascii_alphabetic();
        let fits = "wWiIqQx".contains(letter) && "([{<|!/".contains(open);
        if !fits || self.is_behind_value() && !(named && self.spaced) {
            return false;
        }
        self.at += 1 + usize::from(named) + open.len_utf8();
        let parts = self.quoted(closing(open), 1, true);
        self.push(match letter {
            'w' | 'W' | 'i' | 'I' => words_of(&parts),
            'x' => Kind::Command(parts),
            _ => Kind::Text(parts),
        });
        true
    }

    /// Reads Perl's `q(...)`, `qq`, `qw`, `qx`, `m//`, `s///`, `tr///`.
    fn quote_like(&mut self, rest: &str) -> bool {
        const MARKS: &[&str] = &["qq", "qw", "qx", "qr", "tr", "q", "m", "s", "y"];
        let behind = self.tokens.last().map(|token| &token.kind);
        if matches!(behind, Some(Kind::Sign("->" | "::" | "&"))) {
            return false;
        }
        let Some(mark) = MARKS.iter().find(|mark| {
            rest.strip_prefix(**mark)
                .and_then(|rest| rest.trim_start_matches(' ').chars().next())
                .is_some_and(|open| "([{</|!#~'\"".contains(open) || open == ',' || open == '@')
        }) else {
            return false;
        };
        let body = rest.get(mark.len()..).unwrap_or("");
        let blanks = body.len() - body.trim_start_matches(' ').len();
        let Some(open) = body.trim_start_matches(' ').chars().next() else { return false };
        if blanks > 0 && (open == '#' || mark.len() == 1 && open != '{') || open == ',' {
            return false;
        }
        self.at += mark.len() + blanks + open.len_utf8();
        let close = closing(open);
        let plain = matches!(*mark, "q" | "qr" | "m" | "s" | "tr" | "y") || open == '\'';
        let parts = self.quoted(close, 1, !plain);
        match *mark {
            "q" | "qq" => self.push(Kind::Text(parts)),
            "qw" => self.push(words_of(&parts)),
            "qx" => self.push(Kind::Command(parts)),
            "m" | "qr" => {
                self.flags();
                self.push(Kind::Regex);
            }
            _ => {
                if open != close {
                    let rest = self.rest();
                    let inner = rest.trim_start();
                    self.at += rest.len() - inner.len();
                    self.at += inner.chars().next().map_or(0, char::len_utf8);
                }
                let second = self.quoted(close, 1, false);
                let runs = self.flags().contains('e') && *mark == "s";
                let code = second.iter().map(|part| match part {
                    Part::Text(text) | Part::Code(text) => text.as_str(),
                });
                self.push(if runs { Kind::Code(code.collect()) } else { Kind::Regex });
            }
        }
        true
    }
}

fn words_of(parts: &[Part]) -> Kind {
    let whole: String = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Code(_) => portcullis_inline_code::HOLE.to_string(),
        })
        .collect();
    Kind::Words(whole.split_whitespace().take(256).map(str::to_owned).collect())
}

/// Returns the position of the bracket that closes the one before `from`.
fn enclosed(text: &str, from: usize) -> Option<usize> {
    let mut open = 1_usize;
    for (at, byte) in text.bytes().enumerate().skip(from).take(512) {
        match byte {
            b'{' | b'(' | b'[' => open += 1,
            b'}' | b')' | b']' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns `$name` at the beginning of a text, with the subscript behind it.
fn dollar(rest: &str, subscripts: bool) -> Option<(&str, usize)> {
    let name = rest.strip_prefix('$')?;
    let len = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    if len == 0 {
        return None;
    }
    let mut end = 1 + len;
    if subscripts && rest.get(end..).is_some_and(|more| more.starts_with(['{', '['])) {
        end = enclosed(rest, end + 1).map_or(end, |close| close + 1);
    }
    // Groovy, Julia and Kotlin name variables without the sign.
    let start = usize::from(!subscripts);
    Some((rest.get(start..end)?, end))
}

const fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}

const fn opening(close: char) -> Option<char> {
    match close {
        ')' => Some('('),
        ']' => Some('['),
        '}' => Some('{'),
        '>' => Some('<'),
        _ => None,
    }
}

/// Returns a number in its usual spelling.
fn number(text: &str) -> String {
    let digits = text.replace('_', "");
    digits
        .strip_prefix("0x")
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .map_or(digits, |value| value.to_string())
}
