//! The words of the objections.

use crate::host::Host;
use crate::list::is_public;
use portcullis_plugin::risk_calculator::*;

/// What is wrong with a contact.
#[derive(Debug)]
pub(crate) enum Objected<'a> {
    NotListed { host: &'a Host, port: Option<u16>, sends: bool },
    Unknown { program: &'a str, sends: bool },
    Pretends { host: &'a Host, seems: String },
    Lookalike { host: &'a Host, known: String },
    Metadata { host: &'a Host },
    Shortener { host: &'a Host },
}

impl Objected<'_> {
    pub(crate) const fn rule(&self) -> &'static str {
        match self {
            Self::NotListed { .. } => "host_not_listed",
            Self::Unknown { .. } => "host_not_known",
            Self::Pretends { .. } | Self::Lookalike { .. } => "host_disguised",
            Self::Metadata { .. } => "metadata_service",
            Self::Shortener { .. } => "redirect_anywhere",
        }
    }

    pub(crate) fn ruling(&self, blocks: bool) -> Ruling {
        let reason = self.reason();
        let ruling = if blocks {
            Ruling::block(self.rule(), &reason)
        } else {
            Ruling::ask(self.rule(), &reason)
        };
        let severity = match self {
            Self::Metadata { .. } | Self::Pretends { .. } | Self::Lookalike { .. } => {
                Severity::High
            }
            _ if blocks => Severity::High,
            _ => Severity::Medium,
        };
        ruling.severity(severity).because(self.evidence()).instead(self.alternative())
    }

    pub(crate) fn evidence(&self) -> Evidence {
        match self {
            Self::Unknown { program, .. } => Evidence::new("program", *program),
            Self::NotListed { host, port: Some(port), .. } if !matches!(port, 80 | 443) => {
                Evidence::host(with_port(host, *port))
            }
            Self::NotListed { host, .. }
            | Self::Pretends { host, .. }
            | Self::Lookalike { host, .. }
            | Self::Metadata { host }
            | Self::Shortener { host } => Evidence::host(host.to_string()),
        }
    }

    fn reason(&self) -> String {
        match self {
            Self::NotListed { host, sends, .. } => {
                let what = match host {
                    Host::Address(address) if !is_public(*address) => {
                        "an address of a private network that is"
                    }
                    _ => "which is",
                };
                let does = if *sends { "this sends data to" } else { "this contacts" };
                format!("{does} `{host}`, {what} not on the project's list of hosts")
            }
            Self::Unknown { program, sends } => {
                let program = if program.is_empty() { "a program" } else { program };
                let does = if *sends { "sends data to" } else { "contacts" };
                format!("which host `{program}` {does} is known only when it runs")
            }
            Self::Pretends { host, seems } => {
                format!("the address seems to lead to `{}`, and leads to `{host}`", cut(seems))
            }
            Self::Lookalike { host, known } => {
                format!(
                    "`{}` looks like `{known}`, and is another host: `{host}`",
                    host.in_letters()
                )
            }
            Self::Metadata { host } => {
                format!("`{host}` hands out the credentials of the machine to whoever asks")
            }
            Self::Shortener { host } => {
                format!("`{host}` leads to any other host, and the program follows it there unseen")
            }
        }
    }

    fn alternative(&self) -> String {
        match self {
            Self::NotListed { host, .. } => format!(
                "use a host of the list; if the project needs this one, its operator adds `{host}` to the setting `hosts`"
            ),
            Self::Unknown { .. } => "write the host out in the command".to_owned(),
            Self::Pretends { .. } | Self::Lookalike { .. } => {
                "find out where the address came from before anything follows it".to_owned()
            }
            Self::Metadata { .. } => "use credentials that were made for this work".to_owned(),
            Self::Shortener { .. } => {
                "look up where it leads without following it (`curl -sI`), and use that address"
                    .to_owned()
            }
        }
    }
}

fn with_port(host: &Host, port: u16) -> String {
    match host {
        Host::Address(address) if address.is_ipv6() => format!("[{address}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

/// A text before an `@` may be as long as an address.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(80)).unwrap_or(text)
}
