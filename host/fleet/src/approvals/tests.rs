//! Rows of answers that count, and of those that do not.

use super::*;

const NOW: u64 = 1_000_000_000;

fn key(seed: u8) -> SecretKey {
    SecretKey::of_seed(&[seed; 32])
}

fn rules_text(approvers: &[(&str, u8, &[&str])]) -> String {
    let mut text =
        "role = \"oncall\"\n[[escalation]]\nafter_seconds = 60\nrole = \"lead\"\n".to_owned();
    for (name, seed, roles) in approvers {
        let pem = key(*seed).public().to_pem().unwrap();
        text.push_str(&format!(
            "[[approver]]\nname = \"{name}\"\nkey = \"\"\"\n{pem}\"\"\"\nroles = {roles:?}\n"
        ));
    }
    text
}

fn rules() -> ApprovalRules {
    let approvers: [(&str, u8, &[&str]); 3] =
        [("ann", 1, &["oncall"]), ("bob", 2, &["lead"]), ("eve", 3, &["viewer"])];
    ApprovalRules::parse_rules(&rules_text(&approvers)).unwrap()
}

fn question() -> FleetQuestion {
    FleetQuestion {
        machine: "m-1".into(),
        question: "q1".into(),
        digest: "d".into(),
        asked_at: NOW,
        expires_at: NOW + 240_000,
        role: "oncall".into(),
        asked: serde_json::json!({ "tool": "Bash", "summary": "crontab -r" }),
    }
}

fn answer() -> FleetAnswer {
    FleetAnswer {
        machine: "m-1".into(),
        question: "q1".into(),
        digest: digest_question(&question().to_text()),
        allows: true,
        words: "fine".into(),
        at: NOW + 1000,
    }
}

#[test]
fn an_answer_counts_only_from_an_approver_for_exactly_this_question_in_time() {
    type Change = fn(&mut FleetAnswer);
    let rows: &[(&str, u8, u64, Change, &str)] = &[
        ("as asked", 1, 1000, |_| {}, ""),
        ("denied", 1, 1000, |answer| answer.allows = false, ""),
        ("unlisted", 9, 1000, |_| {}, "none of the approvers"),
        ("another role", 3, 1000, |_| {}, "none of the roles"),
        ("before the escalation", 2, 59_000, |_| {}, "none of the roles"),
        ("after the escalation", 2, 60_000, |answer| answer.at = NOW + 60_000, ""),
        ("another machine", 1, 1000, |answer| answer.machine = "m-2".into(), "another machine"),
        ("another question", 1, 1000, |answer| answer.question = "q2".into(), "another question"),
        ("another action", 1, 1000, |answer| answer.digest = "x".into(), "another action"),
        ("too late", 1, 240_000, |_| {}, "another time"),
        ("long before", 1, 1000, |answer| answer.at = NOW - SKEW - 1, "another time"),
        ("in the future", 1, 1000, |answer| answer.at = NOW + SKEW + 1001, "another time"),
        ("long words", 1, 1000, |answer| answer.words = "x".repeat(513), "too long"),
    ];
    let text = question().to_text();
    for (name, seed, later, change, said) in rows {
        let mut answer = answer();
        change(&mut answer);
        let signed = ApproverSigned::sign_answer(&answer, &key(*seed)).unwrap();
        let found = verify_answer(&signed, &rules(), &text, NOW + later);
        match found {
            Ok(found) => assert!(said.is_empty() && found.answer == answer, "{name}"),
            Err(error) => {
                let shown = error.to_string();
                assert!(!said.is_empty() && shown.contains(said), "{name}: {shown}");
            }
        }
    }
}

#[test]
fn a_changed_answer_is_not_the_approvers() {
    let signed = ApproverSigned::sign_answer(&answer(), &key(1)).unwrap();
    let text = question().to_text();
    let undomained = key(1).sign_bytes(signed.text.as_bytes());
    let request = ApproverRequest { hub: "https://hub.example".into(), at: NOW };
    let request = ApproverSigned::sign_request(&request, &key(1)).unwrap();
    let rows = [
        (
            "altered words",
            ApproverSigned { text: signed.text.replace("fine", "do"), ..signed.clone() },
        ),
        ("a denial made to allow", {
            let denial = FleetAnswer { allows: false, ..answer() };
            let signed = ApproverSigned::sign_answer(&denial, &key(1)).unwrap();
            ApproverSigned { text: signed.text.replace("false", "true"), ..signed }
        }),
        (
            "signed by somebody else",
            ApproverSigned {
                key: key(1).public().id().unwrap(),
                ..ApproverSigned::sign_answer(&answer(), &key(2)).unwrap()
            },
        ),
        (
            "without the domain",
            ApproverSigned {
                signature: data_encoding::BASE64.encode(&undomained),
                ..signed.clone()
            },
        ),
        (
            "a request's signature",
            ApproverSigned { signature: request.signature, ..signed.clone() },
        ),
        ("no signature", ApproverSigned { signature: String::new(), ..signed.clone() }),
    ];
    for (name, signed) in rows {
        let found = verify_answer(&signed, &rules(), &text, NOW + 1000);
        assert!(matches!(found, Err(AnswerError::Signature)), "{name}: {found:?}");
    }
    // A hub that shows another action gets a signature that counts for nothing.
    let mut shown = question();
    shown.asked = serde_json::json!({ "tool": "Bash", "summary": "ls" });
    let tricked = FleetAnswer { digest: digest_question(&shown.to_text()), ..answer() };
    let tricked = ApproverSigned::sign_answer(&tricked, &key(1)).unwrap();
    let found = verify_answer(&tricked, &rules(), &text, NOW + 1000);
    assert!(matches!(found, Err(AnswerError::Foreign("action"))), "{found:?}");
}

#[test]
fn rules_name_each_person_once_and_somebody_for_each_role() {
    let (oncall, lead): (&[&str], &[&str]) = (&["oncall"], &["lead"]);
    type Approver<'a> = (&'a str, u8, &'a [&'a str]);
    let rows: [(&str, Vec<Approver<'_>>, &str); 6] = [
        ("complete", vec![("ann", 1, oncall), ("bob", 2, lead)], ""),
        ("nobody for a role", vec![("ann", 1, oncall)], "no approver has the role `lead`"),
        ("a name twice", vec![("ann", 1, oncall), ("ann", 2, lead)], "have the name `ann`"),
        ("a key twice", vec![("ann", 1, oncall), ("bob", 1, lead)], "another approver's too"),
        ("no name", vec![("", 1, oncall), ("bob", 2, lead)], "1 to 64"),
        ("nobody", Vec::new(), "not understood"),
    ];
    for (name, approvers, said) in rows {
        let found = ApprovalRules::parse_rules(&rules_text(&approvers));
        let shown = found.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(shown.is_empty(), said.is_empty(), "{name}: {shown}");
        assert!(shown.contains(said), "{name}: {shown}");
    }
    let text = "role = \"a\"\nextra = 1\napprover = []\n";
    assert!(ApprovalRules::parse_rules(text).is_err());
}

const DOMAIN: &[u8] = PASSKEY_DOMAIN;
const PAGE: &str = "https://hub.example:8444";

/// The parts of an assertion: a device signs some, and a browser adds the others.
struct Signing {
    client_data: serde_json::Value,
    name: String,
    flags: u8,
    more: Vec<u8>,
    seed: u8,
}

fn passkey(seed: u8, synced: bool) -> OrderedPasskey {
    let key = key(seed).public().to_pem().unwrap();
    OrderedPasskey { credential: "AQID".into(), key, synced }
}

#[test]
fn a_passkey_counts_for_one_text_on_one_page_after_its_user_was_verified() {
    type Change = fn(&mut Signing);
    let rows: &[(&str, Change, Option<PasskeyError>)] = &[
        ("as asked", |_| {}, None),
        ("a counter", |signing| signing.more = vec![0, 0, 0, 9], None),
        ("more of the browser", |signing| signing.client_data["new"] = "x".into(), None),
        ("no other site", |signing| signing.client_data["crossOrigin"] = false.into(), None),
        (
            "another text",
            |signing| signing.client_data["challenge"] = challenge_of(DOMAIN, "other").into(),
            Some(PasskeyError::OtherText),
        ),
        (
            "the text of another use",
            |signing| signing.client_data["challenge"] = challenge_of(b"x", "text").into(),
            Some(PasskeyError::OtherText),
        ),
        (
            "a padded challenge",
            |signing| {
                let padded = format!("{}=", challenge_of(DOMAIN, "text"));
                signing.client_data["challenge"] = padded.into();
            },
            Some(PasskeyError::OtherText),
        ),
        (
            "another page",
            |signing| signing.client_data["origin"] = "https://evil.example".into(),
            Some(PasskeyError::OtherPage),
        ),
        (
            "another port",
            |signing| signing.client_data["origin"] = "https://hub.example".into(),
            Some(PasskeyError::OtherPage),
        ),
        (
            "in a frame of another site",
            |signing| signing.client_data["crossOrigin"] = true.into(),
            Some(PasskeyError::OtherPage),
        ),
        (
            "below another page",
            |signing| signing.client_data["topOrigin"] = PAGE.into(),
            Some(PasskeyError::OtherPage),
        ),
        (
            "a making",
            |signing| signing.client_data["type"] = "webauthn.create".into(),
            Some(PasskeyError::OtherUse),
        ),
        (
            "a payment",
            |signing| signing.client_data["type"] = "payment.get".into(),
            Some(PasskeyError::OtherUse),
        ),
        (
            "for another name",
            |signing| signing.name = "evil.example".into(),
            Some(PasskeyError::OtherPage),
        ),
        ("nobody present", |signing| signing.flags = 0x04, Some(PasskeyError::Unverified)),
        ("nobody verified", |signing| signing.flags = 0x01, Some(PasskeyError::Unverified)),
        ("synced by now", |signing| signing.flags = 0x0d, Some(PasskeyError::OtherSync)),
        ("copied but not to be", |signing| signing.flags = 0x15, Some(PasskeyError::Malformed)),
        ("with a new credential", |signing| signing.flags = 0x45, Some(PasskeyError::Malformed)),
        ("with bytes behind", |signing| signing.more = vec![0; 5], Some(PasskeyError::Malformed)),
        ("without a counter", |signing| signing.more.clear(), Some(PasskeyError::Malformed)),
        ("of another key", |signing| signing.seed = 2, Some(PasskeyError::Signature)),
    ];
    let page = PasskeyPage::parse_origin(PAGE).unwrap();
    for (name, change, expected) in rows {
        let mut signing = Signing {
            client_data: serde_json::json!({
                "type": "webauthn.get", "challenge": challenge_of(DOMAIN, "text"), "origin": PAGE,
            }),
            name: "hub.example".into(),
            flags: 0x05,
            more: vec![0; 4],
            seed: 1,
        };
        change(&mut signing);
        let (assertion, signature) = sign_with_device(&signing);
        let found =
            passkey(1, false).verify_assertion(&assertion, &signature, &page, DOMAIN, "text");
        assert_eq!(found.err(), *expected, "{name}");
    }
}

fn sign_with_device(signing: &Signing) -> (PasskeyAssertion, String) {
    use data_encoding::BASE64;
    use sha2::{Digest as _, Sha256};
    let client_data = signing.client_data.to_string();
    let name = Sha256::digest(signing.name.as_bytes());
    let data = [name.as_slice(), &[signing.flags], &signing.more].concat();
    let signed = [data.as_slice(), &Sha256::digest(client_data.as_bytes())].concat();
    let assertion = PasskeyAssertion {
        client_data: BASE64.encode(client_data.as_bytes()),
        authenticator_data: BASE64.encode(&data),
    };
    (assertion, BASE64.encode(&key(signing.seed).sign_bytes(&signed)))
}

fn by_passkey(text: String, seed: u8) -> ApproverSigned {
    let (assertion, signature) = sign_with_device(&Signing {
        client_data: serde_json::json!({
            "type": "webauthn.get", "challenge": challenge_of(DOMAIN, &text), "origin": PAGE,
        }),
        name: "hub.example".into(),
        flags: 0x05,
        more: vec![0; 4],
        seed,
    });
    let key = key(seed).public().id().unwrap();
    ApproverSigned { text, key, signature, passkey: Some(assertion) }
}

#[test]
fn a_passkey_answers_as_a_key_does_and_neither_passes_for_the_other() {
    let pem = key(5).public().to_pem().unwrap();
    let text = format!(
        "role = \"oncall\"\npage = \"{PAGE}\"\n[[approver]]\nname = \"zoe\"\nroles = \
         [\"oncall\"]\n[[approver.passkey]]\ncredential = \"AQID\"\nsynced = false\nkey = \
         \"\"\"\n{pem}\"\"\"\n[[approver]]\nname = \"ann\"\nroles = [\"oncall\"]\nkey = \
         \"\"\"\n{}\"\"\"\n",
        key(1).public().to_pem().unwrap()
    );
    let rules = ApprovalRules::parse_rules(&text).unwrap();
    let shown = question().to_text();
    let verify = |signed: &ApproverSigned| verify_answer(signed, &rules, &shown, NOW + 1000);
    let found = verify(&by_passkey(answer().to_text(), 5)).unwrap();
    assert_eq!((found.name.as_str(), found.key_sort), ("zoe", "passkey"));
    let plain = ApproverSigned::sign_answer(&answer(), &key(1)).unwrap();
    assert_eq!(verify(&plain).unwrap().key_sort, "key");
    let good = by_passkey(answer().to_text(), 5);
    for (name, signed) in [
        (
            "a key's signature by a passkey",
            ApproverSigned::sign_answer(&answer(), &key(5)).unwrap(),
        ),
        ("a passkey's signature by a key", by_passkey(answer().to_text(), 1)),
        ("an unlisted passkey", by_passkey(answer().to_text(), 6)),
        ("altered", ApproverSigned { text: good.text.replace("fine", "rush"), ..good.clone() }),
        (
            "another verdict",
            ApproverSigned { text: good.text.replace("true", "false"), ..good.clone() },
        ),
        ("without the device's part", ApproverSigned { passkey: None, ..good.clone() }),
    ] {
        assert!(verify(&signed).is_err(), "{name}");
    }
    let request = ApproverRequest { hub: "https://hub.example".into(), at: NOW };
    let request = ApproverSigned::sign_request(&request, &key(5)).unwrap();
    let (_, zoe) = rules.find_approver(&request.key).unwrap();
    assert!(matches!(request.verify_request(&zoe), Err(AnswerError::Signature)));
    for (name, changed) in [
        ("no page", text.replace(&format!("page = \"{PAGE}\"\n"), "")),
        ("no usual page", text.replace(PAGE, "https://hub.example/")),
        ("without TLS", text.replace(PAGE, "http://hub.example")),
        ("no credential", text.replace("AQID", "A=")),
        ("a key twice", text.replace(&key(1).public().to_pem().unwrap(), &pem)),
        ("nothing", text.replace("[[approver.passkey]]", "[[escalation]]")),
    ] {
        assert!(ApprovalRules::parse_rules(&changed).is_err(), "{name}");
    }
}

#[test]
fn a_page_has_the_form_that_browsers_name() {
    for (origin, name) in [
        ("https://hub.example", Some("hub.example")),
        ("https://hub.example:8444", Some("hub.example")),
        ("http://hub.localhost:8444", Some("hub.localhost")),
        ("http://localhost:1", Some("localhost")),
        ("http://hub.example", None),
        ("https://hub.example/", None),
        ("https://hub.example:", None),
        ("https://hub.example:08", None),
        ("https://Hub.example", None),
        ("https://a@hub.example", None),
        ("https://hub..example", None),
        ("https://127.0.0.1", None),
        ("https://[::1]", None),
        ("https://", None),
        ("ftp://hub.example", None),
        ("http://localhost.evil", None),
    ] {
        let found = PasskeyPage::parse_origin(origin).ok();
        assert_eq!(found.as_ref().map(PasskeyPage::name), name, "{origin}");
    }
}
