//! Random tokens: codes of links, and cookies.

use anyhow::{Context, Result};
use data_encoding::BASE64URL_NOPAD;

/// The bytes of a token.
const TOKEN: usize = 32;
/// The context of the digests from which a form's token is derived.
const FORM_CONTEXT: &str = "portcullis page: the token of a form";

/// Returns a new token of 256 random bits, in letters that an address and a cookie can hold.
///
/// # Errors
/// Fails if the system gives no random bytes.
pub fn new_token() -> Result<String> {
    let mut bytes = [0; TOKEN];
    getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// Returns the token that each form of a visitor with this cookie carries. A page of another site
/// knows neither.
#[must_use]
pub fn derive_form_token(cookie: &str) -> String {
    derive_token(FORM_CONTEXT, cookie)
}

/// Returns a token that only somebody with `secret` can know, another one for each context.
#[must_use]
pub fn derive_token(context: &str, secret: &str) -> String {
    BASE64URL_NOPAD.encode(&blake3::derive_key(context, secret.as_bytes()))
}
