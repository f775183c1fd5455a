//! Requests as an attacker writes them: any header, any body.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The answer to a request.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl HttpAnswer {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Sends a request of these lines and this body to a port of loopback.
pub fn send(port: u16, first: &str, headers: &[String], body: &str) -> Result<HttpAnswer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("nobody listens")?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
    for header in headers {
        text.push_str(&format!("{header}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str(&format!("\r\n{body}"));
    stream.write_all(text.as_bytes())?;
    let mut bytes = Vec::new();
    // A body that is refused unread may end the connection hard.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").context("this is no answer")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok(HttpAnswer { status, head: head.to_owned(), body: body.to_owned() })
}
