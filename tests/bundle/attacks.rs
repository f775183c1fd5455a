//! Attacks that try to gain another's trust: each is refused, with the reason.

use crate::common::{in_ci, tell, trial};
use crate::stall::{HOSTS, Stall, build_bundle, key, policy_key, rule, signature};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use portcullis_bundle::{Component, SecretKey};
use std::fs;
use std::os::unix::fs::MetadataExt;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("bundle: a manifest that contradicts its components", untrue),
        trial("bundle: untrusted bundles", untrusted),
        trial("bundle: a changed byte in an archive", changed),
        trial("bundle: a signature of another bundle", of_another),
        trial("bundle: of two policies the stricter one counts, whosever it is", two_policies),
        trial("bundle: a policy that cannot be read trusts nobody", no_policy),
    ]
}

/// A false statement about a component, and the expected message.
struct Contradiction {
    about: &'static str,
    change: fn(&mut Component),
    message: &'static str,
}

const CONTRADICTIONS: &[Contradiction] = &[
    Contradiction {
        about: "narrower grants",
        change: |one| one.wants.grants.clear(),
        message: "grants",
    },
    Contradiction {
        about: "wider grants",
        change: |one| one.wants.grants.insert(0, "clocks = true".into()),
        message: "grants",
    },
    Contradiction {
        about: "other grants",
        change: |one| one.wants.grants = vec![HOSTS.replace("HOST", "HOST/path")],
        message: "grants",
    },
    Contradiction {
        about: "no imports",
        change: |one| one.wants.imports.clear(),
        message: "imports",
    },
    Contradiction {
        about: "another world",
        change: |one| one.world = "audit-exporter@0.1.0".into(),
        message: "world",
    },
    Contradiction {
        about: "another kind",
        change: |one| one.plugins[0].kind = "audit-exporter".into(),
        message: "kind, version, description or schema",
    },
    Contradiction {
        about: "another name",
        change: |one| one.plugins[0].name = "harmless".into(),
        message: "plugins",
    },
    Contradiction {
        about: "another schema",
        change: |one| one.plugins[0].schema.clear(),
        message: "kind, version, description or schema",
    },
    Contradiction {
        about: "a plugin more",
        change: |one| {
            let mut more = one.plugins[0].clone();
            more.name = "more".into();
            one.plugins.push(more);
        },
        message: "plugins",
    },
];

/// A bundle that is signed by a universally trusted key is refused all the same; our commands do
/// not let a publisher sign it either.
fn untrue() -> Result<()> {
    let stall = Stall::new("untrue")?;
    let (secret, public) = key(1)?;
    let may = rule("release").replace("\"hosts\"", "\"hosts\", \"clocks\"");
    stall.trust(&(public + &may))?;
    let honest = build_bundle(|_| {})?;
    stall.write("bundle.tar", &honest, &[signature(&honest, &secret, None)?])?;
    stall.misses("bundle.tar", &[])?;
    stall.done("key new --output release.key --passphrase-file passphrase")?;
    for Contradiction { about, change, message } in CONTRADICTIONS {
        let bundle = build_bundle(change)?;
        stall.write("bundle.tar", &bundle, &[signature(&bundle, &secret, None)?])?;
        let expected = format!("disagree: {message}");
        stall.misses("bundle.tar", &[&expected]).map_err(|error| error.context(*about))?;
        let before = stall.get("bundle.tar")?;
        for words in [
            "sign bundle.tar --key release.key --passphrase-file passphrase",
            "diff bundle.tar bundle.tar",
        ] {
            let ended = stall.run(words)?;
            ensure!(
                ended.code == Some(1) && ended.stderr.contains(&expected),
                "{about}: {}",
                ended.all()
            );
        }
        ensure!(stall.get("bundle.tar")? == before, "{about}: it was signed");
    }
    Ok(())
}

fn untrusted() -> Result<()> {
    let stall = Stall::new("untrusted")?;
    let (secret, public) = key(1)?;
    let bundle = build_bundle(|_| {})?;
    let other = SecretKey::of_seed(&[2; 32]);
    let with = |key: &SecretKey, expires| {
        signature(&bundle, key, expires).map(|signature| vec![signature])
    };
    let (sound, usual) = (with(&secret, None)?, rule("release"));
    let component = bundle.about().components[0].digest;
    let revoked = |what: String| format!("{usual}[revoked]\n{what}\n");
    for (name, signatures, rules, expected) in [
        ("as it should be", &sound, usual.clone(), vec![]),
        (
            "nobody signed it",
            &vec![],
            usual.clone(),
            vec!["signed by `release`: none of them made a statement about this bundle"],
        ),
        (
            "another key signed it",
            &with(&other, None)?,
            usual.clone(),
            vec!["signed by `release`: none of them made a statement"],
        ),
        (
            "it has expired",
            &with(&secret, Some(1_000_000_000_000))?,
            usual.clone(),
            vec!["the statement has expired"],
        ),
        (
            "right name, wrong prefix",
            &sound,
            usual.replace("\"acme/\"", "\"acm/\""),
            vec!["a rule for `acme/checks`: there is none"],
        ),
        (
            "a name that begins alike",
            &sound,
            usual.replace("\"acme/\"", "\"acme/check\""),
            vec!["a rule for `acme/checks`"],
        ),
        (
            "more grants than it may ask for",
            &sound,
            usual.replace("[\"hosts\"]", "[]"),
            vec!["asks for no grant: it asks for `hosts = "],
        ),
        (
            "the bundle is revoked",
            &sound,
            revoked(format!("digests = [\"{}\"]", bundle.index().digest())),
            vec!["is revoked"],
        ),
        (
            "a component is revoked",
            &sound,
            revoked(format!("digests = [\"{component}\"]")),
            vec!["is revoked"],
        ),
        (
            "the key is revoked",
            &sound,
            revoked("keys = [\"release\"]".into()),
            vec!["signed by `release`: none of them made a statement"],
        ),
        (
            "nobody vetted it",
            &sound,
            format!("{usual}vetters = [\"release\"]\n"),
            vec!["vetted by `release`, with another key"],
        ),
    ] {
        stall.write("bundle.tar", &bundle, signatures)?;
        stall.trust(&format!("{public}{rules}"))?;
        stall.misses("bundle.tar", &expected).map_err(|error| error.context(name))?;
        let text = stall.run("verify bundle.tar")?.text();
        ensure!(
            text.contains(if expected.is_empty() { "\ntrusted: " } else { "\nnot trusted, 1 of " }),
            "{name}: {text}"
        );
    }
    Ok(())
}

/// Covers changes to every part of an archive: components, documents, signatures, and the index of
/// their locations.
fn changed() -> Result<()> {
    let stall = Stall::new("changed byte")?;
    let (secret, public) = key(1)?;
    let bundle = build_bundle(|_| {})?;
    stall.write("bundle.tar", &bundle, &[signature(&bundle, &secret, None)?])?;
    stall.trust(&(public + &rule("release")))?;
    stall.misses("bundle.tar", &[])?;
    let whole = stall.get("bundle.tar")?;
    let bytes = bundle.component_bytes(&bundle.about().components[0]).unwrap_or_default();
    let at = |wanted: &[u8]| whole.windows(wanted.len()).position(|found| found == wanted);
    for (name, place) in [
        ("a component", at(bytes).map(|place| place + bytes.len() / 2)),
        ("the index", at(bundle.index().bytes()).map(|place| place + 20)),
        ("a signature", at(b"dsseEnvelope").map(|place| place + 40)),
        ("the name of a blob", at(b"blobs/sha256/").map(|place| place + 20)),
        (
            "the contents",
            at(b"{\"schemaVersion\":2").and_then(|from| {
                Some(from + whole[from..].windows(7).position(|found| found == b"sha256:")? + 20)
            }),
        ),
    ] {
        let Some(place) = place else { anyhow::bail!("{name} is not in the archive") };
        let mut changed = whole.clone();
        changed[place] ^= 1;
        stall.put("bundle.tar", changed)?;
        let ended = stall.run("verify bundle.tar")?;
        ensure!(
            ended.code == Some(1) && ended.stdout.is_empty() && ended.stderr.contains("error: "),
            "{name}: {}",
            ended.all()
        );
    }
    stall.put("bundle.tar", whole)?;
    stall.misses("bundle.tar", &[])
}

fn of_another() -> Result<()> {
    let stall = Stall::new("of another")?;
    let (secret, public) = key(1)?;
    let (bundle, other) = (
        build_bundle(|_| {})?,
        build_bundle(|one| one.plugins[0].settings.extend([("most".to_owned(), 1.into())]))?,
    );
    let theirs = signature(&other, &secret, None)?;
    stall.trust(&(public + &rule("release")))?;
    stall.put("other.sigstore.json", theirs.file())?;
    stall.write("bundle.tar", &bundle, &[])?;
    let before = stall.get("bundle.tar")?;
    let ended = stall.run("sign bundle.tar --attach other.sigstore.json")?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("it is about `acme/checks` (sha256:"),
        "{}",
        ended.all()
    );
    ensure!(stall.get("bundle.tar")? == before, "it was attached");
    // An archive packed by other means can contain it, but it has no effect.
    stall.write("bundle.tar", &bundle, &[theirs])?;
    stall.misses(
        "bundle.tar",
        &["signed by `release`: none of them made a statement about this bundle"],
    )?;
    let text = stall.run("verify bundle.tar")?.text();
    ensure!(text.contains("`release`, without end, about another bundle: `acme/checks`"), "{text}");
    Ok(())
}

/// One policy may refuse what the other allows: neither is loosened by the other.
fn two_policies() -> Result<()> {
    let stall = Stall::new("two policies")?;
    let (secret, public) = key(1)?;
    let bundle = build_bundle(|_| {})?;
    stall.write("bundle.tar", &bundle, &[signature(&bundle, &secret, None)?])?;
    let (wide, narrow) = (
        public.clone() + &rule("release"),
        public.clone() + &rule("release").replace("grants = [\"hosts\"]\n", ""),
    );
    let stranger = policy_key("stranger", &SecretKey::of_seed(&[2; 32]).public().to_pem()?)?
        + &rule("stranger");
    let folder = stall.site.person().join("organisation");
    fs::create_dir(&folder)?;
    if fs::metadata(&folder)?.uid() != 0 {
        ensure!(!in_ci(), "in CI this test runs as root: only root's policy counts");
        tell("two policies: the part that needs root is skipped");
        return Ok(());
    }
    let words = format!("bundle.tar --managed-config {}", folder.join("config.toml").display());
    for (name, managed, own, expected) in [
        ("both allow", &wide, &wide, vec![]),
        (
            "the organisation's is stricter",
            &narrow,
            &wide,
            vec!["asks for no grant (organisation's policy): it asks for `hosts"],
        ),
        (
            "the person's is stricter",
            &wide,
            &narrow,
            vec!["asks for no grant (person's policy): it asks for `hosts"],
        ),
        (
            "the organisation trusts another",
            &stranger,
            &wide,
            vec!["signed by `stranger` (organisation's policy): none of them made a statement"],
        ),
        (
            "the person trusts another",
            &wide,
            &stranger,
            vec!["signed by `stranger` (person's policy): none of them made a statement"],
        ),
        (
            "each trusts nobody",
            &String::new(),
            &String::new(),
            vec![
                "a rule for `acme/checks` (organisation's policy): there is none",
                "a rule for `acme/checks` (person's policy): there is none",
            ],
        ),
    ] {
        fs::write(folder.join("trust.toml"), managed)?;
        stall.trust(own)?;
        stall.misses(&words, &expected).map_err(|error| error.context(name))?;
    }
    // An organisation's policy that the person could have written is not a reason to trust more.
    std::os::unix::fs::chown(folder.join("trust.toml"), Some(65_534), None)?;
    let ended = stall.run(&format!("verify {words}"))?;
    ensure!(
        ended.code == Some(1) && ended.stderr.contains("belongs to user 65534"),
        "{}",
        ended.all()
    );
    Ok(())
}

fn no_policy() -> Result<()> {
    let stall = Stall::new("no policy")?;
    let (secret, public) = key(1)?;
    let bundle = build_bundle(|_| {})?;
    stall.write("bundle.tar", &bundle, &[signature(&bundle, &secret, None)?])?;
    for (text, said) in [
        (format!("{public}{}weak = true\n", rule("release")), "unknown field `weak`"),
        (
            format!("{public}{}", rule("stranger")),
            "a rule names the key `stranger`, which this policy does not have",
        ),
        (
            public.replace("MCow", "MCox") + &rule("release"),
            "key `release`: it is not a public key",
        ),
        ("nonsense".to_owned(), "line 1"),
    ] {
        stall.trust(&text)?;
        stall.put("named.toml", &text)?;
        for words in ["verify bundle.tar", "verify bundle.tar --trust named.toml"] {
            let ended = stall.run(words)?;
            let refused = ended.code == Some(1)
                && ended.stderr.contains(said)
                && ended.stderr.contains("nothing is trusted until it is fixed");
            ensure!(refused && ended.stdout.is_empty(), "{text}: {}", ended.all());
        }
    }
    Ok(())
}
