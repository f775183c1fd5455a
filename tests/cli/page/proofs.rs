//! How a person comes to the page, and proves to be one there: a link in a message, a code of an
//! authenticator.

use super::served::{Served, field};
use crate::common::reply::Answer as Reply;
use crate::held::{DOUBTFUL, await_file, await_waiting, write_program};
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::process::{Command, Stdio};

/// An authenticator as RFC 6238 describes it, of another author than the program's: it reads the
/// secret, and prints the code of this moment.
const AUTHENTICATOR: &str = "import base64, hashlib, hmac, struct, sys, time
secret = base64.b32decode(sys.stdin.read().strip())
step = struct.pack('>Q', int(time.time()) // 30)
digest = hmac.new(secret, step, hashlib.sha1).digest()
at = digest[-1] & 15
print('%06d' % ((struct.unpack('>I', digest[at:at + 4])[0] & 0x7fffffff) % 1000000))
";

/// With a service, the message about an action that waits has the page's address.
pub fn links() -> Result<()> {
    let served = Served::start("page-message")?;
    let site = served.site();
    let (sent, program) = (site.root().join("sent"), site.root().join("tell"));
    write_program(&program, &format!("cat > '{}.new' && mv '{0}.new' '{0}'", sent.display()))?;
    site.write(
        "config.toml",
        format!(
            "approvals.wait_seconds = 60\n[notifications.channels.me]\nkind = \"program\"\n\
             program = \"{}\"\nevents = [\"approval\"]\n",
            program.display()
        ),
    )?;
    let hook = served.place.hold("s", "c1", DOUBTFUL)?;
    let waiting = await_waiting(site, 1)?;
    let message = await_file(&sent)?;
    let link = format!("http://{}/approvals", served.host);
    ensure!(message.contains(&link), "no {link}: {message}");
    // The link leads to the page, which shows the action to whoever is signed in, and to no other.
    let stranger = served.get("/approvals", &[])?;
    ensure!(stranger.header("location") == Some("/sign-in"), "{}", stranger.head);
    let shown = served.get("/approvals", &[&served.sign_in("viewer")?])?.body;
    ensure!(shown.contains(DOUBTFUL), "{shown}");
    site.output(&["approvals", "deny", waiting[0]["id"].as_str().unwrap_or_default()])?;
    ensure!(hook.reply()?.answer == Reply::Refused);
    site.verify()
}

/// A person sets an authenticator up in a terminal, and allows with its code, once.
pub fn codes() -> Result<()> {
    let served = Served::start("page-code")?;
    let site = served.site();
    let secret = set_up_code(&served, "zoe")?;
    let cookie = served.sign_in("approver")?;
    let _watch = served.place.watch()?;
    let first = served.place.hold("s", "c1", DOUBTFUL)?;
    let second = served.place.hold("t", "c1", DOUBTFUL)?;
    let waiting = await_waiting(site, 2)?;
    let page = served.get("/approvals", &[&cookie])?.body;
    ensure!(page.contains("Code or password"), "{page}");
    let token = field(&page, "token")?;
    let answer = |session: &str, proof: &str| -> Result<String> {
        let asked = waiting.iter().find(|asked| asked["session"] == session);
        let id = asked.and_then(|asked| asked["id"].as_str()).context("it does not wait")?;
        let mut forms = page.split("<form class=\"answer\"");
        let form = forms.find(|form| form.contains(id)).context("it has no form")?;
        let digest = field(form, "digest")?;
        let form = format!("token={token}&id={id}&digest={digest}&answer=allow&proof={proof}");
        let got = served.post("/approvals/answer", &[&cookie], &form)?;
        Ok(got.header("location").map_or_else(|| got.status.to_string(), str::to_owned))
    };
    let code = show_code(&secret)?;
    let wrong = format!("{:06}", (code.parse::<u32>()? + 1) % 1_000_000);
    for (session, proof, expected) in [
        ("t", wrong.as_str(), "/approvals?said=unproved"),
        ("t", &code, "/approvals?said=allowed"),
        // Whoever has seen it on its way cannot use it again.
        ("s", &code, "/approvals?said=unproved"),
    ] {
        let got = answer(session, proof)?;
        ensure!(got == expected, "{session} {proof}: {got}, not {expected}");
    }
    let reply = second.reply()?;
    ensure!(!matches!(reply.answer, Reply::Refused | Reply::Asked), "{reply:?}");
    let waiting = await_waiting(site, 1)?;
    ensure!(waiting[0]["session"] == "s", "{waiting:?}");
    site.output(&["approvals", "deny", waiting[0]["id"].as_str().unwrap_or_default()])?;
    ensure!(first.reply()?.answer == Reply::Refused);
    let records = site.shown(&["--session", "t", "--kind", "exception"])?;
    let by: Vec<&str> =
        records.iter().filter_map(|record| record["details"]["by"].as_str()).collect();
    ensure!(by == ["zoe on the page, with a code of their authenticator"], "{by:?}");
    let journal = site.records()?.iter().any(|record| record.to_string().contains(&secret));
    ensure!(!journal, "the secret is in the journal");
    site.verify()
}

/// Sets up a code as a person does; returns the secret that the authenticator gets.
fn set_up_code(served: &Served, person: &str) -> Result<String> {
    let said = ["approvals", "proof", "code", "--person", person];
    let mut terminal = served.site().open_terminal(&said)?;
    terminal.await_text("?secret=")?;
    let secret = terminal.await_text("&issuer")?;
    let secret: String =
        secret.chars().filter(|letter| matches!(letter, 'A'..='Z' | '2'..='7')).collect();
    terminal.await_text("Type `")?;
    let word = terminal.await_text("`")?;
    terminal.type_keys(&format!("{}\n", word.trim_end_matches('`')))?;
    terminal.await_text("The code that it shows: ")?;
    terminal.type_keys(&format!("{}\n", show_code(&secret)?))?;
    terminal.await_text(person)?;
    let ended = terminal.await_end()?;
    ensure!(ended == Some(0), "it ended with {ended:?}");
    Ok(secret)
}

/// Returns the code that an authenticator with this secret shows now.
fn show_code(secret: &str) -> Result<String> {
    let mut python = Command::new("python3")
        .args(["-c", AUTHENTICATOR])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start python3, which plays the authenticator")?;
    python.stdin.take().context("no input")?.write_all(secret.as_bytes())?;
    let ended = python.wait_with_output()?;
    ensure!(ended.status.success(), "the authenticator failed: {}", ended.status);
    Ok(String::from_utf8(ended.stdout)?.trim().to_owned())
}
