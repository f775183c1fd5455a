//! Functions, patterns and macros: how many values each takes, and of which type.

use super::{Checked, Checker, Of, common, quote};
use crate::code::{Code, Function, Macro, Operator, Pattern};
use crate::functions::{FUNCTIONS, HAS, Known, MACROS, PATTERNS, Shape, names};
use crate::place::{Problem, Span, shown};
use crate::schema::Kind;
use crate::tree::{Node, Tree, Word};
use crate::{glob, nearest};

/// The maximum nesting of variables.
const MOST_VARIABLES: usize = 8;

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        of: Option<&Tree>,
        word: &Word,
        arguments: &[Tree],
        span: Span,
    ) -> Checked {
        let name = word.name.as_str();
        if name == HAS && of.is_none() {
            return self.has(arguments, span);
        }
        if let (Some(list), Some((_, known))) =
            (of, MACROS.iter().find(|(known, _)| *known == name))
        {
            return self.each(*known, list, word, arguments);
        }
        if let (Some(text), Some((_, pattern))) =
            (of, PATTERNS.iter().find(|(known, _)| *known == name))
        {
            return self.pattern(*pattern, text, word, arguments, span);
        }
        let mut named = FUNCTIONS.iter().filter(|known| known.name == name).peekable();
        if named.peek().is_none() {
            return Err(unknown_function(word));
        }
        match named.find(|known| known.method == of.is_some()) {
            Some(known) => self.function(known, of, word, arguments),
            None if of.is_some() => Err(Problem::new(
                word.span,
                format!("`{name}` is not a method: write `{name}(...)`"),
            )),
            None => {
                Err(Problem::new(word.span, format!("`{name}` is a method: write `x.{name}(...)`")))
            }
        }
    }

    fn function(
        &mut self,
        known: &Known,
        of: Option<&Tree>,
        word: &Word,
        arguments: &[Tree],
    ) -> Checked {
        let given: Vec<&Tree> = of.into_iter().chain(arguments).collect();
        if given.len() != known.takes.len() {
            let wanted = known.takes.len() - usize::from(known.method);
            return Err(Problem::new(
                word.span,
                format!("`{}` takes {}, here are {}", word.name, count(wanted), arguments.len()),
            ));
        }
        let mut codes = Vec::with_capacity(given.len());
        for (tree, shape) in given.into_iter().zip(known.takes) {
            let (code, found) = self.check(tree)?;
            if *shape == Shape::FlagName {
                flag_name(tree, self.text)?;
            } else if !shape.fits(&found) {
                return Err(Problem::new(
                    tree.span,
                    format!(
                        "{} is {}; `{}` takes {}",
                        self.quote(tree),
                        found.describe(),
                        word.name,
                        shape.describe()
                    ),
                ));
            }
            codes.push(code);
        }
        let gives = match known.gives {
            Shape::Flag => Of::Flag,
            Shape::Number => Of::Number,
            Shape::Texts => Of::List(Box::new(Of::Text)),
            _ => Of::Text,
        };
        Ok((Code::Call(known.function, codes), gives))
    }

    fn pattern(
        &mut self,
        pattern: Pattern,
        text: &Tree,
        word: &Word,
        arguments: &[Tree],
        span: Span,
    ) -> Checked {
        let of = Box::new(self.wanted(text, &Of::Text)?);
        let [Tree { node: Node::Text(given), span: at, .. }] = arguments else {
            let what = format!(
                "`{}` takes one constant text, so that the pattern can be checked before it is needed",
                word.name
            );
            return Err(Problem::new(span, what));
        };
        match pattern {
            Pattern::Glob => glob::check(given).map_err(|what| Problem::new(*at, what))?,
            Pattern::Regex => {
                crate::evaluate::regex(given)
                    .map_err(|what| Problem::new(*at, format!("`{}` {what}", shown(given))))?;
                // A plain search needs no expression compiled when the rule is evaluated.
                if let Some((function, plain)) = plain(given) {
                    return Ok((
                        Code::Call(function, vec![*of, Code::Text(plain.to_owned().into())]),
                        Of::Flag,
                    ));
                }
            }
        }
        let needed = if pattern == Pattern::Regex { needed(given) } else { String::new() };
        Ok((Code::Pattern(pattern, of, given.clone().into(), needed.into()), Of::Flag))
    }

    fn each(&mut self, known: Macro, list: &Tree, word: &Word, arguments: &[Tree]) -> Checked {
        let (range, found) = self.check(list)?;
        let item = match found {
            Of::List(item) => *item,
            Of::Map => Of::Text,
            other => {
                return Err(Problem::new(
                    list.span,
                    format!(
                        "{} is {}; `{}` asks each item of a list",
                        self.quote(list),
                        other.describe(),
                        word.name
                    ),
                ));
            }
        };
        let usage = || {
            Problem::new(
                word.span,
                format!(
                    "`{0}` takes a name and what is asked of each item: `.{0}(x, ...)`",
                    word.name
                ),
            )
        };
        let (variable, asked, kept) = match (known, arguments) {
            (_, [variable, asked]) => (variable, asked, None),
            (Macro::Map, [variable, asked, kept]) => (variable, asked, Some(kept)),
            _ => return Err(usage()),
        };
        let Node::Name(variable) = &variable.node else { return Err(usage()) };
        if self.variables.len() >= MOST_VARIABLES {
            return Err(Problem::new(
                word.span,
                format!(
                    "`{}` nests too deep: at most {MOST_VARIABLES} of these are nested in each other",
                    word.name
                ),
            ));
        }
        self.variables.push((variable.clone(), item.clone()));
        let checked = self.asked(known, asked, kept);
        self.variables.pop();
        let (asked, kept, gives) = checked?;
        let gives = match known {
            Macro::Exists | Macro::All | Macro::ExistsOne => Of::Flag,
            Macro::Filter => Of::List(Box::new(item)),
            Macro::Map => Of::List(Box::new(gives)),
        };
        Ok((Code::Each(known, Box::new(range), Box::new(asked), kept.map(Box::new)), gives))
    }

    fn asked(
        &mut self,
        known: Macro,
        asked: &Tree,
        kept: Option<&Tree>,
    ) -> Result<(Code<'static>, Option<Code<'static>>, Of), Problem> {
        match kept {
            None if known == Macro::Map => self.check(asked).map(|(code, of)| (code, None, of)),
            None => Ok((self.wanted(asked, &Of::Flag)?, None, Of::Flag)),
            Some(kept) => {
                let asked = self.wanted(asked, &Of::Flag)?;
                let (kept, of) = self.check(kept)?;
                Ok((asked, Some(kept), of))
            }
        }
    }

    fn has(&mut self, arguments: &[Tree], span: Span) -> Checked {
        let [Tree { node: Node::Select(of, word), .. }] = arguments else {
            return Err(Problem::new(span, "`has` takes a key of a map: `has(arguments.channel)`"));
        };
        match self.check(of)? {
            (code, Of::Map) => {
                let key = Code::Text(word.name.clone().into());
                Ok((Code::Pair(Operator::InMap, Box::new(key), Box::new(code)), Of::Flag))
            }
            _ => {
                self.select(of, word)?;
                let what = format!(
                    "`{}` is always there; what is not known is an empty text or list",
                    shown(&word.name)
                );
                Err(Problem::new(word.span, what))
            }
        }
    }
}

/// Recognises a regular expression without any special characters.
fn plain(pattern: &str) -> Option<(Function, &str)> {
    let is_plain =
        |text: &str| !text.is_empty() && !text.contains(|c: char| "\\.+*?()|[]{}^$".contains(c));
    let (start, end) = (pattern.strip_prefix('^'), pattern.strip_suffix('$'));
    match (start, end) {
        (Some(rest), None) if is_plain(rest) => Some((Function::StartsWith, rest)),
        (None, Some(rest)) if is_plain(rest) => Some((Function::EndsWith, rest)),
        _ if is_plain(pattern) => Some((Function::Contains, pattern)),
        _ => None,
    }
}

/// Returns the longest text that every match of a regular expression contains, as far as that is
/// known without parsing it: a search for that costs less than compiling one. Empty if groups or
/// alternatives make it unclear.
fn needed(pattern: &str) -> String {
    let (mut longest, mut run) = (String::new(), String::new());
    let mut rest = pattern.chars().peekable();
    if pattern.contains(['(', '|']) {
        return longest;
    }
    while let Some(c) = rest.next() {
        let literal = match c {
            // The end of a class is not worth knowing.
            '[' => break,
            '\\' => rest.next().filter(char::is_ascii_punctuation),
            '.' | '^' | '$' | '*' | '+' | '?' | '{' | '}' => None,
            c => Some(c),
        };
        // An optional part is not needed, no matter how many quantifiers follow it: `a+*`.
        let optional = rest.clone().take_while(|c| "*+?{".contains(*c)).any(|c| c != '+');
        run.extend(literal.filter(|_| !optional));
        if literal.is_none() || optional || rest.peek() == Some(&'+') {
            keep_longer(&mut longest, &mut run);
        }
        if c == '{' {
            while rest.next_if(|c| *c != '}').is_some() {}
        }
    }
    keep_longer(&mut longest, &mut run);
    longest
}

fn keep_longer(longest: &mut String, run: &mut String) {
    if run.len() > longest.len() {
        std::mem::swap(longest, run);
    }
    run.clear();
}

fn flag_name(tree: &Tree, text: &str) -> Result<(), Problem> {
    let Node::Text(flag) = &tree.node else {
        let what =
            format!("{} has to be a constant: `has_flag(\"--force\")`", quote(text, tree.span));
        return Err(Problem::new(tree.span, what));
    };
    let name = flag.trim_start_matches('-');
    let fits = flag.starts_with('-')
        && !flag.starts_with("---")
        && !name.is_empty()
        && !flag.contains(['=', ' ']);
    if fits {
        Ok(())
    } else {
        let what = format!(
            "`{}` is not a flag; one begins with `-` or `--` and has no `=` in it",
            shown(flag)
        );
        Err(Problem::new(tree.span, what))
    }
}

fn unknown_function(word: &Word) -> Problem {
    let fix = match nearest(names(), &word.name) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let mut known: Vec<&str> = names().collect();
            known.dedup();
            format!("known are `{}`", known.join("`, `"))
        }
    };
    Problem::new(word.span, format!("there is no function `{}`; {fix}", shown(&word.name)))
}

fn count(number: usize) -> String {
    match number {
        0 => "nothing".into(),
        1 => "one value".into(),
        more => format!("{more} values"),
    }
}

impl Shape {
    fn fits(self, of: &Of) -> bool {
        match self {
            Self::Flag => *of == Of::Flag,
            Self::Number => *of == Of::Number,
            Self::Text | Self::FlagName => matches!(of, Of::Text | Of::Word(_)),
            Self::Texts => common(of, &Of::List(Box::new(Of::Text))).is_some(),
            Self::Sized => matches!(of, Of::Text | Of::Word(_) | Of::List(_) | Of::Map),
            Self::Plain => matches!(of, Of::Text | Of::Word(_) | Of::Number | Of::Flag),
            Self::Command => *of == Of::Record(Kind::Command),
        }
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Number => "a number",
            Self::Text | Self::FlagName => "a text",
            Self::Texts => "a list of texts",
            Self::Sized => "a text, a list or a map",
            Self::Plain => "a text, a number, true or false",
            Self::Command => "a command",
        }
    }
}
