//! National identifiers of people, by their forms and check digits.
//!
//! The rules are those that the countries publish. A form that only such a number has needs nothing
//! else; digits alone need a word before them that names the number, since one number of eleven digits
//! in ten passes a check digit by chance.

use super::context::{
    digits_of, ends_alone, find_runs, is_labelled, passes_luhn, vary, weighted_sum,
};
use crate::mask::secret::{Secret, SecretKind};

/// A number that consists of digits and separators.
struct NumberRule {
    /// The forms that need no word, with `9` for each digit.
    own_forms: &'static [&'static str],
    /// The forms that need one.
    labelled_forms: &'static [&'static str],
    /// The words, in lower case.
    labels: &'static [&'static str],
    check: fn(&[u32]) -> bool,
}

const NUMBERS: &[NumberRule] = &[
    // Belgium: date of birth, count, remainder of 97.
    NumberRule {
        own_forms: &["99.99.99-999.99"],
        labelled_forms: &["99999999999", "999999-999-99", "99 99 99 999 99"],
        labels: &["rijksregisternummer", "rrn", "insz", "niss", "registre national", "national"],
        check: is_belgian,
    },
    // Brazil: CPF.
    NumberRule {
        own_forms: &["999.999.999-99"],
        labelled_forms: &["99999999999"],
        labels: &["cpf"],
        check: is_brazilian,
    },
    // Canada: SIN.
    NumberRule {
        own_forms: &[],
        labelled_forms: &["999 999 999", "999-999-999", "999999999"],
        labels: &["sin", "social insurance", "nas"],
        check: passes_luhn,
    },
    // France: NIR, of social security.
    NumberRule {
        own_forms: &["9 99 99 99 999 999 99"],
        labelled_forms: &["999999999999999", "9999999999999 99"],
        labels: &["nir", "insee", "sécurité sociale", "securite sociale", "sécu", "ssn"],
        check: is_french,
    },
    // Germany: tax identification number.
    NumberRule {
        own_forms: &[],
        labelled_forms: &["99999999999", "99 999 999 999", "99 99 99 999 99"],
        labels: &[
            "steuer-id",
            "steuerid",
            "steueridentifikationsnummer",
            "idnr",
            "identifikationsnummer",
            "tax",
            "tin",
        ],
        check: is_german,
    },
    // India: Aadhaar.
    NumberRule {
        own_forms: &[],
        labelled_forms: &["9999 9999 9999", "9999-9999-9999", "999999999999"],
        labels: &["aadhaar", "aadhar", "uidai", "uid"],
        check: is_indian,
    },
    // Korea: resident registration number. Those of people who were born, or moved, since October 2020
    // have no check digit.
    NumberRule {
        own_forms: &["999999-9999999"],
        labelled_forms: &[],
        labels: &[],
        check: |digits| is_korean(digits) && has_korean_check(digits),
    },
    NumberRule {
        own_forms: &[],
        labelled_forms: &["999999-9999999", "9999999999999"],
        labels: &["rrn", "주민등록번호"],
        check: is_korean,
    },
    // The Netherlands: BSN.
    NumberRule {
        own_forms: &[],
        labelled_forms: &["999999999", "9999.99.999", "9999 99 999"],
        labels: &["bsn", "burgerservicenummer", "sofinummer"],
        check: |digits| {
            let (Some(last), sum) =
                (digits.last(), weighted_sum(digits, &[9, 8, 7, 6, 5, 4, 3, 2]))
            else {
                return false;
            };
            sum >= *last && (sum - last).is_multiple_of(11)
        },
    },
    // Norway: date of birth, count, two check digits.
    NumberRule {
        own_forms: &["999999 99999"],
        labelled_forms: &["99999999999", "999999-99999"],
        labels: &["fødselsnummer", "fodselsnummer", "fnr", "personnummer"],
        check: is_norwegian,
    },
    // Poland: PESEL.
    NumberRule {
        own_forms: &[],
        labelled_forms: &["99999999999"],
        labels: &["pesel"],
        check: |digits| {
            let sum = weighted_sum(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
            sum.is_multiple_of(10)
        },
    },
    // Portugal: NIF.
    NumberRule {
        own_forms: &[],
        labelled_forms: &["999999999", "999 999 999"],
        labels: &["nif", "contribuinte"],
        check: |digits| {
            let rest = weighted_sum(digits, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
            let check = if rest < 2 { 0 } else { 11 - rest };
            digits.first().is_some_and(|first| *first != 0) && digits.last() == Some(&check)
        },
    },
    // Sweden: personnummer, with or without the century.
    NumberRule {
        own_forms: &[],
        labelled_forms: &[
            "999999-9999",
            "999999+9999",
            "99999999-9999",
            "9999999999",
            "999999999999",
        ],
        labels: &["personnummer", "personnr", "person nr", "pnr", "ssn", "samordningsnummer"],
        check: |digits| {
            let short = digits.get(digits.len().saturating_sub(10)..).unwrap_or_default();
            is_day(short.get(2..6).unwrap_or_default()) && passes_luhn(short)
        },
    },
    // Switzerland: AHV number, with the check digit of EAN-13.
    NumberRule {
        own_forms: &["999.9999.9999.99"],
        labelled_forms: &["9999999999999"],
        labels: &["ahv", "avs", "oasi", "sozialversicherungsnummer", "ssn"],
        check: |digits| {
            digits.starts_with(&[7, 5, 6])
                && weighted_sum(digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
        },
    },
    // The United States: SSN, which has no check digit, but parts that are never assigned.
    NumberRule {
        own_forms: &["999-99-9999"],
        labelled_forms: &["999999999", "999 99 9999"],
        labels: &["ssn", "social security", "socialsecuritynumber"],
        check: is_american,
    },
];

/// An identifier with letters.
struct CodeRule {
    /// The form, with `9` for a digit, `A` for a letter and `X` for either.
    form: &'static str,
    /// The words that it needs; none if its form suffices.
    labels: &'static [&'static str],
    check: fn(&str) -> bool,
}

const CODES: &[CodeRule] = &[
    // China: region, date of birth, count, and a check digit that may be X (ISO 7064).
    CodeRule { form: "99999999999999999X", labels: &[], check: is_chinese },
    // Finland: date of birth, century, count, check character.
    CodeRule { form: "999999-999X", labels: &[], check: is_finnish },
    CodeRule { form: "999999A999X", labels: &[], check: is_finnish },
    // Italy: codice fiscale.
    CodeRule { form: "AAAAAA99A99A999A", labels: &[], check: is_italian },
    // Spain: DNI of citizens, NIE of foreigners.
    CodeRule { form: "99999999A", labels: &[], check: is_spanish },
    CodeRule { form: "99999999-A", labels: &[], check: is_spanish },
    CodeRule { form: "A9999999A", labels: &[], check: is_spanish },
    CodeRule { form: "A-9999999-A", labels: &[], check: is_spanish },
    // The United Kingdom: national insurance number, which has no check digit.
    CodeRule {
        form: "AA999999A",
        labels: &["nino", "national insurance", "ni number", "ni no"],
        check: is_british,
    },
    CodeRule { form: "AA 99 99 99 A", labels: &[], check: is_british },
];

/// Finds national identifiers.
pub(super) fn find_identifiers(text: &str) -> impl Iterator<Item = Secret> {
    find_numbers(text).chain(find_codes(text))
}

fn find_numbers(text: &str) -> impl Iterator<Item = Secret> {
    let accept = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'+');
    find_runs(text, |byte| byte.is_ascii_digit(), accept, &[' ', '-', '.', '+']).filter_map(
        |range| {
            let mut end = range.end;
            // Digits that follow after a blank may be something else: `CPF 111.444.777-35 2024`.
            for _ in 0..4 {
                let number = text.get(range.start..end)?;
                if ends_alone(text, end) && is_identifier(text, range.start, number) {
                    return Some(Secret { range: range.start..end, kind: SecretKind::NationalId });
                }
                end = range.start + number.rfind(' ')?;
            }
            None
        },
    )
}

fn is_identifier(text: &str, at: usize, number: &str) -> bool {
    let digits = digits_of(number);
    if !(9..=15).contains(&digits.len()) || !vary(&digits) {
        return false;
    }
    let has_form = |form: &str| has_form(number, form);
    NUMBERS.iter().any(|rule| {
        let is_own = rule.own_forms.iter().any(|form| has_form(form));
        let is_known = is_own
            || (rule.labelled_forms.iter().any(|form| has_form(form))
                && is_labelled(text, at, rule.labels));
        is_known && (rule.check)(&digits)
    })
}

fn find_codes(text: &str) -> impl Iterator<Item = Secret> {
    let accept = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+');
    let words = find_runs(text, |byte| byte.is_ascii_alphanumeric(), accept, &['-', '+']);
    words.filter_map(|range| {
        let is_code = |rule: &&CodeRule| {
            let length = rule.form.len();
            // A form with blanks goes on behind its first word.
            let end = range.start + length;
            let is_whole =
                if rule.form.contains(' ') { ends_alone(text, end) } else { end == range.end };
            let code = text.get(range.start..end).unwrap_or_default();
            is_whole
                && has_form(code, rule.form)
                && (rule.labels.is_empty() || is_labelled(text, range.start, rule.labels))
                && (rule.check)(&code.replace([' ', '-', '+'], ""))
        };
        let rule = CODES.iter().find(is_code)?;
        let range = range.start..range.start + rule.form.len();
        Some(Secret { range, kind: SecretKind::NationalId })
    })
}

/// Returns true for a text of that form. Letters are capitals: words of code mostly are not.
fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
            b'9' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'X' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            other => byte == other,
        })
}

/// Returns the number that some digits are.
fn number_of(digits: &[u32]) -> u64 {
    digits.iter().fold(0, |number, digit| number * 10 + u64::from(*digit))
}

fn part(digits: &[u32], range: std::ops::Range<usize>) -> u64 {
    number_of(digits.get(range).unwrap_or_default())
}

/// Returns true for a month and a day, in four digits.
fn is_day(digits: &[u32]) -> bool {
    let (month, day) = (part(digits, 0..2), part(digits, 2..4));
    // Sweden adds 60 to the day for people who are not registered.
    (1..=12).contains(&month) && ((1..=31).contains(&day) || (61..=91).contains(&day))
}

fn is_belgian(digits: &[u32]) -> bool {
    let (body, check) = (part(digits, 0..9), part(digits, 9..11));
    // Since 2000 a 2 stands before the number.
    let is_right = |body: u64| 97 - body % 97 == check;
    digits.len() == 11
        && part(digits, 2..4) <= 52
        && (is_right(body) || is_right(2_000_000_000 + body))
}

fn is_brazilian(digits: &[u32]) -> bool {
    let check = |count: usize, first: u32| {
        let weights: Vec<u32> = (2..=first).rev().collect();
        let rest = weighted_sum(digits.get(..count).unwrap_or_default(), &weights) * 10 % 11;
        digits.get(count) == Some(&(rest % 10))
    };
    digits.len() == 11 && check(9, 10) && check(10, 11)
}

fn is_french(digits: &[u32]) -> bool {
    let month = part(digits, 3..5);
    digits.len() == 15
        && matches!(digits.first(), Some(1..=4 | 7 | 8))
        && ((1..=12).contains(&month) || (20..=42).contains(&month) || month >= 50)
        && 97 - part(digits, 0..13) % 97 == part(digits, 13..15)
}

fn is_german(digits: &[u32]) -> bool {
    let (Some(body), Some(check)) = (digits.get(..10), digits.get(10)) else { return false };
    let times = |wanted: u32| body.iter().filter(|digit| **digit == wanted).count();
    let most = (0..10).map(times).max().unwrap_or_default();
    let mut product = 10;
    for digit in body {
        let sum = (digit + product) % 10;
        product = (if sum == 0 { 10 } else { sum }) * 2 % 11;
    }
    body.first() != Some(&0) && (2..=3).contains(&most) && (11 - product) % 10 == *check
}

/// The check of Verhoeff, in the dihedral group of order 10.
fn is_indian(digits: &[u32]) -> bool {
    // One step of its permutation; it is applied once more for each place.
    const STEP: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let multiply = |left: u32, right: u32| match (left < 5, right < 5) {
        (true, true) => (left + right) % 5,
        (true, false) => (left + right - 5) % 5 + 5,
        (false, true) => (left - 5 + 5 - right) % 5 + 5,
        (false, false) => (left + 5 - right) % 5,
    };
    let mut check = 0;
    for (place, digit) in digits.iter().rev().enumerate() {
        let mut moved = *digit;
        for _ in 0..place % 8 {
            moved = STEP.get(moved as usize).copied().unwrap_or_default();
        }
        check = multiply(check, moved);
    }
    digits.len() == 12 && matches!(digits.first(), Some(2..=9)) && check == 0
}

fn is_korean(digits: &[u32]) -> bool {
    is_day(digits.get(2..6).unwrap_or_default()) && matches!(digits.get(6), Some(1..=8))
}

fn has_korean_check(digits: &[u32]) -> bool {
    let sum = weighted_sum(digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    digits.get(12) == Some(&((11 - sum % 11) % 10))
}

fn is_norwegian(digits: &[u32]) -> bool {
    let check = |weights: &[u32], at: usize| {
        let rest = (11 - weighted_sum(digits, weights) % 11) % 11;
        digits.get(at) == Some(&rest)
    };
    let (day, month) = (part(digits, 0..2), part(digits, 2..4));
    digits.len() == 11
        && ((1..=31).contains(&day) || (41..=71).contains(&day))
        && (1..=12).contains(&month)
        && check(&[3, 7, 6, 1, 8, 9, 4, 5, 2], 9)
        && check(&[5, 4, 3, 2, 7, 6, 5, 4, 3, 2], 10)
}

fn is_american(digits: &[u32]) -> bool {
    let (area, group, serial) = (part(digits, 0..3), part(digits, 3..5), part(digits, 5..9));
    digits.len() == 9 && !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0
}

fn is_chinese(code: &str) -> bool {
    let Some((body, check)) = code.split_at_checked(17) else { return false };
    let digits = digits_of(body);
    let sum = weighted_sum(&digits, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    let year = part(&digits, 6..10);
    let expected = "10X98765432".chars().nth((sum % 11) as usize);
    digits.len() == 17
        && (1900..2100).contains(&year)
        && is_day(digits.get(10..14).unwrap_or_default())
        && check.chars().next() == expected
}

fn is_finnish(code: &str) -> bool {
    // `-` and `+` are taken out; a letter for the century stays.
    let digits = digits_of(code.get(..code.len().saturating_sub(1)).unwrap_or_default());
    let (day, month) = (part(&digits, 0..2), part(&digits, 2..4));
    let century = code.chars().nth(6).filter(char::is_ascii_alphabetic);
    let expected =
        "0123456789ABCDEFHJKLMNPRSTUVWXY".chars().nth((number_of(&digits) % 31) as usize);
    digits.len() == 9
        && (1..=31).contains(&day)
        && (1..=12).contains(&month)
        && century.is_none_or(|century| "ABCDEFUVWXY".contains(century))
        && code.chars().last() == expected
}

fn is_italian(code: &str) -> bool {
    // The values of digits and letters at odd places.
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let Some((body, check)) = code.split_at_checked(15) else { return false };
    let value = |(at, c): (usize, char)| {
        let plain = c.to_digit(10).unwrap_or_else(|| u32::from(c) - u32::from('A'));
        if at % 2 == 1 { plain } else { ODD.get(plain as usize).copied().unwrap_or_default() }
    };
    let sum: u32 = body.chars().enumerate().map(value).sum();
    let has_month = code.chars().nth(8).is_some_and(|month| "ABCDEHLMPRST".contains(month));
    has_month && check.chars().next().map(u32::from) == Some(u32::from('A') + sum % 26)
}

fn is_spanish(code: &str) -> bool {
    let (body, check) = code.split_at(code.len().saturating_sub(1));
    // The first letter of a foreigner's number stands for a digit.
    let first = body.chars().next().unwrap_or_default();
    let prefix = match first {
        'X' => "0",
        'Y' => "1",
        'Z' => "2",
        _ if first.is_ascii_digit() => "",
        _ => return false,
    };
    let number = format!("{prefix}{}", body.trim_start_matches(['X', 'Y', 'Z']));
    let Ok(number) = number.parse::<u32>() else { return false };
    let expected = "TRWAGMYFPDXBNJZSQVHLCKE".chars().nth((number % 23) as usize);
    check.chars().next() == expected
}

fn is_british(code: &str) -> bool {
    let mut letters = code.chars();
    let (first, second) = (letters.next().unwrap_or_default(), letters.next().unwrap_or_default());
    let prefix = code.get(..2).unwrap_or_default();
    !"DFIQUV".contains(first)
        && !"DFIOQUV".contains(second)
        && !["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"].contains(&prefix)
        && code.ends_with(['A', 'B', 'C', 'D'])
}
