//! `wasi:http`, as far as it sends requests to granted hosts.
//!
//! A request is checked when it is handed over and sent when its answer is wanted. That call waits,
//! but no longer than `incoming::LONGEST` or the rest of the plugin's part of the review. Nothing
//! else here waits: a guest that polls learns that all is ready. So no runtime runs next to the
//! guest, and a request whose answer is never read is not sent. No plugin handles incoming
//! requests: those functions end the guest.

mod fields;
mod incoming;
mod outgoing;
mod parts;

pub(crate) use parts::HttpResource;

use super::resources::HostResource;
use super::{Arguments, RESOURCE, octets, plain};
use crate::state::GuestState;
use crate::termination::Termination;
use crate::web::HttpError;
use parts::Fields;
use wasmtime::StoreContextMut;
use wasmtime::component::{ResourceDynamic, Type, Val};

pub(super) use incoming::read;
pub(super) use outgoing::write;

type Store<'a> = StoreContextMut<'a, GuestState>;

/// Answers a function of `wasi:http/types` or `wasi:http/outgoing-handler`.
pub(super) fn call(
    store: &mut Store<'_>,
    called: &str,
    ty: &Type,
    given: &mut Arguments<'_>,
) -> wasmtime::Result<Val> {
    let function = called.split('#').nth(1).unwrap_or_default();
    match function.trim_start_matches("[method]") {
        "[constructor]fields" => keep(store, HttpResource::Fields(Fields::new(), false)),
        "[static]fields.from-list" => all_fields(store, given),
        "fields.get" => Ok(values_of(fields_of(store, given)?, &name(given))),
        "fields.has" => {
            Ok(Val::Bool(fields::get(fields_of(store, given)?, &name(given)).next().is_some()))
        }
        "fields.set" => {
            change(store, given, |all, name, value| fields::set(all, name, lists(value)))
        }
        "fields.append" => {
            change(store, given, |all, name, value| fields::append(all, name, octets(value)))
        }
        "fields.delete" => change(store, given, |all, name, _| fields::delete(all, name)),
        "fields.entries" => Ok(entries(fields_of(store, given)?)),
        "fields.clone" => {
            let copy = fields_of(store, given)?.clone();
            keep(store, HttpResource::Fields(copy, false))
        }
        "http-error-code" => plain(store, ty),
        "handle" => outgoing::handle(store, ty, given),
        function
            if ["outgoing-request.", "outgoing-body.", "request-options."]
                .iter()
                .any(|part| function.contains(part)) =>
        {
            outgoing::call(store, function, ty, given)
        }
        "[constructor]outgoing-request" => outgoing::new_request(store, given),
        "[constructor]request-options" => {
            keep(store, HttpResource::Options(crate::web::Timeouts::default()))
        }
        _ => incoming::call(store, function, ty, given)?
            .ok_or_else(|| Termination::NotOffered(called.to_owned()).into()),
    }
}

fn all_fields(store: &mut Store<'_>, given: &Arguments<'_>) -> wasmtime::Result<Val> {
    let Some(Val::List(pairs)) = given.values.first() else { return Ok(err(None)) };
    let pair = |pair: &Val| match pair {
        Val::Tuple(parts) => {
            Some((text(parts.first()).unwrap_or_default().to_owned(), octets(parts.get(1))))
        }
        _ => None,
    };
    match fields::checked(pairs.iter().filter_map(pair).collect()) {
        Ok(all) => keep(store, HttpResource::Fields(all, false)).map(|value| ok(Some(value))),
        Err(refusal) => Ok(err(Some(Val::Variant(refusal.to_owned(), None)))),
    }
}

fn change(
    store: &mut Store<'_>,
    given: &Arguments<'_>,
    act: impl FnOnce(&mut Fields, &str, Option<&Val>) -> Result<(), fields::Refusal>,
) -> wasmtime::Result<Val> {
    let done = match part(store, given.handle(0))? {
        HttpResource::Fields(_, true) => Err("immutable"),
        HttpResource::Fields(all, false) => act(all, &name(given), given.values.get(2)),
        _ => return Err(Termination::Handle.into()),
    };
    Ok(match done {
        Ok(()) => ok(None),
        Err(refusal) => err(Some(Val::Variant(refusal.to_owned(), None))),
    })
}

fn fields_of<'a>(store: &'a mut Store<'_>, given: &Arguments<'_>) -> wasmtime::Result<&'a Fields> {
    match part(store, given.handle(0))? {
        HttpResource::Fields(all, _) => Ok(all),
        _ => Err(Termination::Handle.into()),
    }
}

fn values_of(all: &Fields, name: &str) -> Val {
    Val::List(fields::get(all, name).map(|value| listed(value)).collect())
}

fn entries(all: &Fields) -> Val {
    Val::List(
        all.iter()
            .map(|(name, value)| Val::Tuple(vec![Val::String(name.clone()), listed(value)]))
            .collect(),
    )
}

/// Returns the header name that a function was called with.
fn name(given: &Arguments<'_>) -> String {
    text(given.values.get(1)).unwrap_or_default().to_owned()
}

fn lists(value: Option<&Val>) -> Vec<Vec<u8>> {
    match value {
        Some(Val::List(items)) => items.iter().map(|item| octets(Some(item))).collect(),
        _ => Vec::new(),
    }
}

fn text(value: Option<&Val>) -> Option<&str> {
    match value {
        Some(Val::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns the content of an `option`.
fn some(value: Option<&Val>) -> Option<&Val> {
    match value {
        Some(Val::Option(Some(inner))) => Some(inner),
        _ => None,
    }
}

fn listed(bytes: &[u8]) -> Val {
    Val::List(bytes.iter().map(|byte| Val::U8(*byte)).collect())
}

fn ok(value: Option<Val>) -> Val {
    Val::Result(Ok(value.map(Box::new)))
}

fn err(value: Option<Val>) -> Val {
    Val::Result(Err(value.map(Box::new)))
}

/// Returns the error side of a result whose error is `error-code`.
fn failed(store: &mut Store<'_>, ty: &Type, problem: HttpError) -> wasmtime::Result<Val> {
    let Type::Result(result) = ty else { return Err(Termination::Handle.into()) };
    let Some(Type::Variant(codes)) = result.err() else { return Ok(err(None)) };
    let payload = codes.cases().find(|case| case.name == problem.code).and_then(|case| case.ty);
    let payload = match payload {
        None => None,
        Some(Type::Option(of)) if of.ty() == Type::String => {
            let says = problem.says.map(|says| Box::new(Val::String(says.to_owned())));
            Some(Box::new(Val::Option(says)))
        }
        Some(ty) => Some(Box::new(plain(store, &ty)?)),
    };
    Ok(err(Some(Val::Variant(problem.code.to_owned(), payload))))
}

/// Returns the object behind a handle.
fn part<'a>(store: &'a mut Store<'_>, handle: u32) -> wasmtime::Result<&'a mut HttpResource> {
    match store.data_mut().resources.get(handle) {
        Some(HostResource::Http(part)) => Ok(part),
        _ => Err(Termination::Handle.into()),
    }
}

/// Returns a new handle for a part.
fn keep(store: &mut Store<'_>, part: HttpResource) -> wasmtime::Result<Val> {
    let number =
        store.data_mut().resources.keep(HostResource::Http(part)).ok_or(Termination::Open)?;
    ResourceDynamic::new_own(number, RESOURCE).try_into_resource_any(&mut *store).map(Val::Resource)
}

/// Returns a handle that is always ready, or that has no information.
fn idle(store: &mut Store<'_>) -> wasmtime::Result<Val> {
    ResourceDynamic::new_own(0, RESOURCE).try_into_resource_any(&mut *store).map(Val::Resource)
}
