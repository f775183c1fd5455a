//! The part of an address that says which host is contacted.

/// Protocols over which something leaves this machine; other ones (`file`, `s3`, `data`) name no host.
const PROTOCOLS: &[&str] = &[
    "http",
    "https",
    "ftp",
    "ftps",
    "sftp",
    "ssh",
    "git",
    "ws",
    "wss",
    "ldap",
    "ldaps",
    "gopher",
    "dict",
    "telnet",
    "tftp",
    "smb",
    "rtsp",
    "mqtt",
    "mqtts",
    "amqp",
    "amqps",
    "postgres",
    "postgresql",
    "mysql",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "nats",
    "grpc",
    "tcp",
    "udp",
    "socks4",
    "socks4a",
    "socks5",
    "socks5h",
    "svn",
    "rsync",
    "imap",
    "imaps",
    "smtp",
    "smtps",
    "pop3",
    "scp",
];

/// The longest address that is read; what follows a host is of no interest.
const LONGEST: usize = 4096;

/// An address, taken apart as far as its host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Url<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
    /// What stands before an `@`, and looks like a host to a reader.
    pub(crate) user: Option<&'a str>,
    /// Another host that some programs would contact: they end the host at a backslash.
    pub(crate) other: Option<&'a str>,
    pub(crate) query: &'a str,
}

impl<'a> Url<'a> {
    /// Reads an address that begins with a protocol; none for any other text.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text);
        let (scheme, rest) = text.split_once(':')?;
        let scheme = scheme.to_ascii_lowercase();
        // `git+https` is https.
        let protocol = if PROTOCOLS.contains(&scheme.as_str()) {
            scheme.as_str()
        } else {
            scheme.rsplit('+').next().filter(|last| PROTOCOLS.contains(last))?
        };
        let web = matches!(protocol, "http" | "https");
        let rest = if web {
            // Browsers take any number of slashes, either way round.
            rest.trim_start_matches(['/', '\\'])
        } else {
            rest.strip_prefix("//")?
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at_checked(end)?;
        let query = tail.split_once('?').map_or("", |(_, query)| query);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let before_backslash = authority.split_once('\\').map(|(before, _)| before);
        let (host, port) = split_port(place.split('\\').next_back().unwrap_or(place));
        let other = before_backslash.map(|before| {
            let place = before.rsplit('@').next().unwrap_or(before);
            split_port(place).0
        });
        // A port that is written and not understood is not the usual one.
        let usual = match protocol {
            _ if place.trim_end_matches(']').ends_with(host) => usual_port(protocol),
            _ => None,
        };
        let port = port.or(usual);
        let user = user.map(|user| user.split([':', '\\']).next().unwrap_or(user));
        Some(Self { host, port, user: user.filter(|user| user.contains('.')), other, query })
    }
}

fn usual_port(protocol: &str) -> Option<u16> {
    match protocol {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

/// Cuts the port off a host; none also where it is not known.
pub(crate) fn split_port(place: &str) -> (&str, Option<u16>) {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').unwrap_or((rest, ""));
        return (host, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match place.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, port.parse().ok()),
        // Several colons: an address of the new protocol.
        _ => (place, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_found() {
        for (text, host, port, user, other) in [
            ("https://example.com/a?b#c", "example.com", Some(443), None, None),
            ("HTTP://example.com:8080", "example.com", Some(8080), None, None),
            (
                "https://github.com@evil.example/",
                "evil.example",
                Some(443),
                Some("github.com"),
                None,
            ),
            ("https://a:b@evil.example", "evil.example", Some(443), None, None),
            (
                "https://github.com:<secret:credential:12ab>@evil.example/",
                "evil.example",
                Some(443),
                Some("github.com"),
                None,
            ),
            (
                "https://github.com\\@evil.example/",
                "evil.example",
                Some(443),
                Some("github.com"),
                Some("github.com"),
            ),
            (
                "https://evil.example\\.github.com/",
                ".github.com",
                Some(443),
                None,
                Some("evil.example"),
            ),
            ("http:/evil.example/x", "evil.example", Some(80), None, None),
            ("https:\\\\evil.example", "evil.example", Some(443), None, None),
            ("http://[::1]:3000/", "::1", Some(3000), None, None),
            ("git+ssh://git@example.com/x", "example.com", None, None, None),
            ("mongodb+srv://db.example/x", "db.example", None, None, None),
            ("https://evil.example?x=https://github.com", "evil.example", Some(443), None, None),
            ("https://evil.example#@github.com", "evil.example", Some(443), None, None),
            ("https://localhost:\u{fffd}/", "localhost", None, None, None),
        ] {
            let url = Url::read(text).unwrap();
            assert_eq!(
                (url.host, url.port, url.user, url.other),
                (host, port, user, other),
                "{text}"
            );
        }
    }

    #[test]
    fn what_names_no_host() {
        for text in [
            "s3://bucket/x",
            "file:///etc/passwd",
            "example.com/x",
            "C:\\x",
            "mailto:a@b.example",
            "ssh:x",
            "data:text/plain,x",
        ] {
            assert_eq!(Url::read(text), None, "{text}");
        }
    }
}
