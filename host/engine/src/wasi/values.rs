//! Values of WASI's types: the plainest one of each, failures, and the contents of lists.

use super::RESOURCE;
use crate::state::GuestState;
use wasmtime::StoreContextMut;
use wasmtime::component::{ResourceDynamic, Type, Val};

/// Returns the plainest value of a type.
pub(super) fn plain(
    store: &mut StoreContextMut<'_, GuestState>,
    ty: &Type,
) -> wasmtime::Result<Val> {
    Ok(match ty {
        Type::Bool => Val::Bool(false),
        Type::S8 => Val::S8(0),
        Type::U8 => Val::U8(0),
        Type::S16 => Val::S16(0),
        Type::U16 => Val::U16(0),
        Type::S32 => Val::S32(0),
        Type::U32 => Val::U32(0),
        Type::S64 => Val::S64(0),
        Type::U64 => Val::U64(0),
        Type::Float32 => Val::Float32(0.0),
        Type::Float64 => Val::Float64(0.0),
        Type::Char => Val::Char(' '),
        Type::String => Val::String(String::new()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Record(record) => {
            let fields =
                record.fields().map(|field| Ok((field.name.to_owned(), plain(store, &field.ty)?)));
            Val::Record(fields.collect::<wasmtime::Result<_>>()?)
        }
        Type::Tuple(tuple) => {
            Val::Tuple(tuple.types().map(|ty| plain(store, &ty)).collect::<wasmtime::Result<_>>()?)
        }
        Type::Enum(names) => Val::Enum(names.names().next().unwrap_or_default().to_owned()),
        Type::Result(result) => {
            Val::Result(Ok(result.ok().map(|ty| plain(store, &ty)).transpose()?.map(Box::new)))
        }
        Type::Own(_) => {
            Val::Resource(ResourceDynamic::new_own(0, RESOURCE).try_into_resource_any(&mut *store)?)
        }
        other => wasmtime::bail!("a value of the type {other:?} is not offered"),
    })
}

/// Returns the error side of a result, with the first of these names that its type has.
pub(super) fn failure(ty: &Type, names: &[&str]) -> Option<Val> {
    let Type::Result(result) = ty else { return None };
    let error = match result.err() {
        None => None,
        Some(Type::Enum(ty)) => {
            let name = names
                .iter()
                .find(|name| ty.names().any(|known| known == **name))
                .copied()
                .or_else(|| ty.names().next())?;
            Some(Val::Enum(name.to_owned()))
        }
        Some(Type::Variant(ty)) => {
            let name = names
                .iter()
                .find(|name| ty.cases().any(|case| case.name == **name && case.ty.is_none()))?;
            Some(Val::Variant((*name).to_owned(), None))
        }
        Some(_) => return None,
    };
    Some(Val::Result(Err(error.map(Box::new))))
}

/// Returns the indices of all items of a list.
pub(super) fn all_ready(params: &[Val]) -> Val {
    let count = match params.first() {
        Some(Val::List(items)) => u32::try_from(items.len()).unwrap_or(u32::MAX),
        _ => 0,
    };
    Val::List((0..count).map(Val::U32).collect())
}

/// Returns the bytes of a list of them.
pub(super) fn octets(value: Option<&Val>) -> Vec<u8> {
    let byte = |value: &Val| if let Val::U8(byte) = value { Some(*byte) } else { None };
    match value {
        Some(Val::List(items)) => items.iter().filter_map(byte).collect(),
        _ => Vec::new(),
    }
}

/// Returns the number of values that a guest handed over; a value costs the host more than a byte
/// of text.
pub(super) fn weight(params: &[Val]) -> usize {
    let one = |value: &Val| match value {
        Val::List(items) => {
            let lists = matches!(items.first(), Some(Val::List(_) | Val::Tuple(_)));
            items.len().saturating_mul(8).saturating_add(if lists { weight(items) } else { 0 })
        }
        Val::Tuple(items) => weight(items),
        Val::String(text) => text.len(),
        _ => 1,
    };
    params.iter().map(one).fold(0, usize::saturating_add)
}
