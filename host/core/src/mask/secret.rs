//! The kinds of values that are masked.

use crate::score::named;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

named! {
    /// The kinds of values that a placeholder replaces.
    SecretKind {
        /// A token with a known prefix.
        Token => "token",
        /// The value of something called a password, secret, token or key.
        Password => "password",
        /// A private key.
        PrivateKey => "private-key",
        /// A signed web token.
        Jwt => "jwt",
        /// User and password in a URL, or a credential in a header.
        Credential => "credential",
        /// A mail address (personal data).
        Email => "email",
        /// A payment card's number (personal data).
        PaymentCard => "payment-card",
        /// A telephone number (personal data).
        Phone => "phone",
        /// An international bank account number (personal data).
        Iban => "iban",
        /// A national identifier of a person (personal data).
        NationalId => "national-id",
        /// An address of IPv4 or IPv6 that leads to somebody (personal data).
        IpAddress => "ip-address",
        /// The address of a device's network card (personal data).
        MacAddress => "mac-address",
        /// The name of a person (personal data).
        PersonName => "person-name",
        /// The street and number of a postal address (personal data).
        PostalAddress => "postal-address",
        /// A value that a pattern of the configuration describes.
        Custom => "custom",
    }
}

/// A secret's place and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: SecretKind,
}
