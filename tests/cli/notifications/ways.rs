//! Tests of each kind of channel, and of unusable channels.

use super::chat::LONG;
use super::held::{doctor, hold};
use crate::common::process;
use crate::common::site::Site;
use anyhow::{Result, ensure};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

pub fn others() -> Result<()> {
    let (port, mails) = mail_server()?;
    let out = Site::new("notifications-others")?;
    let note = out.person().join("note");
    let configuration = format!(
        "[notifications.channels.mail]\nkind = \"smtp\"\nhost = \"localhost\"\nport = {port}\nencryption = \"none\"\n\
         from = \"guard@example.com\"\nto = [\"me@example.com\"]\nevents = [\"block\"]\n\
         [notifications.channels.desk]\nkind = \"program\"\nprogram = \"/bin/sh\"\narguments = [\"-c\", \"cat > {}\"]\nevents = [\"block\"]\n",
        note.display()
    );
    out.write("config.toml", configuration)?;
    let held = hold(out)?;
    held.block("c1")?;
    let (code, said) = held.run(&["maintain"])?;
    ensure!(code == Some(0), "{said}");
    let mail = mails.recv_timeout(LONG)?;
    ensure!(
        mail.contains("RCPT TO:<me@example.com>")
            && mail.contains("Subject: [portcullis] warning: an action was blocked: Bash"),
        "{mail}"
    );
    let message: Value = serde_json::from_slice(&fs::read(&note)?)?;
    ensure!(
        message["topic"] == "block" && message["session"] == "s" && message["project"] == "project",
        "{message}"
    );
    for name in ["mail", "desk"] {
        let said = held.site.output(&["notifications", "test", name])?;
        ensure!(said.contains(&format!("delivered: {name}: ")), "{said}");
    }
    ensure!(mails.recv_timeout(LONG)?.contains("this channel works"));
    ensure!(held.waiting()?.is_empty());
    held.site.verify()
}

/// Starts a mail server that accepts every mail.
fn mail_server() -> Result<(u16, Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let (mails, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut mail = String::new();
            let mut out = match stream.try_clone() {
                Ok(out) => out,
                Err(_) => return,
            };
            let mut data = false;
            let mut say = |line: &str| out.write_all(line.as_bytes()).is_ok();
            say("220 mail.test\r\n");
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                mail.push_str(&line);
                mail.push('\n');
                match line.as_str() {
                    "." => {
                        data = false;
                        // The mail is kept before it is answered.
                        let _ = mails.send(mail.clone());
                        say("250 kept\r\n");
                    }
                    _ if data => {}
                    "DATA" => {
                        data = true;
                        say("354 go on\r\n");
                    }
                    _ => drop(say("250 ok\r\n")),
                }
            }
        }
    });
    Ok((port, received))
}

pub fn unusable() -> Result<()> {
    let site = Site::new("notifications-unusable")?;
    let open = site.person().join("open");
    fs::write(&open, "https://hooks.example.com/verysecret\n")?;
    fs::set_permissions(&open, Permissions::from_mode(0o644))?;
    let open = open.display().to_string();
    let rows: &[(&str, &str)] = &[
        ("", "`notifications.channels.c.kind` is missing"),
        ("kind = \"webhook\"", "`notifications.channels.c.url` is missing"),
        (
            "kind = \"webhook\"\nurl = \"http://example.com/verysecret\"",
            "is not encrypted and not on this machine",
        ),
        (
            "kind = \"webhook\"\nurl = \"https://example.com/\"\nbearer = \"verysecret\"",
            "a credential has no place in the configuration",
        ),
        (
            "kind = \"webhook\"\nurl = \"https://example.com/\"\nproxy = \"http://me:verysecret@127.0.0.1:1\"",
            "a credential has no place in the configuration",
        ),
        (
            "kind = \"webhook\"\nurl = \"https://example.com/\"\nproxy = \"socks5://127.0.0.1:1\"",
            "write it as `http://host:port`",
        ),
        (
            "kind = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\nproxy = \"http://127.0.0.1:2\"",
            "leave out `proxy`",
        ),
        ("kind = \"webhook\"\nurl = \"env:NOT_THERE\"", "`NOT_THERE` is not set"),
        (&format!("kind = \"webhook\"\nurl = \"file:{open}\""), "run `chmod 600 "),
        ("kind = \"smtp\"\nfrom = \"a@example.com\"", "`notifications.channels.c.host` is missing"),
        (
            "kind = \"smtp\"\nhost = \"mail.example.com\"\nfrom = \"a@example.com\"\nuser = \"me\"",
            "`notifications.channels.c.password` is missing",
        ),
        (
            "kind = \"smtp\"\nhost = \"mail.example.com\"\nfrom = \"a@example.com\"\npassword = \"verysecret\"",
            "has no place in the configuration",
        ),
        (
            "kind = \"smtp\"\nhost = \"mail.example.com\"\nfrom = \"a@example.com\"\nencryption = \"none\"",
            "is not on this machine",
        ),
        ("kind = \"program\"\nprogram = \"tell\"", "is not an absolute path"),
    ];
    for (text, why) in rows {
        site.write(
            "config.toml",
            format!("[notifications.channels.c]\nevents = [\"block\"]\n{text}\n"),
        )?;
        let tried = site.run(&["notifications", "test", "c"])?;
        ensure!(tried.code == Some(1), "{text}: {}", tried.all());
        for said in [tried.all(), site.output(&["notifications", "list"])?, doctor(&site)?] {
            ensure!(
                said.contains(why) && !said.contains("verysecret"),
                "{text}: no `{why}` in {said}"
            );
        }
    }
    for (text, why) in [
        ("[notifications.channels.\"a/b\"]\nkind = \"webhook\"", "a channel's name"),
        ("[notifications.channels.c]\nkind = \"pigeon\"", "one of `webhook`, `smtp`, `program`"),
        (
            "[notifications.channels.c]\nevents = [\"everything\"]",
            "notifications.channels.c.events",
        ),
        ("[notifications.channels.c]\nport = 70000", "from 1 to 65535"),
    ] {
        site.write("config.toml", text)?;
        let ended = site.run(&["notifications", "list"])?;
        ensure!(ended.code == Some(1) && ended.all().contains(why), "{text}: {}", ended.all());
    }
    Ok(())
}

pub fn proxied() -> Result<()> {
    let (port, asked) = proxy()?;
    let site = Site::new("notifications-proxied")?;
    let webhook = "[notifications.channels.team]\nkind = \"webhook\"\nurl = \"https://hooks.invalid/verysecret\"\nevents = [\"block\"]\n";
    let address = format!("http://127.0.0.1:{port}");
    for (named, uses) in [("", false), (address.as_str(), true), ("env:HTTPS_PROXY", true)] {
        let key = if named.is_empty() { String::new() } else { format!("proxy = \"{named}\"\n") };
        site.write("config.toml", format!("{webhook}{key}"))?;
        let mut command = site.command(&["notifications", "test", "team"]);
        command.env("HTTPS_PROXY", &address).env("ALL_PROXY", &address);
        let said = process::run(command, b"", LONG)?;
        ensure!(said.code == Some(1) && !said.all().contains("verysecret"), "{}", said.all());
        let through = said.all().contains(&format!(
            "the proxy `{address}` did not connect us to `https://hooks.invalid`"
        ));
        ensure!(through == uses, "`{named}`: {}", said.all());
        ensure!(
            asked.try_iter().collect::<Vec<_>>()
                == vec!["CONNECT hooks.invalid:443 HTTP/1.1"; usize::from(uses)],
            "`{named}`"
        );
    }
    // A project cannot configure channels.
    let project = site.project().join(".portcullis");
    fs::create_dir_all(&project)?;
    fs::write(
        project.join("config.toml"),
        "[notifications.channels.team]\nproxy = \"http://127.0.0.1:1\"\n",
    )?;
    let said = site.run(&["notifications", "test", "team"])?;
    ensure!(!said.all().contains("127.0.0.1:1`"), "{}", said.all());
    Ok(())
}

/// Starts a proxy that refuses every request and records it.
fn proxy() -> Result<(u16, Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let (asks, asked) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Ok(read) = stream.try_clone() else { return };
            let head: Vec<String> = BufReader::new(read)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            let _ = asks.send(head.first().cloned().unwrap_or_default());
            let _ = stream.write_all(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n");
        }
    });
    Ok((port, asked))
}
