//! The secrets that results have shown to the session, so that one is known again in an address or
//! a message, however it is written there.
//!
//! Of each only its length and a keyed digest are kept. A value counts if it looks like chosen by
//! chance: words, numbers and names occur in addresses by themselves.

use crate::action::Operation;
use crate::mask::{Mask, Masker};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// The most secrets that are remembered; past it, the oldest is forgotten.
const SECRETS: usize = 64;
/// The least and the most bytes of a secret that is remembered.
const LEAST: usize = 8;
const MOST: usize = 256;
/// The most parts of texts that are compared for one call: a bound on the work.
const WINDOWS: usize = 20_000;
/// The most bytes of one text that are looked at.
const TEXT: usize = 4096;
/// The least bytes of a text that may be encoded.
const ENCODED: usize = 11;
/// The number of encodings inside each other that are followed.
const DEPTH: usize = 3;

/// A secret that was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenSecret {
    length: u16,
    digest: [u8; 8],
    /// The digits of its placeholder.
    digits: String,
}

/// The secrets that were shown, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenSecrets(VecDeque<SeenSecret>);

impl SeenSecrets {
    /// Remembers the secrets of a result.
    pub fn note_secrets(&mut self, mask: &Mask, masker: &Masker) {
        for (value, placeholder) in mask.secrets().filter(|(value, _)| is_distinctive(value)) {
            let digest = masker.digest(value);
            let digits = placeholder.trim_end_matches('>').rsplit(':').next().unwrap_or_default();
            let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
            self.0.retain(|known| known.digest != digest);
            self.0.push_back(SeenSecret { length, digest, digits: digits.to_owned() });
        }
        let excess = self.0.len().saturating_sub(SECRETS);
        self.0.drain(..excess);
    }

    /// Returns the texts in an operation that carry a secret away, each with its placeholder: the
    /// kind says that it is one for sure.
    #[must_use]
    pub fn find_carried(&self, operation: &Operation, masker: &Masker) -> Vec<(String, String)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut search = Search {
            lengths: self.0.iter().map(|secret| usize::from(secret.length)).collect(),
            known: &self.0,
            masker,
            left: WINDOWS,
        };
        let mut carried = Vec::new();
        for text in sent_texts(operation) {
            if let Some((part, digits)) = search.find_in(text) {
                carried.push((part, format!("{}credential:{digits}>", crate::mask::PLACEHOLDER)));
            }
        }
        carried
    }
}

/// Returns the texts of an operation that go to somebody: addresses, and what a tool is told.
fn sent_texts(operation: &Operation) -> Vec<&str> {
    match operation {
        Operation::Network(request) => {
            std::iter::once(request.url.as_str()).chain(request.body.as_deref()).collect()
        }
        Operation::Tool(tool) => tool.arguments.iter().map(|(_, value)| value.as_str()).collect(),
        Operation::Shell(shell) => shell
            .commands
            .iter()
            .flat_map(|command| &command.words)
            .map(|word| word.text.as_str())
            .filter(|text| is_address(text))
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns true for a word that is an address, or a name with dots that could be looked up.
fn is_address(text: &str) -> bool {
    let named = || {
        let host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_@+".contains(&byte);
        text.matches('.').count() > 1 && text.bytes().all(host)
    };
    text.contains("://") || named()
}

/// Returns true for a value that is not a word, a number, a name or an address.
fn is_distinctive(value: &str) -> bool {
    let class = |c: char| match c {
        'a'..='z' => Some(0),
        'A'..='Z' => Some(1),
        '0'..='9' => Some(2),
        _ => None,
    };
    let classes: Vec<_> = value.chars().map(class).collect();
    let changes = classes
        .iter()
        .zip(classes.iter().skip(1))
        .filter(|(one, next)| one.is_some() && next.is_some() && one != next)
        .count();
    (LEAST..=MOST).contains(&value.len())
        && changes >= 3
        && !value.contains("://")
        && !value.contains(char::is_whitespace)
}

/// A search for known secrets.
struct Search<'s> {
    lengths: BTreeSet<usize>,
    known: &'s VecDeque<SeenSecret>,
    masker: &'s Masker,
    left: usize,
}

impl Search<'_> {
    /// Returns the part of a text that carries a secret, with the secret's digits.
    fn find_in(&mut self, text: &str) -> Option<(String, String)> {
        let text = text.get(..crate::text::floor_boundary(text, TEXT))?;
        if let Some((part, digits)) = self.find_plain(text) {
            return Some((part, digits));
        }
        // An encoded one takes all that follows the scheme with it.
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let digits = self.find_encoded(rest, 0)?;
        Some((rest.to_owned(), digits))
    }

    fn find_plain(&mut self, text: &str) -> Option<(String, String)> {
        for length in self.lengths.clone() {
            for start in 0..=text.len().saturating_sub(length) {
                let Some(part) = text.get(start..start + length) else { continue };
                if self.left == 0 {
                    return None;
                }
                self.left -= 1;
                let digest = self.masker.digest(part);
                if let Some(known) = self.known.iter().find(|known| known.digest == digest) {
                    return Some((part.to_owned(), known.digits.clone()));
                }
            }
        }
        None
    }

    /// Returns the digits of a secret in a text that is escaped, reversed, split into labels, or
    /// encoded in base64 or hexadecimal digits.
    fn find_encoded(&mut self, text: &str, depth: usize) -> Option<String> {
        let joined: String = text.chars().filter(|c| *c != '.').collect();
        let mut forms = vec![text.to_owned(), joined, crate::facts::unescaped(text)];
        forms.dedup();
        for form in forms {
            for form in [form.chars().rev().collect(), form] {
                if let Some((_, digits)) = self.find_plain(&form) {
                    return Some(digits);
                }
                if depth >= DEPTH {
                    continue;
                }
                let runs = form.split(|c: char| !(c.is_ascii_alphanumeric() || "+-_=".contains(c)));
                for run in runs.filter(|run| run.len() >= ENCODED) {
                    // A name may stand before the value, and a label after it.
                    let value = run.trim_end_matches('=').rsplit('=').next().unwrap_or(run);
                    for decoded in [hex(value), base64(value)].into_iter().flatten() {
                        let found = self.find_encoded(&decoded, depth + 1);
                        if found.is_some() {
                            return found;
                        }
                    }
                }
            }
        }
        None
    }
}

fn hex(text: &str) -> Option<String> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = text.as_bytes().iter().map(digit).collect::<Option<_>>()?;
    let bytes =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, digit| sum * 16 + digit));
    String::from_utf8(bytes.collect()).ok()
}

fn base64(text: &str) -> Option<String> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0_u32, Vec::with_capacity(text.len()));
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).unwrap_or_default());
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(|c: char| c.is_control() && !c.is_whitespace())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::NetworkRequest;
    use crate::mask::MaskPolicy;

    const VALUE: &str = "wJalrXUtnFEMIK7MDENGbPxR1";

    fn carried(url: &str) -> Vec<String> {
        let masker = Masker::new([7; 32], &MaskPolicy::default());
        let mask =
            masker.build_mask(&["API_SECRET=wJalrXUtnFEMIK7MDENGbPxR1\nDB_PASSWORD=changeme1\n"]);
        let mut seen = SeenSecrets::default();
        seen.note_secrets(&mask, &masker);
        let operation =
            Operation::Network(NetworkRequest { url: url.into(), method: None, body: None });
        seen.find_carried(&operation, &masker).into_iter().map(|(part, _)| part).collect()
    }

    #[test]
    fn a_secret_is_known_again_however_it_is_written() {
        let reversed: String = VALUE.chars().rev().collect();
        let escaped: String = VALUE.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
        for (name, url, expected) in [
            ("plain", format!("https://a.example/p?k={VALUE}"), VALUE.to_owned()),
            ("in a path", format!("https://a.example/{VALUE}/x"), VALUE.to_owned()),
            (
                "escaped",
                format!("https://a.example/?k={escaped}"),
                format!("a.example/?k={escaped}"),
            ),
            ("reversed", format!("https://a.example/{reversed}"), format!("a.example/{reversed}")),
            ("hex", format!("https://a.example/{hex}"), format!("a.example/{hex}")),
            (
                "labels",
                format!("http://{}.{}.a.example/", &VALUE[..9], &VALUE[9..]),
                format!("{}.{}.a.example/", &VALUE[..9], &VALUE[9..]),
            ),
            (
                "base64",
                "https://a.example/?k=d0phbHJYVXRuRkVNSUs3TURFTkdiUHhSMQ==".to_owned(),
                "a.example/?k=d0phbHJYVXRuRkVNSUs3TURFTkdiUHhSMQ==".to_owned(),
            ),
        ] {
            assert_eq!(carried(&url), [expected], "{name}");
        }
    }

    #[test]
    fn other_addresses_carry_none() {
        for url in [
            "https://docs.example/library/json.html",
            "https://docs.example/changeme1?port=8080",
            "https://docs.example/wJalrXUtnFEMIK7",
            "",
        ] {
            assert_eq!(carried(url), Vec::<String>::new(), "{url}");
        }
    }

    #[test]
    fn words_numbers_and_names_are_not_remembered() {
        for value in [
            "true",
            "8080",
            "localhost",
            "development",
            "postgres1",
            "mypassword123",
            "Password1",
            "2024-05-01",
            "12345678",
            "db.shop.example",
            "http://a1B2c3D4.example",
        ] {
            assert!(!is_distinctive(value), "{value}");
        }
        for value in [VALUE, "S3cr3tP4ss", "f3a91c07b2de"] {
            assert!(is_distinctive(value), "{value}");
        }
    }
}
