//! International bank account numbers (ISO 13616).

use super::context::{ends_alone, find_runs};
use crate::mask::secret::{Secret, SecretKind};

/// The characters of an IBAN by its country, from the register of SWIFT.
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BI", 27),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DJ", 27),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FK", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HN", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MN", 20),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NI", 28),
    ("NL", 18),
    ("NO", 15),
    ("OM", 23),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("RU", 33),
    ("SA", 24),
    ("SC", 31),
    ("SD", 18),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("SO", 23),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
    ("YE", 30),
];

/// Finds IBANs, written in one piece or in groups of four.
pub(super) fn find_ibans(text: &str) -> impl Iterator<Item = Secret> {
    let accept = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
    let words = find_runs(
        text,
        |byte| byte.is_ascii_alphabetic(),
        |byte: u8| byte.is_ascii_alphanumeric(),
        &[],
    );
    words.filter_map(move |word| {
        let country = text.get(word.start..word.start + 2)?;
        let check = text.get(word.start + 2..word.start + 4)?;
        if !check.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let country = country.to_ascii_uppercase();
        let (_, length) = LENGTHS.iter().find(|(known, _)| *known == country)?;
        let rest = text.get(word.start..)?;
        let mut taken = 0;
        let mut end = word.start;
        let mut compact = String::with_capacity(*length);
        for byte in rest.bytes().take_while(|byte| accept(*byte)) {
            // Groups have four characters; two blanks end a number.
            if byte == b' '
                && (taken % 4 != 0 || rest.as_bytes().get(end - word.start + 1) == Some(&b' '))
            {
                break;
            }
            end += 1;
            if byte != b' ' {
                compact.push(char::from(byte.to_ascii_uppercase()));
                taken += 1;
                if taken == *length {
                    break;
                }
            }
        }
        let is_iban = taken == *length && ends_alone(text, end) && passes_check(&compact);
        is_iban.then_some(Secret { range: word.start..end, kind: SecretKind::Iban })
    })
}

/// The remainder of the number, with its first four characters at the end and letters as two digits,
/// is 1 by 97 (ISO 7064).
fn passes_check(iban: &str) -> bool {
    let Some((head, body)) = iban.split_at_checked(4) else { return false };
    let mut remainder = 0;
    for c in body.chars().chain(head.chars()) {
        let Some(value) = c.to_digit(36) else { return false };
        let base = if value > 9 { 100 } else { 10 };
        remainder = (remainder * base + value) % 97;
    }
    remainder == 1
}
