//! Parses PromQL as far as the dashboard uses it: the rest of the language is an error here.

use anyhow::{Context, Result, bail, ensure};

/// A metric used by a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// Its name.
    pub metric: String,
    /// The labels that the query uses.
    pub labels: Vec<String>,
}

/// A token of a query.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Text,
    Number,
    Duration,
    Sign(&'static str),
}

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number,
    Instant,
    Range,
}

const SIGNS: [&str; 20] = [
    "=~", "!~", "!=", "==", ">=", "<=", "=", ">", "<", "+", "-", "*", "/", "(", ")", "{", "}", "[",
    "]", ",",
];
const OPERATORS: [&str; 10] = ["==", "!=", ">=", "<=", ">", "<", "+", "-", "*", "/"];
const AGGREGATIONS: [(&str, &[Kind]); 6] = [
    ("sum", &[Kind::Instant]),
    ("min", &[Kind::Instant]),
    ("max", &[Kind::Instant]),
    ("avg", &[Kind::Instant]),
    ("count", &[Kind::Instant]),
    ("topk", &[Kind::Number, Kind::Instant]),
];
const FUNCTIONS: [(&str, &[Kind]); 6] = [
    ("delta", &[Kind::Range]),
    ("increase", &[Kind::Range]),
    ("rate", &[Kind::Range]),
    ("clamp_min", &[Kind::Instant, Kind::Number]),
    ("histogram_quantile", &[Kind::Number, Kind::Instant]),
    ("vector", &[Kind::Number]),
];

/// Returns the metrics that a query uses. A label in an aggregation belongs to all metrics below
/// it.
pub fn uses(query: &str) -> Result<Vec<Use>> {
    let mut reader = Reader { tokens: tokens(query)?, at: 0, uses: Vec::new() };
    let kind = reader.expression()?;
    ensure!(
        reader.at == reader.tokens.len(),
        "something stands after its end: {:?}",
        reader.tokens.get(reader.at)
    );
    ensure!(kind != Kind::Range, "a range cannot be shown");
    Ok(reader.uses)
}

fn tokens(query: &str) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = |of: fn(char) -> bool| rest.find(|letter| !of(letter)).unwrap_or(rest.len());
        let (token, length) = if first == '"' {
            let end =
                rest.get(1..).and_then(|inner| inner.find('"')).context("a text has no end")?;
            (Token::Text, end + 2)
        } else if first.is_ascii_digit() {
            let number = length(|letter| letter.is_ascii_digit() || letter == '.');
            let unit =
                rest.get(number..).unwrap_or_default().starts_with(['s', 'm', 'h', 'd', 'w']);
            if unit { (Token::Duration, number + 1) } else { (Token::Number, number) }
        } else if let Some(variable) = rest.strip_prefix("$__") {
            ensure!(
                ["rate_interval", "interval", "range"]
                    .iter()
                    .any(|known| variable.starts_with(known)),
                "Grafana has no `{rest}`"
            );
            (
                Token::Duration,
                3 + variable
                    .find(|letter: char| letter != '_' && !letter.is_ascii_lowercase())
                    .unwrap_or(variable.len()),
            )
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length =
                length(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':');
            (Token::Name(rest.get(..length).unwrap_or_default().to_owned()), length)
        } else {
            let sign = SIGNS
                .iter()
                .find(|sign| rest.starts_with(**sign))
                .with_context(|| format!("`{rest}` begins with no sign of the language"))?;
            (Token::Sign(sign), sign.len())
        };
        found.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(found)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    uses: Vec<Use>,
}

impl Reader {
    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn needs(&mut self, sign: &str) -> Result<()> {
        ensure!(self.takes(sign), "`{sign}` is missing before {:?}", self.tokens.get(self.at));
        Ok(())
    }

    fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.tokens.get(self.at).cloned() else { return None };
        self.at += 1;
        Some(name)
    }

    fn expression(&mut self) -> Result<Kind> {
        let mut kind = self.operand()?;
        loop {
            let set = matches!(self.tokens.get(self.at), Some(Token::Name(name)) if ["or", "and", "unless"].contains(&name.as_str()));
            self.at += usize::from(set);
            if !set && !OPERATORS.iter().any(|operator| self.takes(operator)) {
                return Ok(kind);
            }
            let other = self.operand()?;
            ensure!(kind != Kind::Range && other != Kind::Range, "an operator takes no range");
            ensure!(
                !set || (kind, other) == (Kind::Instant, Kind::Instant),
                "`or` and its like take no numbers"
            );
            kind = if kind == Kind::Number { other } else { kind };
        }
    }

    fn operand(&mut self) -> Result<Kind> {
        if self.takes("(") {
            let kind = self.expression()?;
            self.needs(")")?;
            return Ok(kind);
        }
        if matches!(self.tokens.get(self.at), Some(Token::Number)) {
            self.at += 1;
            return Ok(Kind::Number);
        }
        let name = self
            .name()
            .with_context(|| format!("no operand begins with {:?}", self.tokens.get(self.at)))?;
        if let Some((_, takes)) = AGGREGATIONS.iter().find(|(known, _)| *known == name) {
            return self.aggregation(takes).with_context(|| format!("in `{name}`"));
        }
        if let Some((_, takes)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            return self.arguments(takes).with_context(|| format!("in `{name}`"));
        }
        self.selector(name)
    }

    fn aggregation(&mut self, takes: &[Kind]) -> Result<Kind> {
        let first = self.uses.len();
        let mut labels = Vec::new();
        if matches!(self.tokens.get(self.at), Some(Token::Name(by)) if by == "by") {
            self.at += 1;
            self.needs("(")?;
            loop {
                labels.push(self.name().context("`by` takes names of labels")?);
                if !self.takes(",") {
                    break;
                }
            }
            self.needs(")")?;
        }
        let kind = self.arguments(takes)?;
        self.uses.iter_mut().skip(first).for_each(|one| one.labels.extend(labels.iter().cloned()));
        Ok(kind)
    }

    fn arguments(&mut self, takes: &[Kind]) -> Result<Kind> {
        self.needs("(")?;
        for (index, wanted) in takes.iter().enumerate() {
            if index > 0 {
                self.needs(",")?;
            }
            let found = self.expression()?;
            ensure!(found == *wanted, "argument {index} is {found:?}, not {wanted:?}");
        }
        self.needs(")")?;
        Ok(Kind::Instant)
    }

    fn selector(&mut self, metric: String) -> Result<Kind> {
        let mut labels = Vec::new();
        if self.takes("{") {
            while let Some(label) = self.name() {
                ensure!(
                    ["=~", "!~", "!=", "="].iter().any(|sign| self.takes(sign)),
                    "`{label}` is matched with nothing"
                );
                ensure!(
                    matches!(self.tokens.get(self.at), Some(Token::Text)),
                    "`{label}` is matched with a text"
                );
                self.at += 1;
                labels.push(label);
                if !self.takes(",") {
                    break;
                }
            }
            self.needs("}")?;
        }
        self.uses.push(Use { metric, labels });
        if !self.takes("[") {
            return Ok(Kind::Instant);
        }
        if !matches!(self.tokens.get(self.at), Some(Token::Duration)) {
            bail!("a range has a duration, not {:?}", self.tokens.get(self.at));
        }
        self.at += 1;
        self.needs("]")?;
        Ok(Kind::Range)
    }
}

/// Tests the parser with queries that a server accepts or refuses.
pub fn reads() -> Result<()> {
    for (query, metric, labels) in [
        ("a_total", "a_total", &[][..]),
        ("a_total{b=\"c\", d!~\"e.*\"} / 2", "a_total", &["b", "d"]),
        ("sum by (x, y) (rate(a_total{b=\"}\"}[5m]))", "a_total", &["b", "x", "y"]),
        ("topk(3, sum(a_total) * (1 + 2) > 0) or vector(0)", "a_total", &[]),
        (
            "histogram_quantile(0.95, sum by (le) (delta(a_bucket[$__rate_interval])))",
            "a_bucket",
            &["le"],
        ),
    ] {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let expected = [Use { metric: metric.to_owned(), labels }];
        ensure!(
            uses(query).with_context(|| query.to_owned())? == expected,
            "{query}: {:?}",
            uses(query)
        );
    }
    for query in [
        "",
        "sum(",
        "sum a_total",
        "a_total)",
        "a_total{b}",
        "a_total{b=c}",
        "a_total{b=\"c}",
        "rate(a_total)",
        "a_total[5m]",
        "sum(a_total[5m])",
        "a_total[5]",
        "a_total[$__nothing]",
        "topk(a_total)",
        "clamp_min(a_total)",
        "vector(a_total)",
        "1 or a_total",
        "a_total +",
        "sum by () (a_total)",
        "a_total b_total",
        "irate(a_total[5m])",
        "a_total ! 2",
    ] {
        ensure!(uses(query).is_err(), "`{query}` is read: {:?}", uses(query));
    }
    Ok(())
}
