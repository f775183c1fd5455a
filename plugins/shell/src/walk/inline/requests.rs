//! Connections and requests that parsed code makes.

use super::super::expand::Field;
use super::super::parameters::is_credential;
use super::super::{Setting, Walker};
use super::values::{Place, option, texts_of};
use crate::types::EffectKind;
use portcullis_inline_code::{Call, HOLE, Kind, Value};

/// Classes of an address that hold one.
const ADDRESSES: &[&str] = &["urllib.request.Request", "Request", "urllib2.Request", "URL"];

impl Walker<'_> {
    /// Returns the addresses that a value may be: URLs, hosts, pairs of host and port, options.
    fn addresses(&self, value: Option<&Value>, place: &Place<'_>) -> Vec<Field> {
        let Some(value) = value else {
            return vec![Field::plain(&HOLE.to_string(), place.field.span)];
        };
        let mut all = Vec::new();
        for one in value.alternatives() {
            let text = match &one.kind {
                Kind::List(items) => texts_of(items.first()),
                Kind::Map(items) => {
                    let member =
                        ["url", "hostname", "host", "uri", "baseURL"].iter().find_map(|name| {
                            items.iter().find(|(key, _)| key == name).map(|(_, value)| value)
                        });
                    texts_of(member)
                }
                Kind::Made(class, parts) if ADDRESSES.contains(&&**class) => {
                    texts_of(parts.first())
                }
                // A port alone is one of this machine.
                Kind::Number(_) => vec!["localhost".to_owned()],
                _ => texts_of(Some(&one)),
            };
            all.extend(text.iter().map(|text| Field::plain(text, place.field.span)));
        }
        all
    }

    /// Notes a connection.
    pub(super) fn connects(&mut self, to: Option<&Value>, place: &Place<'_>, setting: &Setting) {
        for address in self.addresses(to, place) {
            if address.text.starts_with("file:") {
                self.file(EffectKind::FileRead, &address, false, place.command, setting);
            } else {
                self.network(&address, place.command, setting);
            }
        }
    }

    /// Notes data that is sent, or something that is deleted, at an address.
    pub(super) fn sends(
        &mut self,
        kind: EffectKind,
        to: Option<&Value>,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        for address in self.addresses(to, place) {
            self.at_host(kind.clone(), &address, place.command, setting);
        }
    }

    /// Notes a request: its method is an argument or an option, or follows from its body.
    pub(super) fn requests(
        &mut self,
        call: &Call,
        to: Option<&Value>,
        method: Option<&Value>,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        self.connects(to, place, setting);
        // An object that describes the request was made by another call, with options of its own.
        let made = to
            .into_iter()
            .flat_map(|to| place.origins(to))
            .filter(|call| ADDRESSES.contains(&call.name.as_str()));
        let calls: Vec<&Call> = std::iter::once(call).chain(made).collect();
        let named = calls.iter().find_map(|call| option(call, "method"));
        let methods: Vec<String> = method
            .or(named)
            .map(|method| texts_of(Some(method)))
            .unwrap_or_default()
            .iter()
            .map(|method| method.to_ascii_uppercase())
            .collect();
        let body = calls.iter().any(|call| {
            ["body", "data", "json", "files", "content"]
                .iter()
                .any(|name| option(call, name).is_some())
                || call.name.ends_with("Request") && call.arguments.len() > 1
                || call.name.ends_with("urlopen") && call.arguments.len() > 1
        });
        let erases = methods.iter().any(|method| method == "DELETE");
        let unclear = methods.iter().any(|method| method.contains(HOLE));
        let posts = methods.iter().any(|m| matches!(m.as_str(), "POST" | "PUT" | "PATCH"));
        if erases {
            self.sends(EffectKind::RemoteDelete, to, place, setting);
        }
        // A method that is not known may be one that sends.
        if posts || unclear || body && !erases {
            self.sends(EffectKind::Send, to, place, setting);
            self.sends_credential(call, 1, place, setting);
        }
    }

    /// Notes a credential of the environment in the data that a call sends. Headers carry those that
    /// belong there.
    pub(super) fn sends_credential(
        &mut self,
        call: &Call,
        from: usize,
        place: &Place<'_>,
        setting: &Setting,
    ) {
        const DATA: &[&str] = &["body", "content", "data", "files", "json", "payload"];
        let given =
            call.arguments.iter().skip(from).filter(|value| !matches!(value.kind, Kind::Map(_)));
        let named = DATA.iter().filter_map(|name| option(call, name));
        if given.chain(named).any(|value| holds_credential(value, place)) {
            let (kind, target) = (EffectKind::SecretRead, "environment".to_owned());
            self.push(kind, target, false, false, place.command, setting);
        }
    }

    /// Returns the address of the connection that a value is.
    pub(super) fn host_of(&self, connection: &Value, place: &Place<'_>) -> Option<Value> {
        // The connection may be a socket that another call connected.
        let connected = place.code.calls.iter().find(|call| {
            call.name.ends_with("connect")
                && call.arguments.first().is_some_and(|first| {
                    matches!(first.kind, Kind::List(_)) || first.as_text().is_some()
                })
        });
        super::values::first_part(connection)
            .filter(|first| first.as_text().is_some() || matches!(first.kind, Kind::List(_)))
            .or_else(|| connected.and_then(|call| call.arguments.first().cloned()))
    }
}

/// Returns true if a variable of the environment is in a value, and its name is that of a credential
/// or not known.
fn holds_credential(value: &Value, place: &Place<'_>) -> bool {
    let telling = |parts: &[Value]| match parts.first().map(Value::as_text) {
        Some(Some(name)) => name.contains(HOLE) || is_credential(&name),
        _ => true,
    };
    let made = match &value.kind {
        Kind::Made(class, parts) if &**class == "environment" => telling(parts),
        Kind::Made(_, parts) | Kind::List(parts) | Kind::Any(parts) => {
            parts.iter().any(|part| holds_credential(part, place))
        }
        Kind::Map(items) => items.iter().any(|(_, item)| holds_credential(item, place)),
        Kind::Member(of, _) => holds_credential(of, place),
        _ => false,
    };
    // A text that was put together keeps the calls that its parts came from.
    made || place.origins(value).any(|call| {
        matches!(call.name.as_str(), "os.getenv" | "os.environ.get" | "Deno.env.get")
            && telling(&call.arguments)
    })
}
