//! A guest that sends requests as programs do, and some that no honest program sends.
//!
//! The action's tool or the setting `asks` selects the requests: a method, an address, and words
//! that change something about it. An honest answer is one issue: for each request its status and
//! content, or the error code.

wit_bindgen::generate!({ path: "../../../wit/plugin", world: "risk-calculator", generate_all });

use exports::portcullis::plugin::assessor::{
    Action, Assessment, Context, Error, Guest, Rationality, Setting,
};
use portcullis::plugin::types::SettingValue;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method,
    OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

struct Plugin;

impl Guest for Plugin {
    fn prepare(settings: Vec<Setting>) -> Result<Vec<u8>, Error> {
        let said =
            settings.into_iter().find_map(|setting| match (setting.key.as_str(), setting.value) {
                ("asks", SettingValue::Text(asks)) => Some(asks),
                // Before the first call.
                ("tries", SettingValue::Text(tries)) => Some(tried(&tries)),
                _ => None,
            });
        Ok(said.unwrap_or_default().into_bytes())
    }

    fn assess(prepared: Vec<u8>, action: Action, _: Context) -> Result<Assessment, Error> {
        let prepared = String::from_utf8(prepared).unwrap();
        let found = match action.tool.as_str() {
            "prepared" => prepared,
            _ if !prepared.is_empty() => tried(&prepared),
            tool => tried(tool),
        };
        let rationality = Rationality {
            alignment: None,
            progression: None,
            efficiency: None,
            completeness: None,
            issues: vec![found],
            suggestions: vec![],
        };
        Ok(Assessment {
            risk: None,
            rationality: Some(rationality),
            side_effects: None,
            rulings: vec![],
        })
    }
}

/// A request.
#[derive(Clone, Default)]
struct Wish {
    method: String,
    url: String,
    /// The size of the body, in bytes.
    body: usize,
    headers: Vec<(String, String)>,
    /// The timeout for the first byte, in milliseconds.
    patience: Option<u64>,
    /// The header whose value is reported.
    shown: Option<String>,
    unfinished: bool,
    /// It asks for the answer again and again, and waits for nothing.
    spins: bool,
    times: usize,
    follows: bool,
}

fn tried(what: &str) -> String {
    if what == "HOARD" {
        return format!("{}", (0..100).map(|_| Fields::new()).collect::<Vec<_>>().len());
    }
    // A body that nobody takes.
    if what == "BRIM" {
        let request = OutgoingRequest::new(Fields::new());
        let body = request.body().unwrap();
        let stream = body.write().unwrap();
        let written = (0..1000).take_while(|_| stream.blocking_write_and_flush(&[0; 4096]).is_ok());
        return format!("{} writes", written.count());
    }
    let mut words = what.split_whitespace();
    let mut wish = Wish {
        method: words.next().unwrap_or_default().into(),
        url: words.next().unwrap_or_default().into(),
        times: 1,
        ..Wish::default()
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "body" => wish.body = value.parse().unwrap(),
            "header" => {
                let (name, value) = value.split_once(':').unwrap();
                // Characters that no word can contain.
                wish.headers.push((name.replace("CRLF", "\r\n"), value.replace("CRLF", "\r\n")));
            }
            "patience" => wish.patience = Some(value.parse().unwrap()),
            "show" => wish.shown = Some(value.into()),
            "times" => wish.times = value.parse().unwrap(),
            "unfinished" => wish.unfinished = true,
            "follow" => wish.follows = true,
            "spin" => wish.spins = true,
            other => return format!("`{other}` is nothing that this guest can try"),
        }
    }
    let all: Vec<String> = (0..wish.times).map(|_| sent(&wish)).collect();
    all.join(" | ")
}

fn sent(wish: &Wish) -> String {
    let answer = match begun(wish).and_then(|future| waited(future, wish.spins)) {
        Ok(answer) => answer,
        Err(why) => return why,
    };
    let status = answer.status();
    let headers = answer.headers();
    if let (true, Some(location)) = (wish.follows, headers.get("location").first()) {
        let url = String::from_utf8_lossy(location).into_owned();
        return format!("{status} {}", sent(&Wish { url, follows: false, ..wish.clone() }));
    }
    let shown = wish.shown.as_ref().map(|name| {
        let values: Vec<String> = headers
            .get(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect();
        assert_eq!(headers.has(name), !values.is_empty());
        assert!(headers.delete(name).is_err(), "an answer's headers can be changed");
        format!(" [{}]", values.join(", "))
    });
    format!("{status}{} {}", shown.unwrap_or_default(), read(&answer))
}

/// Sends a request as the bindings of most languages do: the body after the hand-over.
fn begun(wish: &Wish) -> Result<FutureIncomingResponse, String> {
    let pairs: Vec<_> = wish
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into_bytes()))
        .collect();
    let headers = Fields::from_list(&pairs).map_err(|why| format!("{why:?}"))?;
    let request = OutgoingRequest::new(headers);
    let method = match wish.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "PATCH" => Method::Patch,
        "CONNECT" => Method::Connect,
        other => Method::Other(other.into()),
    };
    let (scheme, rest) = wish.url.split_once("://").unwrap_or(("https", &wish.url));
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    request.set_method(&method).map_err(|()| "the method is not taken")?;
    request.set_scheme(Some(&scheme)).map_err(|()| "the scheme is not taken")?;
    request.set_authority(Some(authority)).map_err(|()| "the authority is not taken")?;
    request.set_path_with_query(Some(path)).map_err(|()| "the path is not taken")?;
    assert!(
        request.headers().append("x", b"y").is_err(),
        "the headers of a request can be changed"
    );
    let options = wish.patience.map(|time| {
        let options = RequestOptions::new();
        options.set_first_byte_timeout(Some(time * 1_000_000)).unwrap();
        assert_eq!(options.first_byte_timeout(), Some(time * 1_000_000));
        options
    });
    let body = (wish.body > 0).then(|| request.body().unwrap());
    let future = handle(request, options).map_err(|why| format!("{why:?}"))?;
    if let Some(body) = body {
        let stream = body.write().unwrap();
        let mut left = wish.body;
        while left > 0 {
            let some = left.min(4096);
            if stream.blocking_write_and_flush(&vec![b'x'; some]).is_err() {
                break;
            }
            left -= some;
        }
        drop(stream);
        if wish.unfinished {
            drop(body);
        } else {
            OutgoingBody::finish(body, None).map_err(|why| format!("{why:?}"))?;
        }
    }
    Ok(future)
}

fn waited(future: FutureIncomingResponse, spins: bool) -> Result<IncomingResponse, String> {
    let describe = |why: ErrorCode| format!("{why:?}");
    loop {
        if !spins {
            future.subscribe().block();
        }
        if let Some(answer) = future.get() {
            let answer = answer.map_err(|()| "the answer was taken before")?.map_err(describe);
            assert!(matches!(future.get(), Some(Err(()))), "an answer can be taken twice");
            return answer;
        }
    }
}

fn read(answer: &IncomingResponse) -> String {
    let body = answer.consume().unwrap();
    assert!(answer.consume().is_err(), "a body can be taken twice");
    let stream = body.stream().unwrap();
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(10_000) {
            Ok(some) => bytes.extend(some),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(_)) => return "the body broke off".into(),
        }
    }
    drop(stream);
    let trailers = IncomingBody::finish(body);
    trailers.subscribe().block();
    assert!(matches!(trailers.get(), Some(Ok(Ok(None)))), "there are trailers");
    if bytes.len() > 300 {
        format!("{} bytes", bytes.len())
    } else {
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

export!(Plugin);
