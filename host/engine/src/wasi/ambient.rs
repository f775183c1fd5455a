//! Time, randomness and variables for a guest. Real ones as far as they are granted; otherwise the
//! same each time.

use super::values::plain;
use crate::grants::Random;
use crate::state::{GuestState, charge};
use crate::termination::Termination;
use portcullis_core::plugins::Grant;
use std::time::{SystemTime, UNIX_EPOCH};
use wasmtime::StoreContextMut;
use wasmtime::component::{Type, Val};

/// The most random bytes of one call.
const RANDOM_BYTES: u64 = 64 << 10;
/// The fixed value of the monotonic clock, in nanoseconds.
const MONOTONIC: u64 = 1_000_000_000;

/// Returns the review's time, or the machine's if that is granted.
pub(super) fn wall_clock(state: &mut GuestState) -> Val {
    let mut since = std::time::Duration::from_millis(state.now_ms);
    if state.grants.clocks {
        state.uses.used(Grant::Clocks, "wall-clock", 0);
        since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(since);
    }
    Val::Record(vec![
        ("seconds".into(), Val::U64(since.as_secs())),
        ("nanoseconds".into(), Val::U32(since.subsec_nanos())),
    ])
}

/// Returns the nanoseconds of a fixed clock, or, if that is granted, those since the call began.
pub(super) fn monotonic(state: &mut GuestState) -> u64 {
    if !state.grants.clocks {
        return MONOTONIC;
    }
    state.uses.used(Grant::Clocks, "monotonic-clock", 0);
    u64::try_from(state.begun.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(MONOTONIC)
}

pub(super) fn variables(store: &mut StoreContextMut<'_, GuestState>) -> Val {
    let grants = std::sync::Arc::clone(&store.data().grants);
    let all = grants.environment.iter().take(crate::grants::MOST_VARIABLES);
    let pairs = all.map(|(name, value)| {
        store.data_mut().uses.used(Grant::Environment, name, value.len());
        Val::Tuple(vec![Val::String(name.clone()), Val::String(value.clone())])
    });
    Val::List(pairs.collect())
}

pub(super) fn random(
    store: &mut StoreContextMut<'_, GuestState>,
    ty: &Type,
    params: &[Val],
) -> wasmtime::Result<Val> {
    match ty {
        Type::U64 => Ok(Val::U64(random_u64(store)?)),
        Type::Tuple(_) => {
            Ok(Val::Tuple(vec![Val::U64(random_u64(store)?), Val::U64(random_u64(store)?)]))
        }
        _ => {
            let Some(Val::U64(wanted)) = params.first() else { return plain(store, ty) };
            let Some(length) = usize::try_from(*wanted).ok().filter(|_| *wanted <= RANDOM_BYTES)
            else {
                return Err(Termination::Random(*wanted).into());
            };
            charge(store, length)?;
            let mut bytes = vec![0; length];
            fill(store, &mut bytes)?;
            Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
        }
    }
}

fn random_u64(store: &mut StoreContextMut<'_, GuestState>) -> wasmtime::Result<u64> {
    let mut bytes = [0; 8];
    fill(store, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn fill(store: &mut StoreContextMut<'_, GuestState>, bytes: &mut [u8]) -> wasmtime::Result<()> {
    let state = store.data_mut();
    match state.grants.random {
        Random::Fixed => state.random.fill(bytes),
        Random::Seeded(_) => {
            state.uses.used(Grant::Random, "seeded", bytes.len());
            state.random.fill(bytes);
        }
        Random::System => {
            state.uses.used(Grant::Random, "system", bytes.len());
            getrandom::fill(bytes).map_err(|error| {
                wasmtime::Error::msg(format!("the system has no random bytes: {error}"))
            })?;
        }
    }
    Ok(())
}
