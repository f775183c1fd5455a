//! Hosts among the words of a command, where its effects do not say them.

use crate::url::{Url, split_port};
use portcullis_plugin::types::{Command, Direction, Word};

/// A host among the words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found<'a> {
    Url(Url<'a>),
    /// A host without an address around it.
    Host(&'a str, Option<u16>),
    /// A host that is known only when it runs.
    Unknown,
}

/// Programs that fetch what their words name.
const FETCHERS: &[&str] = &[
    "curl", "wget", "wget2", "aria2c", "http", "https", "xh", "httpie", "axel", "lynx", "w3m",
    "links", "elinks",
];
/// Programs whose words are hosts.
const CONNECTORS: &[&str] = &[
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "ftp",
    "lftp",
    "ping",
    "dig",
    "host",
    "nslookup",
    "traceroute",
    "openssl",
    "nmap",
    "mosh",
    "smbclient",
    "ldapsearch",
    "grpcurl",
    "websocat",
    "wscat",
    "ab",
    "wrk",
    "hey",
    "whois",
];
/// Programs that show an address to a person, or open it.
const OPENERS: &[&str] = &["open", "xdg-open", "start", "explorer", "sensible-browser", "gio"];
/// Programs that write addresses into a configuration, which later commands contact without naming them.
const CONFIGURERS: &[&str] = &[
    "git", "npm", "yarn", "pnpm", "pip", "pip3", "poetry", "uv", "cargo", "helm", "docker",
    "podman", "conda",
];
/// Their words for that, and for images.
const CONFIGURING: &[&str] = &["remote", "config", "submodule", "repo", "source", "set-url"];
const IMAGE_VERBS: &[&str] = &["pull", "push", "run", "create"];
const DATABASES: &[&str] = &[
    "psql",
    "pg_dump",
    "pg_restore",
    "mysql",
    "mysqldump",
    "mariadb",
    "redis-cli",
    "mongosh",
    "mongo",
    "mongodump",
    "clickhouse-client",
    "cqlsh",
];
/// Flags before text that is sent, not contacted; the short ones only of programs that send.
const DATA_FLAGS: &[&str] = &[
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--json",
    "--form",
    "--header",
    "--referer",
    "--user-agent",
    "--cookie",
    "--message",
    "--body",
    "--title",
    "--notes",
    "--field",
    "--raw-field",
    "--output",
    "--user",
    "--post-data",
    "--body-data",
    "--tag",
];
const SHORT_DATA_FLAGS: &[&str] =
    &["-d", "-F", "-H", "-e", "-A", "-b", "-m", "-f", "-o", "-u", "-t", "-X", "-w"];
const SENDERS: &[&str] = &["curl", "http", "https", "xh", "httpie", "gh", "glab", "git"];
/// Flags of curl that take no value, so that the last one of a bundle counts: `-sSLx`.
const CURL_SWITCHES: &str = "sSfLkvigGIjnNqRaOJ#0123469";
/// Variables of a command whose value is contacted.
const VARIABLES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "ftp_proxy",
    "npm_config_registry",
    "pip_index_url",
    "pip_extra_index_url",
    "uv_index_url",
    "uv_default_index",
    "goproxy",
    "docker_host",
    "database_url",
];
/// Programs that set them for the commands that follow.
const EXPORTERS: &[&str] = &["export", "declare"];
/// Names of parameters whose value is a host or an address.
const HOST_PARAMETERS: &[&str] = &[
    "url",
    "uri",
    "host",
    "hostname",
    "server",
    "endpoint",
    "domain",
    "address",
    "base_url",
    "baseurl",
    "base-url",
    "target",
    "webhook",
    "webhook_url",
    "callback_url",
    "proxy",
    "site",
    "link",
    "remote",
    "origin",
    "href",
    "registry",
    "start_url",
];
const SENDING_VERBS: &[&str] = &[
    "post", "put", "send", "upload", "create", "write", "submit", "push", "publish", "update",
    "patch", "delete",
];

/// Returns true if the words of a program may name hosts that its effects do not.
pub(crate) fn may_name_hosts(program: &str) -> bool {
    [FETCHERS, OPENERS, CONFIGURERS, DATABASES, EXPORTERS]
        .iter()
        .any(|list| list.contains(&program))
}

/// Returns true if the program follows a redirection to whatever host is answered.
pub(crate) fn follows_redirects(command: &Command) -> bool {
    match command.program.as_str() {
        "curl" => {
            command.has_flag(Some('L'), "location") || command.has_flag(None, "location-trusted")
        }
        _ => true,
    }
}

pub(crate) fn is_host_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HOST_PARAMETERS.contains(&name.as_str()) || name.ends_with("_url") || name.ends_with("_host")
}

pub(crate) fn is_sending_tool(name: &str) -> bool {
    name.to_ascii_lowercase()
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|part| SENDING_VERBS.contains(&part))
}

/// Returns true if a word of the command has this name where a host stands: in an address, after an `@`, or alone if
/// the program's words are hosts. Of other programs such a word is a subcommand more often than a host.
pub(crate) fn names_host(command: &Command, name: &str) -> bool {
    let program = command.program.as_str();
    let of_hosts = FETCHERS.contains(&program) || CONNECTORS.contains(&program);
    // The server's name is the wrapper's word, and not among those of the command.
    if runs_on_server(command) {
        return true;
    }
    command.words.iter().any(|word| {
        let text = word.text.as_str();
        if let Some(url) = Url::read(text) {
            return url.host.eq_ignore_ascii_case(name);
        }
        let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
        let host = place.split(['/', ':']).next().unwrap_or(place);
        (of_hosts || !user.is_empty()) && host.eq_ignore_ascii_case(name)
    })
}

/// Returns true if the host of a command that contacts one is among what only the run knows, and not in a configuration.
pub(crate) fn has_unknown_host(command: &Command) -> bool {
    let program = command.program.as_str();
    // What a server runs contacts that server, whatever it is.
    if runs_on_server(command) {
        return true;
    }
    match program {
        "git" => remote_of(command).is_some_and(|word| !word.known),
        "python-module" => false,
        _ if FETCHERS.contains(&program) || CONNECTORS.contains(&program) => {
            command.words.iter().any(|word| !word.known) || lists_in_file(command)
        }
        // Code that builds its addresses, and mail: where it goes is nowhere to be read.
        _ => matches!(
            program,
            "python"
                | "python3"
                | "node"
                | "ruby"
                | "php"
                | "perl"
                | "deno"
                | "bun"
                | "mail"
                | "mailx"
                | "sendmail"
                | "mutt"
                | ""
        ),
    }
}

fn runs_on_server(command: &Command) -> bool {
    command.wrappers.iter().any(|wrapper| wrapper.starts_with("ssh") || wrapper == "mosh")
}

/// The word that names the remote of `git push`, `fetch`, `pull` or `clone`.
fn remote_of(command: &Command) -> Option<&Word> {
    let mut operands = command.operands();
    let verb = operands.next()?;
    matches!(verb.text.as_str(), "push" | "fetch" | "pull" | "clone" | "ls-remote")
        .then(|| operands.next())?
}

/// The addresses stand in a file.
fn lists_in_file(command: &Command) -> bool {
    match command.program.as_str() {
        "curl" => command.has_flag(Some('K'), "config"),
        "wget" | "wget2" | "aria2c" => command.has_flag(Some('i'), "input-file"),
        _ => false,
    }
}

/// Returns the hosts among the words of a command; `contacts` says that it is known to contact one.
pub(crate) fn hosts_in(command: &Command, contacts: bool) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let program = command.program.as_str();
    for assignment in &command.assignments {
        let name = assignment.name.to_ascii_lowercase();
        if VARIABLES.contains(&name.as_str()) {
            push_place(&mut found, assignment.value.split([',', '|']).next().unwrap_or_default());
        }
    }
    let fetches = FETCHERS.contains(&program);
    if fetches && lists_in_file(command) {
        found.push(Found::Unknown);
    }
    let scans = contacts
        || fetches
        || EXPORTERS.contains(&program)
        || OPENERS.contains(&program)
        || DATABASES.contains(&program)
        || configures(command);
    if scans {
        push_words(&mut found, command);
    }
    if matches!(program, "docker" | "podman") {
        push_images(&mut found, command);
    }
    for redirection in &command.redirections {
        if redirection.direction == Direction::Heredoc
            && fetches
            && redirection.target.text.contains("://")
        {
            found.extend(
                redirection.target.text.split_whitespace().filter_map(Url::read).map(Found::Url),
            );
        }
    }
    found
}

fn configures(command: &Command) -> bool {
    CONFIGURERS.contains(&command.program.as_str())
        && command.words.iter().take(3).any(|word| CONFIGURING.contains(&word.text.as_str()))
}

fn push_words<'a>(found: &mut Vec<Found<'a>>, command: &'a Command) {
    let program = command.program.as_str();
    let mut last = "";
    for word in &command.words {
        let text = word.text.as_str();
        let flag = last_of_bundle(program, std::mem::replace(&mut last, text));
        let short = SENDERS.contains(&program) && SHORT_DATA_FLAGS.contains(&flag);
        if short || DATA_FLAGS.contains(&flag) {
            continue;
        }
        if let Some(place) = place_of(program, flag, text) {
            push_place(found, place);
            continue;
        }
        // `key=https://…` of HTTPie is data.
        let data = matches!(program, "http" | "https" | "xh" | "httpie") && !text.starts_with('-');
        let Some(url) = (if data { Url::read(text) } else { url_in(text) }) else { continue };
        if url.host.contains('\u{fffd}') || url.host.is_empty() {
            found.push(Found::Unknown);
        } else {
            found.push(Found::Url(url));
        }
    }
}

/// Returns the flag whose value the next word is: of a bundle the last one.
fn last_of_bundle<'a>(program: &str, flag: &'a str) -> &'a str {
    let Some(letters) = flag.strip_prefix('-').filter(|_| program == "curl") else { return flag };
    let Some((last, _)) = letters.char_indices().next_back() else { return flag };
    let (switches, letter) = letters.split_at(last);
    let bundle =
        !switches.is_empty() && switches.chars().all(|letter| CURL_SWITCHES.contains(letter));
    match letter {
        "x" if bundle => "-x",
        _ if bundle => {
            SHORT_DATA_FLAGS.iter().copied().find(|flag| flag.ends_with(letter)).unwrap_or(flag)
        }
        _ => flag,
    }
}

/// An address that a word is, or that stands behind its `=`.
fn url_in(text: &str) -> Option<Url<'_>> {
    let Some(protocol_end) = text.find("://") else {
        let value = text.strip_prefix('-').map_or(Some(text), |_| Some(text.split_once('=')?.1));
        return value.and_then(Url::read);
    };
    let before = text.get(..protocol_end)?;
    let start = before
        .rfind(|letter: char| {
            !(letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
        })
        .map_or(0, |at| at + 1);
    // `--url=https://…` and `name @ git+https://…`; anywhere else it is a part of a text, or of code.
    let head = before.get(..start)?;
    let stands = head.is_empty() || head.ends_with('=') || head.ends_with(" @ ");
    if !stands || head.trim_end_matches([' ', '@']).contains(char::is_whitespace) {
        return None;
    }
    Url::read(text.get(start..)?)
}

/// What follows a flag that is contacted besides the address: a proxy, a jump host, a database's host.
fn place_of<'a>(program: &str, flag: &str, text: &'a str) -> Option<&'a str> {
    let value = |name: &str| text.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
    match program {
        "curl" => match flag {
            "-x" | "--proxy" | "--preproxy" | "--socks5" | "--socks5-hostname" | "--socks4"
            | "--socks4a" => Some(text),
            // `HOST:PORT:ADDRESS`.
            "--resolve" => text.splitn(3, ':').nth(2),
            // `HOST:PORT:HOST:PORT`.
            "--connect-to" => text.splitn(3, ':').nth(2).filter(|place| !place.starts_with(':')),
            _ => ["--proxy", "--preproxy", "--socks5", "--socks5-hostname"]
                .iter()
                .find_map(|name| value(name))
                .or_else(|| text.strip_prefix("-x").filter(|place| !place.is_empty())),
        },
        // `-e https_proxy=HOST` is a line of its settings.
        "wget" | "wget2" => text
            .split_once("_proxy=")
            .map(|(_, place)| place)
            .filter(|_| flag == "-e" || text.starts_with("--execute=")),
        "export" | "declare" => {
            let (name, place) = text.split_once('=')?;
            VARIABLES.contains(&name.to_ascii_lowercase().as_str()).then_some(place)
        }
        "ssh" | "scp" | "sftp" | "mosh" => match flag {
            "-J" => Some(text),
            "-o" => text.strip_prefix("ProxyJump=").or_else(|| text.strip_prefix("HostName=")),
            _ => text
                .strip_prefix("-oProxyJump=")
                .or_else(|| text.strip_prefix("-J").filter(|place| !place.is_empty())),
        },
        _ if DATABASES.contains(&program) => match flag {
            "-h" | "--host" => Some(text),
            _ => value("--host")
                .or_else(|| text.strip_prefix("-h").filter(|place| place.contains('.'))),
        },
        _ => None,
    }
}

/// Adds a host that stands with or without a protocol, a user and a port.
fn push_place<'a>(found: &mut Vec<Found<'a>>, text: &'a str) {
    if text.contains('\u{fffd}') {
        found.push(Found::Unknown);
    } else if let Some(url) = Url::read(text) {
        found.push(Found::Url(url));
    } else if !text.contains('/') {
        let place = text.rsplit_once('@').map_or(text, |(_, place)| place);
        let (host, port) = split_port(place.split(',').next().unwrap_or(place));
        if !host.is_empty() {
            found.push(Found::Host(host, port));
        }
    }
}

/// An image whose first part has a dot, a port or is this machine comes from a registry of that name.
fn push_images<'a>(found: &mut Vec<Found<'a>>, command: &'a Command) {
    if !command.words.iter().take(2).any(|word| IMAGE_VERBS.contains(&word.text.as_str())) {
        return;
    }
    for word in command.operands() {
        let Some((registry, rest)) = word.text.split_once('/') else { continue };
        let named = registry.contains('.') && !registry.starts_with('.') || registry.contains(':');
        let plain = registry
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | ':'));
        if named && plain && !rest.is_empty() && !rest.starts_with('/') {
            let (host, port) = split_port(registry);
            found.push(Found::Host(host, port));
        }
    }
}
