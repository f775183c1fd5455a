//! The arguments of a server that may be credentials, so that they are not shown.
//!
//! Only a server's author knows which of its arguments are secrets. Whatever stands in the place of
//! one, has the form of one, or looks random, counts as one; a reader of a difference misses little.

use portcullis_core::mask::{MaskPolicy, Masker};

/// Parts of names, in lower case, whose values are credentials or hold some.
const NAMES: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "pwd",
    "auth",
    "cred",
    "header",
    "bearer",
    "cookie",
    "session",
    "connection",
    "dsn",
    "env",
    "url",
    "uri",
    "signature",
    "license",
    "pat",
];
/// Options of one letter that programs use for such values: a header, a user, a password, a
/// variable of a container.
const LETTERS: &[&str] = &["-H", "-u", "-p", "-P", "-e", "-k", "-t"];
/// The least bytes of a random text.
const LEAST_RANDOM: usize = 16;

/// Returns the indices of the words that may be credentials, or hold some.
pub(super) fn find_secret_words(words: &[&str]) -> Vec<usize> {
    let masker = Masker::new([0; 32], &MaskPolicy::default());
    let mut found = Vec::new();
    let mut names_value = false;
    for (index, word) in words.iter().copied().enumerate() {
        let is_named = std::mem::take(&mut names_value);
        let option = word.starts_with('-') && !word.contains(['=', ' ', ':']);
        if is_named && !option {
            found.extend((!is_reference(word)).then_some(index));
            continue;
        }
        if option {
            // A letter and its value may be one word.
            let (letter, value) = word.split_at_checked(2).unwrap_or((word, ""));
            if LETTERS.contains(&letter) && !value.is_empty() && looks_random(value) {
                found.push(index);
                continue;
            }
            names_value = LETTERS.contains(&word) || is_name(word);
        }
        let held = word.split_once(['=', ':']).is_some_and(|(name, value)| {
            is_name(name) && !value.trim().is_empty() && !is_reference(value)
        });
        let is_address = word.contains("://");
        if held || is_address || looks_random(word) || !masker.find_secrets(word).is_empty() {
            found.push(index);
        }
    }
    found
}

/// Returns true for a name whose value may be a credential. The parts of a name begin at a dash, an
/// underscore, a dot or a capital letter; a short part counts only as a whole.
fn is_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let parts = || lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    NAMES.iter().any(|part| match part.len() {
        ..=3 => parts().any(|found| found.ends_with(part)),
        _ => lower.contains(part),
    })
}

/// Returns true for the name of a variable: it is not the value.
fn is_reference(word: &str) -> bool {
    let value = word.rsplit(['=', ' ']).next().unwrap_or_default();
    let name = value.trim_start_matches(['$', '{']).trim_end_matches('}');
    let plain =
        |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    !name.is_empty()
        && name.contains('_')
        && name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.chars().all(plain)
        && !looks_mixed(name)
}

/// Returns true for text with digits among its letters, as a random one has.
fn looks_mixed(text: &str) -> bool {
    let bytes = text.as_bytes();
    let turns = |pair: &[u8]| match pair {
        [first, second] => first.is_ascii_digit() != second.is_ascii_digit(),
        _ => false,
    };
    bytes.windows(2).filter(|pair| turns(pair)).count() > 3
}

/// Returns true if a part of a word between separators is long and mixed.
fn looks_random(word: &str) -> bool {
    let parts =
        word.split(|letter: char| !(letter.is_ascii_alphanumeric() || "+/_-".contains(letter)));
    parts
        .flat_map(|part| part.split('/'))
        .any(|part| part.len() >= LEAST_RANDOM && looks_mixed(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: &[&str] =
        &["hunter2", "s3cr3t", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", "a b"];

    #[test]
    fn a_value_in_the_place_of_a_credential_is_found() {
        for secret in SECRETS {
            for option in [
                "--api-key",
                "--apiKey",
                "--token",
                "--access-token",
                "--password",
                "--client-secret",
                "--header",
                "-H",
                "--auth",
                "--bearer",
                "-p",
                "-e",
                "--env",
                "--connection-string",
                "--github-pat",
            ] {
                for words in [
                    vec![option.to_owned(), (*secret).to_owned()],
                    vec![format!("{option}={secret}")],
                ] {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    // A letter is never joined by `=`.
                    if words.len() == 1 && option.len() == 2 {
                        continue;
                    }
                    assert_eq!(find_secret_words(&words), [words.len() - 1], "{words:?}");
                }
            }
        }
    }

    #[test]
    fn a_credential_is_found_by_its_form() {
        for word in [
            "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
            "API_KEY=hunter2",
            "Authorization: Bearer hunter2",
            "postgresql://me:hunter2@db.example/x",
            "https://mcp.example/mcp?k=v",
            "x=9f86d081884c7d659a2feaa0c55ad015",
            "9f86d081884c7d659a2feaa0c55ad015",
            "-p9f86d081884c7d659a2feaa0",
        ] {
            assert_eq!(find_secret_words(&["npx", word]), [1], "{word}");
        }
    }

    #[test]
    fn other_words_are_shown() {
        let words = [
            "-y",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "/srv/data",
            "--port",
            "8080",
            "--read-only",
            "--name",
            "files",
            "--",
            "mcp",
            "--state",
            "/home/me/.local/state/portcullis",
            "run",
            "-i",
            "--rm",
            "mcp/postgres:latest",
            "src/index.ts",
            "--log-level=debug",
            "--verbose",
        ];
        assert_eq!(find_secret_words(&words), [0; 0], "{words:?}");
        for words in [
            ["--header", "Authorization=PORTCULLIS_MCP_HEADER_1"],
            ["--url-env", "PORTCULLIS_MCP_URL"],
            ["--api-key", "${API_KEY}"],
            ["-e", "GITHUB_TOKEN"],
        ] {
            assert_eq!(find_secret_words(&words), [0; 0], "{words:?}");
        }
    }
}
