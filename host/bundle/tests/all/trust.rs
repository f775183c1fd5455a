//! Tests of trust policies.

use crate::sample::{DAY, NOW, bundle, key, made, parts, signed, vetted};
use portcullis_bundle::{Bundle, CandidateBundle, Judgement, Signature, TrustPolicy};
use semver::Version;

fn public(number: u8, name: &str) -> String {
    format!(
        "[[key]]\nname = \"{name}\"\npublic = \"\"\"\n{}\"\"\"\n",
        key(number).public().to_pem().unwrap()
    )
}

/// Returns a policy in which key 1 publishes, key 2 vets, and key 3 does neither.
fn policy(rules: &str) -> String {
    [public(1, "release"), public(2, "security"), public(3, "other"), rules.to_owned()].concat()
}

const RULE: &str =
    "[[rule]]\nnames = [\"acme/\"]\npublishers = [\"release\"]\ngrants = [\"hosts\"]\n";
const VETTED: &str = "[[rule]]\nnames = [\"acme/\"]\npublishers = [\"release\"]\nvetters = [\"security\", \"release\"]\nvetting_days = 30\ngrants = [\"hosts\"]\n";

fn judged(
    policy: &str,
    bundle: &Bundle,
    signatures: &[Signature],
    from: Option<&str>,
    installed: Option<&str>,
) -> Judgement {
    let installed = installed.map(|version| version.parse::<Version>().unwrap());
    let subject = CandidateBundle {
        index: bundle.index(),
        signatures,
        from,
        installed: installed.as_ref(),
        now: NOW,
    };
    TrustPolicy::parse_policy(policy).unwrap().judge_bundle(&subject)
}

/// Returns why it is not trusted; empty if it is.
pub(crate) fn missed(judgement: &Judgement) -> Vec<String> {
    let missed = judgement
        .requirements
        .iter()
        .filter_map(|one| one.met.as_ref().err().map(|why| format!("{}: {why}", one.what)));
    let missed: Vec<String> = missed.collect();
    assert_eq!(missed.is_empty(), judgement.is_trusted());
    missed
}

#[test]
fn a_bundle_is_trusted_for_reasons() {
    let bundle = bundle();
    let other = {
        let (mut about, bytes) = parts();
        about.version = "1.3.0".parse().unwrap();
        made(about, &bytes)
    };
    let (ours, sound) = (signed(&bundle, &key(1), None), vetted(&bundle, &key(2), NOW - DAY));
    let digest = bundle.about().components[1].digest;
    let exact = format!(
        "{RULE}[[rule]]\nnames = [\"acme/checks\"]\npublishers = [\"other\"]\ngrants = [\"hosts\"]\n"
    );
    type Row<'a> =
        (&'a str, String, Vec<Signature>, Option<&'a str>, Option<&'a str>, &'a [&'a str]);
    let one = |signature: &Signature| vec![signature.clone()];
    let both = || vec![ours.clone(), sound.clone()];
    let rows: Vec<Row<'_>> = vec![
        ("signed", RULE.into(), one(&ours), None, None, &[]),
        ("vetted too", VETTED.into(), both(), None, None, &[]),
        (
            "no rule at all",
            String::new(),
            one(&ours),
            None,
            None,
            &["a rule for `acme/checks`: there is none"],
        ),
        (
            "a rule for a name that begins alike",
            RULE.replace("acme/", "acm/"),
            one(&ours),
            None,
            None,
            &["a rule for `acme/checks`"],
        ),
        (
            "the most exact rule",
            exact.clone(),
            one(&ours),
            None,
            None,
            &["signed by `other`: none of them made a statement"],
        ),
        ("the most exact rule, met", exact, one(&signed(&bundle, &key(3), None)), None, None, &[]),
        (
            "not signed",
            RULE.into(),
            vec![],
            None,
            None,
            &["signed by `release`: none of them made a statement"],
        ),
        (
            "signed by another",
            RULE.into(),
            one(&signed(&bundle, &key(3), None)),
            None,
            None,
            &["signed by `release`"],
        ),
        (
            "signed by a key of nobody",
            RULE.into(),
            one(&signed(&bundle, &key(9), None)),
            None,
            None,
            &["signed by `release`"],
        ),
        (
            "a signature of another version",
            RULE.into(),
            one(&signed(&other, &key(1), None)),
            None,
            None,
            &["about this bundle"],
        ),
        (
            "expired",
            RULE.into(),
            one(&signed(&bundle, &key(1), Some(NOW))),
            None,
            None,
            &["has expired"],
        ),
        (
            "not yet expired",
            RULE.into(),
            one(&signed(&bundle, &key(1), Some(NOW + 1))),
            None,
            None,
            &[],
        ),
        (
            "a vetting is not a signature",
            RULE.into(),
            one(&vetted(&bundle, &key(1), NOW)),
            None,
            None,
            &["signed by `release`"],
        ),
        (
            "not vetted",
            VETTED.into(),
            one(&ours),
            None,
            None,
            &["vetted by `security` or `release` in the last 30 days"],
        ),
        (
            "vetted by its publisher",
            VETTED.into(),
            vec![ours.clone(), vetted(&bundle, &key(1), NOW - 2 * DAY)],
            None,
            None,
            &["vetted only with the signing key"],
        ),
        (
            "vetted long ago",
            VETTED.into(),
            vec![ours.clone(), vetted(&bundle, &key(2), NOW - 31 * DAY)],
            None,
            None,
            &["vetted 31 days ago"],
        ),
        (
            "vetted tomorrow",
            VETTED.into(),
            vec![ours.clone(), vetted(&bundle, &key(2), NOW + DAY)],
            None,
            None,
            &["the statement is dated in the future"],
        ),
        (
            "from elsewhere",
            RULE.to_owned() + "registries = [\"ghcr.io/acme/\"]\n",
            one(&ours),
            Some("evil.example/acme/checks"),
            None,
            &["from `ghcr.io/acme/`: it is from evil.example/acme/checks"],
        ),
        (
            "from where it may",
            RULE.to_owned() + "registries = [\"ghcr.io/acme/\"]\n",
            one(&ours),
            Some("ghcr.io/acme/checks"),
            None,
            &[],
        ),
        (
            "from the one repository",
            RULE.to_owned() + "registries = [\"ghcr.io/acme/checks/\"]\n",
            one(&ours),
            Some("ghcr.io/acme/checks"),
            None,
            &[],
        ),
        (
            "from one that begins alike",
            RULE.to_owned() + "registries = [\"ghcr.io/acme/check/\"]\n",
            one(&ours),
            Some("ghcr.io/acme/checks"),
            None,
            &["from `ghcr.io/acme/check/`"],
        ),
        (
            "asks for more",
            RULE.replace("\"hosts\"", "\"clocks\""),
            one(&ours),
            None,
            None,
            &["asks for no grant but clocks: it asks for `hosts"],
        ),
        (
            "older",
            RULE.into(),
            one(&ours),
            None,
            Some("1.2.1"),
            &["no version before the installed 1.2.1: it is 1.2.0"],
        ),
        ("the same", RULE.into(), one(&ours), None, Some("1.2.0"), &[]),
        (
            "a revoked component",
            format!("{RULE}[revoked]\ndigests = [\"{digest}\"]\n"),
            one(&ours),
            None,
            None,
            &["revocation: sha256:"],
        ),
        (
            "a revoked bundle",
            format!("{RULE}[revoked]\ndigests = [\"{}\"]\n", bundle.index().digest()),
            one(&ours),
            None,
            None,
            &["revocation: sha256:"],
        ),
        (
            "a revoked key",
            format!("{RULE}[revoked]\nkeys = [\"release\"]\n"),
            one(&ours),
            None,
            None,
            &["signed by `release`: none of them made a statement"],
        ),
    ];
    let rows = rows.into_iter().chain([
        // A key under another name is still the same key.
        (
            "a revoked key with two names",
            format!("{}{RULE}[revoked]\nkeys = [\"twin\"]\n", public(1, "twin")),
            one(&ours),
            None,
            None,
            &["signed by `release`: none of them made a statement"][..],
        ),
    ]);
    for (name, rules, signatures, from, installed, expected) in rows {
        let found = missed(&judged(&policy(&rules), &bundle, &signatures, from, installed));
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{name}: `{expected}` is not in `{found}`");
        }
    }
}

/// A cached judgement needs to know its expiry, to the millisecond.
#[test]
fn a_judgement_says_until_when_it_holds() {
    let bundle = bundle();
    let ours = |until| signed(&bundle, &key(1), until);
    let sound = vetted(&bundle, &key(2), NOW - DAY);
    let rows: [(&str, &str, Vec<Signature>, Option<u64>); 4] = [
        ("nothing ends", RULE, vec![ours(None)], None),
        ("the signature ends", RULE, vec![ours(Some(NOW + 5))], Some(NOW + 5)),
        (
            "the vetting grows old",
            VETTED,
            vec![ours(None), sound.clone()],
            Some(NOW + 29 * DAY + 1),
        ),
        ("what ends first counts", VETTED, vec![ours(Some(NOW + DAY)), sound], Some(NOW + DAY)),
    ];
    for (name, rules, signatures, expected) in rows {
        let trust = TrustPolicy::parse_policy(&policy(rules)).unwrap();
        let at = |now| {
            trust.judge_bundle(&CandidateBundle {
                index: bundle.index(),
                signatures: &signatures,
                from: None,
                installed: None,
                now,
            })
        };
        assert_eq!(at(NOW).until, expected, "{name}");
        let Some(until) = expected else { continue };
        assert!(at(until - 1).is_trusted() && !at(until).is_trusted(), "{name}");
    }
}

/// Both of two policies have to be met: one may refuse what the other allows.
#[test]
fn no_policy_weakens_another() {
    let bundle = bundle();
    let signatures = [signed(&bundle, &key(1), None)];
    let (wide, strict) = (
        judged(&policy(RULE), &bundle, &signatures, None, None),
        judged(&policy(VETTED), &bundle, &signatures, None, None),
    );
    assert!(wide.is_trusted() && !strict.is_trusted());
    assert!(
        !wide.clone().merge_with(strict.clone()).is_trusted()
            && !strict.merge_with(wide).is_trusted()
    );
    assert!(
        !Judgement { requirements: vec![], until: None }.is_trusted(),
        "nothing asked is nothing met"
    );
}

/// A key revoked by one policy counts in no other, under any name.
#[test]
fn a_key_is_revoked_for_all_policies() {
    let bundle = bundle();
    let signatures = [signed(&bundle, &key(1), None)];
    let mut trust = TrustPolicy::parse_policy(&policy(RULE)).unwrap();
    let other =
        TrustPolicy::parse_policy(&format!("{}[revoked]\nkeys = [\"mine\"]\n", public(1, "mine")))
            .unwrap();
    let subject = CandidateBundle {
        index: bundle.index(),
        signatures: &signatures,
        from: None,
        installed: None,
        now: NOW,
    };
    assert!(trust.judge_bundle(&subject).is_trusted() && !other.has_rules());
    trust.revoke_keys(other.revoked_keys());
    assert_eq!(missed(&trust.judge_bundle(&subject)).len(), 1);
    assert!(trust.find_signers(&subject).unwrap().is_empty());
}

#[test]
fn anything_but_a_policy_is_an_error() {
    let doubled = format!("{}{}", public(1, "release"), public(2, "release"));
    for (name, text, expected) in [
        (
            "a revoked key that is not there",
            format!("{RULE}[revoked]\nkeys = [\"relase\"]\n")
                .replace("[[rule]]", &policy("[[rule]]")),
            "names the key `relase`",
        ),
        (
            "an unknown field",
            policy("[[rule]]\nnames = [\"a\"]\npublishers = [\"release\"]\nweak = true\n"),
            "unknown field `weak`",
        ),
        ("an unknown table", "[trust]\n".to_owned(), "unknown field `trust`"),
        (
            "no names",
            policy("[[rule]]\nnames = []\npublishers = [\"release\"]\n"),
            "needs `names` and `publishers`",
        ),
        (
            "no publishers",
            policy("[[rule]]\nnames = [\"a\"]\npublishers = []\n"),
            "needs `names` and `publishers`",
        ),
        (
            "a key that is not there",
            policy("[[rule]]\nnames = [\"a\"]\npublishers = [\"who\"]\n"),
            "names the key `who`",
        ),
        ("two keys of a name", doubled, "two keys have the name `release`"),
        ("two rules for a name", policy(&format!("{RULE}{RULE}")), "two rules are for `acme/`"),
        (
            "a prefix that ends anywhere",
            policy(&(RULE.to_owned() + "registries = [\"ghcr.io/acme\"]\n")),
            "must end with `/`",
        ),
        (
            "a name that is none",
            policy("[[rule]]\nnames = [\"*\"]\npublishers = [\"release\"]\n"),
            "is not a name of a bundle",
        ),
        (
            "days without vetters",
            policy(&(RULE.to_owned() + "vetting_days = 3\n")),
            "there are no `vetters`",
        ),
        (
            "a digest that is none",
            "[revoked]\ndigests = [\"sha256:00\"]\n".to_owned(),
            "is not a digest",
        ),
        (
            "a key that is none",
            "[[key]]\nname = \"a\"\npublic = \"b\"\n".to_owned(),
            "key `a`: it is not a public key",
        ),
    ] {
        let error = TrustPolicy::parse_policy(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}
