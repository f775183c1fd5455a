//! Programs that collect metrics: they show a token in place of a cookie.

use anyhow::{Result, bail};
use axum::http::header::{self, HeaderMap};

/// The path that they ask for.
pub(crate) const PATH: &str = "/metrics";
/// The scheme of the header.
const SCHEME: &str = "Bearer ";
/// The fewest letters of a token: nobody guesses that many.
pub const SHORTEST_TOKEN: usize = 32;

/// The token of whoever collects metrics, kept as its digest.
#[derive(Clone, Debug)]
pub struct MetricsToken(blake3::Hash);

/// A request that showed the token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collector;

impl MetricsToken {
    /// Takes the token of a file's text; white space around it does not count.
    ///
    /// # Errors
    /// Fails if it is shorter than [`SHORTEST_TOKEN`] or has letters that a header cannot have.
    pub fn new(text: &str) -> Result<Self> {
        let token = text.trim();
        if token.len() < SHORTEST_TOKEN {
            bail!("the token needs at least {SHORTEST_TOKEN} letters");
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("the token may have letters, digits and signs of ASCII only");
        }
        Ok(Self(blake3::hash(token.as_bytes())))
    }

    /// Returns true if a request shows this token, once.
    pub(crate) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let only = values.next().filter(|_| values.next().is_none());
        let token = only.and_then(|value| value.to_str().ok()?.strip_prefix(SCHEME));
        // Comparing `Hash` values takes constant time.
        token.is_some_and(|token| blake3::hash(token.as_bytes()) == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn only_the_whole_token_counts() {
        let token = MetricsToken::new(&format!("{TOKEN}\n")).unwrap();
        for (values, counts) in [
            (vec![format!("Bearer {TOKEN}")], true),
            (vec![format!("Bearer {}", &TOKEN[1..])], false),
            (vec![format!("Bearer {TOKEN}0")], false),
            (vec![format!("bearer {TOKEN}")], false),
            (vec![format!("Basic {TOKEN}")], false),
            (vec![TOKEN.to_owned()], false),
            (vec!["Bearer ".to_owned()], false),
            (vec![format!("Bearer {TOKEN}"), format!("Bearer {TOKEN}")], false),
            (vec![], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in &values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(token.is_shown(&headers), counts, "{values:?}");
        }
    }

    #[test]
    fn a_token_that_can_be_guessed_or_sent_wrongly_is_refused() {
        for text in [
            "",
            " \n",
            "short",
            &TOKEN[1..],
            "0123456789abcdef 0123456789abcdef",
            "ääääääääääääääääääää",
        ] {
            assert!(MetricsToken::new(text).is_err(), "{text}");
        }
    }
}
