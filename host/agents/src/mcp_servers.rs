//! MCP servers in the configuration of clients, and the gateway in front of them.
//!
//! Clients share the form of a server that they start: an object with `command` and `args`, in an
//! object by the servers' names. Files and places of that object are data.

mod by_address;
mod masked;
mod secret_arguments;

pub use masked::mask_servers;

use crate::PROGRAM;
use crate::environment::HookEnvironment;
use crate::json::{JsonDocument, JsonSyntax, escape_name};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The subcommand of the gateway.
const GATEWAY: &str = "mcp";
/// The word before a server's own command.
const SEPARATOR: &str = "--";
/// A part of a place that stands for every member.
const ANY: &str = "*";
/// The most bytes of a server's name on our command line.
pub const MOST_NAME: usize = 64;

/// A client's file with MCP servers.
#[derive(Clone, Copy, Debug)]
pub struct McpFile {
    /// The client's name.
    pub client: &'static str,
    /// True if it is below the project's folder, otherwise it is below the home folder.
    pub of_project: bool,
    /// The path below that folder.
    pub path: &'static str,
    /// The variable that names another folder for the person's file.
    pub variable: Option<&'static str>,
    /// The places of the objects with servers: JSON pointers in which `*` is any name.
    pub places: &'static [&'static str],
    /// The form of JSON that the client reads.
    pub syntax: JsonSyntax,
    /// The names of an address that mean an older transport than streamable HTTP.
    pub older_addresses: &'static [&'static str],
}

const SERVERS: &[&str] = &["/mcpServers"];

const fn file(client: &'static str, of_project: bool, path: &'static str) -> McpFile {
    let syntax = JsonSyntax::Strict;
    McpFile {
        client,
        of_project,
        path,
        variable: None,
        places: SERVERS,
        syntax,
        older_addresses: &[],
    }
}

const fn commented_file(client: &'static str, of_project: bool, path: &'static str) -> McpFile {
    McpFile { syntax: JsonSyntax::WithComments, ..file(client, of_project, path) }
}

/// The names beside the arguments of a call under which clients that run hooks say their own id of
/// it.
pub const HOOKED_CALLS: &[&str] = &["claudecode/toolUseId"];

/// The file of a client that takes `url` for an address of server-sent events.
const QWEN: McpFile =
    McpFile { older_addresses: &["url"], ..commented_file("qwen", false, ".qwen/settings.json") };

/// All known files. Servers in files of another format than JSON are not in this table.
pub const FILES: &[McpFile] = &[
    McpFile {
        variable: Some("CLAUDE_CONFIG_DIR"),
        places: &["/mcpServers", "/projects/*/mcpServers"],
        ..file("claude", false, ".claude.json")
    },
    file("claude", true, ".mcp.json"),
    commented_file("gemini", false, ".gemini/settings.json"),
    commented_file("gemini", true, ".gemini/settings.json"),
    McpFile { variable: Some("QWEN_HOME"), ..QWEN },
    McpFile { of_project: true, ..QWEN },
    file("cline", false, ".cline/data/settings/cline_mcp_settings.json"),
    file("cursor", false, ".cursor/mcp.json"),
    file("cursor", true, ".cursor/mcp.json"),
];

/// Returns the clients with such files, in order.
pub fn list_clients() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    FILES.iter().map(|file| file.client).filter(move |client| {
        let is_new = *client != last;
        last = client;
        is_new
    })
}

impl McpFile {
    /// Returns its path for a home folder and a project.
    #[must_use]
    pub fn find_path(&self, home: &Path, project: &Path) -> PathBuf {
        let named = self.variable.and_then(|name| HookEnvironment::of_process().folder(name));
        match named {
            // The variable names the folder in which the file is.
            Some(folder) if !self.of_project => {
                folder.join(Path::new(self.path).file_name().unwrap_or_default())
            }
            _ if self.of_project => project.join(self.path),
            _ => home.join(self.path),
        }
    }
}

/// A server in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Its place: a JSON pointer.
    pub pointer: String,
    /// Its entry.
    pub entry: Value,
}

impl McpServer {
    /// Returns true if the gateway is in front of it.
    #[must_use]
    pub fn is_wrapped(&self) -> bool {
        own_command(&self.entry).is_some() || by_address::is_wrapped(&self.entry)
    }

    /// Returns its entry with the gateway in front. `gateway` is our program with its options;
    /// `older` are the names of an address that mean an older transport.
    ///
    /// # Errors
    /// Fails with the reason why the gateway cannot stand there.
    pub fn wrapped_entry(&self, gateway: &[String], older: &[&str]) -> Result<Value, &'static str> {
        let entry = self.entry.as_object().ok_or("its entry is not an object")?;
        if older.iter().any(|name| entry.contains_key(*name)) && !entry.contains_key("command") {
            return Err(by_address::OLDER);
        }
        let Some(command) = entry.get("command").filter(|_| !by_address::has_address(entry)) else {
            return by_address::wrap(&self.name, entry, gateway);
        };
        let command = command.as_str().ok_or("its command is not text")?;
        let (program, options) = gateway.split_first().ok_or("there is no gateway")?;
        let words = match entry.get("args") {
            None => Vec::new(),
            Some(Value::Array(words)) => words.clone(),
            Some(_) => return Err("its arguments are not a list"),
        };
        let name = plain_name(&self.name);
        let own = [GATEWAY, "--name", &name, SEPARATOR, command].map(str::to_owned);
        let arguments = options.iter().cloned().chain(own).map(Value::from).chain(words);
        let mut wrapped = entry.clone();
        wrapped.insert("command".into(), program.as_str().into());
        wrapped.insert("args".into(), arguments.collect());
        Ok(Value::Object(wrapped))
    }

    /// Returns its entry without the gateway; `None` if there is none in front. `before` is the
    /// entry as it was, if that is known: what somebody changed meanwhile stays.
    #[must_use]
    pub fn unwrapped_entry(&self, before: Option<&Value>) -> Option<Value> {
        let Some((command, words)) = own_command(&self.entry) else {
            return by_address::unwrap(&self.entry, before);
        };
        let mut entry: Map<String, Value> = self.entry.as_object()?.clone();
        entry.insert("command".into(), command.clone());
        entry.insert("args".into(), words.to_vec().into());
        Some(Value::Object(entry))
    }
}

/// Returns true if an entry starts our program.
fn is_gateway(entry: &Value) -> bool {
    let program = entry.get("command").and_then(Value::as_str).map(Path::new);
    program.and_then(Path::file_name).is_some_and(|name| name == PROGRAM)
}

/// Returns the command behind the gateway and its arguments, if an entry starts the gateway.
fn own_command(entry: &Value) -> Option<(&Value, &[Value])> {
    let words = entry.get("args")?.as_array()?;
    let at = |wanted: &str| words.iter().position(|word| word.as_str() == Some(wanted));
    let (gateway, separator) = (at(GATEWAY)?, at(SEPARATOR)?);
    if !is_gateway(entry) || gateway > separator {
        return None;
    }
    words.get(separator + 1..)?.split_first()
}

/// Returns all servers of a file, in order.
#[must_use]
pub fn find_servers(document: &JsonDocument, places: &[&str]) -> Vec<McpServer> {
    let mut servers = Vec::new();
    for place in places {
        let mut found = vec![(String::new(), document.value())];
        for part in place.split('/').skip(1) {
            found = found
                .into_iter()
                .flat_map(|(pointer, value)| below(&pointer, value, part))
                .collect();
        }
        for (pointer, value) in found {
            servers.extend(below(&pointer, value, ANY).into_iter().map(|(pointer, entry)| {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                let name = name.replace("~1", "/").replace("~0", "~");
                McpServer { name, pointer, entry: entry.clone() }
            }));
        }
    }
    servers
}

/// Returns the members of a value with that name, each with its place.
fn below<'v>(pointer: &str, value: &'v Value, part: &str) -> Vec<(String, &'v Value)> {
    let members = value.as_object().into_iter().flatten();
    members
        .filter(|(name, _)| part == ANY || *name == part)
        .map(|(name, value)| (format!("{pointer}/{}", escape_name(name)), value))
        .collect()
}

/// Returns true if a server's name on our command line may have this letter.
#[must_use]
pub const fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | ' ')
}

/// Returns a name that our command line takes.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if is_name_letter(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(MOST_NAME).collect();
    if name.is_empty() { "server".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn servers(text: &str) -> Vec<McpServer> {
        let document = JsonDocument::parse_document(text.as_bytes()).unwrap();
        find_servers(&document, &["/mcpServers", "/projects/*/mcpServers"])
    }

    #[test]
    fn servers_are_found_at_every_place() {
        let found = servers(
            r#"{"mcpServers":{"a":{"command":"x"}},"projects":{"/p/q":{"mcpServers":{"b":{"command":"y"}}},"/r":{}}}"#,
        );
        let shown: Vec<_> =
            found.iter().map(|server| (server.name.as_str(), server.pointer.as_str())).collect();
        assert_eq!(shown, [("a", "/mcpServers/a"), ("b", "/projects/~1p~1q/mcpServers/b")]);
        assert_eq!(servers(r#"{"mcpServers":[1],"projects":3}"#), []);
    }

    #[test]
    fn the_gateway_goes_in_front_and_away() {
        let gateway = ["/opt/portcullis", "--state", "/s"].map(str::to_owned);
        let found = servers(
            r#"{"mcpServers":{"a/b":{"type":"stdio","command":"npx","args":["-y","--","mcp"],"env":{"K":"v"}},"url":{"type":"http","url":"http://x"},"array":{"command":["x"]},"bare":{"command":"x"}}}"#,
        );
        let wrapped = found[0].wrapped_entry(&gateway, &[]).unwrap();
        let words = ["--state", "/s", "mcp", "--name", "a_b", "--", "npx", "-y", "--", "mcp"];
        assert_eq!(
            wrapped,
            json!({ "type": "stdio", "command": "/opt/portcullis", "args": words, "env": { "K": "v" } })
        );
        let server = McpServer { entry: wrapped, ..found[0].clone() };
        assert!(server.is_wrapped() && !found[0].is_wrapped());
        assert_eq!(server.unwrapped_entry(None), Some(found[0].entry.clone()));
        let by_address = found[1].wrapped_entry(&gateway, &[]).unwrap();
        assert!(McpServer { entry: by_address, ..found[1].clone() }.is_wrapped());
        assert_eq!(found[2].wrapped_entry(&gateway, &[]), Err("its command is not text"));
        assert!(found[3].wrapped_entry(&gateway, &[]).is_ok());
        let older = found[1].wrapped_entry(&gateway, &["url"]);
        assert!(older.is_err_and(|reason| reason.contains("another transport")));
        assert!(found[0].wrapped_entry(&gateway, &["url"]).is_ok());
    }
}
