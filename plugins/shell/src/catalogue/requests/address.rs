//! The parts of a request's address: its path, its query, and the server behind it.

/// Ports of this machine that offer more than a program under development: container engines,
/// clusters, databases, queues, search engines, secret stores, brokers of other machines.
const SERVICES: &[u16] = &[
    2375, 2376, 2379, 2380, 4001, 4646, 5432, 5601, 5984, 6333, 6379, 6443, 7474, 7700, 8001, 8086,
    8091, 8108, 8123, 8200, 8500, 8529, 8983, 9090, 9091, 9093, 9200, 9243, 10250, 10255, 15672,
    27017, 28015,
];

/// Returns true for a server of one's own on this machine; `short` clients accept `:3000` for one.
pub(super) fn is_own_server(address: &str, short: bool) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let port =
        authority.rsplit_once(':').map(|(_, port)| port).filter(|_| !authority.ends_with(']'));
    let is_service =
        port.is_some_and(|port| !port.parse().is_ok_and(|port: u16| !SERVICES.contains(&port)));
    let here = (short && authority.starts_with(':'))
        || crate::places::host(address).is_some_and(|host| crate::places::is_loopback(&host));
    here && !is_service
}

/// Returns the parts of an address's path, and its query.
pub(super) fn parts(address: &str) -> (Vec<&str>, &str) {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or("");
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    (path.split('/').filter(|part| !part.is_empty()).take(64).collect(), query)
}

/// Returns the machine and the port.
fn authority(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    authority.rsplit('@').next().unwrap_or("").to_ascii_lowercase()
}

/// Returns true if a search engine answers there, whose first part of the path is an index.
pub(super) fn is_search(address: &str) -> bool {
    let authority = authority(address);
    [":9200", ":9201", ":9243"].iter().any(|port| authority.ends_with(port))
        || authority.split(['.', ':', '-']).any(|part| {
            part.starts_with("elastic") || part.starts_with("opensearch") || part == "es"
        })
}

/// Returns true if a cloud machine gets its credentials there.
pub(super) fn gives_credentials(address: &str) -> bool {
    const SERVERS: &[&str] = &[
        "100.100.100.200",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "fd00:ec2::23",
        "fd00:ec2::254",
        "metadata",
        "metadata.goog",
        "metadata.google.internal",
    ];
    let low = address.to_ascii_lowercase();
    // The path of a container's own credentials is in a variable.
    let plain = low.split_once("://").map_or(low.as_str(), |(_, rest)| rest);
    if ["169.254.170.2\u{fffd}", "169.254.170.23\u{fffd}", "169.254.170.2/\u{fffd}"]
        .iter()
        .any(|start| plain.starts_with(start))
    {
        return true;
    }
    crate::places::host(address).is_some_and(|host| SERVERS.contains(&host.as_str()))
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
/// Returns true if a part of the address's path says that it is there for tests.
pub(crate) fn names_test(address: &str) -> bool {
    let path = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    path.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| matches!(part, "test" | "tests" | "testing" | "tmp"))
}
