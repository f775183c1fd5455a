//! Conditions that are always true: `1=1`, `id = id`, `true or ...`, `id is not null`.
//!
//! It knows what people write to mean "all of them"; it proves nothing.

use crate::lexer::Token;

/// Whether a condition holds for every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    Always,
    Never,
    Depends,
}

/// The depth of parentheses up to which a condition is read: the stack is small.
const DEPTH: usize = 24;
/// Names of columns that every row has a value in.
const KEYS: &[&str] = &["id", "_id", "uuid", "guid", "pk", "rowid", "ctid", "oid"];

/// Returns true if a condition holds for every row of a table.
pub fn is_always_true(tokens: &[Token<'_>], table: &str) -> bool {
    either(tokens, table, DEPTH) == Truth::Always
}

/// Cuts tokens at a keyword that stands outside of all parentheses.
fn split<'s, 't>(tokens: &'s [Token<'t>], keyword: &str) -> Vec<&'s [Token<'t>]> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut between) = (0_usize, 0, false);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            token if token.is("between") => between = true,
            // `a between 1 and 2`
            token if between && token.is("and") => between = false,
            token if token.is(keyword) => {
                parts.push(tokens.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(tokens.get(start..).unwrap_or_default());
    parts
}

fn either(tokens: &[Token<'_>], table: &str, depth: usize) -> Truth {
    let Some(depth) = depth.checked_sub(1) else { return Truth::Depends };
    let mut found = Truth::Never;
    for part in split(tokens, "or") {
        match both(part, table, depth) {
            Truth::Always => return Truth::Always,
            Truth::Depends => found = Truth::Depends,
            Truth::Never => {}
        }
    }
    found
}

fn both(tokens: &[Token<'_>], table: &str, depth: usize) -> Truth {
    let mut found = Truth::Always;
    for part in split(tokens, "and") {
        match one(part, table, depth) {
            Truth::Never => return Truth::Never,
            Truth::Depends => found = Truth::Depends,
            Truth::Always => {}
        }
    }
    found
}

fn one(tokens: &[Token<'_>], table: &str, depth: usize) -> Truth {
    match tokens {
        [not, rest @ ..] if not.is("not") && !rest.is_empty() => match one(rest, table, depth) {
            Truth::Always => Truth::Never,
            Truth::Never => Truth::Always,
            Truth::Depends => Truth::Depends,
        },
        [Token::Symbol('('), inner @ .., Token::Symbol(')')] if is_one_group(inner) => {
            either(inner, table, depth)
        }
        _ => compare(tokens, table),
    }
}

/// Returns true if the parentheses around some tokens belong together: `(a) or (b)` has two.
fn is_one_group(inner: &[Token<'_>]) -> bool {
    let mut depth = 1_usize;
    for token in inner {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    true
}

fn compare(tokens: &[Token<'_>], table: &str) -> Truth {
    let truth = |holds: bool| if holds { Truth::Always } else { Truth::Never };
    match tokens {
        [Token::Number(number)] => truth(number.chars().any(|c| c != '0')),
        [word] if word.is("true") => Truth::Always,
        [word] if word.is_one_of(&["false", "null"]) => Truth::Never,
        [value, is, not, null] if is.is("is") && not.is("not") && null.is("null") => {
            if is_value(*value) || is_key(*value) { Truth::Always } else { Truth::Depends }
        }
        [.., key, is, not, null] if is.is("is") && not.is("not") && null.is("null") => {
            if is_key(*key) { Truth::Always } else { Truth::Depends }
        }
        [null, is, other] if is.is("is") && null.is("null") && other.is("null") => Truth::Always,
        [.., like, Token::Text(pattern)]
            if like.is_one_of(&["like", "ilike"])
                && !pattern.is_empty()
                && pattern.chars().all(|c| c == '%') =>
        {
            Truth::Always
        }
        [exists, Token::Symbol('('), inner @ .., Token::Symbol(')')] if exists.is("exists") => {
            let filtered = inner.iter().any(|token| token.is_one_of(&["from", "where"]));
            if filtered { Truth::Depends } else { Truth::Always }
        }
        [.., Token::Symbol(')')] if tokens.iter().any(|token| token.is("in")) => {
            let at = tokens.iter().position(|token| token.is("in")).unwrap_or_default();
            match (tokens.get(..at), tokens.get(at + 1..)) {
                (Some(column), Some([Token::Symbol('('), inner @ .., Token::Symbol(')')])) => {
                    is_in_list(column, inner, table)
                }
                _ => Truth::Depends,
            }
        }
        _ => compare_sides(tokens),
    }
}

/// `1 in (1)`, and `id in (select id from t)` where that is the table itself.
fn is_in_list(column: &[Token<'_>], inner: &[Token<'_>], table: &str) -> Truth {
    if let [value] = column
        && is_value(*value)
    {
        return if inner.contains(value) { Truth::Always } else { Truth::Depends };
    }
    let narrows = ["where", "join", "limit", "having", "group", "offset", "fetch", "top", "union"];
    let [select, rest @ ..] = inner else { return Truth::Depends };
    let from = rest.iter().position(|token| token.is("from"));
    let source = from.and_then(|at| rest.get(at + 1)).and_then(|token| token.name());
    let of_itself = select.is("select")
        && column.last().is_some_and(|name| rest.first() == Some(name))
        && source.is_some_and(|source| source.eq_ignore_ascii_case(table))
        && !rest.iter().any(|token| token.is_one_of(&narrows));
    if of_itself { Truth::Always } else { Truth::Depends }
}

/// `1 = 1`, `'a' <> 'b'`, `id = id`, `id > 0`
fn compare_sides(tokens: &[Token<'_>]) -> Truth {
    let is_operator = |token: &Token<'_>| matches!(token, Token::Symbol('=' | '<' | '>' | '!'));
    let Some(start) = tokens.iter().position(is_operator) else { return Truth::Depends };
    let length =
        tokens.get(start..).unwrap_or_default().iter().take_while(|t| is_operator(t)).count();
    let (Some(left), Some(operator), Some(right)) =
        (tokens.get(..start), tokens.get(start..start + length), tokens.get(start + length..))
    else {
        return Truth::Depends;
    };
    let has = |symbol: char| operator.contains(&Token::Symbol(symbol));
    let equal = has('=') && !has('!');
    let ordering = match (left, right) {
        ([left], [right]) if is_value(*left) && is_value(*right) => order(*left, *right),
        // A column with itself: not for rows without a value, which nobody means.
        _ if !left.is_empty() && left == right && !left.contains(&Token::Unknown) => {
            Some(std::cmp::Ordering::Equal)
        }
        ([.., key], right) if is_key(*key) => return compare_key(operator, right),
        _ => None,
    };
    match ordering {
        None => Truth::Depends,
        Some(ordering) => {
            let holds = match ordering {
                std::cmp::Ordering::Equal => equal,
                std::cmp::Ordering::Less => has('<') || (has('!') && has('=')),
                std::cmp::Ordering::Greater => has('>') || (has('!') && has('=')),
            };
            if holds { Truth::Always } else { Truth::Never }
        }
    }
}

/// `id > 0`, `id >= 1`, `id <> 0`, `id != ''`, `id > -1`
fn compare_key(operator: &[Token<'_>], right: &[Token<'_>]) -> Truth {
    let least = matches!(right, [Token::Number("0" | "1")])
        || matches!(right, [Token::Symbol('-'), Token::Number(_)])
        || matches!(right, [Token::Text("" | "0")]);
    let symbols: Vec<char> = operator
        .iter()
        .filter_map(|token| if let Token::Symbol(symbol) = token { Some(*symbol) } else { None })
        .collect();
    let one = matches!(right, [Token::Number("1")]);
    let every = match symbols.as_slice() {
        ['>'] => !one,
        ['>', '='] => true,
        ['<', '>'] | ['!', '='] => !one,
        _ => false,
    };
    if least && every { Truth::Always } else { Truth::Depends }
}

const fn is_value(token: Token<'_>) -> bool {
    matches!(token, Token::Number(_) | Token::Text(_))
}

fn is_key(token: Token<'_>) -> bool {
    token.name().is_some_and(|name| KEYS.iter().any(|key| key.eq_ignore_ascii_case(name)))
}

/// Compares two values; numbers that are no whole ones only with themselves.
fn order(left: Token<'_>, right: Token<'_>) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Token::Number(left), Token::Number(right)) => {
            if left == right {
                return Some(std::cmp::Ordering::Equal);
            }
            Some(left.parse::<i64>().ok()?.cmp(&right.parse::<i64>().ok()?))
        }
        (Token::Text(left), Token::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{Language, Lexer};

    #[test]
    fn conditions_that_every_row_meets() {
        for (text, always) in [
            ("1=1", true),
            ("1 = 1", true),
            ("(1=1)", true),
            ("((1)=(1))", true),
            ("((1=1))", true),
            ("true", true),
            ("1", true),
            ("0", false),
            ("not false", true),
            ("not (1=2)", true),
            ("'a'='a'", true),
            ("'a'<>'b'", true),
            ("2>1", true),
            ("1>2", false),
            ("1<>1", false),
            ("1!=2", true),
            ("id=id", true),
            ("t.id = t.id", true),
            ("id is not null", true),
            ("t.id is not null", true),
            ("name is not null", false),
            ("1 is not null", true),
            ("null is null", true),
            ("name like '%'", true),
            ("name like '%%'", true),
            ("name like 'a%'", false),
            ("name like ''", false),
            ("id > 0", true),
            ("id >= 1", true),
            ("id > 1", false),
            ("id <> 0", true),
            ("id != ''", true),
            ("id > -1", true),
            ("id > 100", false),
            ("id = 1", false),
            ("a = 1 or 1=1", true),
            ("a = 1 and 1=1", false),
            ("1=1 and true", true),
            ("1=2 or a=1", false),
            ("a between 1 and 2 or true", true),
            ("a between 1 and 2", false),
            ("exists (select 1)", true),
            ("exists (select 1 from u where u.id = t.id)", false),
            ("1 in (1, 2)", true),
            ("id in (select id from t)", true),
            ("id in (select id from t where a)", false),
            ("id in (select id from u)", false),
            ("id in (select id from t limit 5)", false),
            ("a = \u{FFFD}", false),
            ("\u{FFFD} = \u{FFFD}", false),
            ("", false),
        ] {
            let tokens: Vec<Token<'_>> = Lexer::new(text, Language::Standard).collect();
            assert_eq!(is_always_true(&tokens, "t"), always, "{text}");
        }
    }

    #[test]
    fn deep_conditions_end() {
        let text = format!("{}1=1{}", "(".repeat(5000), ")".repeat(5000));
        let tokens: Vec<Token<'_>> = Lexer::new(&text, Language::Standard).collect();
        assert!(!is_always_true(&tokens, "t"));
    }
}
