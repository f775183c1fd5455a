//! Removes credentials from texts of others.

/// Removes credentials from a third party's text that may repeat them.
#[must_use]
pub fn redact_secrets(text: &str, secrets: &[&str]) -> String {
    let hidden = |text: String, secret: &&str| {
        if secret.is_empty() { text } else { text.replace(secret, "[secret]") }
    };
    secrets.iter().fold(text.to_owned(), hidden)
}
