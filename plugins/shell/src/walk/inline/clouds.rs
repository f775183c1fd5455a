//! Calls of a cloud's services through its libraries: a method is the verb of the command line.

use super::super::{Setting, Walker};
use super::values::{Place, option, texts_of};
use crate::catalogue::{self, Item};
use crate::places;
use crate::types::EffectKind;
use portcullis_inline_code::{Call, Kind, Value};

/// Methods that ask the service for nothing.
const IDLE: &[&str] = &[
    "get_paginator",
    "paginate",
    "get_waiter",
    "wait",
    "can_paginate",
    "close",
    "client",
    "resource",
    "Session",
    "all",
    "filter",
    "limit",
    "pages",
    "load",
    "reload",
    "destroy",
    "on",
    "promise",
    "then",
    "catch",
    "config",
    "decode",
    "read",
    "build_full_result",
    "iter_lines",
];

/// Verbs that stand alone on an object, with the verb of the service.
const VERBS: &[(&str, &str)] = &[
    ("get", "get"),
    ("put", "put"),
    ("delete", "delete"),
    ("terminate", "terminate"),
    ("stop", "stop"),
    ("start", "start"),
    ("reboot", "reboot"),
    ("update", "update"),
    ("create", "create"),
    ("copy", "copy"),
    ("attach", "attach"),
    ("detach", "detach"),
];

impl Walker<'_> {
    /// Notes what a call does there, by the catalogue's verbs.
    pub(super) fn calls_cloud(&mut self, call: &Call, place: &Place<'_>, setting: &Setting) {
        let Some((service, operation)) = operation(call) else { return };
        if self.reaches_own_cloud(place) {
            return;
        }
        if operation.starts_with("upload-") || operation == "put-object" {
            self.plain(EffectKind::Send, "cloud", true, place.command, setting);
            if let Some(file) = call.arguments.first().filter(|_| operation == "upload-file") {
                for word in self.words_of(Some(file), place) {
                    self.file(EffectKind::FileRead, &word, false, place.command, setting);
                }
            }
            return;
        }
        if operation.starts_with("download-") || operation.starts_with("generate-presigned") {
            return self.plain(EffectKind::Network, "cloud", true, place.command, setting);
        }
        // The library's methods are those of `aws s3api`; `aws s3` has commands of its own.
        let service = if service == "s3" { "s3api".to_owned() } else { service };
        let decrypts = option(call, "WithDecryption").is_some();
        let mut words = vec![service.as_str(), operation.as_str()];
        words.extend(decrypts.then_some("--with-decryption"));
        let Some(found) = catalogue::find("aws", &words) else { return };
        let plan = catalogue::plan(&found, &words);
        if plan.nothing {
            return;
        }
        for item in &plan.items {
            match item {
                Item::Constant(kind, _) => {
                    self.plain(kind.clone(), "cloud", true, place.command, setting);
                }
                Item::Form(id) => self.out.form(id, place.command),
                _ => {}
            }
        }
    }

    /// Returns true if the code names an address of this machine as the service's.
    fn reaches_own_cloud(&self, place: &Place<'_>) -> bool {
        place.code.calls.iter().any(|call| {
            ["endpoint_url", "endpoint"].iter().any(|name| {
                option(call, name).is_some_and(|value| {
                    let texts = texts_of(Some(value));
                    texts.iter().all(|text| {
                        places::host(text).is_some_and(|host| places::is_loopback(&host))
                    })
                })
            })
        })
    }
}

/// Returns the service and the operation, as the command line names them.
fn operation(call: &Call) -> Option<(String, String)> {
    let name = call.name.as_str();
    let method = name.rsplit('.').next().unwrap_or(name);
    if let Some(rest) = name.strip_prefix("@aws-sdk/client-") {
        let (service, class) = rest.split_once('.')?;
        let class = class.strip_suffix("Command")?;
        return (!class.contains(['.', '('])).then(|| (service.to_owned(), kebab(class)));
    }
    if name.starts_with("@aws-sdk/") {
        return None;
    }
    if let Some(rest) = name.strip_prefix("aws-sdk.") {
        let (service, method) = rest.split_once("().")?;
        let plain = !method.contains(['.', '(']) && !IDLE.contains(&method);
        return plain.then(|| (service.to_lowercase(), kebab(method)));
    }
    if IDLE.contains(&method) {
        return None;
    }
    let service = service_of(call.receiver.as_ref()?)?;
    // The classes of a resource stand between: `resource().Bucket().objects.all().delete`.
    let whole = name.split("resource()").nth(1).unwrap_or("");
    let class = whole
        .split('.')
        .map(|part| part.trim_end_matches("()"))
        .rfind(|part| part.starts_with(|c: char| c.is_ascii_uppercase()));
    let verb = VERBS.iter().find(|(known, _)| *known == method);
    let operation = match (class, verb) {
        (Some(_), Some((_, verb))) if whole.contains(".all()") => format!("{verb}-objects"),
        (Some(class), Some((_, verb))) => {
            let plural =
                if matches!(*verb, "terminate" | "stop" | "start" | "reboot") { "s" } else { "" };
            format!("{verb}-{}{plural}", kebab(class))
        }
        _ => method.replace('_', "-"),
    };
    Some((service, operation))
}

/// Returns the service that a client was made for.
fn service_of(value: &Value) -> Option<String> {
    match &value.kind {
        Kind::Made(class, parts) => {
            let makes = class.ends_with("client")
                || class.ends_with("resource")
                || class.ends_with("client()")
                || class.ends_with("resource()");
            let named = parts.iter().rev().find_map(|part| part.as_text());
            if makes && let Some(name) = named {
                return Some(name.to_string());
            }
            parts.iter().find_map(service_of)
        }
        Kind::Member(of, _) => service_of(of),
        Kind::Any(all) => all.iter().find_map(service_of),
        _ => None,
    }
}

/// Writes `DeleteBucket` as `delete-bucket`.
fn kebab(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    let mut before = ' ';
    for c in name.chars().take(128) {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            text.push('-');
        }
        text.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
        before = c;
    }
    text
}
