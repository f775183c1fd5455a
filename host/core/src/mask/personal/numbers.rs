//! Payment cards and telephone numbers.

use super::context::{digits_of, ends_alone, find_runs, is_alone, is_labelled, passes_luhn, vary};
use crate::mask::secret::{Secret, SecretKind};

/// Finds runs of 15 to 19 digits that begin with 3 to 6 and pass the Luhn check, with blanks or
/// hyphens between groups.
pub(super) fn find_cards(text: &str) -> impl Iterator<Item = Secret> {
    let accept = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
    find_runs(text, |byte| byte.is_ascii_digit(), accept, &[' ', '-']).filter_map(|range| {
        let group = text.get(range.clone())?;
        let digits = digits_of(group);
        let before = text.get(..range.start)?.chars().next_back();
        let is_card = before != Some('.')
            && (15..=19).contains(&digits.len())
            && is_issued(&digits)
            && passes_luhn(&digits)
            && group.chars().filter(|c| *c == ' ' || *c == '-').count() != 1;
        is_card.then_some(Secret { range, kind: SecretKind::PaymentCard })
    })
}

/// Returns true for the first digits of a card: 3 to 6, and those of Mastercard from 2221 to 2720.
fn is_issued(digits: &[u32]) -> bool {
    let first: u32 = digits.iter().take(4).fold(0, |number, digit| number * 10 + digit);
    matches!(first, 2221..=2720 | 3000..=6999)
}

/// Words that a telephone number follows, in ten languages.
const LABELS: &[&str] = &[
    "call",
    "cell",
    "cellphone",
    "celular",
    "fax",
    "fon",
    "gsm",
    "handy",
    "kom",
    "mob",
    "mobil",
    "mobile",
    "mobiltelefon",
    "móvil",
    "phone",
    "phonenumber",
    "puh",
    "sms",
    "tel",
    "telefon",
    "telefone",
    "telefono",
    "telefonnummer",
    "telefoon",
    "telephone",
    "teléfono",
    "téléphone",
    "tél",
    "tlf",
    "whatsapp",
];
/// The digits of a number with its country, by ITU-T E.164.
const INTERNATIONAL: std::ops::RangeInclusive<usize> = 8..=15;
/// The digits of a number behind a label.
const LABELLED: std::ops::RangeInclusive<usize> = 7..=15;

/// Finds telephone numbers: with a country (`+49 30 1234567`), in the form of North America
/// (`(415) 555-2671`), or behind a word such as `Tel.`.
pub(super) fn find_phones(text: &str) -> impl Iterator<Item = Secret> {
    let accept =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/');
    let begins = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'(');
    find_runs(text, begins, accept, &[' ', '-', '.', '(', '/']).filter_map(|range| {
        let number = text.get(range.clone())?;
        let digits = digits_of(number);
        let end = range.end + extension_length(text.get(range.end..)?);
        let is_phone = ends_alone(text, end)
            && vary(&digits)
            && !number.contains("  ")
            && !number.contains("..")
            && (is_international(text, range.start, number, &digits)
                || is_north_american(number, &digits)
                || is_behind_label(text, range.start, number, &digits));
        is_phone.then_some(Secret { range: range.start..end, kind: SecretKind::Phone })
    })
}

/// Returns the bytes of an extension at the beginning of a text: ` x12`, ` ext. 12`.
fn extension_length(text: &str) -> usize {
    let rest = text.strip_prefix(' ').unwrap_or(text);
    let marks = ["ext. ", "ext.", "ext ", "ext", "x"];
    let Some(rest) = marks.iter().find_map(|mark| rest.strip_prefix(mark)) else { return 0 };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=6).contains(&digits) { text.len() - rest.len() + digits } else { 0 }
}

fn is_international(text: &str, at: usize, number: &str, digits: &[u32]) -> bool {
    let Some(rest) = number.strip_prefix('+') else { return false };
    let begins_line =
        text.get(..at).is_none_or(|before| before.is_empty() || before.ends_with('\n'));
    // A line that a patch adds begins so, too.
    let is_grouped = rest.contains([' ', '-', '(']) && !rest.contains('.');
    INTERNATIONAL.contains(&digits.len())
        && rest.starts_with(|c: char| matches!(c, '1'..='9'))
        && !rest.contains('+')
        && !rest.contains('/')
        && (!begins_line || is_grouped)
        && is_country(digits)
}

/// Returns true for digits that begin with a country's code of ITU-T E.164.
fn is_country(digits: &[u32]) -> bool {
    let code =
        |length: usize| digits.iter().take(length).fold(0, |code: u32, digit| code * 10 + digit);
    let (one, two, three) = (code(1), code(2), code(3));
    let of_two = matches!(
        two,
        20 | 27
            | 30..=34
            | 36
            | 39..=41
            | 43..=49
            | 51..=58
            | 60..=66
            | 81
            | 82
            | 84
            | 86
            | 90..=95
            | 98
    );
    let of_three = matches!(
        three,
        211..=213
            | 216
            | 218
            | 220..=269
            | 290
            | 291
            | 297..=299
            | 350..=359
            | 370..=389
            | 420
            | 421
            | 423
            | 500..=509
            | 590..=599
            | 670..=692
            | 800
            | 808
            | 850..=856
            | 870
            | 880..=888
            | 960..=979
            | 992..=998
    );
    matches!(one, 1 | 7) || of_two || of_three
}

/// `(415) 555-2671`: an area and an exchange begin with 2 to 9.
fn is_north_american(number: &str, digits: &[u32]) -> bool {
    let Some((area, rest)) = number.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
        return false;
    };
    let rest = rest.trim_start_matches([' ', '-']);
    let parts = rest.split_once(['-', '.', ' ']);
    let has = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let begins_well = |at: usize| digits.get(at).is_some_and(|digit| *digit >= 2);
    has(area, 3)
        && parts.is_some_and(|(first, last)| has(first, 3) && has(last, 4))
        && begins_well(0)
        && begins_well(3)
}

fn is_behind_label(text: &str, at: usize, number: &str, digits: &[u32]) -> bool {
    // A date, an amount or a version behind such a word is none.
    let is_grouped = !number.contains('.') || number.split('.').count() > 2;
    LABELLED.contains(&digits.len())
        && is_grouped
        && is_alone(text, at)
        && is_labelled(text, at, LABELS)
}
