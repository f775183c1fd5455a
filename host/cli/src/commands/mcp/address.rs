//! The gateway in front of a server behind an address.

use super::gate::ReviewGate;
use super::server::{client_streams, forward_signals, pass_on};
use crate::error::{Context, Error, Result};
use crate::given_file::read_given_file;
use portcullis_agents::mcp_servers::{MOST_NAME, is_name_letter};
use portcullis_core::text::one_line;
use portcullis_mcp::{HttpLimits, HttpServer, Relay, RelayEvent, ServerAddress, ServerIdentity};
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The most bytes of a file with headers, or with authorities.
const MOST_FILE: u64 = 1 << 20;
/// The number that shells add to a signal's for an exit code.
const SIGNALLED: i32 = 128;

#[derive(clap::Args)]
pub struct Arguments {
    /// The address of a server that speaks streamable HTTP
    #[arg(long, conflicts_with = "url_env")]
    url: Option<String>,
    /// The variable that holds the address, if it has a secret in it
    #[arg(long, value_name = "VARIABLE")]
    url_env: Option<String>,
    /// A header of each request, and the variable that holds its value (repeatable)
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = parse_header)]
    header: Vec<(String, String)>,
    /// A file with `NAME: VALUE` lines that only you can read, for more headers
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// The longest wait for a server's answer, and for the rest of it, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// Certificate authorities (PEM) for the server, in place of Mozilla's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Allow an address without TLS on another machine
    #[arg(long)]
    plain_http: bool,
}

/// Something that happened to the gateway.
pub enum Happening {
    /// An end of the relay.
    Relay(RelayEvent),
    /// A signal's number.
    Signal(i32),
}

impl Arguments {
    /// Returns the address, if one is named.
    pub fn find_address(&self) -> Result<Option<ServerAddress>> {
        let (text, place) = match (&self.url, &self.url_env) {
            (Some(text), _) => (text.clone(), "`--url`".to_owned()),
            (None, Some(name)) => {
                (read_variable(name)?, format!("the variable `{}`", one_line(name, 100)))
            }
            (None, None) => return Ok(None),
        };
        let address = ServerAddress::parse(&text, self.plain_http);
        address
            .map(Some)
            .map_err(|problem| Error::invalid(format!("{place} cannot be used: {problem}")))
    }

    fn read_headers(&self) -> Result<Vec<(String, String)>> {
        let mut headers = Vec::new();
        for (name, variable) in &self.header {
            headers.push((name.clone(), read_variable(variable)?));
        }
        if let Some(file) = &self.header_file {
            headers.extend(read_header_file(file)?);
        }
        Ok(headers)
    }

    /// Runs the gateway until the client ends, or a signal comes.
    pub fn run_gateway(&self, address: ServerAddress, name: Option<String>) -> Result<ExitCode> {
        let silence = Duration::from_secs(self.timeout.into());
        let usual = HttpLimits::default();
        let limits = HttpLimits { silence, accept: usual.accept.min(silence), ..usual };
        let authorities =
            self.ca.as_deref().map(|file| read_given_file(file, MOST_FILE, false)).transpose()?;
        let shown = address.describe();
        let server =
            HttpServer::new(address, &self.read_headers()?, authorities.as_deref(), limits)
                .map_err(|problem| Error::invalid(format!("cannot use `{shown}`: {problem}")))?;
        let name = name.unwrap_or_else(|| default_name(&shown));
        let gate = ReviewGate::open(name, ServerIdentity::of_url(&shown))?;
        let (sender, happened) = channel();
        forward_signals(sender.clone(), Happening::Signal)?;
        let server = Arc::new(server);
        let events = Relay::start(client_streams(), server.clone(), Arc::new(gate))
            .context("cannot start the gateway")?;
        pass_on(events, sender, Happening::Relay)?;
        let code = loop {
            match happened.recv() {
                Ok(Happening::Relay(RelayEvent::ServerEnded)) => break 0,
                // The open requests get their answers first.
                Ok(Happening::Relay(RelayEvent::ClientEnded)) => {}
                Ok(Happening::Relay(RelayEvent::ClientGone)) => break 0,
                Ok(Happening::Signal(number)) => break SIGNALLED + number,
                Err(_) => break 1,
            }
        };
        server.end_session();
        Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
    }
}

fn parse_header(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, variable)) if !name.is_empty() && !variable.is_empty() => {
            Ok((name.to_owned(), variable.to_owned()))
        }
        _ => Err("write `NAME=VARIABLE`: the variable holds the value".into()),
    }
}

fn read_variable(name: &str) -> Result<String> {
    let shown = one_line(name, 100);
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        Ok(_) => Err(Error::invalid(format!("the variable `{shown}` is empty"))),
        Err(env::VarError::NotPresent) => {
            Err(Error::not_found(format!("there is no variable `{shown}`")))
        }
        Err(env::VarError::NotUnicode(_)) => {
            Err(Error::invalid(format!("the variable `{shown}` is not UTF-8")))
        }
    }
}

fn read_header_file(file: &Path) -> Result<Vec<(String, String)>> {
    let shown = one_line(&file.display().to_string(), 400);
    let bytes = read_given_file(file, MOST_FILE, true)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{shown}` is not UTF-8")))?;
    let mut headers = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Some((name, value)) = line.split_once(':') else {
            return Err(Error::invalid(format!(
                "line {} of `{shown}` is not `NAME: VALUE`",
                number + 1
            )));
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(headers)
}

/// Returns the host of an address as a server's name.
fn default_name(address: &str) -> String {
    let rest = address.split("://").nth(1).unwrap_or_default();
    // The colons of an address of IPv6 stand in brackets, and no name may have them.
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => rest.split(['/', ':', '?']).next().unwrap_or_default(),
    };
    let plain = |letter: char| if is_name_letter(letter) { letter } else { '_' };
    let name: String = host.chars().map(plain).take(MOST_NAME).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::default_name;

    #[test]
    fn a_server_has_the_name_of_its_host() {
        for (address, name) in [
            ("https://mcp.example/x", "mcp.example"),
            ("http://localhost:8080/mcp?a=b", "localhost"),
            ("http://[::1]:8080/mcp", "__1"),
            ("http://[2001:db8::7]/", "2001_db8__7"),
            ("http://[fe80::1%25eth0]:1/", "fe80__1_25eth0"),
            ("http:///x", "server"),
            ("nonsense", "server"),
        ] {
            assert_eq!(default_name(address), name, "{address}");
        }
    }
}
