//! Detection of texts that look like secrets. One pass finds trigger texts, then the text at each
//! trigger is checked.

use super::patterns::compile_pattern;
use super::personal::{FindPersonal, list_detectors};
use super::policy::MaskPolicy;
use super::secret::{Secret, SecretKind};
use super::triggers::Triggers;
use crate::text::floor_boundary;
use regex_lite::Regex;
use std::cmp::Reverse;
use std::ops::Range;

/// The check of the text that follows a trigger.
#[derive(Clone, Copy)]
enum Check {
    /// A token: the trigger and at least this many token characters after it.
    Token(usize),
    /// `eyJ…` with two dots.
    Jwt,
    /// `-----BEGIN … PRIVATE KEY-----` to its end.
    Frame,
    /// A name such as `password`: the value after `=`, `:` or a flag's space.
    Name,
    /// `bearer `, `basic `: the credential after it.
    Header,
    /// `://user:password@`.
    UserInfo,
    /// `@` of a mail address.
    Email,
}

const TRIGGERS: [(&str, Check); 45] = [
    ("AKIA", Check::Token(16)),
    ("ASIA", Check::Token(16)),
    ("ghp_", Check::Token(30)),
    ("gho_", Check::Token(30)),
    ("ghu_", Check::Token(30)),
    ("ghs_", Check::Token(30)),
    ("ghr_", Check::Token(30)),
    ("github_pat_", Check::Token(22)),
    ("glpat-", Check::Token(18)),
    ("sk-", Check::Token(20)),
    ("sk_live_", Check::Token(16)),
    ("rk_live_", Check::Token(16)),
    ("sk_test_", Check::Token(16)),
    ("xoxb-", Check::Token(16)),
    ("xoxp-", Check::Token(16)),
    ("xoxa-", Check::Token(16)),
    ("xoxs-", Check::Token(16)),
    ("xapp-", Check::Token(16)),
    ("AIza", Check::Token(30)),
    ("ya29.", Check::Token(20)),
    ("npm_", Check::Token(30)),
    ("pypi-", Check::Token(40)),
    ("hf_", Check::Token(28)),
    ("SG.", Check::Token(30)),
    ("dop_v1_", Check::Token(40)),
    ("shpat_", Check::Token(28)),
    ("AGE-SECRET-KEY-1", Check::Token(40)),
    ("hooks.slack.com/services/", Check::Token(20)),
    ("eyJ", Check::Jwt),
    ("-----BEGIN ", Check::Frame),
    ("password", Check::Name),
    ("passwd", Check::Name),
    ("passphrase", Check::Name),
    ("secret", Check::Name),
    ("token", Check::Name),
    ("api_key", Check::Name),
    ("api-key", Check::Name),
    ("apikey", Check::Name),
    ("access_key", Check::Name),
    ("private_key", Check::Name),
    ("credential", Check::Name),
    ("bearer ", Check::Header),
    ("basic ", Check::Header),
    ("://", Check::UserInfo),
    ("@", Check::Email),
];

const FINDER: &Triggers<{ TRIGGERS.len() }> = &Triggers::new(texts());

#[allow(clippy::indexing_slicing, reason = "compile time; as long as the other")]
const fn texts() -> [&'static str; TRIGGERS.len()] {
    let mut texts = [""; TRIGGERS.len()];
    let mut index = 0;
    while index < texts.len() {
        texts[index] = TRIGGERS[index].0;
        index += 1;
    }
    texts
}

/// Finds secrets in text.
pub(super) struct Detector {
    finds_email: bool,
    personal: Vec<FindPersonal>,
    patterns: Vec<Regex>,
}

impl Detector {
    pub(super) fn new(policy: &MaskPolicy) -> Self {
        Self {
            finds_email: policy.kinds.contains(&SecretKind::Email),
            personal: list_detectors(&policy.kinds),
            // The configuration was checked, so each of them is one.
            patterns: policy
                .patterns
                .iter()
                .filter_map(|text| compile_pattern(text).ok())
                .collect(),
        }
    }

    pub(super) fn find(&self, text: &str) -> Vec<Secret> {
        let mut found = Vec::new();
        let mut runs = Runs::default();
        for (index, range) in FINDER.find(text) {
            if let Some((trigger, check)) = TRIGGERS.get(index) {
                found.extend(self.check(text, range, trigger, *check, &mut runs));
            }
        }
        self.personal.iter().for_each(|find| find(text, &mut found));
        for pattern in &self.patterns {
            let matches = pattern.find_iter(text).map(|found| found.range());
            let values = matches.filter(|range| !range.is_empty());
            found.extend(values.map(|range| Secret { range, kind: SecretKind::Custom }));
        }
        without_overlaps(found)
    }

    fn check(
        &self,
        text: &str,
        hit: Range<usize>,
        trigger: &str,
        check: Check,
        runs: &mut Runs,
    ) -> Option<Secret> {
        match check {
            Check::Token(least) => token(text, hit, trigger, least, &mut runs.token),
            Check::Jwt => jwt(text, hit, &mut runs.jwt),
            Check::Frame => frame(text, hit, &mut runs.end_line),
            Check::Name => named_value(text, hit, runs),
            Check::Header => header(text, hit),
            Check::UserInfo => user_info(text, hit),
            Check::Email => self.finds_email.then(|| email(text, hit)).flatten(),
        }
    }
}

/// Runs of characters that were measured. Hits in the same run share them, so that text made of
/// triggers costs no more than its length.
#[derive(Default)]
struct Runs {
    token: Run,
    jwt: Run,
    name: Run,
    value: Run,
    /// The end of the newest name that was examined: two triggers in one name have one value.
    named: Option<usize>,
    end_line: EndLine,
}

/// One run.
#[derive(Default)]
struct Run(Range<usize>);

impl Run {
    /// Returns the end of the run of such characters around `at`.
    fn end(&mut self, text: &str, at: usize, accept: impl Fn(char) -> bool) -> usize {
        if !self.0.contains(&at) {
            self.0 = at..at + run(text, at, accept);
        }
        self.0.end
    }

    /// Returns the whole run of such characters around `at`.
    fn around(
        &mut self,
        text: &str,
        at: usize,
        accept: impl Fn(char) -> bool + Copy,
    ) -> Range<usize> {
        if !self.0.contains(&at) {
            let before: usize = text
                .get(..at)
                .unwrap_or_default()
                .chars()
                .rev()
                .take_while(|c| accept(*c))
                .map(char::len_utf8)
                .sum();
            self.0 = at - before..at + run(text, at, accept);
        }
        self.0.clone()
    }
}

/// The next `-----END ` line: the position from which it was searched for, and its end.
#[derive(Default)]
struct EndLine(Option<(usize, Option<usize>)>);

impl EndLine {
    fn after(&mut self, text: &str, at: usize) -> Option<usize> {
        match self.0 {
            Some((_, None)) => None,
            Some((from, Some(end))) if from <= at && at < end => Some(end),
            _ => {
                let rest = text.get(at..).unwrap_or_default();
                let end = rest
                    .find("-----END ")
                    .and_then(|start| Some(start + 9 + rest.get(start + 9..)?.find("-----")? + 5));
                self.0 = Some((at, end.map(|end| at + end)));
                end.map(|end| at + end)
            }
        }
    }
}

/// The number of bytes at the beginning of a long run that are judged.
const JUDGED: usize = 128;

/// Returns the beginning of a text that is judged.
fn head(text: &str, limit: usize) -> &str {
    text.get(..floor_boundary(text, limit)).unwrap_or_default()
}

/// Drops overlaps. The longest of those that begin together comes first; a later one inside an
/// earlier one is dropped.
fn without_overlaps(mut found: Vec<Secret>) -> Vec<Secret> {
    // Of two in one place, the one recognised by its own form takes precedence over the one that a
    // name indicates.
    let order = |secret: &Secret| {
        (secret.range.start, Reverse(secret.range.end), secret.kind == SecretKind::Password)
    };
    found.sort_by_key(order);
    let mut end = 0;
    found.retain(|secret| {
        let keep = secret.range.start >= end;
        if keep {
            end = secret.range.end;
        }
        keep
    });
    found
}

const fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '=')
}

fn before(text: &str, index: usize) -> Option<char> {
    text.get(..index)?.chars().next_back()
}

/// Returns the number of bytes from `start` on that satisfy `accept`.
fn run(text: &str, start: usize, accept: impl Fn(char) -> bool) -> usize {
    text.get(start..)
        .unwrap_or_default()
        .chars()
        .take_while(|c| accept(*c))
        .map(char::len_utf8)
        .sum()
}

fn token(
    text: &str,
    hit: Range<usize>,
    trigger: &str,
    least: usize,
    runs: &mut Run,
) -> Option<Secret> {
    let same_case = text.get(hit.clone()) == Some(trigger);
    let boundary = before(text, hit.start).is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
    if !same_case || !boundary {
        return None;
    }
    let end = runs.end(text, hit.end, |c| is_token_char(c) && c != '=');
    let body = text.get(hit.end..end)?;
    let digits = head(body, JUDGED).bytes().filter(u8::is_ascii_digit).take(2).count();
    (body.len() >= least && digits == 2)
        .then_some(Secret { range: hit.start..end, kind: SecretKind::Token })
}

/// The most bytes of a web token's header, and of its claims.
const JWT_HEADING: usize = 4 * 1024;
const JWT_CLAIMS: usize = 64 * 1024;

fn jwt(text: &str, hit: Range<usize>, runs: &mut Run) -> Option<Secret> {
    if text.get(hit.clone()) != Some("eyJ") {
        return None;
    }
    let end =
        runs.end(text, hit.start, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let value = text.get(hit.start..end)?;
    let heading = head(value, JWT_HEADING).find('.').filter(|length| *length >= 10)?;
    let claims = head(value.get(heading + 1..)?, JWT_CLAIMS).find('.');
    claims
        .filter(|length| *length >= 10)
        .map(|_| Secret { range: hit.start..end, kind: SecretKind::Jwt })
}

fn frame(text: &str, hit: Range<usize>, end_line: &mut EndLine) -> Option<Secret> {
    let rest = text.get(hit.end..)?;
    let heading = rest.get(..rest.find("-----")?)?;
    if !heading.ends_with("PRIVATE KEY") && !heading.ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    // A key whose end was cut off is still a key.
    let end = end_line.after(text, hit.end).unwrap_or(text.len());
    Some(Secret { range: hit.start..end, kind: SecretKind::PrivateKey })
}

/// Finds the value of a name: `DB_PASSWORD=hunter2x`, `"apiKey": "..."`, `--token abc123def`.
fn named_value(text: &str, hit: Range<usize>, runs: &mut Runs) -> Option<Secret> {
    let name =
        runs.name.around(text, hit.start, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if runs.named.replace(name.end) == Some(name.end) {
        return None;
    }
    let flag = text.get(name.start..)?.starts_with("--");
    let after = text.get(name.end..)?;
    let quote = run(after, 0, |c| matches!(c, '"' | '\''));
    let blank = quote + run(after, quote, |c| c == ' ');
    let separated = match after.get(blank..)?.chars().next()? {
        '=' | ':'
            if !after.get(blank..)?.starts_with("://")
                && !after.get(blank..)?.starts_with("==") =>
        {
            blank + 1 + run(after, blank + 1, |c| matches!(c, ' ' | '='))
        }
        _ if flag && blank > 0 => blank,
        _ => return None,
    };
    value(text, name.end + separated, &mut runs.value)
        .map(|range| Secret { range, kind: SecretKind::Password })
}

/// Returns the value that begins at `start`, quoted or not, if it looks like a secret and not like
/// code.
fn value(text: &str, start: usize, runs: &mut Run) -> Option<Range<usize>> {
    let quote = text.get(start..)?.chars().next().filter(|c| matches!(c, '"' | '\''));
    let start = start + quote.map_or(0, char::len_utf8);
    let end = match quote {
        Some(quote) => start + run(text, start, |c| c != quote && c != '\n'),
        None => runs.end(text, start, |c| !c.is_whitespace() && !"\"',;)}&|`<>".contains(c)),
    };
    let whole = text.get(start..end)?;
    let value = head(whole, JUDGED);
    let reference = value.starts_with('$')
        || value.starts_with('<')
        || value.starts_with('{')
        || value.contains("${")
        || value.contains('(');
    let digits = value.chars().any(|c| c.is_ascii_digit());
    let symbols = value.chars().any(|c| "!@#%^&*+=~?".contains(c));
    let spaced = value.contains(' ');
    let likely = value.len() >= 6
        && !reference
        && !spaced
        && (digits
            || symbols
            || (quote.is_some()
                && value.len() >= 12
                && !value.contains('.')
                && !is_stand_in(value)));
    likely.then_some(start..end)
}

/// Words that ask a reader to put a value there.
const STAND_INS: &[&str] =
    &["changeme", "dummy", "example", "fake", "here", "insert", "placeholder", "replace", "your"];

/// Returns true for words in the place of a secret: `YOUR_API_KEY`, `insert-token-here`.
fn is_stand_in(value: &str) -> bool {
    let mut words = value.split(['_', '-', ' ']);
    words.any(|word| STAND_INS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

fn header(text: &str, hit: Range<usize>) -> Option<Secret> {
    let boundary = before(text, hit.start).is_none_or(|c| !c.is_ascii_alphanumeric());
    let length = run(text, hit.end, is_token_char);
    let body = text.get(hit.end..hit.end + length)?;
    let likely = boundary
        && length >= 12
        && body.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase() || c == '=');
    likely.then_some(Secret { range: hit.end..hit.end + length, kind: SecretKind::Credential })
}

fn user_info(text: &str, hit: Range<usize>) -> Option<Secret> {
    let length = run(text, hit.end, |c| {
        !c.is_whitespace() && !matches!(c, '/' | '"' | '\'' | '<' | '>' | '?' | '#')
    });
    let authority = text.get(hit.end..hit.end + length)?;
    // The last `@` ends the user information, since a password may hold others.
    let (user_info, _) = authority.rsplit_once('@')?;
    let (user, password) = user_info.split_once(':')?;
    let literal = !password.is_empty() && !password.starts_with('$') && !password.starts_with('{');
    let start = hit.end + user.len() + 1;
    literal.then_some(Secret { range: start..start + password.len(), kind: SecretKind::Credential })
}

fn email(text: &str, hit: Range<usize>) -> Option<Secret> {
    let local = text
        .get(..hit.start)?
        .chars()
        .rev()
        .take_while(|c| c.is_ascii_alphanumeric() || ".+_-".contains(*c))
        .count();
    let domain = run(text, hit.end, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    let host = text.get(hit.end..hit.end + domain)?.trim_end_matches(['.', '-']);
    let end = hit.end + host.len();
    let remote_login = text.get(end..)?.starts_with(':') || text.get(end..)?.starts_with('/');
    let last = host.rsplit('.').next()?;
    let likely = local > 0
        && host.contains('.')
        && last.len() >= 2
        && last.chars().all(|c| c.is_ascii_alphabetic())
        && !remote_login;
    likely.then_some(Secret { range: hit.start - local..end, kind: SecretKind::Email })
}
