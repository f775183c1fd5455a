//! Words to the fields that a program gets: quotes gone, known values filled in.

use super::environment::{UNKNOWN, Value};
use super::feed::{Feed, Source};
use super::{Setting, Walker, braces};
use crate::syntax::{Operator, Parameter, Part, Span, Word};

/// Most alternatives that one word opens into.
const FIELDS: usize = 64;
/// Longest field, in bytes.
const LENGTH: usize = 64 * 1024;

/// One word as a program gets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    /// Unknown parts stand as U+FFFD.
    pub text: String,
    pub known: bool,
    /// Quoted, and without an unquoted glob.
    pub quoted: bool,
    pub source: Source,
    pub span: Span,
    /// What can be read from it, if it stands for a process substitution.
    pub feed: Option<Feed>,
}

impl Field {
    pub(crate) fn plain(text: &str, span: Span) -> Self {
        Self { text: text.to_owned(), known: !text.contains(UNKNOWN), span, ..Self::default() }
    }
}

/// Fields in the making: `open` are alternatives to which text is still added.
struct Fields {
    done: Vec<Field>,
    open: Vec<Field>,
    any: bool,
}

impl Fields {
    fn push(&mut self, text: &str, known: bool) {
        self.any |= !text.is_empty();
        for field in &mut self.open {
            if field.text.len() + text.len() > LENGTH {
                field.known = false;
            } else {
                field.text.push_str(text);
                field.known &= known && !text.contains(UNKNOWN);
            }
        }
    }

    /// Each open field goes on in each of these ways.
    fn fork(&mut self, texts: &[String], known: bool) {
        self.any = true;
        let room = (FIELDS / self.open.len().max(1)).max(1);
        let mut open = Vec::new();
        for field in &self.open {
            for text in texts.iter().take(room) {
                let mut next = field.clone();
                if next.text.len() + text.len() <= LENGTH {
                    next.text.push_str(text);
                }
                next.known &= known && !text.contains(UNKNOWN);
                open.push(next);
            }
        }
        self.open = open;
    }

    /// Text of an unquoted variable: blanks in it part fields.
    fn split(&mut self, text: &str, known: bool, separators: &str) {
        let parts = |c: char| separators.contains(c);
        let mut pieces = text.split(parts).filter(|piece| !piece.is_empty()).peekable();
        if text.starts_with(parts) && self.any {
            self.part();
        }
        while let Some(piece) = pieces.next() {
            self.push(piece, known);
            if pieces.peek().is_some() || text.ends_with(parts) {
                self.part();
            }
        }
    }

    fn part(&mut self) {
        let blank = Field { known: true, ..Field::default() };
        self.done.append(&mut self.open);
        self.open.push(blank);
        self.any = false;
        self.done.truncate(4096);
    }

    fn each(&mut self, change: impl Fn(&mut Field)) {
        self.open.iter_mut().for_each(change);
    }
}

impl Walker<'_> {
    /// The fields of a word in a command.
    pub(super) fn fields(&mut self, word: &Word, setting: &Setting<'_>) -> Vec<Field> {
        self.expand(word, setting, true)
    }

    /// A word that stays one: the value of an assignment, a redirection's target, a heredoc.
    pub(super) fn single(&mut self, word: &Word, setting: &Setting<'_>) -> Field {
        let mut fields = self.expand(word, setting, false).into_iter();
        let first = fields.next().unwrap_or(Field { known: true, ..Field::default() });
        fields.fold(first, |mut all, next| {
            all.text.push(' ');
            all.text.push_str(&next.text);
            all.known &= next.known;
            all
        })
    }

    fn expand(&mut self, word: &Word, setting: &Setting<'_>, splitting: bool) -> Vec<Field> {
        if self.work == 0 {
            self.out.gap("more text than is read");
            return vec![Field::plain(&UNKNOWN.to_string(), setting.fixed.unwrap_or(word.span))];
        }
        let mut fields = Fields { done: Vec::new(), open: vec![Field { known: true, ..Field::default() }], any: false };
        let mut quoted = false;
        let mut glob = false;
        for (index, part) in word.parts.iter().enumerate() {
            match part {
                Part::Text { text, quoted: true } => {
                    quoted = true;
                    fields.push(text, true);
                    fields.any = true;
                }
                Part::Text { text, quoted: false } => {
                    glob |= text.contains(['*', '?', '[']);
                    self.unquoted(&mut fields, text, index == 0, splitting);
                }
                Part::Variable { parameter, quoted: inside } => {
                    quoted |= inside;
                    let value = self.parameter(parameter, setting);
                    let every = parameter.name == "@" || matches!(parameter.subscript.as_deref(), Some("@" | "*"));
                    let separators = self.separators();
                    fill(&mut fields, &value, (splitting && (!inside || every)).then_some(separators.as_str()));
                }
                Part::Substitution { script, quoted: inside } => {
                    quoted |= inside;
                    let value = self.substitution(script, setting).into_value();
                    let separators = self.separators();
                    fill(&mut fields, &value, (splitting && !inside).then_some(separators.as_str()));
                }
                Part::Process { script } => {
                    let feed = self.substitution(script, setting);
                    fields.push("/dev/fd/63", true);
                    let source = feed.source;
                    fields.each(|field| {
                        field.feed = Some(feed.clone());
                        field.source = field.source.max(source);
                    });
                }
                Part::Arithmetic(inner) => {
                    self.single(inner, setting);
                    fields.push(&UNKNOWN.to_string(), false);
                }
                Part::Array(words) => self.array(&mut fields, words, setting),
            }
        }
        let keep = fields.any || !splitting;
        let mut all = fields.done;
        all.extend(fields.open.into_iter().filter(|field| keep || !field.text.is_empty()));
        self.spend(all.iter().map(|field| field.text.len()).sum());
        for field in &mut all {
            field.quoted = quoted && !glob;
            field.span = setting.fixed.unwrap_or(word.span);
        }
        all
    }

    fn unquoted(&self, fields: &mut Fields, text: &str, first: bool, splitting: bool) {
        let text = if first { self.tilde(text) } else { text.to_owned() };
        match braces::expand(&text) {
            Some(texts) if splitting => fields.fork(&texts, true),
            _ => fields.push(&text, true),
        }
    }

    fn tilde(&self, text: &str) -> String {
        let Some(rest) = text.strip_prefix('~') else { return text.to_owned() };
        let (user, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let folder = match user {
            "" if self.home.is_empty() => UNKNOWN.to_string(),
            "" => self.home.to_owned(),
            "+" => self.env.folder.clone(),
            "root" => "/root".to_owned(),
            user if !user.is_empty() && self.home.rsplit('/').next() == Some(user) => self.home.to_owned(),
            user if user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) => format!("/home/{user}"),
            _ => return text.to_owned(),
        };
        folder + path
    }

    fn array(&mut self, fields: &mut Fields, words: &[Word], setting: &Setting<'_>) {
        let mut texts = Vec::new();
        let mut known = true;
        for word in words {
            for field in self.fields(word, setting) {
                known &= field.known;
                texts.push(field.text);
            }
        }
        fields.push(&texts.join(" "), known);
    }

    fn parameter(&mut self, parameter: &Parameter, setting: &Setting<'_>) -> Value {
        let argument = parameter.argument.as_ref().map(|word| self.single(word, setting));
        let text = argument.as_ref().map_or("", |field| field.text.as_str());
        let value = self.env.get(&parameter.name).map(|value| element(value, parameter.subscript.as_deref()));
        match (parameter.operator, value) {
            (Operator::None, Some(value)) => value,
            (Operator::Default, Some(value)) if !value.text.is_empty() => Value { known: value.known || value.text == text, ..value },
            (Operator::Default, _) => {
                let source = argument.as_ref().map_or(Source::Local, |field| field.source);
                Value { text: text.to_owned(), source, ..Value::default() }
            }
            (Operator::Alternative, value) => Value { text: text.to_owned(), known: value.is_some(), ..Value::default() },
            (Operator::Slice, Some(value)) if value.known => slice(&value, text),
            (Operator::TrimEnd, Some(value)) if !text.contains(['*', '?', '[']) => {
                change(value, |whole| whole.strip_suffix(text).unwrap_or(whole))
            }
            (Operator::TrimStart, Some(value)) if !text.contains(['*', '?', '[']) => {
                change(value, |whole| whole.strip_prefix(text).unwrap_or(whole))
            }
            (_, value) => Value { source: value.map_or(Source::Local, |value| value.source), ..Value::unknown() },
        }
    }

    /// What parts the words of an unquoted variable.
    fn separators(&self) -> String {
        self.env.get("IFS").filter(|value| value.known).map_or_else(|| " \t\n".to_owned(), |value| value.text)
    }

    /// Takes from the budget of text that one reading may produce.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.work = self.work.saturating_sub(bytes);
    }
}

/// One element of an array, which is kept as its words with blanks between.
fn element(value: Value, subscript: Option<&str>) -> Value {
    let number = match subscript {
        None | Some("@" | "*") => return value,
        Some(subscript) => subscript.trim().parse::<usize>(),
    };
    match number.ok().and_then(|number| value.text.split_ascii_whitespace().nth(number).map(str::to_owned)) {
        Some(text) => Value { known: value.known, source: value.source, text, ..Value::default() },
        None => Value { source: value.source, ..Value::unknown() },
    }
}

/// Adds a value; with separators it is split there.
fn fill(fields: &mut Fields, value: &Value, separators: Option<&str>) {
    fields.each(|field| field.source = field.source.max(value.source));
    if !value.others.is_empty() {
        let mut texts = vec![value.text.clone()];
        texts.extend(value.others.iter().cloned());
        fields.fork(&texts, value.known);
    } else if let Some(separators) = separators {
        fields.split(&value.text, value.known, separators);
    } else {
        fields.push(&value.text, value.known);
        fields.any = true;
    }
    fields.each(|field| field.source = field.source.max(value.source));
}

fn change(value: Value, cut: impl Fn(&str) -> &str) -> Value {
    Value { text: cut(&value.text).to_owned(), others: value.others.iter().map(|other| cut(other).to_owned()).collect(), ..value }
}

/// `start:length` of a value.
fn slice(value: &Value, range: &str) -> Value {
    let mut numbers = range.split(':').map(|number| number.trim().parse::<usize>());
    let (Some(Ok(start)), length) = (numbers.next(), numbers.next()) else { return Value::unknown() };
    let length = match length {
        None => usize::MAX,
        Some(Ok(length)) => length,
        Some(Err(_)) => return Value::unknown(),
    };
    Value::known(&value.text.chars().skip(start).take(length).collect::<String>())
}
