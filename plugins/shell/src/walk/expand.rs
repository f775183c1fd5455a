//! Words to the fields that a program gets: quotes gone, known values filled in.

use super::environment::{UNKNOWN, Value};
use super::feed::{Feed, Source};
use super::{Setting, Walker, braces};
use crate::syntax::{Part, Span, Word};

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
    /// A quote in it has no end: what is missing, in words.
    pub open: Option<&'static str>,
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
    pub(super) fn fields(&mut self, word: &Word, setting: &Setting) -> Vec<Field> {
        match braces::across(word) {
            Some(words) => words.iter().flat_map(|word| self.expand(word, setting, true)).take(FIELDS).collect(),
            None => self.expand(word, setting, true),
        }
    }

    /// A word that stays one: the value of an assignment, a redirection's target, a heredoc.
    pub(super) fn single(&mut self, word: &Word, setting: &Setting) -> Field {
        let mut fields = self.expand(word, setting, false).into_iter();
        let first = fields.next().unwrap_or(Field { known: true, ..Field::default() });
        fields.fold(first, |mut all, next| {
            all.text.push(' ');
            all.text.push_str(&next.text);
            all.known &= next.known;
            all
        })
    }

    fn expand(&mut self, word: &Word, setting: &Setting, splitting: bool) -> Vec<Field> {
        if self.work == 0 {
            self.out.gap("more text than is read");
            return vec![Field::plain(&UNKNOWN.to_string(), setting.fixed.unwrap_or(word.span))];
        }
        self.step(word.parts.len());
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
                Part::Process { script, output } => {
                    let given = Setting { input: Feed { open: true, ..setting.input.clone() }, ..setting.clone() };
                    let feed = self.substitution(script, if *output { &given } else { setting });
                    fields.push("/dev/fd/63", true);
                    let source = feed.source;
                    fields.each(|field| {
                        field.feed = Some(feed.clone());
                        field.source = field.source.max(source);
                    });
                }
                Part::Arithmetic(inner) => match self.calculate(inner, setting) {
                    Some(number) => fields.push(&number.to_string(), true),
                    None => fields.push(&UNKNOWN.to_string(), false),
                },
                Part::Array(words) => self.array(&mut fields, words, setting),
            }
        }
        let keep = fields.any || !splitting;
        let mut all = fields.done;
        all.extend(fields.open.into_iter().filter(|field| keep || !field.text.is_empty()));
        self.spend(all.iter().map(|field| field.text.len()).sum());
        for field in &mut all {
            field.quoted = quoted && !glob;
            field.open = word.open;
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
        let (user, path) = rest.find(['/', '\\']).map_or((rest, ""), |at| rest.split_at(at));
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

    fn array(&mut self, fields: &mut Fields, words: &[Word], setting: &Setting) {
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

    /// What parts the words of an unquoted variable.
    fn separators(&self) -> String {
        self.env.get("IFS").filter(|value| value.known).map_or_else(|| " \t\n".to_owned(), |value| value.text)
    }

    /// Counts what is done, for those who bound it from outside.
    pub(super) fn step(&mut self, count: usize) {
        self.steps = self.steps.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Takes from the budget of text that one reading may produce.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.step(bytes);
        self.work = self.work.saturating_sub(bytes);
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
