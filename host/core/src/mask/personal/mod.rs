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

/// Adds what it finds in a text.
pub(super) type FindPersonal = fn(&str, &mut Vec<Secret>);

/// The detectors by kind. Mail addresses have a trigger, as secrets do.
const DETECTORS: &[(SecretKind, FindPersonal)] = &[
    (SecretKind::PaymentCard, |text, found| found.extend(numbers::find_cards(text))),
    (SecretKind::Phone, |text, found| found.extend(numbers::find_phones(text))),
    (SecretKind::Iban, |text, found| found.extend(bank::find_ibans(text))),
    (SecretKind::NationalId, |text, found| found.extend(national::find_identifiers(text))),
    (SecretKind::IpAddress, |text, found| found.extend(network::find_ip_addresses(text))),
    (SecretKind::MacAddress, |text, found| found.extend(network::find_mac_addresses(text))),
    (SecretKind::PersonName, |text, found| found.extend(people::find_names(text))),
    (SecretKind::PostalAddress, |text, found| found.extend(people::find_addresses(text))),
];

/// Returns the detectors of these kinds.
pub(super) fn list_detectors(kinds: &[SecretKind]) -> Vec<FindPersonal> {
    DETECTORS.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, find)| *find).collect()
}
