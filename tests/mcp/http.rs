//! A small HTTP server for tests, on the loopback interface: each connection has a thread, and a
//! handler writes the answers byte by byte.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// By name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// Answers a request; false ends the connection.
pub(crate) type Handler = dyn Fn(&Request, &mut TcpStream) -> io::Result<bool> + Send + Sync;

/// A running server. It accepts no more connections after this value.
pub(crate) struct Server {
    port: u16,
    ended: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server with a handler for all requests.
    pub(crate) fn start(handler: Arc<Handler>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port")?;
        let port = listener.local_addr()?.port();
        let ended = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (stop, noted) = (Arc::clone(&ended), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let (handler, noted) = (Arc::clone(&handler), Arc::clone(&noted));
                // A client that goes away ends its connection only.
                thread::spawn(move || drop(serve(stream, &*handler, &noted)));
            }
        });
        Ok(Self { port, ended, requests })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Returns all requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().map(|requests| requests.clone()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The thread that accepts wakes up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, handler: &Handler, noted: &Mutex<Vec<Request>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        if let Ok(mut noted) = noted.lock() {
            noted.push(request.clone());
        }
        if !handler(&request, &mut writer)? {
            break;
        }
    }
    writer.shutdown(Shutdown::Both)
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let size = headers.get("content-length").and_then(|size| size.parse().ok()).unwrap_or(0);
    let mut body = vec![0; size];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, headers, body }))
}

/// Writes a whole answer. `head` has more headers, each with its line end.
pub(crate) fn respond(
    stream: &mut TcpStream,
    status: u16,
    head: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{head}\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())
}

/// Writes a JSON answer.
pub(crate) fn respond_json(stream: &mut TcpStream, status: u16, body: &[u8]) -> io::Result<()> {
    respond(stream, status, "content-type: application/json\r\n", body)
}

/// Begins a body whose length is not known.
pub(crate) fn begin_body(stream: &mut TcpStream, status: u16, head: &str) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status} x\r\ntransfer-encoding: chunked\r\n{head}\r\n");
    stream.write_all(head.as_bytes())
}

/// Begins a stream of events.
pub(crate) fn begin_events(stream: &mut TcpStream, head: &str) -> io::Result<()> {
    begin_body(stream, 200, &format!("content-type: text/event-stream\r\n{head}"))
}

/// Writes a part of a stream of events.
pub(crate) fn write_part(stream: &mut TcpStream, part: &[u8]) -> io::Result<()> {
    let size = format!("{:x}\r\n", part.len());
    stream.write_all(&[size.as_bytes(), part, b"\r\n"].concat())
}

/// Writes an event with a message.
pub(crate) fn write_event(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    write_part(stream, &[b"data: ", message, b"\n\n"].concat())
}

/// Ends a stream of events.
pub(crate) fn end_events(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}
