//! Words to the fields that a program gets: quotes removed, known values filled in.

use super::environment::{Element, UNKNOWN, Value};
use super::feed::{Feed, Piece, Source};
use super::{Setting, Walker, braces};
use crate::places::{self, GLOBS};
use crate::syntax::{Part, Span, Word};
use std::rc::Rc;

/// The maximum number of alternatives that one word expands to.
const FIELDS: usize = 256;
/// Longest field, in bytes.
const LENGTH: usize = 256 * 1024;
/// The maximum number of fields that one word's value is split into.
const PIECES: usize = 4096;

/// One word as a program gets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    /// Unknown parts appear as U+FFFD.
    pub text: String,
    pub known: bool,
    /// Quoted, and without an unquoted glob.
    pub quoted: bool,
    pub source: Source,
    pub span: Span,
    /// The content that can be read from it, if it is a process substitution.
    pub feed: Option<Feed>,
    /// It is the text of files on the disk, or ends with it after a name and `=`.
    pub pieces: Option<Rc<[Piece]>>,
    /// A quote in it has no end: the missing part, in words.
    pub open: Option<&'static str>,
    /// The text from when quotes had made all glob characters in it literal.
    pub literal: Option<String>,
    /// An unquoted glob character is in it.
    pub globbing: bool,
    /// The words, if it is the list of an array.
    pub elements: Vec<Element>,
}

impl Field {
    pub(crate) fn plain(text: &str, span: Span) -> Self {
        Self { text: text.to_owned(), known: !text.contains(UNKNOWN), span, ..Self::default() }
    }

    /// Returns it as a word of an array.
    pub(super) fn element(&self) -> Element {
        Element { text: self.text.clone(), literal: self.is_literal() }
    }

    /// Returns true if the text is a literal name: it contains no glob, or quotes made it literal.
    /// A text that was modified since then is not such a name.
    pub(super) fn is_literal(&self) -> bool {
        !places::is_glob(&self.text)
            || self.literal.as_ref().is_some_and(|literal| literal.ends_with(&self.text))
    }
}

/// Fields under construction: `open` are alternatives to which text is still added.
struct Fields {
    done: Vec<Field>,
    open: Vec<Field>,
    any: bool,
    /// The text was longer than a field may be.
    cut: bool,
}

impl Fields {
    /// Adds text; `literal` if no glob in it counts as one.
    fn push(&mut self, text: &str, known: bool, literal: bool) {
        self.any |= !text.is_empty();
        let globbing = !literal && text.contains(GLOBS);
        for field in &mut self.open {
            field.globbing |= globbing;
            if field.text.len() + text.len() > LENGTH {
                self.cut = true;
                field.known = false;
            } else {
                field.text.push_str(text);
                field.known &= known && !text.contains(UNKNOWN);
            }
        }
    }

    /// Continues each open field in each of these ways.
    fn fork(&mut self, texts: &[String], known: bool) {
        self.any = true;
        let room = (FIELDS / self.open.len().max(1)).max(1);
        let unknown = UNKNOWN.to_string();
        // The excess is represented by one unknown text.
        let (kept, more) =
            if texts.len() > room { (room - 1, Some(&unknown)) } else { (room, None) };
        let mut open = Vec::new();
        let mut length = 0;
        for field in &self.open {
            for text in texts.iter().take(kept).chain(more) {
                length += field.text.len() + text.len();
                // Each `{a,b}` of a word doubles its alternatives, so their common length is
                // bounded too.
                let fits = length <= 4 * LENGTH && field.text.len() + text.len() <= LENGTH;
                self.cut |= !fits;
                let mut next = if fits {
                    field.clone()
                } else {
                    Field { text: String::new(), ..field.clone() }
                };
                next.globbing |= text.contains(GLOBS);
                next.text.push_str(if fits { text } else { &unknown });
                next.known &= known && !next.text.contains(UNKNOWN);
                open.push(next);
            }
        }
        self.open = open;
    }

    /// Adds the text of an unquoted variable: blanks in it separate fields.
    fn split(&mut self, text: &str, known: bool, separators: &str) {
        let parts = |c: char| separators.contains(c);
        let mut pieces = text.split(parts).filter(|piece| !piece.is_empty()).peekable();
        if text.starts_with(parts) && self.any {
            self.part();
        }
        while let Some(piece) = pieces.next() {
            self.push(piece, known, false);
            if pieces.peek().is_some() || text.ends_with(parts) {
                self.part();
            }
        }
    }

    /// Adds the elements of a list, each a field of its own.
    fn list(&mut self, value: &Value) {
        self.each(|field| field.source = field.source.max(value.source));
        for (index, element) in value.elements.iter().enumerate() {
            if index > 0 {
                self.part();
            }
            self.push(&element.text, value.known, element.literal);
            self.any = true;
        }
        // The fields that were opened in between get it as well.
        self.each(|field| field.source = field.source.max(value.source));
    }

    fn part(&mut self) {
        let blank = Field { known: true, ..Field::default() };
        self.done.append(&mut self.open);
        self.open.push(blank);
        self.any = false;
        self.cut |= self.done.len() > PIECES;
        self.done.truncate(PIECES);
    }

    fn each(&mut self, change: impl Fn(&mut Field)) {
        self.open.iter_mut().for_each(change);
    }
}

impl Walker<'_> {
    /// Returns the fields of a word in a command.
    pub(super) fn fields(&mut self, word: &Word, setting: &Setting) -> Vec<Field> {
        match braces::across(word) {
            Some(words) => words
                .iter()
                .flat_map(|word| self.expand(word, setting, true))
                .take(FIELDS)
                .collect(),
            None => self.expand(word, setting, true),
        }
    }

    /// Expands a word that stays one: the value of an assignment, a redirection's target, a
    /// heredoc.
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
            self.out.limit("more text than is read");
            return vec![Field::plain(&UNKNOWN.to_string(), setting.fixed.unwrap_or(word.span))];
        }
        self.step(word.parts.len());
        let mut fields = Fields {
            done: Vec::new(),
            open: vec![Field { known: true, ..Field::default() }],
            any: false,
            cut: false,
        };
        let mut quoted = false;
        let mut glob = false;
        // The texts of files in it; none as soon as another part is not known.
        let mut pieces = Some(Vec::new());
        for (index, part) in word.parts.iter().enumerate() {
            match part {
                Part::Text { text, quoted: true } => {
                    quoted = true;
                    fields.push(text, true, true);
                    fields.any = true;
                }
                Part::Text { text, quoted: false } => {
                    glob |= text.contains(['*', '?', '[']);
                    self.unquoted(&mut fields, text, index == 0, splitting);
                }
                Part::Variable { parameter, quoted: inside } => {
                    quoted |= inside;
                    let value = self.parameter(parameter, setting);
                    gather(&mut pieces, &value);
                    let every = parameter.name == "@"
                        || matches!(parameter.subscript.as_deref(), Some("@" | "*"));
                    if splitting && *inside && every && !value.elements.is_empty() {
                        fields.list(&value);
                        continue;
                    }
                    let separators = self.separators();
                    fill(
                        &mut fields,
                        &value,
                        (splitting && (!inside || every)).then_some(separators.as_str()),
                        *inside,
                    );
                }
                Part::Substitution { script, quoted: inside } => {
                    quoted |= inside;
                    let value = self.substitution(script, setting).into_value();
                    gather(&mut pieces, &value);
                    let separators = self.separators();
                    fill(
                        &mut fields,
                        &value,
                        (splitting && !inside).then_some(separators.as_str()),
                        *inside,
                    );
                }
                Part::Process { script, output } => {
                    let given = Setting {
                        input: Feed { open: true, ..setting.input.clone() },
                        ..setting.clone()
                    };
                    let feed = self.substitution(script, if *output { &given } else { setting });
                    // The name that bash gives to the pipe; its content is the feed.
                    fields.push("/dev/fd/63", true, true);
                    let source = feed.source;
                    fields.each(|field| {
                        field.feed = Some(feed.clone());
                        field.source = field.source.max(source);
                    });
                }
                Part::Arithmetic(inner) => match self.calculate(inner, setting) {
                    Some(number) => fields.push(&number.to_string(), true, true),
                    None => fields.push(&UNKNOWN.to_string(), false, true),
                },
                Part::Array(words) => self.array(&mut fields, words, setting),
            }
        }
        if fields.cut {
            self.out.limit("a text that grows longer than is followed");
        }
        let keep = fields.any || !splitting;
        let mut all = fields.done;
        all.extend(fields.open.into_iter().filter(|field| keep || !field.text.is_empty()));
        self.spend(all.iter().map(|field| field.text.len()).sum());
        if let [only] = all.as_mut_slice() {
            let rest = only.text.split_once('=').map_or(only.text.as_str(), |(_, rest)| rest);
            let pieces = pieces.filter(|all| !all.is_empty() && is_unknown(rest));
            only.pieces = pieces.map(Rc::from);
        }
        for field in &mut all {
            field.quoted = quoted && !glob;
            field.open = word.open;
            field.literal =
                (!field.globbing && field.text.contains(GLOBS)).then(|| field.text.clone());
            field.span = setting.fixed.unwrap_or(word.span);
        }
        all
    }

    fn unquoted(&self, fields: &mut Fields, text: &str, first: bool, splitting: bool) {
        let text = if first { self.tilde(text) } else { text.to_owned() };
        match braces::expand(&text) {
            Some(texts) if splitting => fields.fork(&texts, true),
            _ => fields.push(&text, true, false),
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
            user if !user.is_empty() && self.home.rsplit('/').next() == Some(user) => {
                self.home.to_owned()
            }
            user if user
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) =>
            {
                format!("/home/{user}")
            }
            _ => return text.to_owned(),
        };
        folder + path
    }

    fn array(&mut self, fields: &mut Fields, words: &[Word], setting: &Setting) {
        let (mut texts, mut elements) = (Vec::new(), Vec::new());
        let mut known = true;
        for word in words {
            for field in self.fields(word, setting) {
                known &= field.known;
                elements.push(field.element());
                texts.push(field.text);
            }
        }
        fields.push(&texts.join(" "), known, false);
        fields.each(|field| field.elements = elements.clone());
    }

    /// Returns the characters that separate the words of an unquoted variable.
    fn separators(&self) -> String {
        self.env
            .get("IFS")
            .filter(|value| value.known)
            .map_or_else(|| " \t\n".to_owned(), |value| value.text)
    }

    /// Counts the work done, for those who bound it from outside.
    pub(super) fn step(&mut self, count: usize) {
        self.steps = self.steps.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Takes from the budget of text that one reading may produce.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.step(bytes);
        self.work = self.work.saturating_sub(bytes);
    }
}

/// Adds the files whose text a value is.
fn gather(pieces: &mut Option<Vec<Piece>>, value: &Value) {
    match &value.pieces {
        Some(more) => {
            if let Some(all) = pieces {
                all.extend(more.iter().cloned());
            }
        }
        None if value.known => {}
        None => *pieces = None,
    }
}

/// Returns true for a text of which nothing is known.
pub(super) fn is_unknown(text: &str) -> bool {
    text.contains(UNKNOWN) && text.chars().all(|c| c == UNKNOWN || c.is_whitespace())
}

/// Adds a value; with separators it is split there.
fn fill(fields: &mut Fields, value: &Value, separators: Option<&str>, quoted: bool) {
    fields.each(|field| field.source = field.source.max(value.source));
    if !value.others.is_empty() {
        let mut texts = vec![value.text.clone()];
        texts.extend(value.others.iter().cloned());
        fields.fork(&texts, value.known);
    } else if let Some(separators) = separators {
        fields.split(&value.text, value.known, separators);
    } else {
        fields.push(&value.text, value.known, quoted && value.is_literal());
        fields.any = true;
    }
    // The fields that were opened in between get it as well.
    fields.each(|field| field.source = field.source.max(value.source));
}
