//! Servers that a client reaches by an address: the entry with the gateway in front starts a command.
//!
//! Address and headers may be secrets, so they go to the gateway in the environment, in which
//! clients fill in variables as they do in an address.

use super::{GATEWAY, is_gateway, plain_name};
use serde_json::{Map, Value};

/// The names of an address in an entry.
const ADDRESSES: &[&str] = &["httpUrl", "url", "serverUrl"];
/// The names that mean nothing for a server that is started.
const REPLACED: &[&str] = &["httpUrl", "url", "serverUrl", "type", "headers"];
/// The names by which a client is told how to sign in.
const SIGN_IN: &[&str] = &["oauth", "auth", "authProviderType", "headersHelper"];
/// The types of streamable HTTP.
const TYPES: &[&str] = &["http", "streamable-http", "streamableHttp", "streamable_http"];
/// The fewest bytes of a credential.
const LEAST_SECRET: usize = 4;
/// The variable with the address, and the start of those with the headers' values.
const URL_VARIABLE: &str = "PORTCULLIS_MCP_URL";
const HEADER_VARIABLE: &str = "PORTCULLIS_MCP_HEADER_";
/// The gateway's options that name them.
const URL_OPTION: &str = "--url-env";
const HEADER_OPTION: &str = "--header";

/// Returns true if an entry has an address.
pub(super) fn has_address(entry: &Map<String, Value>) -> bool {
    ADDRESSES.iter().any(|name| entry.contains_key(*name))
}

/// Returns the entry with the gateway in front.
///
/// # Errors
/// Fails with the reason why the gateway cannot stand there.
pub(super) fn wrap(
    name: &str,
    entry: &Map<String, Value>,
    gateway: &[String],
) -> Result<Value, &'static str> {
    let address = find_address(entry)?;
    let headers = find_headers(entry)?;
    let mut environment = match entry.get("env") {
        None => Map::new(),
        Some(Value::Object(environment)) => environment.clone(),
        Some(_) => return Err("its environment is no object"),
    };
    let (program, options) = gateway.split_first().ok_or("there is no gateway")?;
    let mut words = options.to_vec();
    words
        .extend([GATEWAY, "--name", &plain_name(name), URL_OPTION, URL_VARIABLE].map(String::from));
    if is_open(address) {
        words.push("--plain-http".into());
    }
    environment.insert(URL_VARIABLE.into(), address.into());
    for (number, (header, value)) in headers.iter().enumerate() {
        let variable = format!("{HEADER_VARIABLE}{}", number + 1);
        words.extend([HEADER_OPTION.to_owned(), format!("{header}={variable}")]);
        environment.insert(variable, (*value).into());
    }
    let mut wrapped = entry.clone();
    wrapped.retain(|key, _| !REPLACED.contains(&key.as_str()));
    wrapped.insert("command".into(), program.as_str().into());
    wrapped.insert("args".into(), words.into());
    wrapped.insert("env".into(), environment.into());
    Ok(Value::Object(wrapped))
}

/// Returns an entry without the gateway; `None` if there is none in front. `before` is the entry as
/// it was, if that is known.
pub(super) fn unwrap(entry: &Value, before: Option<&Value>) -> Option<Value> {
    if !is_wrapped(entry) {
        return None;
    }
    let mut entry = entry.as_object()?.clone();
    let words = entry.shift_remove("args").unwrap_or_default();
    entry.shift_remove("command");
    let mut environment = match entry.shift_remove("env") {
        Some(Value::Object(environment)) => environment,
        _ => Map::new(),
    };
    let mut take = |variable: &str| environment.shift_remove(variable);
    let address = take(URL_VARIABLE);
    let mut headers = Map::new();
    for word in words.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let named = word.split_once('=');
        let named = named.filter(|(_, variable)| variable.starts_with(HEADER_VARIABLE));
        if let Some((header, value)) =
            named.and_then(|(name, variable)| Some((name, take(variable)?)))
        {
            headers.insert(header.to_owned(), value);
        }
    }
    if !environment.is_empty() || before.is_some_and(|before| before.get("env").is_some()) {
        entry.insert("env".into(), environment.into());
    }
    match before.and_then(Value::as_object) {
        Some(before) => {
            let replaced = before.iter().filter(|(key, _)| REPLACED.contains(&key.as_str()));
            entry.extend(replaced.map(|(key, value)| (key.clone(), value.clone())));
        }
        None => {
            entry.insert("type".into(), "http".into());
            entry.insert("url".into(), address?);
            if !headers.is_empty() {
                entry.insert("headers".into(), headers.into());
            }
        }
    }
    Some(Value::Object(entry))
}

/// Returns true if the gateway is in front, with an address behind it.
pub(super) fn is_wrapped(entry: &Value) -> bool {
    let words = entry.get("args").and_then(Value::as_array);
    let has = |wanted: &str| words.is_some_and(|words| words.iter().any(|word| word == wanted));
    is_gateway(entry) && has(GATEWAY) && has(URL_OPTION)
}

/// Returns the parts of an entry that no one should read over somebody's shoulder.
pub(super) fn secrets(entry: &Value) -> Vec<String> {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let members = value.and_then(Value::as_object).into_iter().flatten();
        members.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
    };
    let mut secrets = texts(entry.get("headers"));
    if is_wrapped(entry) {
        let environment = entry.get("env").and_then(Value::as_object).into_iter().flatten();
        let ours = environment.filter(|(name, _)| name.starts_with(HEADER_VARIABLE));
        secrets.extend(ours.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
    }
    // A short one may be a part of anything.
    secrets.retain(|secret| secret.len() >= LEAST_SECRET);
    secrets
}

fn find_address(entry: &Map<String, Value>) -> Result<&str, &'static str> {
    let kind = entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str);
    let found: Vec<_> = ADDRESSES.iter().filter_map(|name| entry.get(*name)).collect();
    let address = match found.as_slice() {
        [Value::String(address)] => address.as_str(),
        [] => return Err("it has neither a command nor an address"),
        _ => return Err("it has no single address"),
    };
    if entry.contains_key("command") {
        return Err("it has a command and an address");
    }
    if SIGN_IN.iter().any(|name| entry.contains_key(*name)) {
        return Err("the client signs in to it, which the gateway cannot do");
    }
    let path = address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let is_older = match kind {
        Some(kind) => !TYPES.contains(&kind),
        None => path.ends_with("/sse") && !entry.contains_key("httpUrl"),
    };
    if is_older {
        return Err("it speaks another transport than streamable HTTP");
    }
    Ok(address)
}

fn find_headers(entry: &Map<String, Value>) -> Result<Vec<(&str, &str)>, &'static str> {
    let headers = match entry.get("headers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(headers)) => headers,
        Some(_) => return Err("its headers are no object"),
    };
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c))
    };
    headers
        .iter()
        .map(|(name, value)| match value {
            Value::String(value) if plain(name) => Ok((name.as_str(), value.as_str())),
            _ => Err("one of its headers is no name with a text"),
        })
        .collect()
}

/// Returns true for an address without TLS on another machine: the client uses it already.
fn is_open(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.strip_prefix('[').map_or_else(
        || host.split(':').next().unwrap_or_default(),
        |rest| rest.split(']').next().unwrap_or_default(),
    );
    !(host == "localhost" || host.starts_with("127.") || host == "::1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrapped(entry: &Value) -> Result<Value, &'static str> {
        let gateway = ["/opt/portcullis", "--state", "/s"].map(str::to_owned);
        wrap("a/b", entry.as_object().unwrap(), &gateway)
    }

    #[test]
    fn the_gateway_goes_in_front_of_an_address_and_away() {
        let entry = json!({
            "type": "http", "url": "https://x.example/mcp?k=s", "timeout": 3, "env": { "A": "b" },
            "headers": { "Authorization": "Bearer ${TOKEN}", "X-Team": "t" },
        });
        let after = wrapped(&entry).unwrap();
        assert_eq!(
            after,
            json!({
                "timeout": 3,
                "env": {
                    "A": "b", "PORTCULLIS_MCP_URL": "https://x.example/mcp?k=s",
                    "PORTCULLIS_MCP_HEADER_1": "Bearer ${TOKEN}", "PORTCULLIS_MCP_HEADER_2": "t",
                },
                "command": "/opt/portcullis",
                "args": [
                    "--state", "/s", "mcp", "--name", "a_b", "--url-env", "PORTCULLIS_MCP_URL",
                    "--header", "Authorization=PORTCULLIS_MCP_HEADER_1",
                    "--header", "X-Team=PORTCULLIS_MCP_HEADER_2",
                ],
            })
        );
        assert!(is_wrapped(&after) && !is_wrapped(&entry));
        assert_eq!(unwrap(&after, Some(&entry)), Some(entry.clone()));
        assert_eq!(unwrap(&after, None), Some(entry.clone()));
        assert_eq!(unwrap(&entry, None), None);
        assert_eq!(secrets(&after), ["Bearer ${TOKEN}"]);
        let open = wrapped(&json!({ "url": "http://x.example/mcp" })).unwrap();
        assert!(open["args"].as_array().unwrap().contains(&"--plain-http".into()));
        let own = wrapped(&json!({ "httpUrl": "http://127.0.0.1:9/sse" })).unwrap();
        assert!(!own["args"].as_array().unwrap().contains(&"--plain-http".into()));
    }

    #[test]
    fn servers_that_the_gateway_cannot_reach_are_left() {
        for (entry, part) in [
            (json!({ "type": "sse", "url": "https://x.example/a" }), "another transport"),
            (json!({ "type": "ws", "url": "wss://x.example/a" }), "another transport"),
            (json!({ "url": "https://x.example/sse/" }), "another transport"),
            (json!({ "url": "https://x.example/a", "headersHelper": "x" }), "signs in"),
            (json!({ "httpUrl": "https://x.example/a", "url": "https://y.example" }), "no single"),
            (json!({ "url": ["https://x.example/a"] }), "no single"),
            (json!({ "url": "https://x.example/a", "headers": { "a=b": "c" } }), "headers"),
            (json!({ "url": "https://x.example/a", "headers": { "a": 1 } }), "headers"),
            (json!({ "tcp": "x" }), "neither"),
        ] {
            let problem = wrapped(&entry).unwrap_err();
            assert!(problem.contains(part), "{entry}: {problem}");
        }
    }
}
