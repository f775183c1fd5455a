//! Personal data: what each detector finds, and what it leaves alone. The numbers are made up; their
//! check digits are right, unless a row says otherwise.

use portcullis_core::mask::{MaskPolicy, Masker, PLACEHOLDER, SecretKind, check_pattern};
use proptest::prelude::*;

const ALL: [SecretKind; 9] = [
    SecretKind::Email,
    SecretKind::PaymentCard,
    SecretKind::Phone,
    SecretKind::Iban,
    SecretKind::NationalId,
    SecretKind::IpAddress,
    SecretKind::MacAddress,
    SecretKind::PersonName,
    SecretKind::PostalAddress,
];

fn masker(kinds: &[SecretKind]) -> Masker {
    Masker::new([7; 32], &MaskPolicy { kinds: kinds.to_vec(), ..MaskPolicy::default() })
}

/// Returns what is found, with the kind of each.
fn found<'t>(kinds: &[SecretKind], text: &'t str) -> Vec<(SecretKind, &'t str)> {
    let secrets = masker(kinds).find_secrets(text);
    secrets.into_iter().map(|secret| (secret.kind, &text[secret.range])).collect()
}

fn check(kind: SecretKind, rows: &[(&str, Option<&str>)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, expected)| {
            let expected: Vec<_> = expected.iter().map(|value| (kind, *value)).collect();
            let found = found(&[kind], text);
            (found != expected).then(|| format!("{text:?}: {found:?}, not {expected:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn telephone_numbers() {
    check(
        SecretKind::Phone,
        &[
            ("call +49 30 901820 today", Some("+49 30 901820")),
            ("+1 (415) 555-2671", Some("+1 (415) 555-2671")),
            ("ring +44-20-7946-0958.", Some("+44-20-7946-0958")),
            ("whatsapp:+5511987654321", Some("+5511987654321")),
            ("\"phone\": \"+33142685300\"", Some("+33142685300")),
            ("(415) 555-2671", Some("(415) 555-2671")),
            ("Tel.: 030 901820-11", Some("030 901820-11")),
            ("Téléphone : 01 42 68 53 00", Some("01 42 68 53 00")),
            ("phone_number = \"415-555-2671\"", Some("415-555-2671")),
            ("phone 415-555-2671 x123", Some("415-555-2671 x123")),
            ("(415) 555-2671 ext. 12", Some("(415) 555-2671 ext. 12")),
            ("mobile 07700 900123", Some("07700 900123")),
            // No word, no country: anything.
            ("415-555-2671", None),
            ("2026-11-28 12:00", None),
            ("1732100000000", None),
            ("x +4930901820", Some("+4930901820")),
            ("a+4930901820", None),
            ("\n+20261128123 added by a patch", None),
            ("+999 1234 5678", None),
            ("+00 1234 5678", None),
            ("call(1234567)", None),
            ("phone 111-111-1111", None),
            ("recall 415-555-2671", None),
            ("tel:\n415-555-2671", None),
            ("offset +1234", None),
        ],
    );
}

#[test]
fn bank_accounts() {
    check(
        SecretKind::Iban,
        &[
            ("DE89370400440532013000", Some("DE89370400440532013000")),
            ("pay to DE89 3704 0044 0532 0130 00 now", Some("DE89 3704 0044 0532 0130 00")),
            ("GB82 WEST 1234 5698 7654 32", Some("GB82 WEST 1234 5698 7654 32")),
            ("iban=fr1420041010050500013m02606;", Some("fr1420041010050500013m02606")),
            ("NO9386011117947", Some("NO9386011117947")),
            ("MT84MALT011000012345MTLCAST001S", Some("MT84MALT011000012345MTLCAST001S")),
            ("DE88370400440532013000", None),
            ("DE893704004405320130001", None),
            ("XX89370400440532013000", None),
            ("commit de89370400440532013000aabbcc", None),
            ("DE89 3704", None),
        ],
    );
}

#[test]
fn national_identifiers() {
    check(
        SecretKind::NationalId,
        &[
            // Belgium, Brazil, Canada, China.
            ("85.07.30-033.28", Some("85.07.30-033.28")),
            ("85.07.30-033.29", None),
            ("CPF 111.444.777-35", Some("111.444.777-35")),
            ("111.444.777-36", None),
            ("cpf: 11144477735", Some("11144477735")),
            ("id 11144477735", None),
            ("SIN 046 454 286", Some("046 454 286")),
            ("046 454 286", None),
            ("11010519491231002X", Some("11010519491231002X")),
            ("110105194912310021", None),
            // Finland, France, Germany, India.
            ("131052-308T", Some("131052-308T")),
            ("131052-308U", None),
            ("1 85 05 78 006 084 91", Some("1 85 05 78 006 084 91")),
            ("1 85 05 78 006 084 92", None),
            ("Steuer-ID: 86095742719", Some("86095742719")),
            ("Steuer-ID: 86095742718", None),
            ("Aadhaar 2341 2341 2346", Some("2341 2341 2346")),
            ("2341 2341 2346", None),
            ("700304-1236671", None),
            ("RRN 700304-1236671", Some("700304-1236671")),
            // Italy, Korea, the Netherlands, Norway.
            ("RSSMRA85T10A562S", Some("RSSMRA85T10A562S")),
            ("RSSMRA85T10A562T", None),
            ("bsn: 111222333", Some("111222333")),
            ("bsn: 111222334", None),
            ("fødselsnummer 01010750160", Some("01010750160")),
            // Poland, Portugal, Spain, Sweden.
            ("pesel 44051401359", Some("44051401359")),
            ("44051401359", None),
            ("NIF 123456789", Some("123456789")),
            ("12345678Z", Some("12345678Z")),
            ("12345678A", None),
            ("X1234567L", Some("X1234567L")),
            ("personnummer 811228-9874", Some("811228-9874")),
            ("personnummer 811228-9873", None),
            ("811228-9874", None),
            // Switzerland, the United Kingdom, the United States.
            ("756.9217.0769.85", Some("756.9217.0769.85")),
            ("756.9217.0769.86", None),
            ("NINO AB123456C", Some("AB123456C")),
            ("AB 12 34 56 C", Some("AB 12 34 56 C")),
            ("AB123456C", None),
            ("ssn: 219-09-9999", Some("219-09-9999")),
            ("000-12-3456", None),
            ("ssn 666-12-3456", None),
            // Other numbers.
            ("1732100000000", None),
            ("v1.2.3-456", None),
            ("20261128-123456", None),
            ("0x12345678Z", None),
        ],
    );
}

#[test]
fn addresses_of_networks_and_devices() {
    check(
        SecretKind::IpAddress,
        &[
            ("from 84.23.101.7 port 22", Some("84.23.101.7")),
            ("84.23.101.7:8080", Some("84.23.101.7")),
            ("2a02:8108:8ac0:207::1", Some("2a02:8108:8ac0:207::1")),
            ("127.0.0.1 10.1.2.3 192.168.1.1 172.16.0.1 169.254.169.254 100.64.0.1", None),
            ("192.0.2.1 198.51.100.2 203.0.113.3 2001:db8::1 ::1 fe80::1 fd00::1", None),
            ("0.0.0.0 255.255.255.255 224.0.0.1 8.8.8.8 1.1.1.1", None),
            ("version 3.0.1.2, 1.2.0.4", None),
            ("84.23.101.256 84.23.101 84.23.101.7.9", None),
            ("12:34:56", None),
        ],
    );
    check(
        SecretKind::MacAddress,
        &[
            ("ether 3c:22:fb:12:9a:04", Some("3c:22:fb:12:9a:04")),
            ("3C-22-FB-12-9A-04", Some("3C-22-FB-12-9A-04")),
            ("00:00:00:00:00:00 ff:ff:ff:ff:ff:ff", None),
            ("3c:22:fb:12:9a", None),
            ("3c:22-fb:12:9a:04", None),
            ("12:34:56:78:9a:bc:de", None),
            ("3c:22:fb:12:9a:0g", None),
        ],
    );
}

#[test]
fn names_and_postal_addresses() {
    check(
        SecretKind::PersonName,
        &[
            ("ask Mr. Ada Byron about it", Some("Ada Byron")),
            ("Frau Prof. Dr. Marie-Luise O'Neil kommt", Some("Marie-Luise O'Neil")),
            ("Dear Ada,", Some("Ada")),
            ("Señora María del Carmen Ruiz llamó", Some("María del Carmen Ruiz")),
            ("\"full_name\": \"Ludwig van Beethoven\"", Some("Ludwig van Beethoven")),
            ("lastName: 'Curie'", Some("Curie")),
            ("patient: Anna Schmidt\n", Some("Anna Schmidt")),
            ("name: \"World\"", None),
            ("first_name: String", None),
            ("let last_name = Name::new();", None),
            ("firstName = Option::None", None),
            ("last_name: &'a str", None),
            ("Dear Customer Service team", None),
            ("dear Ada,", None),
            ("the doctor and Mr.", None),
            ("Dr.", None),
        ],
    );
    check(
        SecretKind::PostalAddress,
        &[
            ("at 221 Baker Street, London", Some("221 Baker Street")),
            ("1600 Pennsylvania Avenue", Some("1600 Pennsylvania Avenue")),
            ("12a Old Mill Rd.", Some("12a Old Mill Rd.")),
            ("350 5th Ave", Some("350 5th Ave")),
            ("Musterstraße 12, 10115 Berlin", Some("Musterstraße 12")),
            ("Hauptstr. 5a", Some("Hauptstr. 5a")),
            ("12 rue de la Paix, Paris", Some("12 rue de la Paix")),
            ("Calle Mayor 14", Some("Calle Mayor 14")),
            ("Via Roma, 10", Some("Via Roma, 10")),
            ("Kalverstraat 92", Some("Kalverstraat 92")),
            ("104 Mill Road Suite 75", Some("104 Mill Road Suite 75")),
            ("Calle Mayor 14, Piso 2 Puerta 5", Some("Calle Mayor 14, Piso 2 Puerta 5")),
            ("step 3 Run tests Way", None),
            ("2 Way Binding", None),
            ("the street 12", None),
            ("take 5 Steps", None),
            ("Fortschritt 12", None),
        ],
    );
}

#[test]
fn code_and_its_output_are_left_alone() {
    for text in [
        "fn main() { println!(\"{}\", 1234567890123456); }",
        "const MASK: u64 = 0x1234_5678_9abc_def0;",
        "index 83db48f..bf2f4a1 100644",
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "2026-11-28T12:00:00.123456Z INFO request took 123.456 ms",
        "test result: ok. 630 passed; 0 failed; 0 ignored; finished in 399.57s",
        "+1,234,567 bytes\n-1,234,567 bytes",
        "rgba(123, 45, 67, 0.89) 12px 34px",
        "npm ERR! code ELIFECYCLE 1 2 3 4 5 6 7 8 9",
        "GET /v2/12345678/items?page=2&size=100 HTTP/1.1",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
        "for i in 1..=15 { call(i) }",
        "port 5432, pid 1234567, uid 1000",
        "0000 0001 0010 0011 0100 0101",
        "Cargo.lock: version = \"0.1.23\"",
        "struct Patient { full_name: FullName, phone: Option<Phone> }",
        "matrix: [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]",
    ] {
        assert_eq!(found(&ALL, text), [], "{text}");
    }
}

#[test]
fn unlinked_kinds_and_own_patterns() {
    let policy = MaskPolicy {
        kinds: vec![SecretKind::Email, SecretKind::Phone],
        unlinked: vec![SecretKind::Phone],
        patterns: vec!["\\bEMP-[0-9]{6}\\b".into()],
    };
    let masker = Masker::new([7; 32], &policy);
    let text =
        "a@example.org b@example.org +49 30 901820 +49 30 901821 EMP-123456 EMP-123457 EMP-12";
    let masked = masker.mask_text(text);
    let placeholders: Vec<&str> =
        masked.split(' ').filter(|word| word.starts_with(PLACEHOLDER)).collect();
    let [first, second, third, fourth, fifth, sixth] = placeholders.as_slice() else {
        panic!("{masked}");
    };
    assert!(first != second && fifth != sixth, "{masked}");
    assert_eq!((third, *third), (fourth, "<secret:phone:00000000>"), "{masked}");
    assert!(fifth.contains("custom") && masked.ends_with("EMP-12"), "{masked}");
}

#[test]
fn a_pattern_is_checked() {
    for pattern in ["EMP-[0-9]{6}", "(?i)\\bk[0-9]+\\b"] {
        assert_eq!(check_pattern(pattern), Ok(()), "{pattern}");
    }
    for (pattern, expected) in [
        ("(", "is no regular expression"),
        ("(?=a)", "is no regular expression"),
        ("(a)\\1", "is no regular expression"),
        ("a*", "matches an empty text"),
        ("", "matches an empty text"),
        (&"a".repeat(257), "has more than 256 bytes"),
        ("[a-z]{1,1000}{1,1000}", "is no regular expression"),
    ] {
        let error = check_pattern(pattern).unwrap_err();
        assert!(error.starts_with(expected), "{pattern}: {error}");
    }
}

proptest! {
    /// Nothing breaks a detector, and each value found is masked.
    #[test]
    fn any_text_is_searched(text in "[-+ .:/()@0-9A-Za-zé,'\"\n]{0,80}") {
        let masker = masker(&ALL);
        let masked = masker.mask_text(&text);
        for secret in masker.find_secrets(&text) {
            prop_assert!(!secret.range.is_empty());
            let value = &text[secret.range];
            prop_assert!(value.len() < 5 || !masked.contains(value), "{masked} holds {value}");
        }
    }
}
