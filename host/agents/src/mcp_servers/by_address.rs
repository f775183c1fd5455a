//! Servers that a client reaches by an address: the entry with the gateway in front starts a
//! command.
//!
//! Address and headers may be secrets, so they go to the gateway in the environment, in which
//! clients fill in variables as they do in an address.

use super::{GATEWAY, is_gateway, plain_name};
use serde_json::{Map, Value};

/// The names of an address in an entry.
const ADDRESSES: &[&str] = &["httpUrl", "url", "serverUrl"];
/// The names that mean nothing for a server that is started.
const REPLACED: &[&str] = &["httpUrl", "url", "serverUrl", "type", "headers"];
/// The names that mean nothing until a server is started: they come from whoever wrote the address,
/// and must not change the gateway.
const STARTED: &[&str] = &["args", "env", "envFile", "cwd"];
/// The names by which a client is told how to sign in.
const SIGN_IN: &[&str] = &["oauth", "auth", "authProviderType", "headersHelper"];
/// The types of streamable HTTP.
const TYPES: &[&str] = &["http", "streamable-http", "streamableHttp", "streamable_http"];
/// The variable with the address, and the start of those with the headers' values.
const URL_VARIABLE: &str = "PORTCULLIS_MCP_URL";
const HEADER_VARIABLE: &str = "PORTCULLIS_MCP_HEADER_";
/// The gateway's options that name them.
const URL_OPTION: &str = "--url-env";
const HEADER_OPTION: &str = "--header";

/// The reason for which a server of an older transport is left.
pub(super) const OLDER: &str = "it speaks another transport than streamable HTTP";

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
    if entry.get("env").is_some_and(|environment| !environment.is_object()) {
        return Err("its environment is not an object");
    }
    let mut environment = Map::new();
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
    wrapped.retain(|key, _| !is_left_out(key));
    wrapped.insert("command".into(), program.as_str().into());
    wrapped.insert("args".into(), words.into());
    wrapped.insert("env".into(), environment.into());
    Ok(Value::Object(wrapped))
}

/// Returns true for a part of an entry that is not in the one with the gateway.
fn is_left_out(name: &str) -> bool {
    REPLACED.contains(&name) || STARTED.contains(&name)
}

/// Returns an entry without the gateway; `None` if there is none in front. `before` is the entry as
/// it was, if that is known: the address, the headers and the environment are those of now, since
/// somebody may have changed a token meanwhile.
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
    let before = before.and_then(Value::as_object);
    let address = environment.shift_remove(URL_VARIABLE);
    let headers = headers_of_now(&words, &mut environment, before);
    let restored = before.into_iter().flatten().filter(|(key, _)| is_left_out(key));
    for (key, value) in restored {
        // A part that only a person can have added since then stays.
        entry.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    let name = ADDRESSES.iter().find(|name| entry.contains_key(**name));
    // Nothing but streamable HTTP is ever wrapped, so this type is right without a record.
    if before.is_none() {
        entry.insert("type".into(), "http".into());
    }
    match (name, address) {
        (name, Some(address)) => {
            entry.insert((*name.unwrap_or(&"url")).into(), address);
        }
        (Some(_), None) => {}
        (None, None) => return None,
    }
    if !headers.is_empty() {
        entry.insert("headers".into(), headers.into());
    } else if entry.get("headers").and_then(Value::as_object).is_some_and(|had| !had.is_empty()) {
        entry.shift_remove("headers");
    }
    if !environment.is_empty() {
        match entry.get_mut("env") {
            Some(Value::Object(had)) => had.extend(environment),
            _ => drop(entry.insert("env".into(), environment.into())),
        }
    }
    Some(Value::Object(entry))
}

/// Takes the headers out of the environment of an entry with the gateway. A header whose variable
/// is set elsewhere has the value that it had before.
fn headers_of_now(
    words: &Value,
    environment: &mut Map<String, Value>,
    before: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let had = before.and_then(|before| before.get("headers"));
    let mut headers = Map::new();
    for word in words.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let word = word
            .strip_prefix(HEADER_OPTION)
            .and_then(|word| word.strip_prefix('='))
            .unwrap_or(word);
        let Some((header, variable)) = word.split_once('=') else { continue };
        if !variable.starts_with(HEADER_VARIABLE) {
            continue;
        }
        let value = environment.shift_remove(variable);
        if let Some(value) = value.or_else(|| had?.get(header).cloned()) {
            headers.insert(header.to_owned(), value);
        }
    }
    headers
}

/// Returns true if the gateway is in front, with an address behind it.
pub(super) fn is_wrapped(entry: &Value) -> bool {
    let words = entry.get("args").and_then(Value::as_array);
    let has = |wanted: &str| words.is_some_and(|words| words.iter().any(|word| word == wanted));
    is_gateway(entry) && has(GATEWAY) && has(URL_OPTION)
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
    // Without a type, addresses of the older transport end so by custom.
    let is_older = match kind {
        Some(kind) => !TYPES.contains(&kind),
        None => path.ends_with("/sse") && !entry.contains_key("httpUrl"),
    };
    if is_older {
        return Err(OLDER);
    }
    Ok(address)
}

fn find_headers(entry: &Map<String, Value>) -> Result<Vec<(&str, &str)>, &'static str> {
    let headers = match entry.get("headers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(headers)) => headers,
        Some(_) => return Err("its headers are not an object"),
    };
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c))
    };
    headers
        .iter()
        .map(|(name, value)| match value {
            Value::String(value) if plain(name) => Ok((name.as_str(), value.as_str())),
            _ => Err("one of its headers is not a name with text"),
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
                    "PORTCULLIS_MCP_URL": "https://x.example/mcp?k=s",
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
        let mut without = entry.clone();
        without.as_object_mut().unwrap().shift_remove("env");
        assert_eq!(unwrap(&after, None), Some(without));
        assert_eq!(unwrap(&entry, None), None);
        let open = wrapped(&json!({ "url": "http://x.example/mcp" })).unwrap();
        assert!(open["args"].as_array().unwrap().contains(&"--plain-http".into()));
        let own = wrapped(&json!({ "httpUrl": "http://127.0.0.1:9/sse" })).unwrap();
        assert!(!own["args"].as_array().unwrap().contains(&"--plain-http".into()));
    }

    #[test]
    fn an_inert_part_of_an_entry_does_not_reach_the_gateway() {
        let entry = json!({
            "url": "https://x.example/mcp", "cwd": "/p", "envFile": ".env", "args": ["a"],
            "env": { "LD_PRELOAD": "/p/x.so", "PORTCULLIS_HOME": "/p" },
        });
        let after = wrapped(&entry).unwrap();
        assert_eq!(after["env"], json!({ "PORTCULLIS_MCP_URL": "https://x.example/mcp" }));
        assert!(after.get("cwd").is_none() && after.get("envFile").is_none());
        assert_eq!(unwrap(&after, Some(&entry)), Some(entry));
    }

    #[test]
    fn what_a_person_changed_in_the_entry_stays() {
        let entry = json!({
            "httpUrl": "https://x.example/mcp", "env": { "A": "b" },
            "headers": { "Authorization": "old", "X-Team": "t" },
        });
        let mut after = wrapped(&entry).unwrap();
        after["env"]["PORTCULLIS_MCP_HEADER_1"] = "new".into();
        after["env"]["PORTCULLIS_MCP_URL"] = "https://y.example/mcp".into();
        after["env"]["C"] = "d".into();
        let mut wanted = json!({
            "httpUrl": "https://y.example/mcp", "env": { "A": "b", "C": "d" },
            "headers": { "Authorization": "new", "X-Team": "t" },
        });
        assert_eq!(unwrap(&after, Some(&entry)), Some(wanted.clone()));
        after["env"].as_object_mut().unwrap().shift_remove("PORTCULLIS_MCP_HEADER_2");
        assert_eq!(unwrap(&after, Some(&entry)), Some(wanted.clone()));
        let words = after["args"].as_array_mut().unwrap();
        words.retain(|word| word != "X-Team=PORTCULLIS_MCP_HEADER_2");
        wanted["headers"].as_object_mut().unwrap().shift_remove("X-Team");
        assert_eq!(unwrap(&after, Some(&entry)), Some(wanted));
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
