//! Tests of an incident's page in a real browser: text from an agent has no effect in it, nothing
//! is sent out, and all its parts are present.

use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::{browser, trial};
use crate::pages::{HOSTILE, elements};
use anyhow::{Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

pub fn tests() -> Vec<Trial> {
    vec![trial(
        "incident export: the page holds everything, and hostile text does nothing in it",
        page,
    )]
}

/// Runs an agent that receives such texts, writes them, runs them and is stopped.
fn stopped(site: &Site, port: &str) -> Result<()> {
    let calls = site.calls("s");
    for (number, text) in HOSTILE.iter().map(|text| text.replace("PORT", port)).enumerate() {
        site.hook(&calls.prompt(&text))?;
        let command = format!("cat {text}");
        site.hook(&calls.bash(&format!("b{number}"), &command))?;
        site.hook(&calls.bash_failed(&format!("b{number}"), &command, &text))?;
        let path = site.project().join(text.replace(['/', '\0'], "_"));
        site.hook(&calls.before(
            &format!("w{number}"),
            "Write",
            json!({ "file_path": path, "content": text }),
        ))?;
        site.hook(&calls.before(&format!("t{number}"), &text, json!({ "a": text })))?;
    }
    let reply = site.hook(&calls.bash("stop", "rm -rf /"))?;
    ensure!(reply.answer == Answer::Stopped, "{reply:?}");
    Ok(())
}

fn page() -> Result<()> {
    let site = Site::new("incident page")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    stopped(&site, &listener.local_addr()?.port().to_string())?;
    let page = site.root().join("incident.html");
    let export =
        ["incident", "export", "last", "--format", "html", "--output", &page.to_string_lossy()];
    ensure!(site.output(&export)?.is_empty(), "a file was asked for");
    let once_more = site.run(&export)?;
    ensure!(
        once_more.code == Some(1) && once_more.all().contains("cannot create"),
        "{}",
        once_more.all()
    );
    let text = fs::read_to_string(&page)?;
    ensure!(
        text == site.output(&["incident", "export", "last", "--format", "html"])?,
        "standard output has another page"
    );
    ensure!(
        !text.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{0}', '\u{1b}']),
        "what deceives is not spelled out"
    );
    for part in [
        "Root cause",
        "Contributing factors",
        "Impact",
        "Recommended",
        "Timeline",
        "What the person asked for",
        "The newest actions",
    ] {
        ensure!(text.contains(&format!("<h2>{part}</h2>")), "{part} is not on the page");
    }
    let at = |heading: &str| text.find(&format!("<h2>{heading}"));
    ensure!(at("Next steps") < at("Root cause"), "what to do comes after the cause");
    ensure!(text.contains("See the whole record: <code>portcullis audit show</code>"));
    let markdown = site.output(&["incident", "export", "last", "--format", "markdown"])?;
    ensure!(markdown.contains("- `portcullis incident resume "), "{markdown}");
    for verb in ["resume", "rollback", "supervise", "abort"] {
        ensure!(
            text.contains(&format!("<code>portcullis incident {verb} ")),
            "{verb} is not on the page"
        );
    }
    let Some(browser) = browser::find()? else { return Ok(()) };
    let rendered = browser::render(&browser, &page, &site.root().join("profile"))?;
    elements(&rendered.document, "Incident ")?;
    ensure!(
        rendered.document.contains("&lt;script&gt;document.title='run'&lt;/script&gt;"),
        "the text is not shown"
    );
    ensure!(rendered.console.is_empty(), "the browser complains: {:?}", rendered.console);
    match listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        other => Err(anyhow!("a request left the page: {other:?}")),
    }
}
