//! Every host that an action contacts, from its effects and, for what they do not say (ports, proxies, other registries,
//! names before an `@`), from its words.

use crate::host::Host;
use crate::url::{Url, split_port};
use crate::words::{self, Found};
use portcullis_plugin::risk_calculator::Action;
use portcullis_plugin::types::{Command, Effect, EffectKind, NetworkRequest, Operation, ToolCall};

/// One host that an action contacts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Contact {
    pub(crate) to: To,
    pub(crate) port: Option<u16>,
    /// Data of this machine goes there.
    pub(crate) sends: bool,
    /// The program follows whatever the host answers.
    pub(crate) follows: bool,
    /// The host that the address seems to name, before an `@` or a backslash.
    pub(crate) pretends: Option<String>,
}

/// Where a contact goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum To {
    Known(Host),
    /// Known only when it runs; the program that contacts it.
    Unknown(String),
}

/// What the host calls services whose addresses are in a configuration, and its own search.
const CONFIGURED: &[&str] = &[
    "cluster",
    "database",
    "hosting",
    "infrastructure",
    "mail",
    "servers",
    "storage",
    "web search",
    "workflows",
];

/// More hosts than anybody names in one action; what is past them counts as not known.
const MOST_CONTACTS: usize = 128;

/// A query of this many bytes carries more than a question.
const LONG_QUERY: usize = 200;

/// Returns true if an action may contact a host at all: most do not, and cost nothing further.
pub(crate) fn may_contact(action: &Action) -> bool {
    let facts = &action.facts;
    !facts.hosts.is_empty()
        || facts.effects.iter().any(|effect| is_network(&effect.kind))
        || facts.programs.iter().any(|program| words::may_name_hosts(program))
        || matches!(action.operation, Operation::Tool(_) | Operation::Network(_))
}

/// Returns what an action contacts, each host once.
pub(crate) fn contacts_of(action: &Action) -> Vec<Contact> {
    let mut contacts = Contacts::default();
    match &action.operation {
        Operation::Shell(shell) => {
            for (index, command) in (0..).zip(&shell.commands) {
                let own =
                    |effect: &&Effect| effect.command == Some(index) && is_network(&effect.kind);
                let effects: Vec<&Effect> = action.facts.effects.iter().filter(own).collect();
                contacts.add_command(command, &effects);
            }
            let others = action.facts.effects.iter().filter(|effect| effect.command.is_none());
            for effect in others.filter(|effect| is_network(&effect.kind)) {
                contacts.add_effect(effect, None, false);
            }
        }
        Operation::Network(request) => contacts.add_request(request, &action.facts.effects),
        Operation::Tool(tool) => contacts.add_tool(tool, &action.facts.effects),
        _ => {}
    }
    contacts.0
}

#[derive(Default)]
struct Contacts(Vec<Contact>);

impl Contacts {
    /// Adds a contact, or what it says more of one that is there.
    fn add(&mut self, contact: Contact) {
        if self.is_full() {
            return;
        }
        let known = self.0.iter_mut().find(|known| {
            known.to == contact.to
                && (known.port == contact.port || known.port.is_none() || contact.port.is_none())
        });
        match known {
            Some(known) => {
                known.port = known.port.or(contact.port);
                known.sends |= contact.sends;
                known.follows |= contact.follows;
                known.pretends = known.pretends.take().or(contact.pretends);
            }
            None => self.0.push(contact),
        }
        if self.is_full() {
            let to = To::Unknown(String::new());
            self.0.push(Contact { to, port: None, sends: true, follows: true, pretends: None });
        }
    }

    const fn is_full(&self) -> bool {
        self.0.len() >= MOST_CONTACTS
    }

    fn add_url(&mut self, url: &Url<'_>, sends: bool, follows: bool) {
        let host = Host::read(&decode_percent(url.host));
        let pretends = url.user.filter(|user| Host::read(user) != host).map(str::to_owned);
        let Some(host) = host else { return };
        self.add(Contact { to: To::Known(host), port: url.port, sends, follows, pretends });
        if let Some(other) = url.other.and_then(Host::read) {
            let pretends = Some(url.host.to_owned());
            self.add(Contact { to: To::Known(other), port: url.port, sends, follows, pretends });
        }
    }

    fn add_command(&mut self, command: &Command, effects: &[&Effect]) {
        if effects.is_empty() && !words::may_name_hosts(&command.program) {
            return;
        }
        let sends = effects.iter().any(|effect| is_sending(&effect.kind));
        let follows = words::follows_redirects(command);
        let before = self.0.len();
        let mut unknown = false;
        for found in words::hosts_in(command, !effects.is_empty()) {
            if self.is_full() {
                return;
            }
            match found {
                Found::Url(url) => self.add_url(&url, sends, follows),
                Found::Host(host, port) => {
                    if let Some(host) = Host::read(host) {
                        self.add(Contact {
                            to: To::Known(host),
                            port,
                            sends,
                            follows,
                            pretends: None,
                        });
                    }
                }
                Found::Unknown => unknown = true,
            }
        }
        for effect in effects {
            self.add_effect(effect, Some(command), follows);
        }
        // Where neither the effects nor the words tell a host, and a word of it is not known, any host may be meant.
        let reported = self.0.len() > before || effects.iter().any(|effect| is_reported(effect));
        let contacts = effects.iter().any(|effect| !matches!(effect.kind, EffectKind::UnseenCode));
        let untold = !reported && contacts && words::has_unknown_host(command);
        if unknown || untold {
            let to = To::Unknown(command.program.clone());
            self.add(Contact { to, port: None, sends, follows, pretends: None });
        }
    }

    fn add_effect(&mut self, effect: &Effect, command: Option<&Command>, follows: bool) {
        let sends = is_sending(&effect.kind);
        let target = effect.target.as_str();
        if target.is_empty() || CONFIGURED.contains(&target) {
            return;
        }
        // A name without a dot is a bucket, a remote or a container more often than a host.
        let is_host = target.contains(['.', ':'])
            || target == "localhost"
            || command.is_some_and(|command| words::names_host(command, target));
        let network = matches!(effect.kind, EffectKind::Network | EffectKind::Send);
        // What is published or changed remotely has names of other kinds too, with dots in them.
        if !is_host || !(network || looks_like_host(target)) {
            return;
        }
        if let Some(host) = Host::read(target) {
            self.add(Contact { to: To::Known(host), port: None, sends, follows, pretends: None });
        }
    }

    /// The client says of each request that something is sent, which for reading is the question in its address.
    fn add_request(&mut self, request: &NetworkRequest, effects: &[Effect]) {
        let reads = request.method.as_deref().is_none_or(|method| matches!(method, "GET" | "HEAD"));
        match Url::read(&request.url) {
            Some(url) => self.add_url(&url, !reads || url.query.len() > LONG_QUERY, true),
            None => {
                for effect in effects.iter().filter(|effect| is_network(&effect.kind)) {
                    self.add_effect(effect, None, true);
                }
            }
        }
    }

    fn add_tool(&mut self, tool: &ToolCall, effects: &[Effect]) {
        let network = || effects.iter().filter(|effect| is_network(&effect.kind));
        let sends =
            network().any(|effect| is_sending(&effect.kind)) || words::is_sending_tool(&tool.name);
        let contacts = network().next().is_some();
        for argument in &tool.arguments {
            let value = argument.value.trim();
            match Url::read(value) {
                Some(url) if contacts || words::is_host_parameter(&argument.name) => {
                    self.add_url(&url, sends, true);
                }
                None if words::is_host_parameter(&argument.name) => {
                    let (host, port) = split_port(value);
                    let host = Some(host).filter(|host| looks_like_host(host)).and_then(Host::read);
                    if let Some(host) = host {
                        self.add(Contact {
                            to: To::Known(host),
                            port,
                            sends,
                            follows: true,
                            pretends: None,
                        });
                    }
                }
                _ => {}
            }
        }
        for effect in network() {
            self.add_effect(effect, None, true);
        }
    }
}

const fn is_network(kind: &EffectKind) -> bool {
    matches!(
        kind,
        EffectKind::Network
            | EffectKind::Send
            | EffectKind::Publish
            | EffectKind::RemoteChange
            | EffectKind::RemoteDelete
            | EffectKind::UnseenCode
    )
}

const fn is_sending(kind: &EffectKind) -> bool {
    matches!(
        kind,
        EffectKind::Send
            | EffectKind::Publish
            | EffectKind::RemoteChange
            | EffectKind::RemoteDelete
    )
}

/// The effect says where it goes, if only by the name of a remote or a service.
fn is_reported(effect: &Effect) -> bool {
    !effect.target.is_empty() && effect.certain
}

/// A text with a dot in it that ends with letters, or an address.
fn looks_like_host(text: &str) -> bool {
    let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let named = text.contains('.')
        && last.len() >= 2
        && !last.starts_with(|letter: char| letter.is_ascii_digit());
    named && !text.contains(['/', ' '])
        || matches!(Host::read(text), Some(Host::Address(_)))
        || text == "localhost"
}

/// Browsers decode a host before they look it up.
fn decode_percent(host: &str) -> String {
    if !host.contains('%') || host.contains(':') {
        return host.to_owned();
    }
    let mut out = Vec::with_capacity(host.len());
    let mut rest = host.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        let decoded = tail
            .get(..2)
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match decoded {
            Some(decoded) if *byte == b'%' => {
                out.push(decoded);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
