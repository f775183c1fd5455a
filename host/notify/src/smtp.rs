//! Sends a message by mail.

use crate::channel::{Encryption, Smtp};
use crate::failure::{Delivered, DeliveryFailure};
use crate::message::Notification;
use crate::{authorities, smtp_reply};
use lettre::message::header::{ContentType, Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Mailboxes};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{SmtpTransport, Transport};
use portcullis_core::text::hash_parts;
use portcullis_credentials::CredentialReader;
use portcullis_network::find_own_address;
use secrecy::{ExposeSecret, SecretString};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

const MAX_RECIPIENTS: usize = 20;

/// A mail server with well-formed addresses.
pub(crate) struct CheckedServer {
    host: String,
    port: u16,
    tls: Tls,
    login: Option<(String, SecretString)>,
    from: Mailbox,
    to: Mailboxes,
}

impl CheckedServer {
    pub(crate) fn new(smtp: &Smtp, reader: &dyn CredentialReader) -> Result<Self, DeliveryFailure> {
        let place = &smtp.host;
        if place.is_empty() || place.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(DeliveryFailure::give_up(
                format!("`{place}` is not a mail server"),
                "write its name or address alone",
            ));
        }
        if smtp.encryption == Encryption::None && smtp.login.is_some() {
            let what = format!(
                "the mail server `{place}` has a login, which would go unencrypted to whatever program listens there"
            );
            return Err(DeliveryFailure::give_up(
                what,
                "use `tls` or `starttls`, or leave out the login",
            ));
        }
        let (host, tls, port) = match smtp.encryption {
            Encryption::Tls => (place.clone(), Tls::Wrapper(secured(smtp)?), 465),
            Encryption::StartTls => (place.clone(), Tls::Required(secured(smtp)?), 587),
            Encryption::None => (
                find_own_address(place).ok_or_else(|| open_line(place))?.to_string(),
                Tls::None,
                25,
            ),
        };
        if smtp.to.is_empty() || smtp.to.len() > MAX_RECIPIENTS {
            let what = format!("the mail server `{place}` has {} receivers", smtp.to.len());
            return Err(DeliveryFailure::give_up(
                what,
                format!("name 1 to {MAX_RECIPIENTS} in `to`"),
            ));
        }
        let login = smtp
            .login
            .as_ref()
            .map(|(name, password)| {
                Ok::<_, DeliveryFailure>((name.clone(), password.read_secret(reader)?))
            })
            .transpose()?;
        let to = smtp.to.iter().map(|one| mailbox(one)).collect::<Result<Mailboxes, _>>()?;
        Ok(Self {
            host,
            port: smtp.port.unwrap_or(port),
            tls,
            login,
            from: mailbox(&smtp.from)?,
            to,
        })
    }

    /// Sends on a separate thread, which is left behind at the deadline: a server that answers byte
    /// by byte must not block the caller.
    pub(crate) fn send(
        &self,
        message: &Notification,
        deadline: Instant,
    ) -> Result<Delivered, DeliveryFailure> {
        let place = format!("{}:{}", self.host, self.port);
        let mail = self.mail(message)?;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(smtp_reply::late(&place));
        }
        // The name only says that TLS is not preset; `tls` below decides.
        let mut server = SmtpTransport::builder_dangerous(&self.host)
            .port(self.port)
            .tls(self.tls.clone())
            .timeout(Some(left));
        if let Some((name, password)) = &self.login {
            server = server
                .credentials(Credentials::new(name.clone(), password.expose_secret().to_owned()));
        }
        let (ends, end) = sync_channel(1);
        let server = server.build();
        let exchange = move || drop(ends.send(server.send(&mail)));
        let started = thread::Builder::new().name("portcullis-mail".into()).spawn(exchange);
        started.map_err(|error| {
            DeliveryFailure::retry(
                format!("no thread for sending mail ({error})"),
                "end other programs",
            )
        })?;
        match end.recv_timeout(left) {
            Ok(Ok(_)) => Ok(Delivered { what: format!("the mail server `{place}` accepted it") }),
            Ok(Err(error)) => Err(smtp_reply::refused(
                &place,
                &error,
                self.login.as_ref().map(|(_, password)| password),
            )),
            Err(_) => Err(smtp_reply::late(&place)),
        }
    }

    fn mail(&self, message: &Notification) -> Result<lettre::Message, DeliveryFailure> {
        let id = format!(
            "<portcullis.{:016x}@{}>",
            hash_parts(&[&message.id]),
            self.from.email.domain()
        );
        let text = format!("{}\n\n{}\n", message.headline(), message.paragraphs().join("\n\n"));
        lettre::Message::builder()
            .from(self.from.clone())
            .mailbox(lettre::message::header::To::from(self.to.clone()))
            .date(
                UNIX_EPOCH
                    .checked_add(Duration::from_millis(message.at.min(LATEST_MS)))
                    .unwrap_or(UNIX_EPOCH),
            )
            .message_id(Some(id))
            .subject(format!("[portcullis] {}", message.headline()))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN)
            .body(text)
            .map_err(|error| {
                DeliveryFailure::give_up(
                    format!("no mail could be made of the message ({error})"),
                    "check `from` and `to`",
                )
            })
    }
}

/// The last second of the year 9999, in milliseconds since 1970: later times cannot be written.
const LATEST_MS: u64 = 253_402_300_799_000;

fn secured(smtp: &Smtp) -> Result<TlsParameters, DeliveryFailure> {
    let bad = |error: lettre::transport::smtp::Error| {
        DeliveryFailure::give_up(
            format!("no secure connection to `{}` can be prepared ({error})", smtp.host),
            "check `host` and `authorities`",
        )
    };
    let mut parameters = TlsParameters::builder(smtp.host.clone());
    if let Some(path) = &smtp.authorities {
        parameters = parameters.certificate_store(CertificateStore::None);
        for authority in authorities::read_authorities(path)? {
            parameters = parameters.add_root_certificate(
                Certificate::from_der(authority.der().to_vec()).map_err(bad)?,
            );
        }
    }
    parameters.build().map_err(bad)
}

fn open_line(place: &str) -> DeliveryFailure {
    DeliveryFailure::give_up(
        format!("the mail server `{place}` is reached unencrypted and is not on this machine"),
        "use `tls` or `starttls`",
    )
}

fn mailbox(text: &str) -> Result<Mailbox, DeliveryFailure> {
    let bad = || {
        DeliveryFailure::give_up(
            format!("`{text}` is not a mail address"),
            "write `someone@example.com` or `Somebody <someone@example.com>`",
        )
    };
    if text.chars().any(char::is_control) {
        return Err(bad());
    }
    text.parse().map_err(|_| bad())
}

/// The header that asks other programs not to reply.
#[derive(Clone, Copy, Debug)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".into())
    }
}
