//! The limits of one call into a plugin.
//!
//! There is no `Default`: each place that runs a guest names the limits that it means. The bounds
//! of a plugin's answer (lengths, counts, ranges) belong to the contract, not to the operator, and
//! are checked in `from_wit`. The stack is the same for all guests (`machine_code::STACK_BYTES`).

/// The most bytes that a third-party component may have. No fuel bounds reading and compiling it; a
/// Python guest has 18 MiB, so this leaves room without letting a file fill the memory.
pub const MAX_COMPONENT_BYTES: u64 = 64 << 20;

const MIB: usize = 1 << 20;

/// Limits on one call. A start function runs under them too, since it runs in the same fresh store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of fuel, about one for each WebAssembly instruction and one for each byte of a bulk
    /// copy. It ends a loop at the same instruction on every machine, so a replay ends there too.
    pub fuel: u64,
    /// Bytes of all linear memories together, since a component may have many.
    pub memory_bytes: usize,
    /// Elements of all tables together; the host pays 16 bytes for each.
    pub table_elements: usize,
    /// Core instances: a component may nest and repeat them; each costs the host some KiB.
    pub instances: usize,
    /// Linear memories: each reserves address space, however small it is.
    pub memories: usize,
    /// Tables.
    pub tables: usize,
    /// Resource handles alive at once; the host keeps a table of them outside the guest's memory.
    pub handles: usize,
    /// Bytes that the host copies out of the guest at a time. A list whose items all name the same
    /// bytes makes the host allocate far more than the guest has.
    pub answer_bytes: usize,
    /// Log lines.
    pub log_lines: usize,
    /// Bytes of all log lines together, after escaping.
    pub log_bytes: usize,
    /// Calls of `host.detail` that are answered.
    pub detail_calls: u32,
}

impl Limits {
    /// Returns the limits for a plugin that comes with the program. Those plugins are small, but
    /// they read hostile text: the fuel is for the longest action that the host passes on, with
    /// room to spare.
    #[must_use]
    pub const fn builtin() -> Self {
        Self { fuel: 200_000_000, ..Self::third_party() }
    }

    /// Returns the limits for the shell reader: it gets the whole command line, up to 1 MB of it,
    /// and answers with a copy of it in pieces.
    #[must_use]
    pub const fn shell_reader() -> Self {
        Self {
            fuel: 500_000_000,
            memory_bytes: 128 * MIB,
            answer_bytes: 8 * MIB,
            ..Self::third_party()
        }
    }

    /// Returns the limits for a plugin of unknown intent. 50 million units of fuel are some 7 ms of
    /// a tight loop; a check of the built-in plugins uses below 100 thousand.
    #[must_use]
    pub const fn third_party() -> Self {
        Self {
            fuel: 50_000_000,
            memory_bytes: 64 * MIB,
            // CPython needs 5,672 elements, StarlingMonkey 7,689.
            table_elements: 20_000,
            // A Rust guest has 1 to 3, QuickJS below 10; CPython has more than 32, with a stub for
            // each interface of WASI.
            instances: 64,
            memories: 8,
            tables: 16,
            // The inert WASI tier hands out a few streams; our own interfaces none.
            handles: 256,
            // The largest honest assessment is far below this; `prepare` and `render` have their
            // own limits.
            answer_bytes: 512 << 10,
            log_lines: 64,
            log_bytes: 8 << 10,
            detail_calls: 16,
        }
    }
}
