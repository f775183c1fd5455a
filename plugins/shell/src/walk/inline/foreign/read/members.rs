//! Names, and what stands behind them: arguments, subscripts, members.

use super::super::super::super::feed::Source;
use super::super::lex::{Kind as Word, Token};
use super::super::tables::{Act, find};
use super::super::values::{COMPUTING, Kind, MEMBERS, Value, compute, compute_method};
use super::{CALLS, Call, KEYWORDS, Reader};
use portcullis_inline_code::HOLE;

impl Reader<'_> {
    /// Reads the rest of a name: `File.join`, `IO::Socket::INET->new`.
    pub(super) fn chain(&mut self, mut name: String) -> String {
        loop {
            let sign = self.sign();
            let joins = match sign {
                "::" => true,
                "->" => self.is(&["perl"]) && !name.starts_with('$'),
                "." | "&." | "?." => !self.is(&["perl", "php", "awk"]),
                // Erlang's `os:cmd`.
                ":" if self.is(&["elixir"]) => {
                    self.tokens.get(self.at + 1).is_some_and(|token| !token.spaced)
                }
                ":" => self.is(&["lua"]),
                _ => false,
            };
            let Some(Token { kind: Word::Name(next), .. }) =
                self.tokens.get(self.at + 1).filter(|_| joins)
            else {
                return name;
            };
            if name.len() + next.len() > 256 {
                return name;
            }
            // The method of a variable, or of a new object, is looked up with its value.
            if self.variables.contains_key(&name)
                || name.ends_with(".new") && self.is(&["ruby", "perl"])
            {
                return name;
            }
            name = format!("{name}.{next}");
            self.at += 2;
        }
    }

    /// Reads a name: a call, a variable, a subscript.
    pub(super) fn named(&mut self, name: String) -> Value {
        let bare = !matches!(self.sign(), "." | "::" | "->" | "&." | "?.");
        let name = self.chain(name);
        // `f (x).y`: after a blank the brackets are a part of Ruby's first argument.
        if self.sign() == "(" && !(self.is_spaced() && self.is(&["ruby"])) {
            self.at += 1;
            let names = std::mem::take(&mut self.names);
            let (arguments, named) = self.items(")");
            self.names = names;
            return self.call(&name, arguments, named);
        }
        let subscript = match self.sign() {
            "[" => !self.is_spaced(),
            "{" => name.starts_with('$') && !self.is_spaced(),
            _ => false,
        };
        if subscript {
            return self.subscript(&name);
        }
        if matches!(name.as_str(), "true" | "TRUE" | "false" | "FALSE") {
            return Value::text(&name.to_lowercase());
        }
        let known = find(self.language, &name).is_some()
            || COMPUTING.contains(&name.as_str()) && self.is(&["perl"]);
        if known && self.takes_words() {
            let names = std::mem::take(&mut self.names);
            let (arguments, named) = self.words();
            self.names = names;
            return self.call(&name, arguments, named);
        }
        if let Some(value) = self.variables.get(&name) {
            let value = value.clone();
            self.names.push(name);
            return value;
        }
        if bare && self.names.len() < 16 {
            self.names.push(name.clone());
            if self.is(&["rust", "scala", "julia"]) && self.sign() == ":" {
                self.typed = Some(name.clone());
            }
        }
        // In these languages a name alone may be a call, as Ruby's `fork`.
        let alone = !matches!(self.sign(), "=" | ":=" | "=>" | ":");
        if alone && self.is(&["ruby", "perl", "groovy", "scala", "elixir", "php"]) {
            return self.call(&name, Vec::new(), Vec::new());
        }
        if matches!(name.as_str(), "os.home") {
            return Value::text("~");
        }
        Value::default()
    }

    pub(super) fn subscript(&mut self, name: &str) -> Value {
        let close = if self.sign() == "[" { "]" } else { "}" };
        self.at += 1;
        let plain = match self.peek() {
            Some(Word::Name(key)) if self.sign_behind() == close => Some(key.clone()),
            _ => None,
        };
        let names = std::mem::take(&mut self.names);
        let (items, _) = self.items(close);
        self.names = names;
        if items.is_empty() && plain.is_none() {
            // `char *a[] = {...}`, `new String[]{...}`.
            if self.sign() == "{" {
                return self.unary_again();
            }
            self.names.push(name.to_owned());
            return Value::default();
        }
        let key = plain.or_else(|| items.first().and_then(Value::as_text).map(str::to_owned));
        let environment =
            matches!(name, "ENV" | "$ENV" | "$_SERVER" | "$_ENV" | "ENVIRON" | "System.env");
        match key.as_deref() {
            Some("HOME" | "USERPROFILE") if environment => Value::text("~"),
            _ if environment => Value::text(&HOLE.to_string()),
            Some(key) => {
                let at = key.parse::<usize>().ok();
                match self.variables.get(name).map(|value| &value.kind) {
                    Some(Kind::List(items)) => {
                        at.and_then(|at| items.get(at)).cloned().unwrap_or_default()
                    }
                    _ => Value::default(),
                }
            }
            None => Value::default(),
        }
    }

    /// Returns true if arguments follow without brackets.
    fn takes_words(&self) -> bool {
        if !self.is(&["ruby", "perl", "elixir", "php", "lua", "groovy", "awk", "osascript"]) {
            return false;
        }
        match self.peek() {
            Some(Word::Name(name)) => {
                !KEYWORDS.contains(&name.as_str())
                    || matches!(name.as_str(), "new" | "my") && self.is(&["php", "perl", "groovy"])
            }
            Some(Word::Text(_) | Word::Words(_) | Word::Command(_) | Word::Number(_)) => true,
            Some(Word::Sign("[" | "(")) => self.is_spaced(),
            Some(Word::Sign("{")) => self.is(&["lua"]),
            Some(Word::Sign(":" | "-" | "*" | "\\" | "::" | "$")) => {
                self.is_spaced() && self.is(&["ruby", "perl", "elixir"])
            }
            _ => false,
        }
    }

    /// Reads arguments without brackets, up to the end of the statement.
    fn words(&mut self) -> (Vec<Value>, Vec<(String, Value)>) {
        let (mut all, mut named) = (Vec::new(), Vec::new());
        loop {
            let before = self.at;
            if matches!(self.peek(), Some(Word::Name(name)) if name == "my") {
                self.at += 1;
            }
            let value = self.expression();
            if matches!(self.sign(), "=>" | ":") && self.at > before {
                self.at += 1;
                let key = self.key(Some(value));
                let value = self.expression();
                named.push((key, value));
            } else if self.at > before {
                all.push(value);
            }
            if self.at == before || self.sign() != "," || all.len() + named.len() > MEMBERS {
                return (all, named);
            }
            self.at += 1;
            while self.peek() == Some(&Word::End) {
                self.at += 1;
            }
        }
    }

    /// Reads members behind a value: `.reverse`, `->exec(...)`, `[0]`.
    pub(super) fn members(&mut self, mut value: Value) -> Value {
        loop {
            let sign = self.sign();
            let member = match sign {
                "." => !self.is(&["perl", "php", "awk"]),
                "->" => self.is(&["perl", "php"]),
                "&." | "?." | "::" => true,
                ":" => self.is(&["lua"]),
                _ => false,
            };
            if sign == "[" && !self.is_spaced() && !matches!(value.kind, Kind::Unknown) {
                self.at += 1;
                self.items("]");
                value = Value { kind: Kind::Unknown, ..value };
                continue;
            }
            if sign == "?" && self.is(&["rust"]) || sign == "!" && self.is(&["scala"]) {
                self.at += 1;
                // Scala runs the text of `"COMMAND" !`.
                if sign == "!" {
                    self.push("!", Act::Text, None, vec![value.clone()], Vec::new());
                }
                continue;
            }
            if !member {
                return value;
            }
            let Some(Token { kind: word, .. }) = self.tokens.get(self.at + 1).cloned() else {
                return value;
            };
            let Word::Name(name) = word else {
                if matches!(word, Word::Sign("!" | "!!")) {
                    self.at += 1;
                    continue;
                }
                return value;
            };
            self.at += 2;
            let (arguments, named) = if self.sign() == "(" {
                self.at += 1;
                let names = std::mem::take(&mut self.names);
                let all = self.items(")");
                self.names = names;
                all
            } else if find(self.language, &format!(".{name}")).is_some() && self.takes_words() {
                self.words()
            } else {
                Default::default()
            };
            if name == "text" && self.sign() == "=" && self.is(&["groovy"]) {
                self.push("text=", Act::OwnWrite, Some(value.clone()), arguments, named);
                continue;
            }
            value = self.method(&value, &name, arguments, named);
        }
    }

    fn method(
        &mut self,
        of: &Value,
        name: &str,
        arguments: Vec<Value>,
        named: Vec<(String, Value)>,
    ) -> Value {
        if let Kind::Made(class, parts) = &of.kind {
            if class.ends_with("Command.new()") && matches!(name, "arg" | "args") {
                let parts = parts.iter().cloned().chain(arguments).collect();
                return Value::made(class, parts);
            }
            let whole = format!("{class}.{name}");
            if whole.len() < 512 {
                if let Some(act) = find(self.language, &whole) {
                    self.push(&whole, act, Some(of.clone()), arguments.clone(), named);
                }
                if let Some(value) = compute(&whole, &arguments) {
                    return value;
                }
                if let Some(value) = compute_method(of, name, &arguments) {
                    return value;
                }
                let parts = parts.iter().cloned().chain(arguments).take(MEMBERS).collect();
                return Value::made(&format!("{whole}()"), parts).with(of.source);
            }
            return Value::default();
        }
        if let Some(value) = compute_method(of, name, &arguments) {
            return value;
        }
        let whole = format!(".{name}");
        if let Some(act) = find(self.language, &whole) {
            self.push(&whole, act, Some(of.clone()), arguments, named);
        }
        Value { source: of.source, ..Value::default() }
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        named: Vec<(String, Value)>,
    ) -> Value {
        // Its first argument names the function: Ruby's `send`, PHP's `call_user_func`.
        if let Some((called, rest)) = self.named_call(name, &arguments) {
            return self.call(&called, rest, named);
        }
        if let Some(act) = find(self.language, name) {
            // A method of a variable: its value is the object.
            let own = name.rsplit_once('.').and_then(|(of, _)| self.variables.get(of).cloned());
            self.push(name, act, own, arguments.clone(), named);
            let fetched = matches!(act, Act::Network | Act::Request | Act::Send)
                || act == Act::Open
                    && arguments.first().is_some_and(|a| a.in_text().contains("://"));
            let source = if fetched { Source::DOWNLOADED } else { Source::LOCAL };
            return Value::made(&format!("{name}()"), arguments).with(source);
        }
        if let Some(value) = compute(name, &arguments) {
            return value;
        }
        if arguments.is_empty() && named.is_empty() && !name.contains('.') {
            return Value::default();
        }
        Value::made(&format!("{name}()"), arguments)
    }

    /// Returns the function that another one calls, and its arguments; one that is not known is
    /// code that is put together.
    fn named_call(&mut self, name: &str, arguments: &[Value]) -> Option<(String, Vec<Value>)> {
        let (own, method) = name.rsplit_once('.').unwrap_or(("", name));
        let passes = match self.language {
            "ruby" => {
                matches!(method, "send" | "public_send" | "__send__" | "method")
                    && matches!(own, "" | "Kernel" | "Object" | "self" | "Process")
            }
            "php" => matches!(name, "call_user_func" | "call_user_func_array" | "array_map"),
            _ => false,
        };
        let (first, rest) = arguments.split_first().filter(|_| passes)?;
        match first.known() {
            Some(known) if known.len() < 64 && known != name => {
                let rest = if name.ends_with("_array") || name == "array_map" {
                    rest.iter().flat_map(Value::members).collect()
                } else {
                    rest.to_vec()
                };
                Some((known.trim_start_matches(':').to_owned(), rest))
            }
            _ => {
                self.push(name, Act::Code, None, vec![Value::default()], Vec::new());
                None
            }
        }
    }

    pub(super) fn push(
        &mut self,
        name: &str,
        act: Act,
        own: Option<Value>,
        arguments: Vec<Value>,
        named: Vec<(String, Value)>,
    ) {
        if self.calls.len() >= CALLS {
            self.cut = true;
            return;
        }
        self.calls.push(Call { name: name.to_owned(), act, own, arguments, named });
    }
}
