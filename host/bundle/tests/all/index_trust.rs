//! Tests of the judgement of indexes of bundles: each attack is refused, with its reason.

use crate::indexes::{index, listed};
use crate::sample::{DAY, NOW, bundle, key, signed, vetted};
use crate::trust::missed;
use portcullis_bundle::{
    BundleName, CandidateIndex, Digest, IndexArtifact, IndexSource, IndexStatement, Judgement,
    SecretKey, SeenIndex, Signature, SignatureError, TrustPolicy,
};

/// Returns a policy with the keys 1 to 4 under these names, and an index.
fn policy(more: &str) -> String {
    let keys =
        [(1, "release"), (2, "security"), (3, "index"), (4, "other")].map(|(number, name)| {
            let public = key(number).public().to_pem().unwrap();
            format!("[[key]]\nname = \"{name}\"\npublic = \"\"\"\n{public}\"\"\"\n")
        });
    format!("{}{more}", keys.concat())
}

const INDEXES: &str = r#"
[[index]]
name = "acme/index"
signers = ["index"]
names = ["acme/"]
source = "ghcr.io/acme/index"

[[index]]
name = "other/index"
signers = ["other"]
names = ["other/", "acme/checks"]
source = "/srv/mirror"
"#;

fn sign(artifact: &IndexArtifact, key: &SecretKey) -> Signature {
    Signature::sign_index(&artifact.statement(), key).unwrap()
}

fn judge(
    policy: &str,
    name: &str,
    artifact: &IndexArtifact,
    signatures: &[Signature],
    seen: Option<SeenIndex>,
    now: u64,
) -> Judgement {
    let subject = CandidateIndex { artifact, signatures, seen, now };
    TrustPolicy::parse_policy(policy).unwrap().judge_index(&name.parse().unwrap(), &subject)
}

#[test]
fn an_index_is_accepted_for_reasons() {
    let artifact = index("acme/index", 7, &["acme/checks"]);
    let ours = || vec![sign(&artifact, &key(3))];
    let older = index("acme/index", 6, &["acme/checks"]);
    let renamed = index("other/index", 7, &["acme/checks"]);
    let outside = index("acme/index", 7, &["acme-evil/checks", "acme/checks"]);
    let of_bundle = signed(&bundle(), &key(3), None);
    let under_name = |name: &str| {
        let statement = IndexStatement { name: name.into(), digest: artifact.digest() };
        vec![Signature::sign_index(&statement, &key(3)).unwrap()]
    };
    let seen = |serial, digest| Some(SeenIndex { serial, digest });
    let (same, different) = (artifact.digest(), Digest::of_bytes(b""));
    let revoked = format!("{INDEXES}[revoked]\nkeys = [\"index\"]\n");
    type Row<'a> = (
        &'a str,
        &'a str,
        &'a IndexArtifact,
        Vec<Signature>,
        Option<SeenIndex>,
        u64,
        &'a [&'a str],
    );
    let rows: Vec<Row<'_>> = vec![
        ("sound", INDEXES, &artifact, ours(), None, NOW, &[]),
        ("seen before", INDEXES, &artifact, ours(), seen(7, same), NOW, &[]),
        ("newer", INDEXES, &artifact, ours(), seen(6, different), NOW, &[]),
        ("in its last millisecond", INDEXES, &artifact, ours(), None, NOW + DAY - 1, &[]),
        (
            "expired",
            INDEXES,
            &artifact,
            ours(),
            None,
            NOW + 4 * DAY,
            &["in its time: it expired 3 days ago"],
        ),
        (
            "at its expiry",
            INDEXES,
            &artifact,
            ours(),
            None,
            NOW + DAY,
            &["in its time: it expired 0 minutes ago"],
        ),
        (
            "before it was made",
            INDEXES,
            &artifact,
            ours(),
            None,
            NOW - DAY - 1,
            &["in its time: it is dated in the future"],
        ),
        (
            "rolled back",
            INDEXES,
            &older,
            vec![sign(&older, &key(3))],
            seen(7, same),
            NOW,
            &[
                "no older than the index seen before: it has the serial 6, and this machine has seen 7",
            ],
        ),
        (
            "other bytes under the same serial",
            INDEXES,
            &artifact,
            ours(),
            seen(7, different),
            NOW,
            &["it has the serial 7 and other bytes"],
        ),
        ("unsigned", INDEXES, &artifact, vec![], None, NOW, &["none of them signed it"]),
        (
            "signed by a key that the policy has for another index",
            INDEXES,
            &artifact,
            vec![sign(&artifact, &key(4))],
            None,
            NOW,
            &["signed by `index`: none of them signed it as an index"],
        ),
        (
            "signed by an unknown key",
            INDEXES,
            &artifact,
            vec![sign(&artifact, &key(9))],
            None,
            NOW,
            &["none of them signed it as an index"],
        ),
        (
            "the signature of a bundle, by the right key",
            INDEXES,
            &artifact,
            vec![of_bundle],
            None,
            NOW,
            &["none of them signed it as an index"],
        ),
        (
            "the signature of another index, by the right key",
            INDEXES,
            &artifact,
            vec![sign(&older, &key(3))],
            None,
            NOW,
            &["they signed another index, not this one"],
        ),
        (
            "its bytes signed under another name",
            INDEXES,
            &artifact,
            under_name("other/index"),
            None,
            NOW,
            &["they signed another index, not this one"],
        ),
        ("a revoked key", &revoked, &artifact, ours(), None, NOW, &["none of them signed it"]),
        (
            "another index in its place",
            INDEXES,
            &renamed,
            vec![sign(&renamed, &key(3))],
            None,
            NOW,
            &[
                "it is the index `acme/index`: it is `other/index`",
                "they signed another index, not this one",
            ],
        ),
        (
            "names that it may not list",
            INDEXES,
            &outside,
            vec![sign(&outside, &key(3))],
            None,
            NOW,
            &["lists nothing but `acme/`: it lists `acme-evil/checks`"],
        ),
    ];
    for (name, policy_text, artifact, signatures, seen, now, expected) in rows {
        let judged = judge(&policy(policy_text), "acme/index", artifact, &signatures, seen, now);
        let missed = missed(&judged);
        assert_eq!(missed.len(), expected.len(), "{name}: {missed:?}");
        for (missed, expected) in missed.iter().zip(expected) {
            assert!(missed.contains(expected), "{name}: {missed}");
        }
    }
    let judged = judge(&policy(INDEXES), "third/index", &artifact, &ours(), None, NOW);
    assert!(missed(&judged)[0].contains("an `[[index]]` for `third/index`: there is none"));
}

#[test]
fn a_signature_counts_for_one_kind_of_thing() {
    let (artifact, bundle) = (index("acme/index", 7, &["acme/checks"]), bundle());
    let (of_index, of_bundle) = (sign(&artifact, &key(1)), signed(&bundle, &key(1), None));
    let public = key(1).public();
    assert!(of_index.verify_index(&public).is_ok() && of_bundle.verify_statement(&public).is_ok());
    assert!(matches!(of_index.verify_statement(&public), Err(SignatureError::Statement(_))));
    assert!(matches!(of_bundle.verify_index(&public), Err(SignatureError::IndexStatement(_))));
    assert!(matches!(of_index.verify_release(&public), Err(SignatureError::Release(_))));
    assert!(matches!(of_index.verify_index(&key(2).public()), Err(SignatureError::Wrong)));
}

#[test]
fn entries_of_indexes_are_strict() {
    let all = TrustPolicy::parse_policy(&policy(INDEXES)).unwrap();
    let sources: Vec<&IndexSource> = all.indexes().iter().map(|index| index.source()).collect();
    assert_eq!(
        sources,
        [
            &IndexSource::Registry("ghcr.io/acme/index".into()),
            &IndexSource::Path("/srv/mirror".into())
        ]
    );
    for (from, to, holds) in [
        ("[\"index\"]", "[\"stranger\"]", "the key `stranger`, which this policy does not have"),
        ("[\"index\"]", "[]", "needs `signers` and `names`"),
        ("names = [\"acme/\"]", "names = []", "needs `signers` and `names`"),
        ("\"other/index\"", "\"acme/index\"", "two indexes have the name `acme/index`"),
        ("\"ghcr.io/acme/index\"", "\"index\"", "is neither a repository"),
        ("\"ghcr.io/acme/index\"", "\"./mirror\"", "is neither a repository"),
        ("\"ghcr.io/acme/index\"", "\"~/mirror\"", "is neither a repository"),
        ("source = \"/srv/mirror\"", "source = \"/srv/mirror\"\nweak = 1", "unknown field `weak`"),
    ] {
        let text = policy(&INDEXES.replacen(from, to, 1));
        let error = TrustPolicy::parse_policy(&text).unwrap_err().to_string();
        assert!(error.contains(holds), "{to}: {error}");
    }
}

#[test]
fn a_forecast_is_the_judgement_of_the_bundle_itself() {
    let bundle = bundle();
    let (ours, sound) = (signed(&bundle, &key(1), None), vetted(&bundle, &key(2), NOW - DAY));
    let rule = "[[rule]]\nnames = [\"acme/\"]\npublishers = [\"release\"]\nvetters = [\"security\"]\nvetting_days = 30\nregistries = [\"ghcr.io/acme/\"]\ngrants = [\"hosts\"]\n";
    let name: BundleName = "acme/checks".parse().unwrap();
    let digest = bundle.about().components[1].digest;
    for (what, rules, signatures, now) in [
        ("trusted", rule.to_owned(), vec![ours.clone(), sound.clone()], NOW),
        ("not vetted", rule.to_owned(), vec![ours.clone()], NOW),
        ("not signed", rule.to_owned(), vec![sound.clone()], NOW),
        ("vetted long ago", rule.to_owned(), vec![ours.clone(), sound.clone()], NOW + 40 * DAY),
        (
            "from elsewhere",
            rule.replace("ghcr.io/", "quay.io/"),
            vec![ours.clone(), sound.clone()],
            NOW,
        ),
        ("more grants", rule.replace("[\"hosts\"]", "[]"), vec![ours.clone(), sound.clone()], NOW),
        ("no rule", String::new(), vec![ours.clone(), sound.clone()], NOW),
        (
            "revoked",
            format!("{rule}[revoked]\ndigests = [\"{digest}\"]\n"),
            vec![ours.clone(), sound.clone()],
            NOW,
        ),
    ] {
        let trust = TrustPolicy::parse_policy(&policy(&rules)).unwrap();
        let forecast = trust.preview_bundle(&name, &listed(&signatures), None, now);
        let judged = trust.judge_bundle(&portcullis_bundle::CandidateBundle {
            index: bundle.index(),
            signatures: &signatures,
            from: Some("ghcr.io/acme/checks"),
            installed: None,
            now,
        });
        assert_eq!(forecast, judged, "{what}");
        assert_eq!(forecast.is_trusted(), what == "trusted", "{what}");
    }
}
