//! Hosts whose name alone determines the effect of contacting them.

/// Addresses at which a cloud provider serves a machine's credentials, as the providers document
/// them.
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

/// Services that accept any request and show it to the inbox's owner; their subdomains count too.
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

/// Returns true if a request to the host reads the machine's credentials.
pub(super) fn hands_out_credentials(host: &str) -> bool {
    METADATA.contains(&host)
}

/// Returns true if a request to the host shows its whole content, including its address, to a third
/// party.
pub(super) fn records_requests(host: &str) -> bool {
    RECORDERS.iter().any(|name| {
        host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
