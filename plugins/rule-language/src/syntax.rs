//! The grammar of conditions: CEL's expressions, with their precedence.
//!
//! Not part of it: maps and messages made in a condition, `.?`, and a name that begins with a dot.
//! The input is bounded in length, depth and parts, so that code that walks the tree need not
//! count.

use crate::place::{Problem, Span, shown};
use crate::token::{Token, tokens};
use crate::tree::{Node, Tree, Word};

/// The longest condition, in bytes.
pub(crate) const MOST_BYTES: usize = 4096;
/// The maximum nesting of brackets, calls and operators.
const MOST_DEPTH: usize = 24;
/// The maximum height of a tree, which grows by chains such as `a.b.c` and `1 + 2 + 3`.
const MOST_HEIGHT: usize = 32;

/// Words that CEL keeps for itself.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "null",
];

/// Operators with two sides, from the loosest.
const LEVELS: &[&[&str]] =
    &[&["==", "!=", "<", "<=", ">", ">=", "in"], &["+", "-"], &["*", "/", "%"]];

/// Reads a condition.
pub(crate) fn parse(text: &str) -> Result<Tree, Problem> {
    if text.len() > MOST_BYTES {
        return Err(Problem::new(
            Span::new(0, 1),
            format!("this expression has {} bytes; at most {MOST_BYTES} are read", text.len()),
        ));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let tree = parser.expression()?;
    match parser.peek() {
        (Token::End, _) => Ok(tree),
        (Token::Sign("="), span) => Err(Problem::new(span, "equal is `==`")),
        (token, span) => Err(Problem::new(
            span,
            format!("expected an operator or the end, found {}", describe_token(&token)),
        )),
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

type Parsed = Result<Tree, Problem>;

impl Parser {
    fn peek(&self) -> (Token, Span) {
        self.tokens
            .get(self.at)
            .or_else(|| self.tokens.last())
            .cloned()
            .unwrap_or((Token::End, Span::default()))
    }

    fn is(&self, sign: &str) -> bool {
        match self.tokens.get(self.at) {
            Some((Token::Sign(found), _)) => *found == sign,
            Some((Token::Name(name), _)) => sign == "in" && name == "in",
            _ => false,
        }
    }

    fn accept(&mut self, sign: &str) -> Option<Span> {
        let found = self.is(sign).then(|| self.peek().1);
        self.at += usize::from(found.is_some());
        found
    }

    fn expect(&mut self, sign: &str) -> Result<Span, Problem> {
        let (token, span) = self.peek();
        self.accept(sign).ok_or_else(|| {
            Problem::new(span, format!("expected `{sign}`, found {}", describe_token(&token)))
        })
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Problem::new(
                self.peek().1,
                format!(
                    "this expression nests deeper than {MOST_DEPTH} levels; split it into several rules"
                ),
            ));
        }
        let condition = self.joined("||")?;
        let tree = if self.accept("?").is_some() {
            let yes = self.joined("||")?;
            self.expect(":")?;
            let no = self.expression()?;
            let span = condition.span.to(no.span);
            tree(Node::Choice(Box::new([condition, yes, no])), span)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(tree)
    }

    /// Reads `a || b || c`, or with `&&`: one node, however many there are.
    fn joined(&mut self, sign: &str) -> Parsed {
        let or = sign == "||";
        let first = if or { self.joined("&&")? } else { self.binary(0)? };
        if !self.is(sign) {
            return Ok(first);
        }
        let mut span = first.span;
        let mut items = vec![first];
        while self.accept(sign).is_some() {
            let next = if or { self.joined("&&")? } else { self.binary(0)? };
            span = span.to(next.span);
            items.push(next);
        }
        tree(if or { Node::Or(items) } else { Node::And(items) }, span)
    }

    fn binary(&mut self, level: usize) -> Parsed {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| self.is(sign)) {
            let at = self.peek().1;
            self.at += 1;
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = tree(Node::Pair(sign, at, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let (start, mut signs) = (self.peek().1, Vec::new());
        while let Some(sign) = ["!", "-"].into_iter().find(|sign| self.is(sign)) {
            signs.push(sign);
            self.at += 1;
        }
        let mut of = self.postfix()?;
        for sign in signs.into_iter().rev() {
            let span = start.to(of.span);
            of = tree(
                if sign == "!" { Node::Not(Box::new(of)) } else { Node::Minus(Box::new(of)) },
                span,
            )?;
        }
        Ok(of)
    }

    fn postfix(&mut self) -> Parsed {
        let mut of = self.primary()?;
        loop {
            if self.accept(".").is_some() {
                let word = self.word()?;
                let span = of.span.to(word.span);
                of = if self.is("(") {
                    let (arguments, end) = self.arguments()?;
                    tree(Node::Call(Some(Box::new(of)), word, arguments), span.to(end))?
                } else {
                    tree(Node::Select(Box::new(of), word), span)?
                };
            } else if self.accept("[").is_some() {
                let index = self.expression()?;
                let span = of.span.to(self.expect("]")?);
                of = tree(Node::Index(Box::new(of), Box::new(index)), span)?;
            } else {
                return Ok(of);
            }
        }
    }

    fn word(&mut self) -> Result<Word, Problem> {
        match self.peek() {
            (Token::Name(name), span) => {
                self.at += 1;
                Ok(Word { name, span })
            }
            (token, span) => Err(Problem::new(
                span,
                format!("expected a name after `.`, found {}", describe_token(&token)),
            )),
        }
    }

    fn arguments(&mut self) -> Result<(Vec<Tree>, Span), Problem> {
        self.expect("(")?;
        self.items(")")
    }

    fn items(&mut self, close: &str) -> Result<(Vec<Tree>, Span), Problem> {
        let mut items = Vec::new();
        while !self.is(close) {
            items.push(self.expression()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        Ok((items, self.expect(close)?))
    }

    fn primary(&mut self) -> Parsed {
        let (token, span) = self.peek();
        self.at += 1;
        match token {
            Token::Number(number) => tree(Node::Number(number), span),
            Token::Text(text) => tree(Node::Text(text), span),
            Token::Name(name) if name == "true" || name == "false" => {
                tree(Node::Flag(name == "true"), span)
            }
            Token::Name(name) if name != "in" && !RESERVED.contains(&name.as_str()) => {
                if self.is("(") {
                    let (arguments, end) = self.arguments()?;
                    return tree(Node::Call(None, Word { name, span }, arguments), span.to(end));
                }
                tree(Node::Name(name), span)
            }
            Token::Sign("(") => {
                let inner = self.expression()?;
                let end = self.expect(")")?;
                // Messages quote the brackets too, but the height is the inner one.
                Ok(Tree { span: span.to(end), ..inner })
            }
            Token::Sign("[") => {
                let (items, end) = self.items("]")?;
                tree(Node::List(items), span.to(end))
            }
            Token::Sign("{") => {
                Err(Problem::new(span, "maps are not made in conditions; a list is `[a, b]`"))
            }
            Token::Name(name) if name == "null" => Err(Problem::new(
                span,
                "nothing is null here: what is not there is an empty text or list",
            )),
            Token::Name(name) if name != "in" => {
                Err(Problem::new(span, format!("`{name}` is a reserved word of CEL")))
            }
            token => Err(Problem::new(
                span,
                format!("expected a value, found {}", describe_token(&token)),
            )),
        }
    }
}

fn tree(node: Node, span: Span) -> Parsed {
    let tree = Tree::new(node, span);
    if tree.height > MOST_HEIGHT {
        return Err(Problem::new(
            span,
            format!(
                "this expression chains more than {MOST_HEIGHT} parts; split it into several rules"
            ),
        ));
    }
    Ok(tree)
}

fn describe_token(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`{}`", shown(name)),
        Token::Number(number) => format!("`{number}`"),
        Token::Text(_) => "a text".into(),
        Token::Sign(sign) => format!("`{sign}`"),
        Token::End => "the end".into(),
    }
}
