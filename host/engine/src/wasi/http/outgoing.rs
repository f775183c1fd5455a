//! Requests while a guest builds them, and the check of whether one may be sent.

use super::parts::{Fields, OutgoingRequest, Sending, Upload};
use super::{HttpResource, Store, err, failed, keep, ok, part, some, text};
use crate::grants::{MOST_HOSTS, RequestOrigin};
use crate::state::GuestState;
use crate::termination::Termination;
use crate::wasi::resources::HostResource;
use crate::wasi::{Arguments, files, octets};
use crate::web::{HttpError, Timeouts};
use portcullis_core::plugins::Grant;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::{Type, Val};

/// The most requests of one call. More would take too long: at a second each, they would
/// outlast the review.
const MOST: u32 = 4;
/// The most bytes of path and query; servers take about as many.
const PATH_BYTES: usize = 8 << 10;
/// The permitted methods, by their `wasi:http` names. `CONNECT` opens a tunnel and `TRACE` echoes
/// headers; methods of other names are unknown and refused.
const METHODS: &[(&str, &str)] = &[
    ("get", "GET"),
    ("head", "HEAD"),
    ("post", "POST"),
    ("put", "PUT"),
    ("delete", "DELETE"),
    ("options", "OPTIONS"),
    ("patch", "PATCH"),
];

/// Returns a request with these headers and nothing else yet.
pub(super) fn new_request(
    store: &mut Store<'_>,
    given: &mut Arguments<'_>,
) -> wasmtime::Result<Val> {
    let Some(HostResource::Http(HttpResource::Fields(headers, _))) = given.take(0) else {
        return Err(Termination::Handle.into());
    };
    let outgoing = OutgoingRequest {
        method: "GET",
        secure: None,
        authority: None,
        path: None,
        headers,
        upload: None,
    };
    keep(store, HttpResource::Request(Box::new(outgoing)))
}

/// Answers a function of a request, its body, or its options.
pub(super) fn call(
    store: &mut Store<'_>,
    function: &str,
    ty: &Type,
    given: &mut Arguments<'_>,
) -> wasmtime::Result<Val> {
    if function == "[static]outgoing-body.finish" {
        return finish(store, ty, given);
    }
    match part(store, given.handle(0))? {
        HttpResource::Request(outgoing) => match function {
            "outgoing-request.body" => body(store, given),
            "outgoing-request.headers" => {
                let headers: Fields = outgoing.headers.clone();
                keep(store, HttpResource::Fields(headers, true))
            }
            _ => answer_of_request(outgoing, function, given.values.get(1))
                .ok_or_else(|| Termination::NotOffered(function.to_owned()).into()),
        },
        HttpResource::Upload(upload) if function == "outgoing-body.write" => {
            if std::mem::replace(&mut upload.borrow_mut().taken, true) {
                return Ok(err(None));
            }
            let writer = Rc::clone(upload);
            keep(store, HttpResource::Writer(writer)).map(|value| ok(Some(value)))
        }
        HttpResource::Options(patience) => of_options(patience, function, given.values.get(1))
            .ok_or_else(|| Termination::Handle.into()),
        _ => Err(Termination::Handle.into()),
    }
}

fn answer_of_request(
    outgoing: &mut OutgoingRequest,
    function: &str,
    value: Option<&Val>,
) -> Option<Val> {
    let option = |value: Option<Val>| Val::Option(value.map(Box::new));
    Some(match function {
        "outgoing-request.method" => {
            let name = METHODS
                .iter()
                .find(|(_, method)| *method == outgoing.method)
                .map_or("get", |(name, _)| name);
            Val::Variant(name.to_owned(), None)
        }
        "outgoing-request.path-with-query" => option(outgoing.path.clone().map(Val::String)),
        "outgoing-request.authority" => option(outgoing.authority.clone().map(Val::String)),
        "outgoing-request.scheme" => {
            let scheme = outgoing.secure.map(|secure| if secure { "HTTPS" } else { "HTTP" });
            option(scheme.map(|name| Val::Variant(name.to_owned(), None)))
        }
        _ => match set(outgoing, function, value)? {
            true => ok(None),
            false => err(None),
        },
    })
}

/// Sets a property of a request; false if the value cannot be sent, none if it is another function.
fn set(outgoing: &mut OutgoingRequest, function: &str, value: Option<&Val>) -> Option<bool> {
    match function {
        "outgoing-request.set-method" => {
            let Some(Val::Variant(wanted, None)) = value else { return Some(false) };
            let Some((_, method)) = METHODS.iter().find(|(name, _)| name == wanted) else {
                return Some(false);
            };
            outgoing.method = method;
        }
        "outgoing-request.set-path-with-query" => {
            let path = text(some(value)).map(str::to_owned);
            let sound = |path: &String| {
                path.len() <= PATH_BYTES
                    && path.starts_with(['/', '?'])
                    && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
            };
            if !path.as_ref().is_none_or(sound) {
                return Some(false);
            }
            outgoing.path = path;
        }
        "outgoing-request.set-authority" => {
            let authority = text(some(value)).map(str::to_owned);
            if authority
                .as_ref()
                .is_some_and(|authority| RequestOrigin::of(true, authority).is_none())
            {
                return Some(false);
            }
            outgoing.authority = authority;
        }
        "outgoing-request.set-scheme" => {
            outgoing.secure = match some(value) {
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

fn of_options(patience: &mut Timeouts, function: &str, value: Option<&Val>) -> Option<Val> {
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

/// Returns the body of a request, once.
fn body(store: &mut Store<'_>, given: &Arguments<'_>) -> wasmtime::Result<Val> {
    let upload = Rc::new(RefCell::new(Upload::default()));
    match part(store, given.handle(0))? {
        HttpResource::Request(outgoing) if outgoing.upload.is_none() => {
            outgoing.upload = Some(Rc::clone(&upload))
        }
        _ => return Ok(err(None)),
    }
    keep(store, HttpResource::Upload(upload)).map(|value| ok(Some(value)))
}

fn finish(store: &mut Store<'_>, ty: &Type, given: &mut Arguments<'_>) -> wasmtime::Result<Val> {
    let Some(HostResource::Http(HttpResource::Upload(upload))) = given.take(0) else {
        return Err(Termination::Handle.into());
    };
    let trailers = matches!(given.take(1), Some(HostResource::Http(HttpResource::Fields(fields, _))) if !fields.is_empty());
    let problem = {
        let mut upload = upload.borrow_mut();
        if trailers {
            upload.problem.get_or_insert(HttpError::TRAILERS);
        }
        upload.finished = true;
        upload.problem
    };
    problem.map_or(Ok(ok(None)), |problem| failed(store, ty, problem))
}

/// Writes into a body; none if the stream does not lead to a body.
pub(crate) fn write(store: &mut Store<'_>, given: &Arguments<'_>) -> Option<wasmtime::Result<Val>> {
    let Some(HostResource::Http(HttpResource::Writer(upload))) =
        store.data_mut().resources.get(given.handle(0))
    else {
        return None;
    };
    let done = match given.values.get(1) {
        // This many zeros. One more than the limit has the same effect as all of them.
        Some(Val::U64(count)) => {
            upload.borrow_mut().write(&vec![
                0;
                usize::try_from(*count)
                    .unwrap_or(usize::MAX)
                    .min(super::parts::UPLOAD_BYTES + 1)
            ])
        }
        value => upload.borrow_mut().write(&octets(value)),
    };
    Some(if done { Ok(ok(None)) } else { files::failed(store) })
}

/// Takes a request over, if it may be sent.
pub(super) fn handle(
    store: &mut Store<'_>,
    ty: &Type,
    given: &mut Arguments<'_>,
) -> wasmtime::Result<Val> {
    let Some(HostResource::Http(HttpResource::Request(outgoing))) = given.take(0) else {
        return Err(Termination::Handle.into());
    };
    let patience = match given.take(1) {
        Some(HostResource::Http(HttpResource::Options(patience))) => patience,
        _ => Timeouts::default(),
    };
    match judged(store.data_mut(), *outgoing, patience) {
        Ok(sending) => {
            keep(store, HttpResource::Future(Some(Box::new(sending)))).map(|value| ok(Some(value)))
        }
        Err(problem) => failed(store, ty, problem),
    }
}

fn judged(
    state: &mut GuestState,
    outgoing: OutgoingRequest,
    patience: Timeouts,
) -> Result<Sending, HttpError> {
    let authority = outgoing.authority.as_deref().unwrap_or_default();
    // If the guest does not name a scheme, use an encrypted connection, as other hosts do.
    let origin =
        RequestOrigin::of(outgoing.secure.unwrap_or(true), authority).ok_or(HttpError::BAD_URI)?;
    let what = format!("{} {origin}", outgoing.method);
    let grants = Arc::clone(&state.grants);
    let named = grants.hosts.iter().take(MOST_HOSTS).find(|host| host.origin == origin);
    let problem = match named {
        None => HttpError::NOT_NAMED,
        Some(_) if grants.offline => HttpError::NOT_NOW,
        Some(_) if state.requests >= MOST => HttpError::TOO_MANY,
        Some(host) => {
            state.requests += 1;
            return Ok(Sending { outgoing, patience, host: host.clone(), what });
        }
    };
    state.uses.refused(Grant::Hosts, &what, problem.says.unwrap_or_default());
    Err(problem)
}
