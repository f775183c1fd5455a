//! The destinations of messages, as configured. Nothing is checked here: `Sender::check_channel`
//! and each sending do that.

use portcullis_credentials::CredentialSource;
use std::path::PathBuf;

/// A way to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A chat, or any other service that accepts Slack's JSON.
    Webhook(Webhook),
    /// Mail.
    Smtp(Smtp),
    /// A program on this machine.
    Program(ProgramChannel),
}

/// A chat's address for incoming messages: Slack's JSON, `text` and `blocks`, is posted to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// `https://…`, or `http://` and a loopback address.
    pub url: Address,
    /// `http://host:port` of a proxy that makes the connection; none for a direct one. Not allowed
    /// if `url` is a loopback address.
    pub proxy: Option<Address>,
    /// The token of `Authorization: Bearer`; not over `http`, since any program on this machine
    /// could be listening there.
    pub bearer: Option<CredentialSource>,
    /// A PEM file whose authorities replace Mozilla's.
    pub authorities: Option<PathBuf>,
}

/// An address, which often is or contains a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// In plain text in the configuration; it contains nothing secret.
    Open(String),
    /// Stored as a credential.
    Secret(CredentialSource),
}

/// A mail server that accepts our mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smtp {
    /// A name or an address; the certificate has to be for it.
    pub host: String,
    /// The port; if none, 465 or 587, depending on the encryption.
    pub port: Option<u16>,
    /// The encryption of the connection.
    pub encryption: Encryption,
    /// The login name and the password; not without encryption.
    pub login: Option<(String, CredentialSource)>,
    /// `someone@example.com` or `Somebody <someone@example.com>`.
    pub from: String,
    /// At least one, at most 20.
    pub to: Vec<String>,
    /// A PEM file whose authorities replace Mozilla's.
    pub authorities: Option<PathBuf>,
}

/// The encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// TLS from the first byte, on port 465.
    Tls,
    /// TLS after STARTTLS, on port 587; nothing is sent to a server that does not offer it.
    StartTls,
    /// None: only to a loopback address, on port 25.
    None,
}

/// One of the user's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramChannel {
    /// An absolute path: nothing is looked up in `PATH`.
    pub path: PathBuf,
    /// Passed on unchanged.
    pub arguments: Vec<String>,
}
