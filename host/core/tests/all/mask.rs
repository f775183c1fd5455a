//! Masking: the values that are found, those that are left alone, and that edits cannot move a
//! secret.

use portcullis_core::finding::{Change, Edit, Rewrite};
use portcullis_core::mask::{MaskPolicy, Masker, PLACEHOLDER, SecretKind};
use portcullis_core::rewrite::apply_rewrite;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const KINDS: [SecretKind; 2] = [SecretKind::Email, SecretKind::PaymentCard];

fn masker() -> Masker {
    Masker::new([7; 32], &MaskPolicy { kinds: KINDS.to_vec(), ..MaskPolicy::default() })
}

/// Makes up a token, so that scanners of this repository do not mistake it for a real one.
fn token(prefix: &str, length: usize) -> String {
    prefix.chars().chain("a1B2c3D4".chars().cycle().take(length)).collect()
}

#[test]
fn secrets_are_found() {
    let cases: Vec<(String, SecretKind)> = vec![
        (format!("curl -H 'X: {}'", token("ghp_", 36)), SecretKind::Token),
        (format!("export AWS={}", token("AKIA", 16)), SecretKind::Token),
        (format!("key {}", token("sk-ant-api03-", 40)), SecretKind::Token),
        ("DB_PASSWORD=hunter2x make".into(), SecretKind::Password),
        ("tool --token abcdef123456".into(), SecretKind::Password),
        (r#"{"apiKey": "abcdefghijklmnop"}"#.into(), SecretKind::Password),
        ("api_key = \"YOUR_4PI_KEY\"".into(), SecretKind::Password),
        ("client_secret: 'p4ssw0rd!'".into(), SecretKind::Password),
        ("curl -H 'Authorization: Bearer abcDEF1234567890'".into(), SecretKind::Credential),
        ("git clone https://me:s3cret@example.com/x".into(), SecretKind::Credential),
        (format!("{}.{}.sig", token("eyJ", 20), token("eyJ", 20)), SecretKind::Jwt),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----".into(),
            SecretKind::PrivateKey,
        ),
        ("mail ada@example.org now".into(), SecretKind::Email),
        ("card 4111 1111 1111 1111".into(), SecretKind::PaymentCard),
    ];
    for (text, kind) in cases {
        let found = masker().find_secrets(&text);
        assert_eq!(found.iter().map(|secret| secret.kind).collect::<Vec<_>>(), [kind], "{text}");
        let masked = masker().mask_text(&text);
        assert!(masked.contains(&format!("{PLACEHOLDER}{kind}:")), "{masked}");
        let value = &text[found[0].range.clone()];
        assert!(!masked.contains(value), "{masked} still holds {value}");
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "git clone git@github.com:rust-lang/rust.git",
        "password=$DB_PASSWORD ./run",
        "let token = parser.next_token();",
        "the password is asked for",
        "--token \"$TOKEN\"",
        "https://example.com:8080/path?x=1",
        "secret_name: my-secret",
        "sk-learn and skimage",
        "1732100000000 ms",
        "cargo test -- --nocapture token",
        "AKIAfoo",
        "api_key = \"YOUR_API_KEY\"",
        "{\"token\": \"insert-your-token\"}",
        "password: 'replace_me_please'",
    ] {
        assert!(
            masker().find_secrets(text).is_empty(),
            "{text}: {:?}",
            masker().find_secrets(text)
        );
    }
}

#[test]
fn placeholders_are_stable_and_keyed() {
    let text = "DB_PASSWORD=hunter2x";
    assert_eq!(masker().mask_text(text), masker().mask_text(text));
    assert_ne!(
        masker().mask_text(text),
        Masker::new([8; 32], &MaskPolicy::default()).mask_text(text)
    );
    assert_eq!(masker().mask_text(text).len(), "DB_PASSWORD=<secret:password:12345678>".len());
}

#[test]
fn a_value_is_masked_wherever_it_occurs() {
    let mask = masker().build_mask(&["PASSWORD=hunter2x ./login"]);
    assert!(!mask.apply_to("the word hunter2x alone").contains("hunter2x"));
}

fn input(command: &str) -> Map<String, Value> {
    json!({ "command": command, "timeout": 5, "run_in_background": false })
        .as_object()
        .cloned()
        .unwrap()
}

fn splice(start: usize, end: usize, text: &str) -> Edit {
    Edit {
        parameter: "command".into(),
        change: Change::Splice { start: start as u32, end: end as u32, text: text.into() },
    }
}

#[test]
fn an_edit_keeps_the_secret_beside_it() {
    let input = input("TOKEN=abc123def456 git push --force");
    let mask = masker().build_mask(&["TOKEN=abc123def456 git push --force"]);
    let shown = mask.apply_to("TOKEN=abc123def456 git push --force");
    let at = shown.find("--force").unwrap();
    let rewrite = Rewrite {
        edits: vec![splice(at, at + 7, "--force-with-lease")],
        explanation: String::new(),
    };
    let output = apply_rewrite(&rewrite, &input, &mask).unwrap();
    assert_eq!(output["command"], "TOKEN=abc123def456 git push --force-with-lease");
    assert_eq!(output["timeout"], 5);
}

#[test]
fn edits_that_cannot_be_are_refused() {
    let text = "TOKEN=abc123def456 git push";
    let mask = masker().build_mask(&[text]);
    let shown = mask.apply_to(text);
    let secret = shown.find(PLACEHOLDER).unwrap();
    let set = |parameter: &str, change: Change| Edit { parameter: parameter.into(), change };
    let cases: Vec<(&str, Vec<Edit>)> = vec![
        ("changes nothing", vec![]),
        ("changes nothing", vec![set("command", Change::SetText(text.into()))]),
        ("does not exist", vec![set("commnd", Change::SetText("x".into()))]),
        ("another type", vec![set("command", Change::SetInteger(1))]),
        ("another type", vec![set("timeout", Change::SetText("x".into()))]),
        ("holds the placeholder", vec![set("command", Change::SetText(shown.clone()))]),
        ("holds the placeholder", vec![splice(0, 1, "<secret:token:00000000>")]),
        ("touches a masked value", vec![splice(secret, secret + 4, "x")]),
        ("touches a masked value", vec![splice(secret + 3, secret + 3, "x")]),
        ("touches a masked value", vec![splice(0, shown.len(), "x")]),
        ("outside its text", vec![splice(0, shown.len() + 1, "x")]),
        ("outside its text", vec![splice(5, 2, "x")]),
        ("overlap", vec![splice(0, 3, "x"), splice(2, 4, "y")]),
        (
            "both replaced and edited",
            vec![splice(0, 3, "x"), set("command", Change::SetText("y".into()))],
        ),
        (
            "is not text",
            vec![
                Edit {
                    parameter: "timeout".into(),
                    change: Change::Splice { start: 0, end: 1, text: String::new() },
                },
                Edit {
                    parameter: "timeout".into(),
                    change: Change::Splice { start: 1, end: 1, text: String::new() },
                },
            ],
        ),
    ];
    for (expected, edits) in cases {
        let problem = apply_rewrite(
            &Rewrite { edits: edits.clone(), explanation: String::new() },
            &input(text),
            &mask,
        )
        .unwrap_err();
        assert!(problem.contains(expected), "{edits:?}: {problem}");
    }
}

proptest! {
    #[test]
    fn masking_never_panics_and_hides_what_it_finds(text in "\\PC{0,80}(password=|ghp_|://|@|bearer |eyJ|-----BEGIN )?\\PC{0,80}") {
        let masker = masker();
        let found = masker.find_secrets(&text);
        for pair in found.windows(2) {
            prop_assert!(pair[0].range.end <= pair[1].range.start);
        }
        let mask = masker.build_mask(&[&text]);
        let traced = mask.trace_text(&text);
        for place in &traced.places {
            prop_assert!(traced.text[place.masked.clone()].starts_with(PLACEHOLDER));
        }
    }
}
