//! Fetches small documents from an address that a person names.

use crate::{client_settings, create_client, find_own_address};
use std::io::Read;
use std::time::Duration;
use ureq::http::Uri;

/// The most bytes of an answer's status and headers.
const MOST_HEAD: usize = 16 << 10;
/// The most characters of an address.
const MOST_ADDRESS: usize = 2048;

/// The address of a folder with documents, reached by TLS, or on this machine without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFolder(String);

/// The reasons why a document cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is not an address of a folder.
    #[error("it is not an address: it takes `https://HOST/FOLDER`, without a user, `?` and `#`")]
    Malformed,
    /// It has no TLS, and the host is another machine.
    #[error("it has no TLS: `http://` is for a loopback address alone")]
    Open,
    /// The server gave another status than success.
    #[error("the server answered {0}")]
    Status(u16),
    /// The server has it elsewhere.
    #[error("the server answered {0}, a redirection, and none is followed")]
    Redirected(u16),
    /// The document is longer than allowed.
    #[error("it has more than {0} bytes")]
    TooLong(u64),
    /// The server cannot be reached, or its answer cannot be read.
    #[error("the server cannot be reached: {0}")]
    Unreachable(#[source] Box<ureq::Error>),
}

impl DocumentFolder {
    /// Parses an address. Nothing is asked yet.
    ///
    /// # Errors
    /// Fails if it is not an address of a folder, or if it is another machine's and has no TLS.
    pub fn parse_address(text: &str) -> Result<Self, DocumentError> {
        let uri: Uri = text.parse().map_err(|_| DocumentError::Malformed)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let host = uri.host().unwrap_or_default();
        let is_plain = !text.contains(['?', '#']) && text.len() <= MOST_ADDRESS;
        if host.is_empty() || authority.contains('@') || !is_plain {
            return Err(DocumentError::Malformed);
        }
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if find_own_address(host).is_some() => {}
            Some("http") => return Err(DocumentError::Open),
            _ => return Err(DocumentError::Malformed),
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }

    /// Fetches the document with this name, which has at most `most` bytes. No redirection is
    /// followed and no proxy is used.
    ///
    /// # Errors
    /// Fails if the name is not one of a file, or if the server does not give the document in time.
    pub fn fetch_document(
        &self,
        name: &str,
        most: u64,
        patience: Duration,
    ) -> Result<Vec<u8>, DocumentError> {
        let is_named = |letter: char| letter.is_ascii_alphanumeric() || "-._+".contains(letter);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_named) {
            return Err(DocumentError::Malformed);
        }
        let settings = client_settings()
            .max_idle_connections(0)
            .max_response_header_size(MOST_HEAD)
            .timeout_global(Some(patience));
        let unreachable = |error| DocumentError::Unreachable(Box::new(error));
        let address = format!("{}/{name}", self.0);
        let mut answer = create_client(settings).get(&address).call().map_err(unreachable)?;
        let status = answer.status();
        if status.is_redirection() {
            return Err(DocumentError::Redirected(status.as_u16()));
        }
        if !status.is_success() {
            return Err(DocumentError::Status(status.as_u16()));
        }
        let mut bytes = Vec::new();
        let mut body = answer.body_mut().as_reader().take(most.saturating_add(1));
        body.read_to_end(&mut bytes).map_err(|error| unreachable(error.into()))?;
        if bytes.len() as u64 > most {
            return Err(DocumentError::TooLong(most));
        }
        Ok(bytes)
    }
}

impl std::fmt::Display for DocumentFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn only_this_machine_goes_without_tls() {
        for (address, whole) in [
            ("https://example.org/releases/", "https://example.org/releases"),
            ("https://example.org", "https://example.org"),
            ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
            ("http://localhost/", "http://localhost"),
            ("http://[::1]:1/", "http://[::1]:1"),
        ] {
            assert_eq!(DocumentFolder::parse_address(address).unwrap().to_string(), whole);
        }
        for address in ["http://example.org/", "http://10.0.0.1/", "http://localhost.example/"] {
            let error = DocumentFolder::parse_address(address).unwrap_err();
            assert!(matches!(error, DocumentError::Open), "{address}: {error}");
        }
        for address in [
            "",
            "/folder",
            "example.org/x",
            "ftp://example.org/",
            "https://me@example.org/",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "https://exa mple.org/",
        ] {
            let error = DocumentFolder::parse_address(address).unwrap_err();
            assert!(matches!(error, DocumentError::Malformed), "{address}: {error}");
        }
    }

    /// Answers one request with these bytes; returns the address and, later, the request.
    fn serve_once(answer: Vec<u8>) -> (DocumentFolder, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/files/", listener.local_addr().unwrap());
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut piece = [0; 1024];
            while !asked.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut piece).unwrap();
                asked.extend_from_slice(&piece[..count]);
            }
            // A client that has read enough goes away.
            let _ = stream.write_all(&answer);
            String::from_utf8(asked).unwrap()
        });
        (DocumentFolder::parse_address(&address).unwrap(), served)
    }

    fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}")
            .into_bytes()
    }

    #[test]
    fn a_document_is_read_within_its_bound() {
        let (folder, served) = serve_once(answer("200 OK", "", "0123456789"));
        assert_eq!(folder.fetch_document("a-1.0.json", 10, PATIENCE).unwrap(), b"0123456789");
        assert!(served.join().unwrap().starts_with("GET /files/a-1.0.json HTTP/1.1\r\n"));
        let (folder, served) = serve_once(answer("200 OK", "", "0123456789"));
        let error = folder.fetch_document("a", 9, PATIENCE).unwrap_err();
        assert!(matches!(error, DocumentError::TooLong(9)), "{error}");
        drop(served.join());
    }

    #[test]
    fn no_redirection_is_followed() {
        let elsewhere = "location: http://127.0.0.1:1/other\r\n";
        let (folder, served) = serve_once(answer("302 Found", elsewhere, ""));
        let error = folder.fetch_document("a", 9, PATIENCE).unwrap_err();
        assert!(matches!(error, DocumentError::Redirected(302)), "{error}");
        drop(served.join());
        let (folder, served) = serve_once(answer("404 Not Found", "", "no"));
        let error = folder.fetch_document("a", 9, PATIENCE).unwrap_err();
        assert!(matches!(error, DocumentError::Status(404)), "{error}");
        drop(served.join());
    }

    #[test]
    fn a_name_leads_to_no_other_folder() {
        let folder = DocumentFolder::parse_address("http://127.0.0.1:1/").unwrap();
        for name in ["", "..", "../a", "a/b", "a?b", "a#b", "a b", "a%2fb", ".hidden", "a\r\nb"] {
            let error = folder.fetch_document(name, 9, PATIENCE).unwrap_err();
            assert!(matches!(error, DocumentError::Malformed), "{name}: {error}");
        }
    }
}
