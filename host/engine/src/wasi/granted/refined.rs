//! Functions of `wasi:http` that the crate lets do more than is granted here.

use crate::grants::RequestOrigin;
use crate::state::{GuestState, charge};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::Pollable as _;
use wasmtime_wasi_http::p2::bindings::http::types::{
    HostFutureIncomingResponse as _, HostOutgoingRequest as _, Method,
};
use wasmtime_wasi_http::p2::types::{HostFutureIncomingResponse, HostOutgoingRequest};

/// The release of `wasi:http` that the crate defines.
const TYPES: &str = "wasi:http/types@0.2.12";

/// The most bytes of path and query; servers take about as many.
const PATH_BYTES: usize = 8 << 10;

/// Replaces these functions: a guest learns at once what no request may have, and its question for
/// an answer waits for that.
pub(super) fn define(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    type Store<'a> = StoreContextMut<'a, GuestState>;
    type Outgoing = Resource<HostOutgoingRequest>;
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: Store<'_>, (request, method): (Outgoing, Method)| {
            charge(&mut store, 0)?;
            let known = !matches!(method, Method::Connect | Method::Trace | Method::Other(_));
            if !known {
                return Ok((Err(()),));
            }
            Ok((super::http(store.data_mut()).set_method(request, method)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store: Store<'_>, (request, path): (Outgoing, Option<String>)| {
            charge(&mut store, path.as_ref().map_or(0, String::len))?;
            let sound = |path: &String| {
                path.len() <= PATH_BYTES
                    && path.starts_with(['/', '?'])
                    && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
            };
            if !path.as_ref().is_none_or(sound) {
                return Ok((Err(()),));
            }
            Ok((super::http(store.data_mut()).set_path_with_query(request, path)?,))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: Store<'_>, (request, authority): (Outgoing, Option<String>)| {
            charge(&mut store, authority.as_ref().map_or(0, String::len))?;
            let sound = |authority: &String| RequestOrigin::of(true, authority).is_some();
            if !authority.as_ref().is_none_or(sound) {
                return Ok((Err(()),));
            }
            Ok((super::http(store.data_mut()).set_authority(request, authority)?,))
        },
    )?;
    types.func_wrap(
        "[method]future-incoming-response.get",
        |mut store: Store<'_>, (future,): (Resource<HostFutureIncomingResponse>,)| {
            charge(&mut store, 0)?;
            let state = store.data_mut();
            let lent = Resource::<HostFutureIncomingResponse>::new_borrow(future.rep());
            state.wait(async |table| {
                table.get_mut(&lent)?.ready().await;
                Ok::<_, wasmtime::Error>(())
            })??;
            Ok((super::http(state).get(future)?,))
        },
    )?;
    Ok(())
}
