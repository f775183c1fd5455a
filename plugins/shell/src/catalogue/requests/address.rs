//! What an address of a request says: its path, its query, and who answers there.

/// The parts of an address's path, and its query.
pub(super) fn parts(address: &str) -> (Vec<&str>, &str) {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or("");
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    (path.split('/').filter(|part| !part.is_empty()).take(64).collect(), query)
}

/// The machine and the port.
fn authority(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    authority.rsplit('@').next().unwrap_or("").to_ascii_lowercase()
}

/// A search engine answers there, whose first part of the path is an index.
pub(super) fn is_search(address: &str) -> bool {
    let authority = authority(address);
    [":9200", ":9201", ":9243"].iter().any(|port| authority.ends_with(port))
        || authority.split(['.', ':', '-']).any(|part| part.starts_with("elastic") || part.starts_with("opensearch") || part == "es")
}

/// A machine of a cloud gets its credentials there.
pub(super) fn gives_credentials(address: &str) -> bool {
    const SERVERS: &[&str] = &[
        "100.100.100.200",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "2852039166",
        "0xa9fea9fe",
        "[fd00:ec2::23]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "metadata",
        "metadata.goog",
        "metadata.google.internal",
    ];
    let authority = authority(address);
    let host = match authority.strip_suffix(|c: char| c.is_ascii_digit()).and_then(|_| authority.rsplit_once(':')) {
        Some((host, port)) if !authority.ends_with(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority.as_str(),
    };
    let low = address.to_ascii_lowercase();
    SERVERS.contains(&host.trim_end_matches('.'))
        && [
            "credential",
            "token",
            "/iam",
            "identity",
            "user-data",
            "userdata",
            "service-accounts",
            "recursive=true",
            "/attributes",
            "ssh-key",
        ]
        .iter()
        .any(|word| low.contains(word))
}
