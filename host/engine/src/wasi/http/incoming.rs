//! Answers: sends a request when its answer is wanted, and reads that answer.

use super::parts::Sending;
use super::{HttpResource, Store, err, failed, idle, keep, listed, ok, part};
use crate::state::charge;
use crate::termination::Termination;
use crate::wasi::Arguments;
use crate::wasi::resources::HostResource;
use crate::web::{HttpError, WebAnswer, WebRequest};
use portcullis_core::plugins::Grant;
use std::time::{Duration, Instant};
use wasmtime::component::{Type, Val};

/// The longest time that an answer may take, its body included: half of a review's time, so that
/// one slow server leaves time for the plugins that come after.
const LONGEST: Duration = Duration::from_secs(1);
/// The most bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Answers a function of an incoming answer; none if there is no such function.
pub(super) fn call(
    store: &mut Store<'_>,
    function: &str,
    ty: &Type,
    given: &mut Arguments<'_>,
) -> wasmtime::Result<Option<Val>> {
    Ok(Some(match function.trim_start_matches("[method]") {
        "future-incoming-response.subscribe" | "future-trailers.subscribe" => idle(store)?,
        "future-incoming-response.get" => get(store, ty, given)?,
        "incoming-response.status" => Val::U16(answer(store, given)?.0.status),
        "incoming-response.headers" => {
            let headers = answer(store, given)?.0.headers.clone();
            keep(store, HttpResource::Fields(headers, true))?
        }
        "incoming-response.consume" => {
            let (answer, taken) = answer(store, given)?;
            if std::mem::replace(taken, true) {
                return Ok(Some(err(None)));
            }
            let body = std::mem::take(&mut answer.body);
            ok(Some(keep(store, HttpResource::Body(Some(body)))?))
        }
        "incoming-body.stream" => {
            let HttpResource::Body(body) = part(store, given.handle(0))? else {
                return Err(Termination::Handle.into());
            };
            let Some(body) = body.take() else { return Ok(Some(err(None))) };
            ok(Some(keep(store, HttpResource::Stream(body.into(), 0))?))
        }
        "[static]incoming-body.finish" => idle(store)?,
        // Trailers are not supported.
        "future-trailers.get" => Val::Option(Some(Box::new(ok(Some(ok(Some(Val::Option(None)))))))),
        _ => return Ok(None),
    }))
}

fn answer<'a>(
    store: &'a mut Store<'_>,
    given: &Arguments<'_>,
) -> wasmtime::Result<(&'a mut WebAnswer, &'a mut bool)> {
    match part(store, given.handle(0))? {
        HttpResource::Response(answer, taken) => Ok((answer, taken)),
        _ => Err(Termination::Handle.into()),
    }
}

/// Returns the answer, once.
fn get(store: &mut Store<'_>, ty: &Type, given: &Arguments<'_>) -> wasmtime::Result<Val> {
    let HttpResource::Future(sending) = part(store, given.handle(0))? else {
        return Err(Termination::Handle.into());
    };
    let some = |value| Val::Option(Some(Box::new(value)));
    let Some(sending) = sending.take() else { return Ok(some(err(None))) };
    let answer = match send(store, *sending)? {
        Ok(answer) => ok(Some(keep(store, HttpResource::Response(Box::new(answer), false))?)),
        Err(problem) => {
            let Type::Option(outer) = ty else { return Err(Termination::Handle.into()) };
            let Type::Result(once) = outer.ty() else { return Err(Termination::Handle.into()) };
            let inner = once.ok().ok_or(Termination::Handle)?;
            failed(store, &inner, problem)?
        }
    };
    Ok(some(ok(Some(answer))))
}

/// Sends a request and waits for its answer; each byte costs fuel, and the exchange is recorded.
fn send(store: &mut Store<'_>, sending: Sending) -> wasmtime::Result<Result<WebAnswer, HttpError>> {
    let what = sending.what.clone();
    let request = match request(sending) {
        Ok(request) => request,
        Err(problem) => return Ok(Err(problem)),
    };
    let longest = Instant::now() + LONGEST;
    let until = store.data().deadline.map_or(longest, |deadline| deadline.min(longest));
    let sent = request.body.len();
    let result = store.data().web.clone().send(request, until);
    let uses = &mut store.data_mut().uses;
    let bytes = match &result {
        Ok(answer) => {
            let bytes = sent + answer.body.len();
            uses.used(Grant::Hosts, &what, bytes);
            bytes
                + answer.headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
        }
        Err(HttpError { refused: true, says, .. }) => {
            uses.refused(Grant::Hosts, &what, says.unwrap_or_default());
            0
        }
        // A part of it may have been sent.
        Err(_) => {
            uses.used(Grant::Hosts, &what, sent);
            sent
        }
    };
    // After the record: a guest without the fuel for it ends here, and the exchange took place.
    charge(store, bytes)?;
    Ok(result)
}

/// Returns the request as it is sent: with a complete body, and no length but that body's.
fn request(sending: Sending) -> Result<WebRequest, HttpError> {
    let Sending { mut outgoing, patience, host, .. } = sending;
    let body = match &outgoing.upload {
        None => Vec::new(),
        Some(upload) => {
            let mut upload = upload.borrow_mut();
            match upload.problem {
                Some(problem) => return Err(problem),
                None if !upload.finished => return Err(HttpError::UNFINISHED),
                None => std::mem::take(&mut upload.bytes),
            }
        }
    };
    let length = body.len().to_string();
    if outgoing
        .headers
        .iter()
        .any(|(name, value)| name == "content-length" && *value != length.as_bytes())
    {
        return Err(HttpError::OTHER_LENGTH);
    }
    outgoing.headers.retain(|(name, _)| name != "content-length");
    if !body.is_empty() && !matches!(outgoing.method, "POST" | "PUT" | "PATCH") {
        return Err(HttpError::METHOD);
    }
    let path = match outgoing.path.unwrap_or_default() {
        path if path.starts_with('/') => path,
        query => format!("/{query}"),
    };
    Ok(WebRequest {
        host,
        method: outgoing.method,
        path,
        headers: outgoing.headers,
        body,
        patience,
    })
}

/// Answers `read` and `skip` of an answer's body; none if the stream is of another kind.
pub(crate) fn read(
    store: &mut Store<'_>,
    skips: bool,
    given: &Arguments<'_>,
) -> Option<wasmtime::Result<Val>> {
    let Some(HostResource::Http(HttpResource::Stream(bytes, at))) =
        store.data_mut().resources.get(given.handle(0))
    else {
        return None;
    };
    let Some(Val::U64(wanted)) = given.values.get(1) else { return None };
    let wanted = usize::try_from(*wanted).unwrap_or(usize::MAX).min(READ_BYTES);
    let rest = bytes.get(*at..).unwrap_or_default();
    if rest.is_empty() && wanted > 0 {
        return Some(Ok(err(Some(Val::Variant("closed".into(), None)))));
    }
    let some = rest.get(..wanted).unwrap_or(rest);
    let (count, length) = (some.len(), u64::try_from(some.len()).unwrap_or_default());
    let value = if skips { Val::U64(length) } else { listed(some) };
    *at += count;
    Some(charge(store, count).map(|()| ok(Some(value))))
}
