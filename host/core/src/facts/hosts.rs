//! Hosts of which the name alone says what contacting them does.

/// Addresses at which a cloud hands a machine its credentials, as the clouds document them.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::254",
    "metadata.google.internal",
    "metadata",
    "100.100.100.200",
    "169.254.0.23",
];

/// Services that take any request and show it to whoever opened the inbox; names below them count too.
const RECORDERS: &[&str] = &[
    "webhook.site",
    "pipedream.net",
    "requestbin.com",
    "requestbin.net",
    "requestcatcher.com",
    "beeceptor.com",
    "hookbin.com",
    "putsreq.com",
    "mockbin.org",
    "interact.sh",
    "oast.pro",
    "oast.live",
    "oast.site",
    "oast.online",
    "oast.fun",
    "oast.me",
    "burpcollaborator.net",
    "oastify.com",
    "dnslog.cn",
    "ceye.io",
    "canarytokens.com",
    "ngrok.io",
    "ngrok-free.app",
    "serveo.net",
    "localhost.run",
    "transfer.sh",
    "file.io",
    "0x0.st",
    "termbin.com",
    "ix.io",
];

/// A request there reads the machine's credentials.
pub(super) fn hands_out_credentials(host: &str) -> bool {
    METADATA.contains(&host)
}

/// A request there shows somebody else all that is in it, its address included.
pub(super) fn records_requests(host: &str) -> bool {
    RECORDERS.iter().any(|name| host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}
