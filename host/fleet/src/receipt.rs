//! Receipts: the hub's signed statement that it had a record at some time.
//!
//! A machine keeps the newest one. It proves to everybody with the hub's public key that the hub
//! has seen the chain up to that record, even if the hub loses its database, and it shows a
//! journal that was rewritten or put back since.

use crate::hex_digits;
use portcullis_bundle::{KeyError, PublicKey, SecretKey};
use portcullis_store::Hash;
use serde::{Deserialize, Serialize};

/// The beginning of the signed bytes: no other signature of the key can pass for a receipt.
const DOMAIN: &[u8] = b"portcullis fleet receipt v1\n";

/// The statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The machine's id.
    pub machine: String,
    /// The journal's id.
    pub journal: String,
    /// The newest record that the hub has.
    pub sequence: u64,
    /// Its hash.
    #[serde(with = "hex_digits")]
    pub hash: Hash,
    /// The time of the statement by the clock of the hub's database, in milliseconds since 1970.
    pub at: u64,
}

/// A receipt as it travels: the text that was signed, and the signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedReceipt {
    /// The receipt as JSON. Its bytes are what is signed.
    receipt: String,
    /// The signature in base64.
    signature: String,
}

/// The reasons why a receipt does not count.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// The key in PEM is none.
    #[error("the hub's receipt key cannot be read: {0}")]
    Key(#[from] KeyError),
    /// The signature is not that of the key.
    #[error("the hub's receipt is not signed with its receipt key")]
    Signature,
    /// The signed text is not a receipt.
    #[error("the hub's receipt is not understood")]
    Malformed,
}

impl SignedReceipt {
    /// Signs a receipt.
    #[must_use]
    pub fn sign_receipt(receipt: &Receipt, key: &SecretKey) -> Self {
        // Texts and numbers always become JSON.
        let text = serde_json::to_string(receipt).unwrap_or_default();
        let signature = key.sign_bytes(&signed_bytes(&text));
        Self { receipt: text, signature: data_encoding::BASE64.encode(&signature) }
    }

    /// Returns the receipt, if the holder of this key signed it.
    ///
    /// # Errors
    /// Fails if the key is none, or if the signature or the text is not of the expected form.
    pub fn verify_receipt(&self, key_pem: &str) -> Result<Receipt, ReceiptError> {
        let key = PublicKey::from_pem(key_pem)?;
        let signature = data_encoding::BASE64
            .decode(self.signature.as_bytes())
            .map_err(|_| ReceiptError::Signature)?;
        if !key.has_signed(&signed_bytes(&self.receipt), &signature) {
            return Err(ReceiptError::Signature);
        }
        serde_json::from_str(&self.receipt).map_err(|_| ReceiptError::Malformed)
    }
}

fn signed_bytes(text: &str) -> Vec<u8> {
    [DOMAIN, text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_keys_own_text_counts() {
        let (key, other) = (SecretKey::of_seed(&[1; 32]), SecretKey::of_seed(&[2; 32]));
        let receipt =
            Receipt { machine: "m".into(), journal: "j".into(), sequence: 7, hash: [3; 32], at: 9 };
        let pem = |key: &SecretKey| key.public().to_pem().unwrap();
        let signed = SignedReceipt::sign_receipt(&receipt, &key);
        assert_eq!(signed.verify_receipt(&pem(&key)).unwrap(), receipt);
        assert!(matches!(signed.verify_receipt(&pem(&other)), Err(ReceiptError::Signature)));
        let changed = SignedReceipt {
            receipt: signed.receipt.replace("\"sequence\":7", "\"sequence\":8"),
            ..signed.clone()
        };
        assert!(matches!(changed.verify_receipt(&pem(&key)), Err(ReceiptError::Signature)));
        let undomained = SignedReceipt {
            signature: data_encoding::BASE64.encode(&key.sign_bytes(signed.receipt.as_bytes())),
            ..signed
        };
        assert!(matches!(undomained.verify_receipt(&pem(&key)), Err(ReceiptError::Signature)));
    }
}
