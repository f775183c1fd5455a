//! Where messages go, as configured. Nothing is checked here: `Sender::check` and each sending do.

use crate::credential::Credential;
use std::path::PathBuf;

/// A way to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A chat, or whatever takes Slack's JSON.
    Webhook(Webhook),
    /// Mail.
    Smtp(Smtp),
    /// A program on this machine.
    Program(Program),
}

/// A chat's address for incoming messages: Slack's JSON, `text` and `blocks`, is posted to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// `https://…`, or `http://` and a loopback address.
    pub url: Address,
    /// `http://host:port` of a proxy that connects us; none for a direct way. Not where `url` is a loopback address.
    pub proxy: Option<Address>,
    /// What follows `Authorization: Bearer`; not over `http`, where any program of this machine could be listening.
    pub bearer: Option<Credential>,
    /// A PEM file whose authorities count in place of Mozilla's.
    pub authorities: Option<PathBuf>,
}

/// An address, which often is a credential itself, or has one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// As it stands in the configuration; there is nothing secret in it.
    Open(String),
    /// A credential holds it.
    Secret(Credential),
}

/// A mail server that takes mail from us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smtp {
    /// A name or an address; the certificate has to be for it.
    pub host: String,
    /// None is 465 or 587, as the encryption goes.
    pub port: Option<u16>,
    /// How the connection is secured.
    pub encryption: Encryption,
    /// Who logs in, and the password; not without encryption.
    pub login: Option<(String, Credential)>,
    /// `someone@example.com` or `Somebody <someone@example.com>`.
    pub from: String,
    /// At least one, at most 20.
    pub to: Vec<String>,
    /// A PEM file whose authorities count in place of Mozilla's.
    pub authorities: Option<PathBuf>,
}

/// How a connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// TLS from the first byte, on port 465.
    Tls,
    /// TLS after STARTTLS, on port 587; a server that does not offer it gets nothing.
    StartTls,
    /// Not at all: to a loopback address alone, on port 25.
    None,
}

/// A program of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// An absolute path: nothing is looked up in `PATH`.
    pub path: PathBuf,
    /// Handed over as they are.
    pub arguments: Vec<String>,
}
