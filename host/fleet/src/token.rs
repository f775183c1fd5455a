//! Join tokens: a secret of the hub, and the digest of the authority that the machine may believe.
//!
//! A token is one word, `portcullis-join-SECRET-DIGEST`. The digest is the SHA-256 of the hub's
//! authority, so a machine that has the token believes no other hub, not even at first. The hub
//! keeps a digest of the secret only.

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use sha2::{Digest as _, Sha256};
use std::fmt;

const PREFIX: &str = "portcullis-join-";
const SECRET_BYTES: usize = 20;

/// A join token.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    secret: String,
    authority: [u8; 32],
}

/// The text is not a join token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a join token: one begins with `{PREFIX}` and is one word")]
pub struct TokenError;

impl JoinToken {
    /// Creates a token with a random secret.
    ///
    /// # Errors
    /// Fails if the system gives no random bytes.
    pub fn new_random(authority: [u8; 32]) -> Result<Self, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self { secret: BASE32_NOPAD.encode(&secret), authority })
    }

    /// Reads a token; blanks around it do not count.
    ///
    /// # Errors
    /// Fails for any other text.
    pub fn parse_text(text: &str) -> Result<Self, TokenError> {
        let rest = text.trim().strip_prefix(PREFIX).ok_or(TokenError)?;
        let (secret, digest) = rest.split_once('-').ok_or(TokenError)?;
        let bytes = BASE32_NOPAD.decode(secret.as_bytes()).map_err(|_| TokenError)?;
        let authority = HEXLOWER.decode(digest.as_bytes()).map_err(|_| TokenError)?;
        let authority = authority.try_into().map_err(|_| TokenError)?;
        if bytes.len() != SECRET_BYTES {
            return Err(TokenError);
        }
        Ok(Self { secret: secret.to_owned(), authority })
    }

    /// Returns the whole token as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{PREFIX}{}-{}", self.secret, HEXLOWER.encode(&self.authority))
    }

    /// Returns the secret, which the hub gets.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns the digest of the authority's certificate.
    #[must_use]
    pub const fn authority(&self) -> &[u8; 32] {
        &self.authority
    }
}

impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinToken")
    }
}

/// Returns the digest under which the hub keeps a secret. The secret has 160 random bits, so it
/// needs no slow hash.
#[must_use]
pub fn digest_secret(secret: &str) -> [u8; 32] {
    Sha256::new().chain_update(b"portcullis join secret\n").chain_update(secret).finalize().into()
}

/// Returns the SHA-256 of a certificate in DER, as `openssl x509 -fingerprint -sha256` has it.
#[must_use]
pub fn digest_certificate(der: &[u8]) -> [u8; 32] {
    Sha256::digest(der).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_text_and_nothing_else_is_one() {
        let token = JoinToken::new_random([7; 32]).unwrap();
        let text = token.to_text();
        assert!(JoinToken::parse_text(&format!(" {text}\n")).unwrap() == token);
        let short = "portcullis-join-AAAA-00";
        let cut = text.get(..text.len() - 2).unwrap();
        for other in ["", "x", short, cut, &text.to_lowercase(), &format!("{text} {text}")] {
            assert_eq!(JoinToken::parse_text(other).err(), Some(TokenError), "{other}");
        }
    }
}
