//! Traces of reviews, at a collector on loopback that reads OTLP with a library of others.

use super::running::{Running, ask};
use crate::common::site::Site;
use anyhow::{Context, Result, anyhow, bail, ensure};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use tiny_http::{Response, Server};

/// A post to the collector.
struct Post {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A collector that answers each post with a status.
struct Collector {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
    posts: Receiver<Post>,
    status: Arc<AtomicU16>,
}

impl Collector {
    fn start() -> Result<Self> {
        let server = Server::http("127.0.0.1:0").map_err(|error| anyhow!("no server: {error}"))?;
        let (server, status) = (Arc::new(server), Arc::new(AtomicU16::new(200)));
        let (sender, posts) = channel();
        let thread = std::thread::spawn({
            let (server, status) = (Arc::clone(&server), Arc::clone(&status));
            move || {
                for mut request in server.incoming_requests() {
                    let mut body = Vec::new();
                    let _whole = request.as_reader().read_to_end(&mut body);
                    let pair = |header: &tiny_http::Header| {
                        let name = header.field.as_str().as_str().to_ascii_lowercase();
                        (name, header.value.as_str().to_owned())
                    };
                    let headers = request.headers().iter().map(pair).collect();
                    let _sent = sender.send(Post { path: request.url().to_owned(), headers, body });
                    let answer = Response::empty(status.load(Ordering::Relaxed));
                    drop(request.respond(answer));
                }
            }
        });
        Ok(Self { server, thread: Some(thread), posts, status })
    }

    fn url(&self) -> Result<String> {
        let address = self.server.server_addr().to_ip().context("the server has no address")?;
        Ok(format!("http://{address}"))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// A span as the tests read it.
#[derive(Debug)]
struct Seen {
    name: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    begin: u64,
    end: u64,
    failed: bool,
    attributes: BTreeMap<String, String>,
}

fn read_span(span: Span) -> Seen {
    let text = |value: Option<AnyValue>| match value {
        Some(AnyValue::StringValue(text)) => text,
        Some(AnyValue::IntValue(number)) => number.to_string(),
        Some(AnyValue::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    Seen {
        name: span.name,
        trace: span.trace_id,
        id: span.span_id,
        parent: span.parent_span_id,
        begin: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        failed: span.status.is_some_and(|status| status.code == 2),
        attributes: span
            .attributes
            .into_iter()
            .map(|pair| (pair.key, text(pair.value.and_then(|value| value.value))))
            .collect(),
    }
}

/// Starts a service that sends traces.
fn serve(site: &Site, arguments: &[&str]) -> Result<Running> {
    let words = [&["serve", "--json", "--no-page"], arguments].concat();
    let mut command = site.command(&words);
    command.stdin(Stdio::null());
    Running::start_command(command)
}

/// Two reviews, with a plugin that is no component, arrive as the journal has them, without a text
/// of an action.
pub fn sent() -> Result<()> {
    let site = Site::new("traces")?;
    let collector = Collector::start()?;
    let headers = site.root().join("headers");
    fs::write(&headers, "Authorization: Bearer of-the-collector\n")?;
    fs::set_permissions(&headers, Permissions::from_mode(0o600))?;
    fs::create_dir_all(site.state().join("plugins"))?;
    site.write("plugins/broken.wasm", "not a component")?;
    let url = collector.url()?;
    let named = headers.to_string_lossy();
    let mut running = serve(&site, &["--traces", &url, "--traces-header-file", &named])?;
    for (id, command) in [("c1", "ls zebra"), ("c2", "rm -rf / --no-preserve-root")] {
        ask(&site, site.calls("traced").bash(id, command).to_string().as_bytes())?;
    }
    running.signal(Signal::TERM)?;
    ensure!(running.ended()? == Some(0), "it failed");
    let mut spans = Vec::new();
    for Post { path, headers, body } in collector.posts.try_iter() {
        ensure!(path == "/v1/traces", "it posted to {path}");
        let has = |name: &str, value: &str| {
            headers.iter().any(|(found, text)| found == name && text == value)
        };
        ensure!(has("authorization", "Bearer of-the-collector"), "{headers:?}");
        ensure!(has("content-type", "application/x-protobuf"), "{headers:?}");
        let text = String::from_utf8_lossy(&body).into_owned();
        ensure!(!text.contains("zebra") && !text.contains("preserve"), "it sent a command: {text}");
        let request = ExportTraceServiceRequest::decode(&body[..])?;
        for resource in request.resource_spans {
            let described = format!("{:?}", resource.resource);
            ensure!(described.contains("\"portcullis\""), "{described}");
            let found = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            spans.extend(found.map(read_span));
        }
    }
    let records = site.records()?;
    let verdicts: BTreeMap<&str, &str> = records
        .iter()
        .filter(|record| record["kind"] == "review")
        .filter_map(|record| Some((record["id"].as_str()?, record["verdict"].as_str()?)))
        .collect();
    let reviews: Vec<&Seen> = spans.iter().filter(|span| span.name == "review").collect();
    ensure!(reviews.len() == 2 && verdicts.len() == 2, "{spans:#?}");
    for review in reviews {
        let said = |name: &str| review.attributes.get(name).map_or("", String::as_str);
        let verdict = verdicts.get(said("portcullis.record")).copied();
        ensure!(verdict == Some(said("portcullis.verdict")), "{review:#?}");
        ensure!(said("gen_ai.tool.name") == "Bash", "{review:#?}");
        ensure!(said("gen_ai.conversation.id") == "traced", "{review:#?}");
        ensure!(review.parent.is_empty(), "{review:#?}");
        let below: Vec<&Seen> = spans.iter().filter(|span| span.parent == review.id).collect();
        for name in ["open", "plugin", "commit"] {
            ensure!(below.iter().any(|span| span.name == name), "no {name} in {below:#?}");
        }
        for span in &below {
            let within = review.begin <= span.begin && span.end <= review.end;
            ensure!(within && span.trace == review.trace, "{span:#?} is not in {review:#?}");
        }
        let plugin = |name: &str| {
            below.iter().find(|span| {
                span.attributes.get("portcullis.plugin").is_some_and(|found| found == name)
            })
        };
        let risk = plugin("risk").context("no span of a builtin plugin")?;
        ensure!(!risk.failed && risk.attributes.contains_key("portcullis.fuel"), "{risk:#?}");
        let broken = plugin("broken").context("no span of the broken plugin")?;
        let why = broken.attributes.get("error.type").map(String::as_str);
        ensure!(broken.failed && why == Some("load-failed"), "{broken:#?}");
    }
    Ok(())
}

/// A collector that fails is reported once, and changes nothing else.
pub fn refused() -> Result<()> {
    let site = Site::new("traces-refused")?;
    let collector = Collector::start()?;
    collector.status.store(403, Ordering::Relaxed);
    let url = collector.url()?;
    let mut running = serve(&site, &["--traces", &url])?;
    let answer = ask(&site, site.calls("traced").bash("c1", "ls").to_string().as_bytes())?;
    ensure!(answer.code == Some(0), "{}", answer.all());
    running.signal(Signal::TERM)?;
    ensure!(running.ended()? == Some(0), "it failed");
    let mut said = String::new();
    running.child.stderr.take().context("no standard error")?.read_to_string(&mut said)?;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("cannot send traces to `{url}/v1/traces`: it answers 403 Forbidden");
    ensure!(said.matches(&line).count() == 1, "it said {said:?}");
    Ok(())
}

/// Arguments that cannot be used, and what the error has to say and to keep.
const UNUSABLE: &[(&[&str], &str)] = &[
    (&["--traces", "http://collector.example:4318"], "without TLS"),
    (&["--traces", "https://me:hidden@collector.example"], "file of headers"),
    (&["--traces", "collector"], "not an address"),
    (
        &["--traces", "https://c.example", "--traces-header-file", "nowhere"],
        "there is no `nowhere`",
    ),
    (&["--traces", "https://c.example", "--traces-header-file", "open"], "others may read"),
    (&["--traces", "https://c.example", "--traces-header-file", "wrong"], "line 2 is not a header"),
];

pub fn unusable() -> Result<()> {
    let site = Site::new("traces-unusable")?;
    for (name, mode) in [("open", 0o644), ("wrong", 0o600)] {
        let file = site.project().join(name);
        fs::write(&file, "a: b\nhidden\n")?;
        fs::set_permissions(&file, Permissions::from_mode(mode))?;
    }
    for (arguments, expected) in UNUSABLE {
        let ended = site.run(&[&["serve"], *arguments].concat())?;
        let said = ended.all();
        if ended.code != Some(1) || !said.contains(expected) || said.contains("hidden") {
            bail!("{arguments:?}: {said}");
        }
    }
    Ok(())
}
