//! Requests while a guest puts them together, and the judgement of whether one may be sent.

use super::parts::{Draft, Fields, Sending, Upload};
use super::{Part, Store, err, failed, keep, ok, part, some, text};
use crate::faults::Ended;
use crate::grants::{MOST_HOSTS, Origin};
use crate::state::State;
use crate::wasi::things::Thing;
use crate::wasi::{Arguments, files, octets};
use crate::web::{Patience, Problem};
use portcullis_core::plugins::Grant;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::{Type, Val};

/// Requests of one call. A check that needs more asks for too much: with a second each they outlast the review.
const MOST: u32 = 4;
/// The most bytes of path and query; servers take about as many.
const PATH_BYTES: usize = 8 << 10;
/// Methods by the names that `wasi:http` has for them. `CONNECT` opens a tunnel and `TRACE` gives headers back; those
/// of other names nobody thought about.
const METHODS: &[(&str, &str)] =
    &[("get", "GET"), ("head", "HEAD"), ("post", "POST"), ("put", "PUT"), ("delete", "DELETE"), ("options", "OPTIONS"), ("patch", "PATCH")];

/// A request with these headers and nothing else yet.
pub(super) fn draft(store: &mut Store<'_>, given: &mut Arguments<'_>) -> wasmtime::Result<Val> {
    let Some(Thing::Http(Part::Fields(headers, _))) = given.take(0) else { return Err(Ended::Handle.into()) };
    let draft = Draft { method: "GET", secure: None, authority: None, path: None, headers, upload: None };
    keep(store, Part::Request(Box::new(draft)))
}

/// Answers a function of a request, its body, or its options.
pub(super) fn call(store: &mut Store<'_>, function: &str, ty: &Type, given: &mut Arguments<'_>) -> wasmtime::Result<Val> {
    if function == "[static]outgoing-body.finish" {
        return finish(store, ty, given);
    }
    match part(store, given.handle(0))? {
        Part::Request(draft) => match function {
            "outgoing-request.body" => body(store, given),
            "outgoing-request.headers" => {
                let headers: Fields = draft.headers.clone();
                keep(store, Part::Fields(headers, true))
            }
            _ => of_draft(draft, function, given.values.get(1)).ok_or_else(|| Ended::NotOffered(function.to_owned()).into()),
        },
        Part::Upload(upload) if function == "outgoing-body.write" => {
            if std::mem::replace(&mut upload.borrow_mut().taken, true) {
                return Ok(err(None));
            }
            let writer = Rc::clone(upload);
            keep(store, Part::Writer(writer)).map(|value| ok(Some(value)))
        }
        Part::Options(patience) => of_options(patience, function, given.values.get(1)).ok_or_else(|| Ended::Handle.into()),
        _ => Err(Ended::Handle.into()),
    }
}

fn of_draft(draft: &mut Draft, function: &str, value: Option<&Val>) -> Option<Val> {
    let option = |value: Option<Val>| Val::Option(value.map(Box::new));
    Some(match function {
        "outgoing-request.method" => {
            let name = METHODS.iter().find(|(_, method)| *method == draft.method).map_or("get", |(name, _)| name);
            Val::Variant(name.to_owned(), None)
        }
        "outgoing-request.path-with-query" => option(draft.path.clone().map(Val::String)),
        "outgoing-request.authority" => option(draft.authority.clone().map(Val::String)),
        "outgoing-request.scheme" => {
            let scheme = draft.secure.map(|secure| if secure { "HTTPS" } else { "HTTP" });
            option(scheme.map(|name| Val::Variant(name.to_owned(), None)))
        }
        _ => match set(draft, function, value)? {
            true => ok(None),
            false => err(None),
        },
    })
}

/// Sets what a function is for; no where the value cannot be sent, none where the function is another.
fn set(draft: &mut Draft, function: &str, value: Option<&Val>) -> Option<bool> {
    match function {
        "outgoing-request.set-method" => {
            let Some(Val::Variant(wanted, None)) = value else { return Some(false) };
            let Some((_, method)) = METHODS.iter().find(|(name, _)| name == wanted) else { return Some(false) };
            draft.method = method;
        }
        "outgoing-request.set-path-with-query" => {
            let path = text(some(value)).map(str::to_owned);
            let sound = |path: &String| {
                path.len() <= PATH_BYTES && path.starts_with(['/', '?']) && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
            };
            if !path.as_ref().is_none_or(sound) {
                return Some(false);
            }
            draft.path = path;
        }
        "outgoing-request.set-authority" => {
            let authority = text(some(value)).map(str::to_owned);
            if authority.as_ref().is_some_and(|authority| Origin::of(true, authority).is_none()) {
                return Some(false);
            }
            draft.authority = authority;
        }
        "outgoing-request.set-scheme" => {
            draft.secure = match some(value) {
                None => None,
                Some(Val::Variant(name, _)) if name == "HTTPS" => Some(true),
                Some(Val::Variant(name, _)) if name == "HTTP" => Some(false),
                Some(_) => return Some(false),
            };
        }
        _ => return None,
    }
    Some(true)
}

fn of_options(patience: &mut Patience, function: &str, value: Option<&Val>) -> Option<Val> {
    let name = function.strip_prefix("request-options.")?;
    let slot = match name.trim_start_matches("set-") {
        "connect-timeout" => &mut patience.connect,
        "first-byte-timeout" => &mut patience.first_byte,
        "between-bytes-timeout" => &mut patience.between_bytes,
        _ => return None,
    };
    if !name.starts_with("set-") {
        let nanoseconds = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        return Some(Val::Option(slot.as_ref().map(|time| Box::new(Val::U64(nanoseconds(time))))));
    }
    *slot = match some(value) {
        Some(Val::U64(nanoseconds)) => Some(Duration::from_nanos(*nanoseconds)),
        _ => None,
    };
    Some(ok(None))
}

/// The body of a request, once.
fn body(store: &mut Store<'_>, given: &Arguments<'_>) -> wasmtime::Result<Val> {
    let upload = Rc::new(RefCell::new(Upload::default()));
    match part(store, given.handle(0))? {
        Part::Request(draft) if draft.upload.is_none() => draft.upload = Some(Rc::clone(&upload)),
        _ => return Ok(err(None)),
    }
    keep(store, Part::Upload(upload)).map(|value| ok(Some(value)))
}

fn finish(store: &mut Store<'_>, ty: &Type, given: &mut Arguments<'_>) -> wasmtime::Result<Val> {
    let Some(Thing::Http(Part::Upload(upload))) = given.take(0) else { return Err(Ended::Handle.into()) };
    let trailers = matches!(given.take(1), Some(Thing::Http(Part::Fields(fields, _))) if !fields.is_empty());
    let problem = {
        let mut upload = upload.borrow_mut();
        if trailers {
            upload.problem.get_or_insert(Problem::TRAILERS);
        }
        upload.finished = true;
        upload.problem
    };
    problem.map_or(Ok(ok(None)), |problem| failed(store, ty, problem))
}

/// Writes into a body; none where the stream leads to no body.
pub(crate) fn write(store: &mut Store<'_>, given: &Arguments<'_>) -> Option<wasmtime::Result<Val>> {
    let Some(Thing::Http(Part::Writer(upload))) = store.data_mut().things.get(given.handle(0)) else { return None };
    let done = match given.values.get(1) {
        // So many zeros. One more than is taken tells as much as all of them.
        Some(Val::U64(count)) => {
            upload.borrow_mut().write(&vec![0; usize::try_from(*count).unwrap_or(usize::MAX).min(super::parts::UPLOAD_BYTES + 1)])
        }
        value => upload.borrow_mut().write(&octets(value)),
    };
    Some(if done { Ok(ok(None)) } else { files::failed(store) })
}

/// Takes a request over, if it may be sent.
pub(super) fn handle(store: &mut Store<'_>, ty: &Type, given: &mut Arguments<'_>) -> wasmtime::Result<Val> {
    let Some(Thing::Http(Part::Request(draft))) = given.take(0) else { return Err(Ended::Handle.into()) };
    let patience = match given.take(1) {
        Some(Thing::Http(Part::Options(patience))) => patience,
        _ => Patience::default(),
    };
    match judged(store.data_mut(), *draft, patience) {
        Ok(sending) => keep(store, Part::Future(Some(Box::new(sending)))).map(|value| ok(Some(value))),
        Err(problem) => failed(store, ty, problem),
    }
}

fn judged(state: &mut State, draft: Draft, patience: Patience) -> Result<Sending, Problem> {
    let authority = draft.authority.as_deref().unwrap_or_default();
    // As other hosts do it: encrypted where the guest does not say.
    let origin = Origin::of(draft.secure.unwrap_or(true), authority).ok_or(Problem::BAD_URI)?;
    let what = format!("{} {origin}", draft.method);
    let grants = Arc::clone(&state.grants);
    let named = grants.hosts.iter().take(MOST_HOSTS).find(|host| host.origin == origin);
    let problem = match named {
        None => Problem::NOT_NAMED,
        Some(_) if grants.offline => Problem::NOT_NOW,
        Some(_) if state.requests >= MOST => Problem::TOO_MANY,
        Some(host) => {
            state.requests += 1;
            return Ok(Sending { draft, patience, host: host.clone(), what });
        }
    };
    state.uses.refused(Grant::Hosts, &what, problem.says.unwrap_or_default());
    Err(problem)
}
