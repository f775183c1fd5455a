//! What an operator does on the page: decisions about incidents, and restores. Each is tried by
//! others, without the proof, and with a plan that nobody was shown.

use super::served::{PASSWORD, Served, field};
use crate::common::reply::Answer as Reply;
use crate::common::site::lines;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// An action that stops a session.
pub const STOPPING: &str = "rm -rf /";
const CONFIG: &str = "approvals.wait_seconds = 60\n[checkpoints]\nenabled = true\n";

/// Lets a session be stopped; returns the incident.
pub fn stop(served: &Served, session: &str) -> Result<String> {
    let site = served.site();
    let reply = site.hook(&site.calls(session).bash("stop", STOPPING))?;
    ensure!(reply.answer == Reply::Stopped, "{reply:?}");
    let newest: Value =
        serde_json::from_str(&site.output(&["incident", "show", "last", "--json"])?)?;
    Ok(newest["id"].as_str().context("no id")?.to_owned())
}

/// Lets a session change a file and make another; returns the checkpoint.
pub fn change_files(served: &Served, session: &str) -> Result<String> {
    let site = served.site();
    site.write("config.toml", CONFIG)?;
    fs::write(site.project().join("a.txt"), "before\n")?;
    let command = "sed -i s/before/after/ a.txt && echo new > made.txt";
    site.hook(&site.calls(session).bash("c1", command))?;
    let ran = Command::new("/bin/sh").args(["-c", command]).current_dir(site.project()).status()?;
    ensure!(ran.success(), "{ran}");
    site.hook(&site.calls(session).bash_done("c1", command, ""))?;
    let all = lines(&site.output(&["checkpoint", "list", "--json"])?)?;
    Ok(all.first().context("no checkpoint")?["id"].as_str().context("no id")?.to_owned())
}

/// Sends a form; returns the address that the answer leads to, or its status.
fn send(served: &Served, path: &str, cookie: &str, form: &str) -> Result<String> {
    let answer = served.post(path, &[cookie], form)?;
    let led = answer.header("location").map(str::to_owned);
    Ok(led.unwrap_or_else(|| answer.status.to_string()))
}

pub fn incidents() -> Result<()> {
    let served = Served::start("page-incidents")?;
    let (site, right) = (served.site(), PASSWORD.replace(' ', "+"));
    let id = stop(&served, "s")?;
    let cookies = ["viewer", "approver", "operator"].map(|role| served.sign_in(role));
    let [viewer, approver, operator] = cookies;
    let (viewer, approver, operator) = (viewer?, approver?, operator?);
    let address = format!("/incident?id={id}");
    let page = served.get(&address, &[&operator])?;
    ensure!(page.status == 200 && page.body.contains("Resume under supervision"), "{page:?}");
    let token = field(&page.body, "token")?;
    for (cookie, role) in [(&viewer, "viewer"), (&approver, "approver")] {
        let shown = served.get(&address, &[cookie])?.body;
        ensure!(!shown.contains("value=\"resume\""), "{role}: {shown}");
        ensure!(shown.contains(&format!("portcullis incident resume {id}")), "{role}: {shown}");
        let own = field(&shown, "token")?;
        for option in ["resume", "supervise", "rollback", "abort", "lift"] {
            let form = format!("token={own}&id={id}&option={option}&proof={right}");
            let got = send(&served, "/incident/decide", cookie, &form)?;
            ensure!(got == "403", "{role} {option}: {got}");
        }
    }
    for (form, expected) in [
        (format!("token=x&id={id}&option=resume&proof={right}"), "403"),
        (format!("token={token}&id={id}&option=resume"), "unproved"),
        (format!("token={token}&id={id}&option=resume&proof=wrong+password"), "unproved"),
        (format!("token={token}&id={id}&option=supervise&proof="), "unproved"),
        (format!("token={token}&id={id}&option=obey&proof={right}"), "409"),
        (format!("token={token}&id={id}&option=lift&proof={right}"), "409"),
        (format!("token={token}&id={id}&option=rollback&proof={right}"), "409"),
        (format!("token={token}&id=last&option=resume&proof={right}"), "409"),
        (format!("token={token}&id={}&option=resume&proof={right}", &id[..6]), "409"),
        (format!("token={token}&id=nothing&option=abort"), "409"),
    ] {
        let got = send(&served, "/incident/decide", &operator, &form)?;
        let expected = match expected {
            "unproved" => format!("{address}&said=unproved"),
            status => status.to_owned(),
        };
        ensure!(got == expected, "{form}: {got}");
    }
    let stranger =
        served.post("/incident/decide", &[], &format!("token={token}&id={id}&option=abort"))?;
    ensure!(stranger.header("location") == Some("/sign-in"), "{}", stranger.head);
    let still = site.hook(&site.calls("s").bash("still", "ls"))?;
    ensure!(still.answer == Reply::Stopped, "{still:?}");
    let form = format!("token={token}&id={id}&option=supervise&proof={right}&words=it+was+me");
    let got = send(&served, "/incident/decide", &operator, &form)?;
    ensure!(got == format!("{address}&said=supervised"), "{got}");
    let page = served.get(&got, &[&operator])?.body;
    ensure!(page.contains("it was me") && page.contains("value=\"lift\""), "{page}");
    let asked = site.hook(&site.calls("s").bash("asked", "touch c.txt"))?;
    ensure!(asked.answer == Reply::Asked, "{asked:?}");
    let form = format!("token={token}&id={id}&option=lift&proof={right}");
    let got = send(&served, "/incident/decide", &operator, &form)?;
    ensure!(got == format!("{address}&said=lifted"), "{got}");
    // Ending a session needs no proof: it lets nothing run.
    let other = stop(&served, "t")?;
    let got = send(
        &served,
        "/incident/decide",
        &operator,
        &format!("token={token}&id={other}&option=abort"),
    )?;
    ensure!(got == format!("/incident?id={other}&said=aborted"), "{got}");
    let after = site.hook(&site.calls("t").bash("after", "ls"))?;
    ensure!(after.answer == Reply::Stopped, "{after:?}");
    let records = site.shown(&["--kind", "exception"])?;
    let by: Vec<&str> =
        records.iter().filter_map(|record| record["details"]["by"].as_str()).collect();
    let proved = "ann on the page, with their password";
    ensure!(by == [proved, proved, "a person on the page"], "{by:?}");
    site.verify()
}

pub fn rollbacks() -> Result<()> {
    let served = Served::start("page-rollbacks")?;
    let (site, right) = (served.site(), PASSWORD.replace(' ', "+"));
    change_files(&served, "s")?;
    let id = stop(&served, "s")?;
    let (approver, operator) = (served.sign_in("approver")?, served.sign_in("operator")?);
    let preview = format!("/incident/rollback?id={id}");
    let shown = served.get(&preview, &[&approver])?.body;
    ensure!(shown.contains("a.txt") && !shown.contains("name=\"plan\""), "{shown}");
    let page = served.get(&preview, &[&operator])?.body;
    ensure!(page.contains("a.txt") && page.contains("made.txt"), "{page}");
    let (token, plan) = (field(&page, "token")?.to_owned(), field(&page, "plan")?.to_owned());
    let decide = |plan: &str, proof: &str| {
        let form = format!("token={token}&id={id}&option=rollback&plan={plan}&proof={proof}");
        send(&served, "/incident/decide", &operator, &form)
    };
    let (a, made) = (site.project().join("a.txt"), site.project().join("made.txt"));
    let said = |word: &str| format!("/incident?id={id}&said={word}");
    for (plan, proof, word) in [
        (plan.as_str(), "", "unproved"),
        ("", right.as_str(), "changed"),
        (&"0".repeat(64), &right, "changed"),
    ] {
        let got = decide(plan, proof)?;
        ensure!(got == said(word), "{plan} {proof}: {got}");
    }
    fs::write(&a, "a person's\n")?;
    let got = decide(&plan, &right)?;
    ensure!(got == said("conflict"), "{got}");
    let page = served.get(&preview, &[&operator])?.body;
    ensure!(page.contains("changed since") && !page.contains("name=\"plan\""), "{page}");
    ensure!(fs::read_to_string(&a)? == "a person's\n" && made.exists(), "something was put back");
    fs::write(&a, "after\n")?;
    let page = served.get(&preview, &[&operator])?.body;
    let got = decide(field(&page, "plan")?, &right)?;
    ensure!(got == said("rolled-back"), "{got}");
    ensure!(fs::read_to_string(&a)? == "before\n" && !made.exists());
    let reply = site.hook(&site.calls("s").prompt("Once more."))?;
    reply.says(&["put the files back", "checkpoint c1"])?;
    let records = site.shown(&["--kind", "configuration"])?;
    let by = records.iter().find_map(|record| record["details"]["by"].as_str());
    ensure!(by == Some("ann on the page, with their password"), "{records:?}");
    site.verify()
}

pub fn checkpoints() -> Result<()> {
    let served = Served::start("page-checkpoints")?;
    let (site, right) = (served.site(), PASSWORD.replace(' ', "+"));
    let hostile = "<img src=x>\u{202e}.txt";
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let id = change_files(&served, "s")?;
    let command = format!("printf 'token = \"{secret}\"\\n<b>bold</b>\\n' > '{hostile}'");
    site.hook(&site.calls("s").bash("c2", &command))?;
    let ran =
        Command::new("/bin/sh").args(["-c", &command]).current_dir(site.project()).status()?;
    ensure!(ran.success(), "{ran}");
    site.hook(&site.calls("s").bash_done("c2", &command, ""))?;
    let cookies = ["viewer", "approver", "operator"].map(|role| served.sign_in(role));
    let [viewer, approver, operator] = cookies;
    let (viewer, approver, operator) = (viewer?, approver?, operator?);
    let list = served.get("/checkpoints", &[&viewer])?.body;
    ensure!(list.contains("Session <a href=\"/session?id=s\"") && list.contains(&id), "{list}");
    let address = format!("/checkpoint?id={id}");
    let page = served.get(&address, &[&operator])?.body;
    for part in ["<del>-before</del>", "<ins>+after</ins>", "made.txt", "&lt;b&gt;bold", "secret:"]
    {
        ensure!(page.contains(part), "no `{part}`: {page}");
    }
    for part in [secret, "<img", "\u{202e}", "<b>bold"] {
        ensure!(!page.contains(part) && !list.contains(part), "`{part}`: {page}");
    }
    let (token, plan) = (field(&page, "token")?.to_owned(), field(&page, "plan")?.to_owned());
    for (cookie, role) in [(&viewer, "viewer"), (&approver, "approver")] {
        let shown = served.get(&address, &[cookie])?.body;
        ensure!(!shown.contains("name=\"plan\""), "{role}: {shown}");
        let own = field(&shown, "token")?;
        let form = format!("token={own}&id={id}&plan={plan}&proof={right}");
        let got = send(&served, "/checkpoint/restore", cookie, &form)?;
        ensure!(got == "403", "{role}: {got}");
    }
    let restore = |token: &str, id: &str, plan: &str, proof: &str| {
        let form = format!("token={token}&id={id}&plan={plan}&proof={proof}");
        send(&served, "/checkpoint/restore", &operator, &form)
    };
    let said = |word: &str| format!("{address}&said={word}");
    for (token, of, plan, proof, expected) in [
        ("x", id.as_str(), plan.as_str(), right.as_str(), "403".to_owned()),
        (&token, "none", &plan, &right, "409".to_owned()),
        (&token, "..%2F..%2Fkey", &plan, &right, "409".to_owned()),
        (&token, &id, &plan, "", said("unproved")),
        (&token, &id, "", &right, said("changed")),
    ] {
        let got = restore(token, of, plan, proof)?;
        ensure!(got == expected, "{of} {proof}: {got}, not {expected}");
    }
    ensure!(site.project().join("made.txt").exists(), "something was put back");
    let got = restore(&token, &id, &plan, &right)?;
    ensure!(got == said("restored"), "{got}");
    ensure!(fs::read_to_string(site.project().join("a.txt"))? == "before\n");
    ensure!(!site.project().join("made.txt").exists() && !site.project().join(hostile).exists());
    let again = served.get(&address, &[&operator])?.body;
    ensure!(again.contains("everything is as it was"), "{again}");
    site.verify()
}
