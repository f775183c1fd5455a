//! Tests of a replay's page in a real browser: text from a recording has no effect in it, nothing
//! is sent out, and it contains the figures.

use crate::common::site::{Site, lines};
use crate::common::{browser, trial};
use crate::replays::{fails, file};
use crate::timelines::ASTRAY;
use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("page: hostile text does nothing in a browser", hostile),
        trial("page: it holds the figures, and compares", figures),
        trial("page: sessions in the order of their time, with what was asked for", sorted),
        trial("page: it replaces its own kind alone, in one step", written),
    ]
}

/// Texts that would run, load or deceive if they were not escaped; `PORT` is ours.
pub const HOSTILE: [&str; 14] = [
    "<script>document.title='run'</script>",
    "</style><script>document.title='run'</script><style>",
    "</title></head><body onload=\"document.title='run'\">",
    "\"><img src=\"http://127.0.0.1:PORT/a\" onerror=\"document.title='run'\">",
    "' onmouseover='document.title=1' autofocus onfocus='document.title=1' x='",
    "</code></details></section></main><iframe src=\"http://127.0.0.1:PORT/b\"></iframe>",
    "<meta http-equiv=\"refresh\" content=\"0;url=http://127.0.0.1:PORT/c\">",
    "<link rel=\"stylesheet\" href=\"http://127.0.0.1:PORT/d\"><style>@import url(http://127.0.0.1:PORT/e);*{background:url(http://127.0.0.1:PORT/f)}</style>",
    "</svg><svg onload=\"document.title='run'\"><script href=\"http://127.0.0.1:PORT/g\"/>",
    "<a href=\"javascript:document.title='run'\" ping=\"http://127.0.0.1:PORT/h\">javascript:document.title='run'</a>",
    "<form action=\"http://127.0.0.1:PORT/i\"><input autofocus><base href=\"http://127.0.0.1:PORT/\">",
    "\u{202e}gnp.exe\u{2066}\u{200b}\u{0}\u{1b}[2J",
    "{} {0} &lt;b&gt; &#x3c;script&#x3e; <!-- ]]> --> <![CDATA[ <?x",
    "<template><object data=\"http://127.0.0.1:PORT/j\"></object></template><noscript><img src=\"http://127.0.0.1:PORT/k\"></noscript>",
];

/// Returns a session that contains that text in every possible place: names, goal, tool, commands,
/// paths, errors, answers.
fn session(text: &str) -> Value {
    let step = |tool: &str, input: Value, failed: bool| json!({ "tool": tool, "input": input, "result": text, "is_error": failed });
    let mut steps = vec![
        step(text, json!({ text: text }), false),
        step("Write", json!({ "file_path": text, "content": text }), false),
        step("Write", json!({ "file_path": format!("/etc/{text}"), "content": text }), true),
        step("UserPromptSubmit", json!({ "prompt": text }), false),
        step("Bash", json!({ "command": format!("rm -rf '{text}' /srv/{text}") }), false),
        step("WebFetch", json!({ "url": format!("http://{text}"), "prompt": text }), false),
    ];
    // A repeated failure is reported with its text, and so is the intervention.
    steps.extend((0..5).map(|_| step("Bash", json!({ "command": format!("false {text}") }), true)));
    json!({ "id": text, "goal": text, "steps": steps, "meta": { "context": { "cwd": format!("/srv/{text}") } } })
}

fn hostile() -> Result<()> {
    let site = Site::new("page hostile")?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port().to_string();
    let recording: String =
        HOSTILE.iter().map(|text| format!("{}\n", session(&text.replace("PORT", &port)))).collect();
    let recording = file(&site, "hostile.jsonl", &recording)?;
    let config = file(&site, "strict.toml", "[risk]\nmedium = 0.35\nhigh = 0.4\n")?;
    let Some(browser) = browser::find()? else { return Ok(()) };
    for (name, title, more) in [
        ("alone", "Replay - ", &[][..]),
        ("compared", "Comparison of two", &["--compare", "--config-file", &config]),
    ] {
        let page = site.project().join(format!("{name}.html"));
        site.output(
            &[&["replay", "--output", &page.to_string_lossy()], more, &[&recording]].concat(),
        )?;
        let rendered =
            browser::render(&browser, &page, &site.root().join(format!("profile {name}")))?;
        elements(&rendered.document, title).with_context(|| format!("in the page {name}"))?;
        ensure!(
            rendered.document.contains("&lt;script&gt;document.title='run'&lt;/script&gt;"),
            "{name}: the text is not shown"
        );
        ensure!(
            rendered.console.is_empty(),
            "{name}: the browser complains: {:?}",
            rendered.console
        );
        let bytes = fs::read_to_string(&page)?;
        ensure!(
            !bytes.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{0}', '\u{1b}']),
            "{name}: what deceives is not spelled out"
        );
    }
    // The same checks detect a faulty page.
    let page = site.project().join("alone.html");
    let broken = fs::read_to_string(&page)?
        .replace("</footer>", "</footer><script>document.title='run'</script>");
    let other = site.project().join("broken.html");
    fs::write(&other, broken)?;
    let rendered = browser::render(&browser, &other, &site.root().join("profile broken"))?;
    ensure!(
        elements(&rendered.document, "Replay - ").is_err(),
        "a script in a page is not noticed"
    );
    ensure!(
        rendered.document.contains("<title>Replay - Portcullis</title>")
            && !rendered.console.is_empty(),
        "the policy lets a script run"
    );
    match listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        other => Err(anyhow!("a request left the page: {other:?}")),
    }
}

const ELEMENTS: [&str; 46] = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "body",
    "circle",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "g",
    "h1",
    "h2",
    "head",
    "header",
    "html",
    "li",
    "main",
    "meta",
    "ol",
    "p",
    "path",
    "q",
    "rect",
    "section",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
    "nav",
    "!--",
    "!doctype",
];
const ATTRIBUTES: [&str; 36] = [
    "aria-hidden",
    "aria-label",
    "charset",
    "class",
    "colspan",
    "content",
    "cx",
    "cy",
    "d",
    "height",
    "href",
    "html",
    "http-equiv",
    "id",
    "lang",
    "name",
    "open",
    "preserveaspectratio",
    "r",
    "role",
    "rx",
    "scope",
    "tabindex",
    "title",
    "transform",
    "viewbox",
    "width",
    "x",
    "y",
    "a",
    "of",
    "incident",
    "page",
    "portcullis",
    "replay",
    "--",
];

/// Checks that every element and attribute of a document is one that our pages use, and that every
/// link leads into the page. A script that ran would have changed the title so that it no longer
/// begins with `title`.
pub fn elements(document: &str, title: &str) -> Result<()> {
    let mut rest = document;
    let mut titles = 0;
    while let Some((_, tag)) = rest.split_once('<') {
        let (name, mut attributes) = tag.split_at(
            tag.find(|c: char| c.is_whitespace() || c == '>').context("a tag without an end")?,
        );
        let name = name.trim_start_matches('/').trim_end_matches('/').to_ascii_lowercase();
        ensure!(ELEMENTS.contains(&name.as_str()), "there is a `{name}` in the page");
        titles += usize::from(
            name == "title"
                && tag.strip_prefix("title>").is_some_and(|text| text.starts_with(title)),
        );
        loop {
            attributes = attributes.trim_start();
            let end = attributes
                .find(|c: char| c.is_whitespace() || "=>".contains(c))
                .context("a tag without an end")?;
            let (attribute, after) = attributes.split_at(end);
            if attribute.is_empty() && after.starts_with('>') {
                rest = after;
                break;
            }
            ensure!(
                ATTRIBUTES.contains(&attribute.trim_end_matches('/').to_ascii_lowercase().as_str()),
                "`{name}` has `{attribute}`"
            );
            attributes = after;
            if let Some(quoted) = after.strip_prefix("=\"") {
                let (value, after) = quoted.split_once('"').context("a value without an end")?;
                ensure!(
                    attribute != "href" || value.starts_with("#s"),
                    "`{name}` leads to `{value}`"
                );
                attributes = after;
            }
        }
    }
    ensure!(titles == 1, "the document is called otherwise than `{title}`");
    Ok(())
}

/// The sentence that the page has above its session, from the totals that `replay --json` prints.
fn summary_sentence(sum: &Value) -> Result<String> {
    let verdicts = sum["table"]["verdicts"].as_object().context("no verdicts")?;
    let parts: Vec<String> =
        [("block", "blocked"), ("ask", "asked about"), ("warn", "warned about")]
            .iter()
            .filter_map(|(verdict, word)| {
                Some(format!("{} {word}", verdicts.get(*verdict)?["steps"]))
            })
            .collect();
    ensure!(!parts.is_empty(), "nothing was objected to");
    Ok(format!("1 session, {} steps: {}.", sum["steps"], parts.join(", ")))
}

fn figures() -> Result<()> {
    let site = Site::new("page figures")?;
    let recording = file(&site, "astray.jsonl", ASTRAY)?;
    let page = site.project().join("page.html");
    let output = site.output(&["replay", "--output", &page.to_string_lossy(), &recording])?;
    ensure!(
        output.contains("the page is written: ") && output.contains("1 session, 40 steps"),
        "{output}"
    );
    let sum =
        lines(&site.output(&["replay", "--json", &recording])?)?.pop().context("no totals")?;
    let Some(browser) = browser::find()? else { return Ok(()) };
    let rendered = browser::render(&browser, &page, &site.root().join("profile"))?;
    elements(&rendered.document, "Replay - ")?;
    ensure!(rendered.console.is_empty(), "the browser complains: {:?}", rendered.console);
    for (group, rows) in sum["table"].as_object().context("no table")? {
        for (name, row) in rows.as_object().context("no rows")? {
            let cells = format!(
                "<th scope=\"row\">{name}</th><td>{}</td><td>100.0 %</td><td>{}</td>",
                row["sessions"], row["steps"]
            );
            ensure!(
                rendered.document.contains(&cells),
                "{group}: the page does not hold `{cells}`"
            );
        }
    }
    for part in [
        "<h2>Repair the receipt test.</h2><p class=\"goal\">astray, 20",
        &summary_sentence(&sum)?,
        "<b>X</b> context_reinforcement</li>",
        "aria-label=\"Risk of 40 steps, with what was decided, found and done.",
        ">scope_creep</text>",
        // The band after the stop has room for no word, so that its letter stands in it.
        "<span class=\"chip force\">stopped</span>",
        "<title>step 32: context_reinforcement for scope_creep, level",
        "<title>step 38: emergency_stop for rule:prevent_recursive_deletion, level",
        "3 steps allowed</summary>",
        "<dt>limits in force</dt>",
        "<q>Stay in the shop, please.</q>",
    ] {
        ensure!(rendered.document.contains(part), "the page does not hold {part:?}");
    }
    ensure!(!rendered.document.contains("<b>C</b> context"), "two marks have one letter");
    let config = file(&site, "gentle.toml", "[interventions]\nemergency_stop = false\n")?;
    site.output(&[
        "replay",
        "--compare",
        "--config-file",
        &config,
        "--output",
        &page.to_string_lossy(),
        &recording,
    ])?;
    let compared = fs::read_to_string(&page)?;
    for part in [
        "With your own set-up",
        "With the other one",
        "<th scope=\"row\">emergency_stop</th><td>1</td><td>0</td><td><b>-1</b></td>",
    ] {
        ensure!(compared.contains(part), "the comparison does not hold {part:?}");
    }
    Ok(())
}

fn sorted() -> Result<()> {
    let site = Site::new("page sorted")?;
    let session = |id: &str, goal: &str, at: u64| -> Result<String> {
        let calls = site.calls(id);
        let events = [calls.prompt(goal), calls.bash("1", "ls")].map(|mut event| {
            event["at"] = at.into();
            format!("{event}\n")
        });
        file(&site, &format!("{id}.jsonl"), &events.concat())
    };
    let later = session("uuid-1", "The later request", 1_772_445_600_000)?;
    let earlier = session("uuid-2", "The earlier request", 1_772_359_200_000)?;
    let page = site.project().join("page.html");
    site.output(&["replay", "--html", &page.to_string_lossy(), &later, &earlier])?;
    let text = fs::read_to_string(&page)?;
    let heading = |goal: &str| text.find(&format!("<h2>{goal}</h2>")).context("no such heading");
    ensure!(heading("The earlier request")? < heading("The later request")?, "they are not sorted");
    ensure!(text.contains("2026-03-01 10:00:00 UTC</p>"), "the date is missing");
    ensure!(!text.contains("<h2>uuid"), "a session is titled by its id");
    Ok(())
}

fn written() -> Result<()> {
    let site = Site::new("page written")?;
    let recording = file(&site, "astray.jsonl", ASTRAY)?;
    let write =
        |path: &Path| site.run(&["replay", "--output", &path.to_string_lossy(), &recording]);
    let page = site.project().join("page.html");
    ensure!(write(&page)?.code == Some(0), "no page is written");
    let first = fs::read(&page)?;
    ensure!(write(&page)?.code == Some(0) && fs::read(&page)? == first, "the second page differs");
    let own = site.project().join("own.html");
    fs::write(&own, "<!doctype html>\n<p>mine</p>\n")?;
    std::os::unix::fs::symlink(&page, site.project().join("link.html"))?;
    for (path, says) in [
        (own.clone(), "already exists and is not a page of a replay"),
        (site.project().join("link.html"), "already exists and is not a page of a replay"),
        (site.project().to_path_buf(), "already exists and is not a page of a replay"),
        (site.project().join("nowhere/page.html"), "there is no folder"),
    ] {
        fails(&site, &["replay", "--output", &path.to_string_lossy(), &recording], &[says])?;
    }
    fails(
        &site,
        &["replay", "--output", &page.to_string_lossy(), "/nowhere.jsonl"],
        &["/nowhere.jsonl"],
    )?;
    ensure!(
        fs::read_to_string(&own)?.contains("mine") && fs::read(&page)? == first,
        "a file was changed"
    );
    let left = fs::read_dir(site.project())?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'))
        .count();
    ensure!(left == 0, "something unfinished is left");
    let full = site.run(&["replay", "--json", "--output", &page.to_string_lossy(), &recording])?;
    ensure!(
        lines(&full.text())?.len() > 40,
        "with --json other lines are printed than those: {}",
        full.all()
    );
    Ok(())
}
