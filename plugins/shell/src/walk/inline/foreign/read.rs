//! Walks the words of code and lists the calls in it, with arguments as far as they are known.
//!
//! It knows no grammar and skips everything that is not a call, an assignment or a bracket. Each
//! word is walked once.

mod members;

use super::lex::{Kind as Word, Part, Token, read_tokens};
use super::tables::Act;
use super::values::{Kind, MEMBERS, Value, join_path};
use portcullis_inline_code::HOLE;
use std::collections::BTreeMap;

/// The maximum number of calls.
const CALLS: usize = 1024;
/// The maximum nesting of brackets and texts.
const DEPTH: usize = 120;
/// The maximum size of all texts that are put together, in bytes.
const WORK: usize = 2 << 20;
const VARIABLES: usize = 512;

/// One call whose name is in the tables.
pub(super) struct Call {
    pub name: String,
    pub act: Act,
    /// The object whose method it is.
    pub own: Option<Value>,
    pub arguments: Vec<Value>,
    pub named: Vec<(String, Value)>,
}

impl Call {
    pub(super) fn has(&self, name: &str) -> bool {
        self.named.iter().any(|(known, value)| known == name && value.as_text() != Some("false"))
    }
}

/// The calls of a text.
pub(super) struct Calls {
    pub calls: Vec<Call>,
    /// There is more than was looked at.
    pub cut: bool,
}

/// Lists the calls of code.
pub(super) fn read_calls(code: &str, language: &str) -> Calls {
    let mut reader = Reader {
        language,
        tokens: Vec::new(),
        at: 0,
        depth: 0,
        variables: BTreeMap::new(),
        names: Vec::new(),
        typed: None,
        calls: Vec::new(),
        work: WORK,
        cut: false,
    };
    reader.text(code);
    Calls { calls: reader.calls, cut: reader.cut }
}

struct Reader<'c> {
    language: &'c str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    variables: BTreeMap<String, Value>,
    /// The plain names of the current statement, one of which an assignment gives a value.
    names: Vec<String>,
    /// A name with a type behind it.
    typed: Option<String>,
    calls: Vec<Call>,
    work: usize,
    cut: bool,
}

/// Words that begin a statement or join parts of it.
const KEYWORDS: &[&str] = &[
    "new", "return", "do", "then", "else", "elsif", "if", "unless", "while", "until", "for", "in",
    "and", "or", "not", "my", "our", "local", "let", "var", "val", "const", "def", "begin", "end",
    "mut", "set", "static", "final", "await", "raise", "die", "rescue", "foreach", "function",
    "unsafe", "defer", "go", "use", "import", "when", "case", "fn", "func", "to", "try", "catch",
    "public", "void", "class", "lambda", "BEGIN", "END",
];

impl Reader<'_> {
    fn is(&self, languages: &[&str]) -> bool {
        languages.contains(&self.language)
    }

    /// Reads a text of code: all of it, or code inside a text. Returns its last value.
    fn text(&mut self, code: &str) -> Value {
        if self.depth >= DEPTH || self.work < code.len() {
            self.cut = true;
            return Value::default();
        }
        self.depth += 1;
        self.work -= code.len();
        let (tokens, cut) = read_tokens(code, self.language);
        self.cut |= cut;
        let before = std::mem::replace(&mut self.tokens, tokens);
        let at = std::mem::replace(&mut self.at, 0);
        let names = std::mem::take(&mut self.names);
        let (items, _) = self.items("");
        (self.tokens, self.at, self.names) = (before, at, names);
        self.depth -= 1;
        items.into_iter().next_back().unwrap_or_default()
    }

    fn peek(&self) -> Option<&Word> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn sign(&self) -> &'static str {
        match self.peek() {
            Some(Word::Sign(sign)) => sign,
            _ => "",
        }
    }

    fn sign_behind(&self) -> &'static str {
        match self.tokens.get(self.at + 1).map(|token| &token.kind) {
            Some(Word::Sign(sign)) => sign,
            _ => "",
        }
    }

    fn is_spaced(&self) -> bool {
        self.tokens.get(self.at).is_some_and(|token| token.spaced)
    }

    /// Reads values up to a bracket: arguments, members, statements.
    fn items(&mut self, close: &str) -> (Vec<Value>, Vec<(String, Value)>) {
        let mut all: Vec<Value> = Vec::new();
        let mut named: Vec<(String, Value)> = Vec::new();
        let mut current: Option<Value> = None;
        if self.depth >= DEPTH {
            self.cut = true;
            self.at = self.tokens.len();
        }
        self.depth += 1;
        while let Some(word) = self.peek() {
            match word {
                Word::Sign(sign) if *sign == close => {
                    self.at += 1;
                    break;
                }
                Word::End => {
                    self.at += 1;
                    // A line break inside brackets ends no statement.
                    if close != ")" && close != "]" {
                        self.names.clear();
                        self.typed = None;
                    }
                    keep(&mut all, current.take(), close);
                }
                Word::Sign(",") => {
                    self.at += 1;
                    keep(&mut all, current.take(), close);
                }
                Word::Sign(")" | "]" | "}") if !close.is_empty() => break,
                Word::Sign(sign @ ("=" | ":=" | "<-" | "+=" | ".=" | "<<")) => {
                    let sign = *sign;
                    self.at += 1;
                    let value = self.assigned(sign, close, current.take());
                    named.extend(value.filter(|_| named.len() < MEMBERS));
                }
                Word::Sign(":" | "=>") if !close.is_empty() && current.is_some() => {
                    self.at += 1;
                    let key = self.key(current.take());
                    let value = self.expression();
                    if named.len() < MEMBERS {
                        named.push((key, value));
                    }
                }
                Word::Sign(_) => {
                    let before = self.at;
                    let value = self.expression();
                    if self.at == before {
                        self.at += 1;
                        // An operator that is not known here may make anything of the value.
                        current = current.map(|value| Value { kind: Kind::Unknown, ..value });
                    } else {
                        current = Some(value);
                    }
                }
                _ => {
                    let before = self.at;
                    let value = self.expression();
                    self.at = self.at.max(before + 1);
                    // Two values without a sign between them are the beginning of something else.
                    current = Some(value);
                }
            }
        }
        keep(&mut all, current, close);
        self.depth -= 1;
        (all, named)
    }

    fn key(&mut self, value: Option<Value>) -> String {
        let text = value.as_ref().and_then(Value::as_text).map(str::to_owned);
        self.names.pop().or(text).unwrap_or_default()
    }

    /// Reads the value behind `=`.
    fn assigned(
        &mut self,
        sign: &str,
        close: &str,
        left: Option<Value>,
    ) -> Option<(String, Value)> {
        // Of `value, err := f()` the first name gets the value.
        let several = self.is(&["go", "elixir"]);
        let name = self.typed.take().or_else(|| {
            if several { self.names.first().cloned() } else { self.names.last().cloned() }
        });
        self.names.clear();
        let value = self.expression();
        let name = name?;
        let value = if matches!(sign, "+=" | ".=" | "<<") {
            let before = self.variables.get(&name).cloned().or(left).unwrap_or_default();
            self.join(&before, &value)
        } else {
            value
        };
        if self.variables.len() < VARIABLES || self.variables.contains_key(&name) {
            self.variables.insert(name.clone(), value.clone());
        } else {
            self.cut = true;
        }
        (close == ")").then_some((name, value))
    }

    fn join(&mut self, one: &Value, two: &Value) -> Value {
        let size = one.as_text().map_or(1, str::len) + two.as_text().map_or(1, str::len);
        if self.work < size {
            self.cut = true;
            return Value::default();
        }
        self.work -= size;
        one.joined(two)
    }

    /// Reads a value with the operators behind it.
    fn expression(&mut self) -> Value {
        if self.depth >= DEPTH {
            self.cut = true;
            self.at += 1;
            return Value::default();
        }
        self.depth += 1;
        let mut left = self.unary();
        loop {
            let sign = self.sign();
            let joins = match sign {
                // In these languages `+` only adds numbers.
                "+" => !self.is(&["perl", "php", "lua", "r", "awk", "osascript"]),
                "." => self.is(&["perl", "php"]),
                ".." => self.is(&["lua"]),
                "<>" | "++" => self.is(&["elixir"]),
                "*" => self.is(&["julia"]),
                "&" => self.is(&["osascript"]),
                _ => false,
            };
            let paths = sign == "/" && left.as_text().is_some();
            if joins || paths {
                self.at += 1;
                // An operator at the end of a line continues it.
                while self.peek() == Some(&Word::End) && self.tokens.len() > self.at + 1 {
                    self.at += 1;
                }
                let right = self.unary();
                left = if paths { join_path(&[left, right]) } else { self.join(&left, &right) };
            } else if matches!(sign, "||" | "//") {
                self.at += 1;
                let right = self.unary();
                // A default counts if the value before it is not known: `ENV['DIR'] || '/'`.
                let unknown = left.as_text().is_none_or(|text| text == HOLE.to_string());
                left = if unknown { right } else { left };
            } else if sign == "<<" && self.is(&["groovy"]) && left.as_text().is_some() {
                self.at += 1;
                self.push("<<", Act::OwnWrite, Some(left.clone()), Vec::new(), Vec::new());
            } else if sign == "|>" {
                self.at += 1;
                left = self.piped(left);
            } else if sign.is_empty() && self.is(&["awk"]) && self.follows_text() {
                let right = self.unary();
                left = self.join(&left, &right);
            } else {
                break;
            }
        }
        self.depth -= 1;
        left
    }

    /// Returns true if a value comes that is joined without a sign, as in awk.
    fn follows_text(&self) -> bool {
        match self.peek() {
            Some(Word::Name(name)) => !KEYWORDS.contains(&name.as_str()) && name != "getline",
            word => matches!(word, Some(Word::Text(_) | Word::Number(_))),
        }
    }

    /// Reads the call behind `|>`, which gets the value as its first argument.
    fn piped(&mut self, first: Value) -> Value {
        while matches!(self.sign(), ":") {
            self.at += 1;
        }
        let Some(Word::Name(name)) = self.peek().cloned() else { return Value::default() };
        self.at += 1;
        let name = self.chain(name);
        let (mut arguments, named) = if self.sign() == "(" {
            self.at += 1;
            self.items(")")
        } else {
            Default::default()
        };
        arguments.insert(0, first);
        self.call(&name, arguments, named)
    }

    fn unary(&mut self) -> Value {
        let Some(word) = self.peek().cloned() else { return Value::default() };
        let value = match word {
            Word::Text(parts) => {
                self.at += 1;
                let mut value = self.parts(&parts);
                // Adjacent literals are one text in these languages.
                while self.is(&["c", "ruby"])
                    && let Some(Word::Text(parts)) = self.peek().cloned()
                {
                    self.at += 1;
                    let more = self.parts(&parts);
                    value = self.join(&value, &more);
                }
                value
            }
            Word::Command(parts) => {
                self.at += 1;
                let text = self.parts(&parts);
                self.push("`", Act::Text, None, vec![text], Vec::new());
                Value::made("`", Vec::new())
            }
            Word::Words(words) => {
                self.at += 1;
                Value::list(words.iter().map(|word| Value::text(word)).collect())
            }
            Word::Code(code) => {
                self.at += 1;
                self.text(&code);
                Value::default()
            }
            Word::Number(number) => {
                self.at += 1;
                Value::text(&number)
            }
            Word::Regex => {
                self.at += 1;
                Value::default()
            }
            Word::Sign(sign @ ("(" | "[" | "{")) => {
                self.at += 1;
                let close = match sign {
                    "(" => ")",
                    "[" => "]",
                    _ => "}",
                };
                let names = std::mem::take(&mut self.names);
                let (items, _) = self.items(close);
                self.names = names;
                match <[Value; 1]>::try_from(items) {
                    Ok([only]) if sign == "(" => only,
                    Ok([only]) => Value::list(vec![only]),
                    Err(items) => Value::list(items),
                }
            }
            Word::Sign("-") => {
                self.at += 1;
                let value = self.unary_again();
                match value.as_text() {
                    Some(text) if text.bytes().all(|b| b.is_ascii_digit()) => {
                        Value::text(&format!("-{text}"))
                    }
                    _ => value,
                }
            }
            Word::Sign(":") if self.is(&["ruby", "elixir"]) => {
                self.at += 1;
                match self.peek().cloned() {
                    Some(Word::Name(name)) if self.sign_behind() != "." => {
                        self.at += 1;
                        return Value::text(&name);
                    }
                    _ => self.unary_again(),
                }
            }
            Word::Sign("&" | "*" | "\\" | "@" | "$" | "**" | "::") => {
                self.at += 1;
                self.unary_again()
            }
            Word::Sign("<") if self.is(&["perl"]) => {
                self.at += 1;
                Value::default()
            }
            Word::Name(name) => {
                self.at += 1;
                if name == "new" && self.is(&["java", "groovy", "php", "scala"]) {
                    return self.unary_again();
                }
                let of = ["quoted", "form", "of", "POSIX", "path"];
                if self.is(&["osascript"]) && of.contains(&name.as_str()) {
                    return self.unary_again();
                }
                if KEYWORDS.contains(&name.as_str()) {
                    return Value::default();
                }
                self.named(name)
            }
            Word::Sign(_) | Word::End => return Value::default(),
        };
        self.members(value)
    }

    fn unary_again(&mut self) -> Value {
        if self.depth >= DEPTH {
            self.cut = true;
            return Value::default();
        }
        self.depth += 1;
        let value = self.unary();
        self.depth -= 1;
        value
    }

    fn parts(&mut self, parts: &[Part]) -> Value {
        let mut whole = Value::text("");
        for part in parts {
            let part = match part {
                Part::Text(text) => Value::text(text),
                Part::Code(code) => self.text(code),
            };
            whole = self.join(&whole, &part);
        }
        whole
    }
}

fn keep(all: &mut Vec<Value>, value: Option<Value>, close: &str) {
    // The last statement's value is that of the whole.
    if close.is_empty() {
        all.clear();
    }
    if all.len() < MEMBERS {
        all.extend(value);
    }
}
