//! The hub's own people: how they sign in, what they may do, and the audit of it.

use super::visits::{Visited, code_of, cookie_of, field};
use anyhow::{Context, Result, ensure};
use portcullis_store::{Hash, hash_record, to_hex};
use serde_json::Value;

/// One link signs one browser in, which every replica knows; roles and removal count at once.
pub fn sign_in() -> Result<()> {
    let hub = Visited::start("people")?;
    let code = hub.link("ann", "viewer")?;
    ensure!(code.len() >= 43, "256 bits: {code}");
    // In an address, a code would end in histories and logs.
    let shown = hub.get(0, &format!("/sign-in?code={code}"), &[])?;
    ensure!(shown.status == 200 && shown.header("set-cookie").is_none(), "{}", shown.head);
    let cookie = cookie_of(&hub.post(0, "/sign-in", &[], &format!("code={code}"))?)?;
    let again = hub.post(1, "/sign-in", &[], &format!("code={code}"))?;
    ensure!(again.header("set-cookie").is_none(), "a second use: {}", again.head);
    for replica in [0, 1] {
        let page = hub.get(replica, "/", &[&cookie])?;
        ensure!(page.status == 200 && page.body.contains("Sign out (ann, viewer)"), "{page:?}");
    }
    // The database has digests: what it holds signs nobody in.
    let value = cookie.split_once('=').context("no value")?.1;
    let held = "SELECT encode(digest, 'hex') || digest FROM browser_sessions";
    ensure!(!hub.fleet.query(held)?.contains(value));
    hub.fleet.output(&["hub", "user", "role", "ann", "operator"])?;
    ensure!(hub.page("/", &cookie)?.contains("(ann, operator)"));
    hub.fleet.output(&["hub", "user", "sign-out", "ann"])?;
    ensure!(hub.get(1, "/", &[&cookie])?.header("location") == Some("/sign-in"));
    let (first, second) = (
        code_of(&hub.fleet.output(&["hub", "user", "link", "ann", "--json"])?)?,
        code_of(&hub.fleet.output(&["hub", "user", "link", "ann", "--json"])?)?,
    );
    let refused = hub.post(0, "/sign-in", &[], &format!("code={first}"))?;
    ensure!(refused.header("set-cookie").is_none(), "a link that was replaced");
    let cookie = cookie_of(&hub.post(1, "/sign-in", &[], &format!("code={second}"))?)?;
    let token = field(&hub.page("/", &cookie)?, "token")?.to_owned();
    let out = hub.post(0, "/sign-out", &[&cookie], &format!("token={token}"))?;
    ensure!(out.header("location") == Some("/sign-in?said=out"), "{}", out.head);
    ensure!(hub.get(1, "/", &[&cookie])?.status == 303, "signed out");
    let expired =
        code_of(&hub.fleet.output(&["hub", "user", "link", "ann", "--for", "1s", "--json"])?)?;
    hub.fleet.query("UPDATE sign_in_links SET expires_at = now() - interval '1 second'")?;
    let refused = hub.post(0, "/sign-in", &[], &format!("code={expired}"))?;
    ensure!(refused.header("set-cookie").is_none(), "a link that has expired");
    let cookie = hub.sign_in("bob", "viewer", 0)?;
    hub.fleet.output(&["hub", "user", "remove", "bob"])?;
    for replica in [0, 1] {
        ensure!(hub.get(replica, "/", &[&cookie])?.status == 303, "a removed person's cookie");
    }
    let people = hub.fleet.output(&["hub", "user", "list", "--json"])?;
    let people: Value = serde_json::from_str(&people)?;
    ensure!(people["users"].as_array().map(Vec::len) == Some(1), "{people}");
    ensure!(people["users"][0]["person"] == "ann", "{people}");
    let acts = hub.acts()?;
    let found: Vec<&str> = acts.iter().filter_map(|act| act["act"].as_str()).collect();
    ensure!(
        found
            == [
                "add-user",
                "sign-in",
                "refuse-sign-in",
                "change-role",
                "end-sessions",
                "make-link",
                "make-link",
                "refuse-sign-in",
                "sign-in",
                "sign-out",
                "make-link",
                "refuse-sign-in",
                "add-user",
                "sign-in",
                "remove-user",
            ],
        "{found:?}"
    );
    ensure!(acts[1]["by"] == "ann" && acts[1]["channel"] == "page", "{}", acts[1]);
    ensure!(acts[0]["channel"] == "command" && acts[0]["details"]["role"] == "viewer");
    hub.fleet.output(&["hub", "audit", "verify"])?;
    Ok(())
}

/// The commands of an operator are in the audit too.
pub fn operators() -> Result<()> {
    let hub = Visited::start("operators")?;
    let site = hub.fleet.machine("operated")?;
    let machine = super::fleets::machine_of(&site)?;
    hub.fleet.output(&["hub", "revoke", &machine, "--reason", "the laptop was lost"])?;
    let missing = hub.fleet.run(&["hub", "revoke", "m-0"])?;
    ensure!(missing.code == Some(1), "{}", missing.all());
    let acts = hub.acts()?;
    let found: Vec<&str> = acts.iter().filter_map(|act| act["act"].as_str()).collect();
    ensure!(found == ["create-token", "revoke-machine"], "{found:?}");
    ensure!(acts[1]["subject"] == machine.as_str(), "{}", acts[1]);
    ensure!(acts[1]["details"]["reason"] == "the laptop was lost", "{}", acts[1]);
    for (arguments, said) in [
        (&["hub", "user", "add", "a b"][..], "a name has 1 to 128"),
        (&["hub", "user", "add", "oidc:ann"], "a name has 1 to 128"),
        (&["hub", "user", "role", "nobody", "viewer"], "there is no person `nobody`"),
        (&["hub", "user", "link", "nobody"], "there is no person `nobody`"),
        (&["hub", "user", "remove", "nobody"], "there is no person `nobody`"),
    ] {
        let ended = hub.fleet.run(arguments)?;
        ensure!(ended.code == Some(1) && ended.stderr.contains(said), "{}", ended.all());
    }
    ensure!(hub.acts()?.len() == 2, "what was refused is no act");
    Ok(())
}

/// Rows: what somebody with the database does to the audit, and the words of the verification; empty
/// if it finds nothing by itself.
pub fn audit() -> Result<()> {
    let hub = Visited::start("audited")?;
    for name in ["ann", "bob", "cid", "dan"] {
        hub.fleet.output(&["hub", "user", "add", name])?;
    }
    let verified = hub.fleet.output(&["hub", "audit", "verify", "--json"])?;
    let verified: Value = serde_json::from_str(&verified)?;
    ensure!(verified["intact"] == true && verified["entries"] == 4, "{verified}");
    let kept = format!("4:{}", verified["head"].as_str().context("no head")?);
    let forged = forge(&hub)?;
    for (name, sql, said, with_head) in [
        (
            "a changed document",
            "UPDATE audit SET document = replace(document, 'bob', 'eve') WHERE sequence = 2",
            "at entry 2: it does not have the hash of its document",
            "",
        ),
        (
            "a changed document with its hashes",
            forged.as_str(),
            "at entry 4: it is not sealed with the hub's receipt key",
            "",
        ),
        ("one that is removed", "DELETE FROM audit WHERE sequence = 2", "at entry 2: an entry", ""),
        (
            "the first that is removed",
            "DELETE FROM audit WHERE sequence = 1",
            "at entry 1: an entry is missing",
            "",
        ),
        (
            "the newest that is removed",
            "DELETE FROM audit WHERE sequence = 4",
            "the newest entry is not the one",
            "",
        ),
        (
            "the newest that is removed with the head",
            "DELETE FROM audit WHERE sequence = 4; UPDATE audit_head SET sequence = 3, \
             hash = (SELECT hash FROM audit WHERE sequence = 3)",
            "",
            "does not hold entry 4",
        ),
        (
            "all that are removed",
            "DELETE FROM audit; UPDATE audit_head SET sequence = 0, \
             hash = decode(repeat('00', 32), 'hex')",
            "",
            "does not hold entry 4",
        ),
        (
            "two that are swapped",
            "UPDATE audit SET sequence = 9 WHERE sequence = 2; \
             UPDATE audit SET sequence = 2 WHERE sequence = 3; \
             UPDATE audit SET sequence = 3 WHERE sequence = 9",
            "at entry 2: it does not follow",
            "",
        ),
    ] {
        hub.fleet.query(
            "CREATE TABLE kept AS TABLE audit; CREATE TABLE kept_head AS TABLE audit_head",
        )?;
        hub.fleet.query(sql)?;
        let ended = hub.fleet.run(&["hub", "audit", "verify"])?;
        ensure!(ended.code == Some(i32::from(!said.is_empty())), "{name}: {}", ended.all());
        ensure!(ended.all().contains(said), "{name}: {}", ended.all());
        let ended = hub.fleet.run(&["hub", "audit", "verify", "--head", &kept])?;
        ensure!(ended.code == Some(1), "{name}: {}", ended.all());
        ensure!(ended.all().contains(with_head), "{name}: {}", ended.all());
        hub.fleet.query(
            "TRUNCATE audit, audit_head; INSERT INTO audit TABLE kept; \
             INSERT INTO audit_head TABLE kept_head; DROP TABLE kept, kept_head",
        )?;
    }
    hub.fleet.output(&["hub", "audit", "verify", "--head", &kept])?;
    Ok(())
}

/// Returns SQL that changes the newest entry, and its hash as anybody can compute it.
fn forge(hub: &Visited) -> Result<String> {
    let newest = "SELECT encode(previous, 'hex') || ' ' || document FROM audit WHERE sequence = 4";
    let newest = hub.fleet.query(newest)?;
    let (previous, document) = newest.split_once(' ').context("no entry")?;
    let previous = data_encoding::HEXLOWER.decode(previous.as_bytes())?;
    let previous = Hash::try_from(previous).ok().context("no hash")?;
    let document = document.replace("dan", "eve");
    let hash = to_hex(&hash_record(&previous, 4, document.as_bytes(), None));
    Ok(format!(
        "UPDATE audit SET document = '{document}', hash = decode('{hash}', 'hex') WHERE sequence = 4; \
         UPDATE audit_head SET hash = decode('{hash}', 'hex')"
    ))
}
