//! Parses a registry's request for authentication: `WWW-Authenticate`.

use ureq::http::HeaderMap;
use ureq::http::header::WWW_AUTHENTICATE;

/// The kind of authentication that a registry requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// A token from the server at `realm`.
    Bearer { realm: String, service: Option<String> },
    /// Name and password.
    Basic,
}

/// Returns the strongest challenge of the registry; or describes the challenge if it is
/// not supported.
pub(crate) fn read(headers: &HeaderMap) -> Result<Challenge, String> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let asked: Vec<(String, Vec<(String, String)>)> = values.flat_map(challenges).collect();
    let value = |of: &[(String, String)], name: &str| {
        of.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let bearer = asked
        .iter()
        .filter(|(scheme, _)| scheme == "bearer")
        .find_map(|(_, of)| Some((value(of, "realm")?, value(of, "service"))));
    match bearer {
        Some((realm, service)) => Ok(Challenge::Bearer { realm, service }),
        None if asked.iter().any(|(scheme, _)| scheme == "basic") => Ok(Challenge::Basic),
        None => Err(asked
            .iter()
            .map(|(scheme, _)| scheme.chars().take(20).collect::<String>())
            .collect::<Vec<_>>()
            .join(", ")),
    }
}

/// Parses the challenges of a header: schemes in lower case, each with its parameters.
fn challenges(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', '=', ',']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let word = word.to_ascii_lowercase();
        if let Some(after) = after.strip_prefix('=') {
            let (value, after) = value(after);
            if let Some((_, parameters)) = found.last_mut() {
                parameters.push((word, value));
            }
            rest = after;
        } else {
            if !word.is_empty() {
                found.push((word, Vec::new()));
            }
            rest = after;
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    found
}

/// Parses a token or a quoted text, and returns the rest.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let (mut value, mut chars) = (String::new(), quoted.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_they_are_written() {
        let bearer = |realm: &str, service: Option<&str>| {
            Ok(Challenge::Bearer { realm: realm.into(), service: service.map(Into::into) })
        };
        for (headers, expected) in [
            (
                vec![r#"Bearer realm="https://a/token",service="b",scope="c:d:e,f""#],
                bearer("https://a/token", Some("b")),
            ),
            (
                vec![r#"bearer realm="https://a/t\"x" , error="invalid_token""#],
                bearer("https://a/t\"x", None),
            ),
            (vec!["Basic realm=x, Bearer realm=https://a"], bearer("https://a", None)),
            (vec!["Negotiate", "BASIC realm=\"a, b\""], Ok(Challenge::Basic)),
            (vec!["Bearer service=a"], Err("bearer".to_owned())),
            (vec!["Negotiate, Digest realm=\"open"], Err("negotiate, digest".to_owned())),
            (vec![",,=,"], Err(String::new())),
            (vec![], Err(String::new())),
        ] {
            let mut map = HeaderMap::new();
            for header in &headers {
                map.append(WWW_AUTHENTICATE, header.parse().unwrap());
            }
            assert_eq!(read(&map), expected, "{headers:?}");
        }
    }
}
