//! Data of this machine on its way to another one by other ways than a request: copies, data piped
//! into a connection, the orders of file transfer clients, git at an address.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::{Feed, Source};
use super::simple::Call;
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places;
use crate::syntax::Span;
use crate::types::{Direction, EffectKind};

/// Programs that hand their standard input to another machine.
const HAND_ON: &[&str] = &[
    "autossh", "http", "nc", "ncat", "netcat", "openssl", "socat", "ssh", "telnet", "websocat",
    "wscat",
];
/// Wrappers whose commands do not get the wrapper's standard input.
const KEEP_INPUT: &[&str] = &["xargs", "parallel", "find -exec"];
/// Clients of file stores whose copies name a source and a target.
const STORES: &[&str] =
    &["aws", "azcopy", "b2", "gcloud", "gsutil", "mc", "mcli", "rclone", "s3cmd", "s4cmd", "s5cmd"];
/// The names that these clients have for a copy.
const COPIES: &[&str] = &[
    "bisync",
    "copy",
    "copyto",
    "cp",
    "mirror",
    "move",
    "moveto",
    "mv",
    "pipe",
    "put",
    "rcat",
    "rsync",
    "sync",
    "upload-file",
];
/// The maximum number of orders of one script that are read.
const ORDERS: usize = 64;

impl Walker<'_> {
    /// Notes that the standard input goes to the machine that the program is connected to.
    pub(super) fn hand_on(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let kept =
            setting.wrappers.last().is_some_and(|wrapper| KEEP_INPUT.contains(&wrapper.as_str()));
        if !HAND_ON.contains(&name)
            || kept
            || !call.input.open
            || is_in_plain_sight(&call.input)
            || reads_nothing(call)
        {
            return;
        }
        let flag = |letter: char| {
            plan.flags
                .iter()
                .filter_map(|at| rest.get(*at))
                .any(|field| is_letter(&field.text, letter))
        };
        let without = match name {
            "ssh" | "autossh" => flag('n'),
            "openssl" => contact(plan, rest).is_none(),
            // `-z` only asks whether a port is open, `-d` reads no input.
            "nc" | "ncat" | "netcat" => flag('z') || flag('d'),
            "http" => {
                rest.iter().any(|field| matches!(field.text.as_str(), "--ignore-stdin" | "-I"))
            }
            _ => false,
        };
        if without {
            return;
        }
        let host = match name {
            "socat" => rest.iter().find_map(|field| address(&field.text).and_then(Address::host)),
            _ => contact(plan, rest),
        };
        let host = host.unwrap_or_default();
        self.plain(EffectKind::Send, &host, !host.is_empty(), command, setting);
    }

    /// Notes copies from and to other machines; a word with a host in it is there, all others are
    /// here.
    pub(super) fn copy_far(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let Some((target, sources)) =
            operands.split_last().filter(|(_, sources)| !sources.is_empty())
        else {
            for field in operands {
                match far(&field.text) {
                    Some(host) => {
                        self.plain(EffectKind::Network, &host, !host.is_empty(), command, setting)
                    }
                    None => self.file(EffectKind::FileRead, field, true, command, setting),
                }
            }
            return;
        };
        let mut leaves = false;
        for source in sources {
            match far(&source.text) {
                Some(host) => {
                    self.plain(EffectKind::Network, &host, !host.is_empty(), command, setting)
                }
                None => {
                    leaves = true;
                    self.file(EffectKind::FileRead, source, true, command, setting);
                }
            }
        }
        match far(&target.text) {
            Some(host) => {
                let kind = if leaves { EffectKind::Send } else { EffectKind::RemoteChange };
                self.plain(EffectKind::Network, &host, !host.is_empty(), command, setting);
                self.plain(kind, &host, !host.is_empty(), command, setting);
            }
            None => self.file(EffectKind::FileModify, target, true, command, setting),
        }
        self.mirrors(rest, plan, target, command, setting);
    }

    fn mirrors(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        target: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let deletes = plan
            .flags
            .iter()
            .filter_map(|at| rest.get(*at))
            .any(|field| field.text.starts_with("--delete") || field.text == "--del");
        if deletes {
            self.out.form("mirror-delete", command);
            if far(&target.text).is_none() {
                self.file(EffectKind::FileDelete, target, true, command, setting);
            }
        }
    }

    /// Follows file transfer clients: the machine, and the orders on the input or in a flag.
    pub(super) fn transfer(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let first = operands.first().map(|field| field.text.as_str()).unwrap_or_default();
        let host =
            far(first).or_else(|| places::host(first.trim_start_matches('/'))).unwrap_or_default();
        if name == "sftp" {
            self.plain(EffectKind::Network, &host, !host.is_empty(), command, setting);
            if let Some(local) = operands.get(1) {
                self.file(EffectKind::FileModify, local, true, command, setting);
            }
        }
        let flags: &[&str] = if name == "sftp" { &["-b"] } else { &["-e", "-c", "--command"] };
        let given = rest
            .iter()
            .position(|field| flags.contains(&field.text.as_str()))
            .and_then(|at| rest.get(at + 1));
        let from_file =
            given.filter(|_| name == "sftp").map(|field| self.file_content(&field.text).text);
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let kept =
            setting.wrappers.last().is_some_and(|wrapper| KEEP_INPUT.contains(&wrapper.as_str()));
        let comes_in = call.input.open && !kept && !reads_nothing(call);
        let unread = comes_in && call.input.text.is_none()
            || from_file.as_ref().is_some_and(Option::is_none);
        let text = given.filter(|_| name != "sftp").map(|field| field.text.clone());
        let texts = [
            text,
            from_file.flatten().map(|text| text.to_string()),
            call.input.text.as_ref().map(ToString::to_string),
        ];
        let mut sends = unread;
        for text in texts.iter().flatten() {
            sends |= self.orders(text, span, command, setting);
        }
        if sends {
            self.plain(EffectKind::Send, &host, !host.is_empty(), command, setting);
        }
    }

    /// Reads the orders of a file transfer client; one of them sends something.
    fn orders(&mut self, text: &str, span: Span, command: Option<u32>, setting: &Setting) -> bool {
        let mut sends = false;
        for order in text.split(['\n', ';']).map(str::trim).take(ORDERS) {
            if let Some(shell) = order.strip_prefix('!') {
                self.nested(
                    &Field::plain(shell, span),
                    "transfer",
                    &Setting { input: Feed::default(), ..setting.clone() },
                );
                continue;
            }
            let mut words = order.trim_start_matches(['-', '@']).split_ascii_whitespace();
            let verb = words.next().unwrap_or_default();
            // `mirror` downloads unless it is reversed.
            let back =
                verb == "mirror" && words.clone().any(|word| matches!(word, "-R" | "--reverse"));
            if !back && !matches!(verb, "append" | "mput" | "put" | "reput" | "send") {
                continue;
            }
            sends = true;
            let count = if verb == "mput" { 16 } else { 1 };
            for file in words.filter(|word| !word.starts_with('-')).take(count) {
                let file = Field { known: !file.contains(UNKNOWN), ..Field::plain(file, span) };
                self.file(EffectKind::FileRead, &file, true, command, setting);
            }
        }
        sends
    }

    /// Notes copies into a file store of a cloud.
    pub(super) fn store_away(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let service = plan.items.iter().find_map(|item| match item {
            Item::Constant(EffectKind::Network, host) => Some(*host),
            _ => None,
        });
        let Some(service) = service.filter(|_| STORES.contains(&name)) else { return };
        let words: Vec<&Field> =
            plan.subcommand.iter().chain(&plan.operands).filter_map(|at| rest.get(*at)).collect();
        let Some(at) = words.iter().position(|field| COPIES.contains(&field.text.as_str())) else {
            return;
        };
        let verb = words.get(at).map(|field| field.text.as_str()).unwrap_or_default();
        let Some((target, sources)) = words.get(at + 1..).and_then(<[&Field]>::split_last) else {
            return;
        };
        let comes_in = matches!(verb, "pipe" | "rcat");
        if !is_stored(name, &target.text) && verb != "upload-file" {
            return;
        }
        // An alias of these looks like a folder: the first part is assumed to be a file of this
        // machine.
        let is_far = |text: &str| is_stored(name, text) && !matches!(name, "mc" | "mcli");
        let here: Vec<&&Field> = sources.iter().filter(|source| !is_far(&source.text)).collect();
        for source in &here {
            self.file(EffectKind::FileRead, source, true, command, setting);
        }
        if comes_in || !here.is_empty() {
            self.plain(EffectKind::Send, service, true, command, setting);
        }
    }

    /// Notes `kubectl cp`: a word with a colon is in the cluster.
    pub(super) fn copy_to_cluster(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let copies = plan
            .subcommand
            .last()
            .and_then(|at| rest.get(*at))
            .is_some_and(|field| field.text == "cp");
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let [source, target] = operands.as_slice() else { return };
        match (copies, target.text.contains(':')) {
            (true, true) if !source.text.contains(':') => {
                self.file(EffectKind::FileRead, source, true, command, setting);
                self.plain(EffectKind::Send, "cluster", true, command, setting);
            }
            (true, false) => self.file(EffectKind::FileModify, target, true, command, setting),
            _ => {}
        }
    }

    /// Notes `socat` between a file and a connection.
    pub(super) fn relay(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        let addresses: Vec<(&Field, Address)> =
            rest.iter().filter_map(|field| Some((field, address(&field.text)?))).collect();
        let reaches = addresses
            .iter()
            .find(|(_, address)| matches!(address, Address::Far(_) | Address::Listens));
        let host = reaches.and_then(|(_, address)| address.clone().host());
        let mut reads = false;
        for (field, address) in &addresses {
            let Address::File(path, written) = address else { continue };
            let kind = if *written { EffectKind::FileModify } else { EffectKind::FileRead };
            reads |= !written;
            self.file(
                kind,
                &Field { text: path.clone(), ..(*field).clone() },
                false,
                command,
                setting,
            );
        }
        if let Some(host) = &host {
            self.plain(EffectKind::Network, host, !host.is_empty(), command, setting);
        }
        if reads && reaches.is_some() {
            let host = host.unwrap_or_default();
            self.plain(EffectKind::Send, &host, !host.is_empty(), command, setting);
        }
    }
}

/// Returns the host of `host:path` and of an address; empty if it is known only at run time.
pub(super) fn far(text: &str) -> Option<String> {
    let before = text.split_once(':').map(|(before, _)| before)?;
    let is_drive = before.len() == 1 && before.bytes().all(|byte| byte.is_ascii_alphabetic());
    let unknown = before.contains(UNKNOWN) && !before.contains('/')
        || text.contains(&format!("://{UNKNOWN}"));
    match places::remote_path(text) {
        _ if is_drive => None,
        None if unknown => Some(String::new()),
        host => host,
    }
}

/// Returns true for a word that names something in a file store.
fn is_stored(name: &str, text: &str) -> bool {
    match name {
        // A remote may have a name of one letter: only paths of this machine begin so.
        "rclone" => text.contains(':') && !text.starts_with(['.', '/', '~']),
        "mc" | "mcli" => !text.starts_with(['.', '/', '~']),
        _ => text.contains("://"),
    }
}

/// Returns true if all of it is on the command line itself, so that no data leaves the machine
/// unseen.
fn is_in_plain_sight(input: &Feed) -> bool {
    input.text.as_ref().is_some_and(|text| !text.contains(UNKNOWN) && input.source == Source::LOCAL)
}

/// Returns true if its input is the empty device.
fn reads_nothing(call: &Call) -> bool {
    let input = call.redirections.iter().rev().find(|redirection| redirection.descriptor == 0);
    input.is_some_and(|input| {
        input.direction == Direction::Input && input.target.text == "/dev/null"
    })
}

fn is_letter(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Returns the machine that a plan contacts.
fn contact(plan: &Plan, rest: &[Field]) -> Option<String> {
    plan.items.iter().find_map(|item| match item {
        Item::Word(EffectKind::Network, at) => {
            rest.get(*at).map(|field| places::host(&field.text).unwrap_or_default())
        }
        Item::Value(EffectKind::Network, value) => Some(places::host(value).unwrap_or_default()),
        Item::Constant(EffectKind::Network, host) => Some((*host).to_owned()),
        _ => None,
    })
}

/// An address of `socat`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    Far(String),
    /// It waits for any connection.
    Listens,
    /// A file, and a flag for writing to it.
    File(String, bool),
}

impl Address {
    fn host(self) -> Option<String> {
        match self {
            Self::Far(host) => Some(host),
            Self::Listens | Self::File(..) => None,
        }
    }
}

fn address(text: &str) -> Option<Address> {
    let (place, options) = text.split_once(',').unwrap_or((text, ""));
    let (kind, rest) = place.split_once(':')?;
    let kind = kind.to_ascii_uppercase();
    if kind.contains("LISTEN") || kind.ends_with("-L") {
        return Some(Address::Listens);
    }
    let written =
        ["creat", "wronly", "trunc", "append"].iter().any(|option| options.contains(option));
    match kind.as_str() {
        "FILE" | "OPEN" | "GOPEN" => Some(Address::File(rest.to_owned(), written)),
        "CREATE" => Some(Address::File(rest.to_owned(), true)),
        _ if ["TCP", "UDP", "OPENSSL", "SSL", "SCTP", "SOCKS", "PROXY", "DTLS"]
            .iter()
            .any(|start| kind.starts_with(start)) =>
        {
            Some(Address::Far(places::host(rest).unwrap_or_default()))
        }
        _ => None,
    }
}
