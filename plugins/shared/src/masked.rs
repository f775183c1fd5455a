//! Masked values, as they stand in texts: `<secret:KIND:8 hex digits>`.

/// The prefix of a masked value.
pub const PLACEHOLDER: &str = "<secret:";

/// The kinds that are personal data and no secrets. A payment card's number is among the secrets: it
/// is enough to pay.
const PERSONAL: &[&str] = &[
    "email",
    "iban",
    "ip-address",
    "mac-address",
    "national-id",
    "person-name",
    "phone",
    "postal-address",
];

/// Returns true for a kind that is personal data and no secret.
#[must_use]
pub fn is_personal(kind: &str) -> bool {
    PERSONAL.contains(&kind)
}

/// Returns true for a kind of secret that is common in sample data and tests.
#[must_use]
pub fn is_common(kind: &str) -> bool {
    matches!(kind, "password" | "payment-card")
}
