//! The functions that a guest can call: the host's own interface, and WASI as far as it is granted.
//!
//! Each component gets its own linker, which defines only what this component imports, so that a
//! new import is never satisfied by accident.

use crate::bindings::host::Level;
use crate::bindings::types::{Step, StepDetail};
use crate::grants::Grants;
use crate::imports::{Import, Tier};
use crate::load_error::LoadError;
use crate::state::{GuestState, charge};
use crate::{to_wit, wasi};
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{Component, InstancePre, Linker};

/// Binds a component's imports.
pub(crate) fn link(
    engine: &wasmtime::Engine,
    component: &Component,
    grants: &Grants,
) -> Result<InstancePre<GuestState>, LoadError> {
    let types = |error: wasmtime::Error| LoadError::Types(crate::text::line(&format!("{error:#}")));
    let mut linker = Linker::new(engine);
    let define_wasi =
        if grants.has_files_or_hosts() { wasi::granted::define } else { wasi::define };
    for (name, import) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else {
            return Err(Import::of(name).refusal());
        };
        let import = Import::of(name);
        match import.tier {
            _ if !import.is_granted(grants) => return Err(import.refusal()),
            Tier::Own => own(engine, &mut linker, name, &instance).map_err(types)?,
            Tier::Inert | Tier::Hosts => {
                define_wasi(engine, &mut linker, name, &instance).map_err(types)?
            }
            Tier::Refused => return Err(import.refusal()),
        }
    }
    linker.instantiate_pre(component).map_err(types)
}

fn own(
    engine: &wasmtime::Engine,
    linker: &mut Linker<GuestState>,
    name: &str,
    instance: &ComponentInstance,
) -> wasmtime::Result<()> {
    let mut host = linker.instance(name)?;
    for (function, _) in instance.exports(engine) {
        match function {
            "log" => host.func_wrap("log", |store, (level, message): (Level, String)| {
                log(store, level, &message)
            })?,
            "steps" => host.func_wrap("steps", |store, (newest,): (u32,)| steps(store, newest))?,
            "detail" => host.func_wrap("detail", |store, (step,): (u64,)| detail(store, step))?,
            // Types need no definition; a function that this version lacks fails the binding by
            // name.
            _ => {}
        }
    }
    Ok(())
}

fn log(
    mut store: StoreContextMut<'_, GuestState>,
    level: Level,
    message: &str,
) -> wasmtime::Result<()> {
    charge(&mut store, message.len())?;
    let (level, complaint) = match level {
        Level::Debug => ("debug", false),
        Level::Info => ("info", false),
        Level::Warn => ("warn", false),
        Level::Error => ("error", true),
    };
    store.data_mut().log.line(level, message, complaint);
    Ok(())
}

fn steps(
    mut store: StoreContextMut<'_, GuestState>,
    newest: u32,
) -> wasmtime::Result<(Vec<Step>,)> {
    let all = Arc::clone(&store.data().steps);
    let newest = all
        .get(all.len().saturating_sub(usize::try_from(newest).unwrap_or(usize::MAX))..)
        .unwrap_or_default();
    charge(&mut store, size_of_val(newest))?;
    Ok((newest.to_vec(),))
}

fn detail(
    mut store: StoreContextMut<'_, GuestState>,
    step: u64,
) -> wasmtime::Result<(Option<StepDetail>,)> {
    charge(&mut store, 0)?;
    let found = store.data_mut().detail(step);
    Ok((found.as_ref().map(to_wit::detail),))
}
