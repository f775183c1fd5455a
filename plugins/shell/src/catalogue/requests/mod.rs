//! The effects of requests by HTTP clients, derived from the method, the body and the path.
//!
//! `GET` only reads; a body that is not on the command line is sent, one that is on it changes
//! something; `DELETE`, and a `POST` to a path that orders it, destroys. Only the call of the
//! client is read, not the contents of a body file. Data sent to this machine stays here.

mod address;
mod clients;
mod forges;
mod prints;

pub(crate) use clients::{Flag, VALUED, options};

use super::plan::{Item, Plan};
use super::verbs::{self, Does};
use crate::places;
use crate::types::EffectKind;

/// A request, as the words of a call give it.
#[derive(Debug, Default)]
struct Request<'w> {
    /// In capitals; empty if the client chooses.
    method: String,
    /// The body that is sent with it; the name of a file if it begins with `@`.
    body: Option<&'w str>,
    /// The words that are addresses.
    targets: Vec<usize>,
}

/// The effect of a request on a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Look,
    Reveal,
    Send,
    Change,
    Destroy,
    DestroyAll,
}

/// Adds the effects of a client's request; `item` names the client's calling convention.
pub(super) fn apply(plan: &mut Plan, item: &'static str, words: &[&str]) {
    let (request, service) = match item {
        "request-gh" => (clients::service(words, plan), Some("api.github.com")),
        "request-glab" => (clients::service(words, plan), Some("gitlab.com")),
        "request-wget" => (clients::wget(words, plan), None),
        "request-httpie" => (clients::httpie(words, plan), None),
        "request-grpc" => (clients::grpc(words, plan), None),
        "request-powershell" => (clients::powershell(words, plan), None),
        _ => (clients::curl(words, plan), None),
    };
    plan.silent |= !prints::prints(item, words, plan);
    for at in &request.targets {
        let address = words.get(*at).copied().unwrap_or("");
        let effect = match service {
            Some(host) => request
                .does(&format!("https://{host}/{}", address.trim_start_matches('/')))
                .of_own_service(),
            None => request.does(address),
        };
        let served_here = service.is_none()
            && address::is_own_server(address, item == "request-httpie")
            && !is_led_elsewhere(words);
        let spared = effect == Effect::Destroy
            || effect == Effect::DestroyAll && address::names_test(address);
        // A service of this machine may hold what matters, but not under such a name.
        let rehearsed = service.is_none()
            && places::host(address).is_some_and(|host| places::is_loopback(&host))
            && !is_led_elsewhere(words)
            && address::names_test(address);
        let effect = if (served_here || rehearsed) && spared { Effect::Change } else { effect };
        let (kind, form) = match service {
            Some(_) if effect == Effect::Change => forges::outcome(address, words),
            _ => effect.outcome(),
        };
        let carries =
            (request.body.is_some() && kind == Some(EffectKind::RemoteDelete) && service.is_none())
                .then_some(EffectKind::Send);
        let host = places::host(address).filter(|_| service.is_none());
        let here = host.as_deref().is_some_and(places::is_loopback);
        let kinds = [kind, carries]
            .into_iter()
            .flatten()
            .filter(|kind| !here || *kind == EffectKind::RemoteDelete);
        plan.items.push(service.map_or(Item::Word(EffectKind::Network, *at), |host| {
            Item::Constant(EffectKind::Network, host)
        }));
        plan.items.extend(kinds.map(|kind| match (service, &host) {
            (Some(service), _) => Item::Constant(kind, service),
            (None, Some(host)) => Item::Value(kind, host.clone()),
            (None, None) => Item::Word(kind, *at),
        }));
        plan.items.extend(form.map(Item::Form));
    }
}

/// Returns true for flags that send the request somewhere other than its address.
fn is_led_elsewhere(words: &[&str]) -> bool {
    const FLAGS: &[&str] = &[
        "--abstract-unix-socket",
        "--connect-to",
        "--preproxy",
        "--proxy",
        "--resolve",
        "--socks",
        "--unix-socket",
        "-x",
    ];
    words.iter().any(|word| FLAGS.iter().any(|flag| word.starts_with(flag)))
}

impl Effect {
    /// Turns sending into a change, for a service that the person signed in to.
    fn of_own_service(self) -> Self {
        if self == Self::Send { Self::Change } else { self }
    }

    fn outcome(self) -> (Option<EffectKind>, Option<&'static str>) {
        match self {
            Self::Look => (None, None),
            Self::Reveal => (Some(EffectKind::SecretRead), None),
            Self::Send => (Some(EffectKind::Send), None),
            Self::Change => (Some(EffectKind::RemoteChange), None),
            Self::Destroy => (Some(EffectKind::RemoteDelete), Some("delete-remote")),
            Self::DestroyAll => (Some(EffectKind::RemoteDelete), Some("destroy-remote")),
        }
    }
}

impl Request<'_> {
    fn does(&self, address: &str) -> Effect {
        if address::gives_credentials(address) {
            return Effect::Reveal;
        }
        let (path, query) = address::parts(address);
        let method = match self.method.as_str() {
            "" if self.body.is_some() => "POST",
            "" => "GET",
            method => method,
        };
        let destroys = match method {
            "DELETE" => deleted(address, &path),
            "GET" | "HEAD" | "OPTIONS" | "TRACE" => asked_to_delete(query),
            _ => posted(&path, query, self.body),
        };
        match (destroys, method) {
            (Some(effect), _) => effect,
            (None, "GET" | "HEAD" | "OPTIONS" | "TRACE") => Effect::Look,
            _ if self.only_asks(&path) => Effect::Look,
            _ if self.body.is_some_and(|body| !is_in_plain_sight(body)) => Effect::Send,
            _ => Effect::Change,
        }
    }

    /// Returns true for a question that is too long for an address.
    fn only_asks(&self, path: &[&str]) -> bool {
        const QUESTIONS: &[&str] = &[
            "_analyze",
            "_count",
            "_eql",
            "_explain",
            "_field_caps",
            "_mget",
            "_msearch",
            "_query",
            "_search",
            "_search_shards",
            "_validate",
            "lookup",
            "multi-search",
            "multi_search",
            "queries",
            "query",
            "query_range",
            "search",
        ];
        let last = path.last().copied().unwrap_or("");
        let inline = self.body.is_some_and(|body| !body.starts_with('@'));
        (QUESTIONS.contains(&last) || path.contains(&"_search")) && inline
            || (last == "graphql"
                && self.body.is_some_and(|body| inline && !body.contains("mutation")))
    }
}

/// Returns true if all of the body is on the command line, so that no data leaves the machine
/// unseen.
fn is_in_plain_sight(body: &str) -> bool {
    !body.contains(['@', '<', '\u{fffd}'])
}

/// Returns the effect of `DELETE`.
fn deleted(address: &str, path: &[&str]) -> Option<Effect> {
    let last = path.last().copied().unwrap_or("");
    if path.contains(&"scroll")
        || matches!(last, "_pit" | "session")
        || path.contains(&"_async_search")
    {
        return Some(Effect::Change);
    }
    let is_index = path.len() == 1 && !last.starts_with('_') && address::is_search(address);
    let many = last == "_all" || last.contains('*');
    let (holder, before) = (
        path.len().checked_sub(2).and_then(|at| path.get(at)),
        path.len().checked_sub(3).and_then(|at| path.get(at)),
    );
    let whole = [Some(&last), holder, before.filter(|kind| **kind == "repos")]
        .into_iter()
        .flatten()
        .any(|kind| verbs::is_whole(&[*kind]));
    Some(if is_index || many || whole { Effect::DestroyAll } else { Effect::Destroy })
}

/// Returns the destructive effect of the path or of the statement that a request carries.
fn posted(path: &[&str], query: &str, body: Option<&str>) -> Option<Effect> {
    let last_two = path.iter().rev().take(2).flat_map(|part| part.split(':'));
    let named = last_two.filter_map(action).max_by_key(|does| *does == Effect::DestroyAll);
    let stated = body.filter(|body| !body.starts_with('@')).and_then(|body| {
        let is_graph = path.last().is_some_and(|last| *last == "graphql");
        if is_graph { mutation(body) } else { statement(body) }
    });
    named.or(stated).or_else(|| asked_to_delete(query))
}

/// Returns the effect that the last words of a path order: `_delete_by_query`, `shutdown`.
fn action(part: &str) -> Option<Effect> {
    const MILD: &[&str] = &["_flush", "clean", "down", "empty", "forget", "reset"];
    const ENDS: &[&str] = &[
        "_close",
        "disable",
        "exit",
        "kill",
        "quit",
        "revoke",
        "safeexit",
        "shutdown",
        "suspend",
        "_shutdown",
    ];
    let low = part.to_ascii_lowercase();
    if ENDS.contains(&low.as_str()) {
        return Some(Effect::Destroy);
    }
    let mild =
        MILD.iter().any(|word| low == *word || (low.ends_with(word) && low.contains(['-', '_'])));
    match verbs::of_name(part) {
        Does::Destroy if !mild => Some(Effect::Destroy),
        Does::DestroyAll if !mild => Some(Effect::DestroyAll),
        _ => None,
    }
}

/// Recognises `action=delete` and the like in an address, or a statement there.
fn asked_to_delete(query: &str) -> Option<Effect> {
    query.split('&').take(32).filter_map(|pair| pair.split_once('=')).find_map(|(name, value)| {
        match name {
            "action" | "_method" | "op" | "cmd" | "command" | "method" => action(value),
            "q" | "query" => statement(&value.replace(['+', '%'], " ").replace(" 20", " ")),
            _ => None,
        }
    })
}

/// Recognises a database statement, or an order to delete as JSON or XML.
fn statement(body: &str) -> Option<Effect> {
    let start: String = body.chars().take(64).collect::<String>().to_ascii_lowercase();
    let start =
        ["q=", "query=", "sql="].iter().find_map(|name| start.strip_prefix(name)).unwrap_or(&start);
    let start: String = start.split_whitespace().collect::<Vec<_>>().join(" ");
    if ["drop database", "drop keyspace", "drop schema"]
        .iter()
        .any(|order| start.starts_with(order))
    {
        return Some(Effect::DestroyAll);
    }
    let orders = [
        "drop ",
        "truncate ",
        "delete from ",
        "{\"delete\"",
        "{ \"delete\"",
        "{'delete'",
        "<delete>",
    ];
    orders.iter().any(|order| start.starts_with(order)).then_some(Effect::Destroy)
}

/// Judges the fields of a GraphQL mutation.
fn mutation(body: &str) -> Option<Effect> {
    let end = (0..=body.len().min(8192)).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
    let (_, fields) = body.get(..end)?.split_once("mutation")?;
    let names = fields
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|name| name.len() > 4);
    let found = names.map(verbs::of_name).filter(|does| *does >= Does::Destroy).max()?;
    Some(if found == Does::DestroyAll { Effect::DestroyAll } else { Effect::Destroy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_path_and_body_tell_what_a_request_does() {
        use Effect::{Change, Destroy, DestroyAll, Look, Reveal, Send};
        let table: &[(&str, Option<&str>, &str, Effect)] = &[
            ("", None, "https://api.example.com/users", Look),
            ("GET", None, "https://api.example.com/delete/1", Look),
            ("HEAD", None, "https://api.example.com/x", Look),
            ("", Some("a=b"), "https://api.example.com/users", Change),
            ("", Some("a=\u{fffd}"), "https://api.example.com/users", Send),
            ("PUT", Some("@file"), "https://api.example.com/users/1", Send),
            ("POST", None, "https://api.example.com/restart", Change),
            ("POST", Some("{}"), "http://localhost:9200/logs/_search", Look),
            ("POST", Some("@body.json"), "http://localhost:9200/logs/_search", Send),
            (
                "POST",
                Some("{\"query\":\"{ viewer { login } }\"}"),
                "https://api.example.com/graphql",
                Look,
            ),
            (
                "POST",
                Some("{\"query\":\"mutation { addStar(id: 1) { id } }\"}"),
                "https://api.example.com/graphql",
                Change,
            ),
            (
                "POST",
                Some("{\"query\":\"mutation { deleteIssue(id: 1) { id } }\"}"),
                "https://api.example.com/graphql",
                Destroy,
            ),
            (
                "POST",
                Some("{\"query\":\"mutation { deleteProject(id: 1) { id } }\"}"),
                "https://api.example.com/graphql",
                DestroyAll,
            ),
            ("DELETE", None, "https://api.example.com/users/1", Destroy),
            ("DELETE", None, "https://api.example.com/projects/1", DestroyAll),
            ("DELETE", None, "https://api.github.com/repos/a/b", DestroyAll),
            ("DELETE", None, "https://api.github.com/repos/a/b/labels/c", Destroy),
            ("DELETE", None, "http://localhost:9200/logs", DestroyAll),
            ("DELETE", None, "http://localhost:9200/logs/_doc/1", Destroy),
            ("DELETE", None, "http://localhost:9200/_search/scroll", Change),
            ("DELETE", None, "http://db.example.com/logs-*", DestroyAll),
            ("POST", Some("{}"), "http://localhost:9200/logs/_delete_by_query", Destroy),
            (
                "POST",
                None,
                "http://localhost:9090/api/v1/admin/tsdb/delete_series?match[]=up",
                Destroy,
            ),
            ("POST", None, "http://localhost:9200/logs/_close", Destroy),
            ("POST", None, "http://localhost:9200/logs/_flush", Change),
            ("POST", None, "https://api.example.com/password-reset", Change),
            ("POST", None, "https://api.example.com/v1/things/1:delete", Destroy),
            ("POST", None, "https://ci.example.com/job/x/doDelete", Destroy),
            ("POST", Some("DROP TABLE users"), "http://localhost:8123/", Destroy),
            ("POST", Some("q=DROP DATABASE x"), "http://localhost:8086/query", DestroyAll),
            ("", None, "http://localhost:8983/solr/admin/cores?action=DELETE&name=x", Destroy),
            (
                "",
                None,
                "http://169.254.169.254/latest/meta-data/iam/security-credentials/role",
                Reveal,
            ),
            ("", None, "http://169.254.169.254/latest/meta-data/instance-id", Look),
            (
                "",
                None,
                "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
                Reveal,
            ),
        ];
        for (method, body, address, expected) in table {
            let request =
                Request { method: (*method).to_owned(), body: *body, targets: Vec::new() };
            assert_eq!(request.does(address), *expected, "`{method} {address}` with {body:?}");
        }
    }
}
