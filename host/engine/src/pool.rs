//! Memory that is kept between the calls of plugins, for a process that answers many events.
//!
//! Each call has an instance of its own, also here. Mapping its memory, filling it by page faults
//! and unmapping it again costs more than most calls. So wasmtime's pool keeps the memory of an
//! instance that has ended, sets the pages that it wrote back to their initial contents, and gives
//! it to the next one, for which it is as fresh as any.
//!
//! Only plugins that come with the program get it: memory that a third party's plugin wrote is
//! never given to another plugin, not even after a reset.

use crate::limits::Limits;
use crate::machine_code::common;
use std::sync::{Condvar, Mutex, PoisonError};
use wasmtime::{Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// The most guests that run at the same time; a further one waits for the end of another.
const MOST_GUESTS: u32 = 64;
/// The most core instances of a component of the program, with the adapters that it is wrapped in.
const INSTANCES: u32 = 8;
/// The most tables of such a component.
const TABLES: u32 = 8;
/// Bytes of a memory that are reset instead of unmapped. Only pages that were written count.
const KEPT_BYTES: usize = 1 << 20;
/// The same where the system cannot tell which pages were written: all of them are reset.
const KEPT_BLINDLY: usize = 128 << 10;
/// Bytes of a table that are reset instead of unmapped.
const KEPT_TABLE_BYTES: usize = 64 << 10;

/// The engine whose guests get kept memory.
pub(crate) struct Pool {
    pub(crate) engine: wasmtime::Engine,
    guests: Mutex<u32>,
    left: Condvar,
}

/// A guest's place in the pool, while it runs.
pub(crate) struct PoolPlace<'a>(&'a Pool);

impl Pool {
    /// Reserves the addresses; returns `None` if the system does not give as many.
    pub(crate) fn reserve() -> Option<Self> {
        let mut config = common();
        config.enable_compiler(false);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(sizes()));
        let engine = wasmtime::Engine::new(&config).ok()?;
        Some(Self { engine, guests: Mutex::new(0), left: Condvar::new() })
    }

    /// Waits until there is room for a guest.
    pub(crate) fn take_place(&self) -> PoolPlace<'_> {
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        while *guests >= MOST_GUESTS {
            guests = self.left.wait(guests).unwrap_or_else(PoisonError::into_inner);
        }
        *guests += 1;
        PoolPlace(self)
    }
}

impl Drop for PoolPlace<'_> {
    fn drop(&mut self) {
        *self.0.guests.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.left.notify_one();
    }
}

fn sizes() -> PoolingAllocationConfig {
    let kept = if PoolingAllocationConfig::is_pagemap_scan_available() {
        KEPT_BYTES
    } else {
        KEPT_BLINDLY
    };
    let mut sizes = PoolingAllocationConfig::new();
    sizes
        .total_component_instances(MOST_GUESTS)
        .total_core_instances(MOST_GUESTS * INSTANCES)
        .total_memories(MOST_GUESTS)
        .total_tables(MOST_GUESTS * TABLES)
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(1)
        .max_tables_per_component(TABLES)
        // The largest that the limits of a call allow, so that these decide, as without a pool.
        .max_memory_size(Limits::shell_reader().memory_bytes)
        .table_elements(Limits::shell_reader().table_elements)
        .linear_memory_keep_resident(kept)
        .table_keep_resident(KEPT_TABLE_BYTES)
        .pagemap_scan(Enabled::Auto);
    sizes
}
