//! Detection of personal data: numbers with check digits, and what its surroundings give away.
//!
//! | module | finds | by |
//! |---|---|---|
//! | `numbers` | payment cards, telephone numbers | check digit; form or a word before it |
//! | `bank` | IBANs | length of the country and check digits |
//! | `national` | identifiers of 16 countries | check digits; a word before it where digits stand alone |
//! | `network` | addresses of networks and devices | form; only those that lead to somebody |
//! | `people` | names, postal addresses | a title, a field's name, a word for a street |
//!
//! A number without a check digit and without such a word is not found: in code it is nearly always
//! something else.

mod bank;
mod context;
mod national;
mod network;
mod numbers;
mod people;

use super::secret::{Secret, SecretKind};

/// The kinds of personal data that are looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PersonalKinds {
    pub(super) email: bool,
    card: bool,
    phone: bool,
    iban: bool,
    national_id: bool,
    ip_address: bool,
    mac_address: bool,
    name: bool,
    postal_address: bool,
}

impl PersonalKinds {
    pub(super) fn new(kinds: &[SecretKind]) -> Self {
        let has = |kind| kinds.contains(&kind);
        Self {
            email: has(SecretKind::Email),
            card: has(SecretKind::PaymentCard),
            phone: has(SecretKind::Phone),
            iban: has(SecretKind::Iban),
            national_id: has(SecretKind::NationalId),
            ip_address: has(SecretKind::IpAddress),
            mac_address: has(SecretKind::MacAddress),
            name: has(SecretKind::PersonName),
            postal_address: has(SecretKind::PostalAddress),
        }
    }
}

/// Adds the personal data in a text to what was found, but for mail addresses.
pub(super) fn find_personal(text: &str, kinds: PersonalKinds, found: &mut Vec<Secret>) {
    if kinds.card {
        found.extend(numbers::find_cards(text));
    }
    if kinds.phone {
        found.extend(numbers::find_phones(text));
    }
    if kinds.iban {
        found.extend(bank::find_ibans(text));
    }
    if kinds.national_id {
        found.extend(national::find_identifiers(text));
    }
    if kinds.ip_address {
        found.extend(network::find_ip_addresses(text));
    }
    if kinds.mac_address {
        found.extend(network::find_mac_addresses(text));
    }
    if kinds.name {
        found.extend(people::find_names(text));
    }
    if kinds.postal_address {
        found.extend(people::find_addresses(text));
    }
}
