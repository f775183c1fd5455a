//! A chat server on the loopback interface that answers as a test requires.

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub const LONG: Duration = Duration::from_secs(60);

/// A chat server that answers with the current status and keeps the bodies.
pub struct Chat {
    pub port: u16,
    status: Arc<Mutex<u16>>,
    bodies: Receiver<String>,
}

/// The status with which it never answers.
pub const SILENT: u16 = 0;

pub fn chat(status: u16) -> Result<Chat> {
    let server =
        tiny_http::Server::http("127.0.0.1:0").map_err(|error| anyhow!("no server: {error}"))?;
    let port = server.server_addr().to_ip().context("no address")?.port();
    let status = Arc::new(Mutex::new(status));
    let (bodies, received) = channel();
    let answers = Arc::clone(&status);
    thread::spawn(move || serve(&server, &answers, &bodies));
    Ok(Chat { port, status, bodies: received })
}

fn serve(server: &tiny_http::Server, status: &Mutex<u16>, bodies: &Sender<String>) {
    let mut kept = Vec::new();
    for mut request in server.incoming_requests() {
        let mut body = String::new();
        let status = *status.lock().unwrap();
        if request.as_reader().read_to_string(&mut body).is_err() || bodies.send(body).is_err() {
            return;
        }
        if status == SILENT {
            kept.push(request);
        } else {
            drop(request.respond(tiny_http::Response::from_string("ok").with_status_code(status)));
        }
    }
}

impl Chat {
    pub fn answers(&self, status: u16) {
        *self.status.lock().unwrap() = status;
    }

    /// Returns the next message, as text.
    pub fn next(&self) -> Result<String> {
        let body: Value =
            serde_json::from_str(&self.bodies.recv_timeout(LONG).context("no message came")?)?;
        Ok(body["text"].as_str().context("no text")?.to_owned())
    }

    /// Returns true if no further message has arrived.
    pub fn quiet(&self) -> bool {
        self.bodies.try_recv().is_err()
    }

    pub fn channel(&self, name: &str, events: &str) -> String {
        webhook(name, self.port, events)
    }
}

pub fn webhook(name: &str, port: u16, events: &str) -> String {
    format!(
        "[notifications.channels.{name}]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:{port}/hook\"\nevents = [{events}]\n"
    )
}
