//! Attacks on indexes of bundles, through a real registry: each is refused, with the reason, and
//! what was kept stays.

use crate::common::trial;
use crate::market::{DAY, INDEX, Market, index_key, now};
use crate::stall::{key, rule, signature};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use portcullis_bundle::{
    Digest, IndexArtifact, IndexDocument, IndexStatement, ListedBundle, ListedVersion, SecretKey,
    Signature,
};
use serde_json::{Value, json};
use std::fs;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("index: attacks on the index itself", on_the_index),
        trial("index: attacks on what it lists", on_the_bundles),
        trial("index: withdrawn versions are not installed, unless they are locked", withdrawn),
        trial("index: a lower one never shadows, also while a higher one cannot be used", shadowed),
        trial("index: names that look alike are warned of, and never installed", lookalikes),
        trial("index: what was seen is sealed, and only a person begins again", sealed),
        trial("index: neither policy loosens the other", two_policies),
    ]
}

fn sign(artifact: &IndexArtifact, key: &SecretKey) -> Result<Signature> {
    Ok(Signature::sign_index(&artifact.statement(), key)?)
}

/// An index that is served, its signatures, and the reason why it is refused.
struct Attack {
    name: &'static str,
    index: IndexArtifact,
    signatures: Vec<Signature>,
    why: &'static str,
}

fn on_the_index() -> Result<()> {
    let Some(market) = Market::open("index attacks")? else { return Ok(()) };
    let archive = market.publish("1.0.0")?;
    let listed = || market.listed(&archive);
    let good = market.index(5, vec![listed()?])?;
    market.serve_signed(&good)?;
    market.done("index update")?;
    let (bundle, _) = market.stall.read(&archive)?;
    let ours = index_key();
    let newer = || market.index(6, vec![listed()?]);
    let dated = |made: u64, expires: u64| -> Result<IndexArtifact> {
        let name = "acme/checks".parse()?;
        let bundles = vec![ListedBundle { name, versions: vec![listed()?] }];
        Ok(IndexArtifact::new(IndexDocument::new(INDEX.parse()?, 6, made, expires, bundles)?)?)
    };
    let mut other_text = listed()?;
    other_text.change = "Other words.".into();
    let under_other_name = IndexStatement { name: "other/index".into(), digest: newer()?.digest() };
    let attack = |name, index: IndexArtifact, key: &SecretKey, why| -> Result<Attack> {
        Ok(Attack { name, signatures: vec![sign(&index, key)?], index, why })
    };
    let attacks = vec![
        attack("stale", dated(now() - 3 * DAY, now() - DAY)?, &ours, "it expired 24 hours ago")?,
        attack("not yet made", dated(now() + DAY, now() + 2 * DAY)?, &ours, "dated in the future")?,
        attack(
            "rolled back",
            market.index(4, vec![listed()?])?,
            &ours,
            "it has the serial 4, and this machine has seen 5",
        )?,
        attack(
            "other bytes under the same serial",
            market.index(5, vec![other_text])?,
            &ours,
            "it has the serial 5 and other bytes",
        )?,
        attack(
            "an unknown key",
            newer()?,
            &SecretKey::of_seed(&[9; 32]),
            "none of them signed it",
        )?,
        attack(
            "a key that the policy has for something else",
            newer()?,
            &SecretKey::of_seed(&[4; 32]),
            "signed by `index`: none of them signed it as an index",
        )?,
        attack("the publisher's key", newer()?, &key(1)?.0, "none of them signed it as an index")?,
        Attack {
            name: "a bundle's signature by the key of the index",
            index: newer()?,
            signatures: vec![signature(&bundle, &ours, None)?],
            why: "none of them signed it as an index",
        },
        Attack {
            name: "the signature of the index before",
            index: newer()?,
            signatures: vec![sign(&good, &ours)?],
            why: "they signed another index, not this one",
        },
        Attack {
            name: "signed under another name",
            index: newer()?,
            signatures: vec![Signature::sign_index(&under_other_name, &ours)?],
            why: "they signed another index, not this one",
        },
        attack(
            "another index in its place",
            market.index_of("other/index", 6, "acme/checks", vec![listed()?])?,
            &ours,
            "it is `other/index`",
        )?,
        attack(
            "a name that it may not list",
            market.index_of(INDEX, 6, "acme-evil/checks", vec![listed()?])?,
            &ours,
            "it lists `acme-evil/checks`",
        )?,
    ];
    for Attack { name, index, signatures, why } in attacks {
        market.serve(&index, &signatures).map_err(|error| error.context(name))?;
        for words in ["index update", "install acme/checks"] {
            market.refused(words, why).map_err(|error| error.context(name))?;
        }
        ensure!(market.kept()? == (json!(5), Value::Null), "{name}: {:?}", market.kept()?);
    }
    // The tag moved back to the good one: it is accepted as the one that is known.
    market.serve_signed(&good)?;
    ensure!(market.done("index update")?.contains("unchanged acme/index to the serial 5"));
    market.done("install acme/checks")?;
    // A revoked key: what is kept counts no longer either.
    market.trust("[revoked]\nkeys = [\"index\"]\n")?;
    for words in ["search checks", "info acme/checks", "install acme/checks"] {
        market.refused(words, "none of them signed it as an index")?;
    }
    Ok(())
}

fn on_the_bundles() -> Result<()> {
    let Some(market) = Market::open("index lies")? else { return Ok(()) };
    let (archive, other) = (market.publish("1.0.0")?, market.publish("1.1.0")?);
    let (honest, next) = (market.listed(&archive)?, market.listed(&other)?);
    let changed = |change: &dyn Fn(&mut ListedVersion)| {
        let mut listed = honest.clone();
        change(&mut listed);
        listed
    };
    let digest = next.digest;
    let elsewhere = format!("{}/acme/elsewhere", market.host());
    for (serial, (name, listed, why)) in [
        (
            "bytes that nobody has",
            changed(&|one| one.digest = Digest::of_bytes(b"")),
            "is not there",
        ),
        (
            "another version's digest",
            changed(&|one| one.digest = digest),
            "as `acme/checks 1.0.0`, and it is `acme/checks 1.1.0`",
        ),
        ("another place", changed(&|one| one.reference.clone_from(&elsewhere)), "is not there"),
        ("no grant", changed(&|one| one.grants.clear()), "another grants than it has"),
        (
            "a harmless plugin",
            changed(&|one| one.plugins[0].kind = "audit-exporter".into()),
            "another plugins than it has",
        ),
        (
            "another description",
            changed(&|one| one.description = "Harmless.".into()),
            "another description than it has",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        market.serve_signed(&market.index(serial as u64 + 1, vec![listed])?)?;
        market.refused("install acme/checks", why).map_err(|error| error.context(name))?;
    }
    // Another name for the bundle: the digest is right, and the bundle is another one.
    market.serve_signed(&market.index_of(INDEX, 50, "acme/innocent", vec![honest.clone()])?)?;
    market.refused("install acme/innocent", "and it is `acme/checks 1.0.0`")?;
    market.serve_signed(&market.index(51, vec![honest])?)?;
    market.done("install acme/checks").map(drop)
}

fn withdrawn() -> Result<()> {
    let Some(market) = Market::open("index withdrawn")? else { return Ok(()) };
    let (first, second) = (market.publish("1.0.0")?, market.publish("1.1.0")?);
    let versions = |yanked: &[&str]| -> Result<Vec<ListedVersion>> {
        [&first, &second]
            .into_iter()
            .map(|archive| {
                let mut listed = market.listed(archive)?;
                let version = listed.version.to_string();
                if yanked.contains(&version.as_str()) {
                    listed.yanked = Some("It misses renamed files.".into());
                }
                Ok(listed)
            })
            .collect()
    };
    market.serve_signed(&market.index(1, versions(&["1.1.0"])?)?)?;
    market.refused("install acme/checks@1.1.0", "was withdrawn: It misses renamed files.")?;
    market.done("install acme/checks")?;
    ensure!(String::from_utf8(market.stall.get("portcullis.lock")?)?.contains("1.0.0"));
    ensure!(market.done("update")?.contains("acme/checks 1.0.0 is the newest"));
    market.refused("update --to 1.1.0 --yes", "was withdrawn")?;
    let text = market.stall.done("info acme/checks@1.1.0")?;
    ensure!(text.contains("withdrawn: It misses renamed files."), "{text}");
    // The locked one is withdrawn: it stays what it is, and can be installed again.
    market.serve_signed(&market.index(2, versions(&["1.0.0"])?)?)?;
    let ended = market.stall.run(&market.plain("update --check"))?;
    ensure!(ended.stderr.contains("`acme/checks 1.0.0` was withdrawn"), "{}", ended.all());
    market.done("install acme/checks@1.0.0")?;
    fs::remove_dir_all(market.stall.site.state().join("bundles/blobs"))?;
    ensure!(market.done("install")?.contains("fetched acme/checks 1.0.0"));
    market.serve_signed(&market.index(3, versions(&["1.0.0", "1.1.0"])?)?)?;
    market
        .refused("install acme/checks", "no version of `acme/checks` that is neither withdrawn")?;
    Ok(())
}

fn shadowed() -> Result<()> {
    let Some(market) = Market::open("index shadowed")? else { return Ok(()) };
    let (first, second) = (market.publish("1.0.0")?, market.publish("2.0.0")?);
    let other = SecretKey::of_seed(&[4; 32]);
    let lower = market.index_of("other/index", 9, "acme/checks", vec![market.listed(&second)?])?;
    market.serve_as("other/index", &lower, &[sign(&lower, &other)?])?;
    market.serve_signed(&market.index(1, vec![market.listed(&first)?])?)?;
    market.trust(&market.entry(
        "other/index",
        "other",
        &format!("{}/other/index", market.host()),
    ))?;
    market.done("index update")?;
    let info = market.stall.json("info acme/checks")?;
    ensure!(info["index"] == INDEX && info["listed"]["version"] == "1.0.0", "{info}");
    let found = market.stall.json("search checks")?;
    ensure!(found["bundles"].as_array().is_some_and(|all| all.len() == 1), "{found}");
    ensure!(found["bundles"][0]["index"] == INDEX, "{found}");
    market.refused("install acme/checks@2.0.0", "the index `acme/index` lists no")?;
    market.done("install acme/checks")?;
    // The higher one is refused, or is not there: the lower one does not take its place.
    let forged = market.index(2, vec![market.listed(&first)?])?;
    market.serve(&forged, &[sign(&forged, &other)?])?;
    market.refused("install acme/checks", "the index `acme/index` is refused")?;
    market.refused("update --yes", "the index `acme/index` is refused")?;
    fs::remove_dir_all(market.stall.site.state().join("bundles/indexes"))?;
    market.refused("index update", "the index `acme/index` is refused")?;
    let found = market.stall.json("search checks")?;
    ensure!(found["bundles"] == json!([]), "{found}");
    market.refused("info acme/checks", "which may list `acme/checks`, is not here yet")?;
    Ok(())
}

fn lookalikes() -> Result<()> {
    let Some(market) = Market::open("index lookalikes")? else { return Ok(()) };
    let archive = market.publish("1.0.0")?;
    let listed = market.listed(&archive)?;
    market.serve_signed(&market.index(1, vec![listed.clone()])?)?;
    market.done("index update")?;
    for word in ["acme/check", "acme/chekcs", "acme/checkss", "acme/chacks", "cheks"] {
        let text = market.stall.done(&format!("search {word}"))?;
        let warning = format!("`{word}` is one edit from `acme/checks`");
        ensure!(text.contains(&warning), "{word}: {text}");
    }
    for word in ["acme/checks", "acme/chess", "nothing"] {
        ensure!(!market.stall.done(&format!("search {word}"))?.contains("one edit"), "{word}");
    }
    market.refused("install acme/check", "no index lists `acme/check`")?;
    ensure!(market.stall.get("portcullis.lock").is_err(), "a near match was installed");
    // Two names that are listed.
    let both = ["acme/checks", "acme/cheeks"].map(|name| -> Result<ListedBundle> {
        Ok(ListedBundle { name: name.parse()?, versions: vec![listed.clone()] })
    });
    let bundles = both.into_iter().collect::<Result<Vec<_>>>()?;
    let document = IndexDocument::new(INDEX.parse()?, 2, now() - DAY, now() + DAY, bundles)?;
    market.serve_signed(&IndexArtifact::new(document)?)?;
    market.done("index update")?;
    let text = market.stall.done("search acme")?;
    ensure!(text.contains("`acme/cheeks` is one edit from `acme/checks`"), "{text}");
    Ok(())
}

fn sealed() -> Result<()> {
    let Some(market) = Market::open("index sealed")? else { return Ok(()) };
    let archive = market.publish("1.0.0")?;
    for serial in [1, 2] {
        market.serve_signed(&market.index(serial, vec![market.listed(&archive)?])?)?;
        market.done("index update")?;
    }
    let old = market.index(1, vec![market.listed(&archive)?])?;
    market.serve_signed(&old)?;
    let folder = market.stall.site.state().join("bundles/indexes");
    let files = || -> Result<Vec<std::path::PathBuf>> {
        Ok(fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect())
    };
    let ending = |wanted: &str| -> Result<std::path::PathBuf> {
        let found =
            files()?.into_iter().find(|path| path.extension().is_some_and(|end| end == wanted));
        found.ok_or_else(|| anyhow::anyhow!("no file ends with {wanted}"))
    };
    ensure!(files()?.len() == 2, "an old archive was left: {:?}", files()?);
    // Without the archive, the serial is still known.
    let (seal, kept) = (ending("json")?, ending("tar")?);
    let bytes = fs::read(&kept)?;
    fs::remove_file(&kept)?;
    market.refused("index update", "this machine has seen 2")?;
    market.refused("search checks", "no index is here yet")?;
    // Another index in the archive's place.
    fs::copy(market.stall.path("served.tar"), &kept)?;
    market.refused("info acme/checks", "is not the index `acme/index` that was accepted")?;
    fs::write(&kept, bytes)?;
    // A lower serial in the sealed file.
    let text = fs::read_to_string(&seal)?;
    fs::write(&seal, text.replace("\"serial\":2", "\"serial\":0"))?;
    for words in ["index update", "info acme/checks", "install acme/checks"] {
        market.refused(words, "was not written by this home")?;
    }
    fs::write(&seal, text)?;
    market.stall.done("info acme/checks")?;
    // Only a person begins again, and no agent fetches.
    market.refused("index update acme/index --reset", "there is no terminal")?;
    for words in ["index update", "install acme/checks", "update"] {
        let words = market.plain(words);
        let words: Vec<&str> = std::iter::once("bundle").chain(words.split(' ')).collect();
        let mut command = market.stall.site.command(&words);
        command.env("CLAUDECODE", "1");
        let ended = command.output()?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(
            ended.status.code() == Some(1) && said.contains("an agent runs this command"),
            "{words:?}: {said}"
        );
    }
    Ok(())
}

fn two_policies() -> Result<()> {
    let Some(market) = Market::open("index two policies")? else { return Ok(()) };
    let archive = market.publish("1.0.0")?;
    market.serve_signed(&market.index(1, vec![market.listed(&archive)?])?)?;
    let folder = market.stall.site.person().join("organisation");
    fs::create_dir(&folder)?;
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata(&folder)?) != 0 {
        ensure!(!crate::common::in_ci(), "in CI this test runs as root");
        crate::common::tell("index two policies: needs root, skipped");
        return Ok(());
    }
    let place = format!("{}/{INDEX}", market.host());
    let entry = market.entry(INDEX, "index", &place);
    let base = format!("{}{}", market.keys()?, rule("release"));
    let config = format!("--managed-config {}", folder.join("config.toml").display());
    for (name, managed, own, why) in [
        ("both accept it", entry.clone(), entry.clone(), ""),
        ("the person's alone names any", String::new(), entry.clone(), ""),
        ("the organisation's alone names any", entry.clone(), String::new(), ""),
        (
            "the organisation wants another signer",
            entry.replace("[\"index\"]", "[\"other\"]"),
            entry.clone(),
            "signed by `other` (organisation's policy): none of them signed it",
        ),
        (
            "the person wants another signer",
            entry.clone(),
            entry.replace("[\"index\"]", "[\"other\"]"),
            "signed by `other` (person's policy): none of them signed it",
        ),
        (
            "the organisation lets it list less",
            entry.replace("[\"acme/\"]", "[\"acme/more/\"]"),
            entry.clone(),
            "it lists `acme/checks`",
        ),
        (
            "the organisation does not name it",
            entry.replace(INDEX, "acme/theirs"),
            entry.clone(),
            "an `[[index]]` for `acme/index` (organisation's policy): there is none",
        ),
    ] {
        fs::write(folder.join("trust.toml"), format!("{base}{managed}"))?;
        market.stall.trust(&format!("{base}{own}"))?;
        let words = format!("index update {INDEX} {config}");
        let ended = market.stall.run(&market.plain(&words))?;
        let expected = if why.is_empty() { Some(0) } else { Some(1) };
        ensure!(ended.code == expected && ended.stderr.contains(why), "{name}: {}", ended.all());
    }
    Ok(())
}
