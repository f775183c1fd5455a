//! The limits of a prompt as one table: name, key, unit, and the way in which each is held.
//!
//! Everything that is said or decided about a limit comes from its row. Measuring is not part of
//! this crate: the figures arrive as data ([`crate::session::Measured`]) or with the events.

use crate::action::{Coverage, EffectKind, Facts, Limit, Quantity};
use crate::policy::LimitPolicy;
use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// The name of the quantity "processes", which has no case of its own in the plugins' interface.
pub const PROCESSES: &str = "processes";
/// The name of the quantity "bytes of output", which has no case of its own either.
pub const OUTPUT: &str = "output-bytes";

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// A count of things.
    Count,
    /// Milliseconds, shown as seconds.
    Milliseconds,
    /// Bytes, shown as megabytes.
    Bytes,
}

impl LimitUnit {
    /// Formats an amount: `512 MB`.
    #[must_use]
    pub fn format_amount(self, amount: u64) -> String {
        match self {
            Self::Count => amount.to_string(),
            Self::Milliseconds if amount < 1000 => format!("{amount} ms"),
            Self::Milliseconds => format!("{} s", amount / 1000),
            Self::Bytes if amount < 1 << 10 => format!("{amount} bytes"),
            Self::Bytes if amount < 1 << 20 => format!("{} KB", amount >> 10),
            Self::Bytes => format!("{} MB", amount >> 20),
        }
    }
}

/// The place from which the use of a limit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// The reviewed actions.
    Actions,
    /// The times of the client's events.
    Events,
    /// The tools' results, which the client's events hold.
    Results,
    /// The client's transcript.
    Transcript,
    /// The agent's processes, which the system shows.
    Processes,
}

impl LimitSource {
    /// Returns its words for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Actions => "the reviewed actions",
            Self::Events => "the times of the client's events",
            Self::Results => "the tools' results",
            Self::Transcript => "the client's transcript",
            Self::Processes => "the agent's processes in `/proc`",
        }
    }
}

/// One limit.
#[derive(Debug)]
pub struct LimitRow {
    /// The quantity's name in records.
    pub name: &'static str,
    /// The configuration key.
    pub key: &'static str,
    /// The rule that its objections name.
    pub rule: &'static str,
    /// The limited things, after an amount.
    pub noun: &'static str,
    /// The unit.
    pub unit: LimitUnit,
    /// The place from which its use is known.
    pub source: LimitSource,
    /// True for a state of the machine, which can fall again; false for what a prompt has used.
    pub gauge: bool,
    /// True if the host holds it only when an intervention tightened it, since a rule holds it
    /// otherwise.
    pub ruled: bool,
    /// The configured limit, in the unit.
    pub configured: fn(&LimitPolicy) -> u64,
}

/// Every configured limit.
pub const LIMITS: &[LimitRow] = &[
    LimitRow {
        name: "file-operations",
        key: "limits.file_operations",
        rule: "limit_file_operations",
        noun: "writes and deletions",
        unit: LimitUnit::Count,
        source: LimitSource::Actions,
        gauge: false,
        ruled: true,
        configured: |policy| policy.file_operations,
    },
    LimitRow {
        name: "memory",
        key: "limits.memory_mb",
        rule: "limit_memory",
        noun: "of memory",
        unit: LimitUnit::Bytes,
        source: LimitSource::Processes,
        gauge: true,
        ruled: false,
        configured: |policy| policy.memory_mb.saturating_mul(1 << 20),
    },
    LimitRow {
        name: "time",
        key: "limits.execution_time_seconds",
        rule: "limit_time",
        noun: "of time",
        unit: LimitUnit::Milliseconds,
        source: LimitSource::Events,
        gauge: false,
        ruled: false,
        configured: |policy| policy.execution_time_seconds.saturating_mul(1000),
    },
    LimitRow {
        name: "tokens",
        key: "limits.token_usage",
        rule: "limit_tokens",
        noun: "tokens",
        unit: LimitUnit::Count,
        source: LimitSource::Transcript,
        gauge: false,
        ruled: false,
        configured: |policy| policy.token_usage,
    },
    LimitRow {
        name: PROCESSES,
        key: "limits.processes",
        rule: "limit_processes",
        noun: "processes",
        unit: LimitUnit::Count,
        source: LimitSource::Processes,
        gauge: true,
        ruled: false,
        configured: |policy| policy.processes,
    },
    LimitRow {
        name: OUTPUT,
        key: "limits.output_mb",
        rule: "limit_output",
        noun: "of output",
        unit: LimitUnit::Bytes,
        source: LimitSource::Results,
        gauge: false,
        ruled: false,
        configured: |policy| policy.output_mb.saturating_mul(1 << 20),
    },
];

/// Returns the row of a quantity; none if it is not configured.
#[must_use]
pub fn find_row(quantity: &Quantity) -> Option<&'static LimitRow> {
    let name = name_of(quantity);
    LIMITS.iter().find(|row| row.name == name)
}

/// Returns a quantity's name in records.
#[must_use]
pub fn name_of(quantity: &Quantity) -> &str {
    match quantity {
        Quantity::FileOperations => "file-operations",
        Quantity::Memory => "memory",
        Quantity::Tokens => "tokens",
        Quantity::Time => "time",
        Quantity::BatchSize => "batch-size",
        Quantity::Other(name) => name,
    }
}

impl LimitPolicy {
    /// Returns the limit for a quantity at the start of a session, in the quantity's unit; none if
    /// it is not configured.
    #[must_use]
    pub fn limit_of(&self, quantity: &Quantity) -> Option<u64> {
        find_row(quantity).map(|row| (row.configured)(self))
    }
}

impl LimitRow {
    /// Returns its quantity.
    #[must_use]
    pub fn quantity(&self) -> Quantity {
        match self.name {
            "file-operations" => Quantity::FileOperations,
            "memory" => Quantity::Memory,
            "tokens" => Quantity::Tokens,
            "time" => Quantity::Time,
            name => Quantity::Other(name.to_owned()),
        }
    }

    /// Formats an amount: `100 writes and deletions`.
    #[must_use]
    pub fn format_amount(&self, amount: u64) -> String {
        format!("{} {}", self.unit.format_amount(amount), self.noun)
    }

    /// Returns true if nothing is left. A quantity that is known only when an action has ended is
    /// used up at its limit, since the next action would use more.
    #[must_use]
    pub const fn is_reached(&self, used: u64, maximum: u64) -> bool {
        if self.gauge { used > maximum } else { used >= maximum }
    }

    /// Returns true if an action may run although the limit is reached: it only reads; and where
    /// processes are what is limited, it only stops some.
    #[must_use]
    pub fn lets_through(&self, facts: &Facts) -> bool {
        let only = |harmless: &[EffectKind]| {
            facts.coverage == Coverage::Full
                && facts.effects.iter().all(|effect| harmless.contains(&effect.kind))
        };
        only(&[EffectKind::FileRead])
            || (self.gauge && only(&[EffectKind::FileRead, EffectKind::ProcessStop]))
    }
}

/// The use of a limit by a session's current prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitUse {
    /// The limit in force, and what is used of it.
    #[serde(flatten)]
    pub limit: Limit,
    /// The operator's limit, if the one in force is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
}

impl LimitUse {
    /// Formats it briefly: `tokens 400/500 (base 1000)`.
    #[must_use]
    pub fn describe_briefly(&self) -> String {
        let Limit { quantity, maximum, used } = &self.limit;
        let unit = find_row(quantity).map_or(LimitUnit::Count, |row| row.unit);
        let [used, maximum] = [*used, *maximum].map(|amount| unit.format_amount(amount));
        let name = one_line(&name_of(quantity).replace('-', " "), 64);
        let base = self.base.map(|base| format!(" (base {})", unit.format_amount(base)));
        format!("{name} {used}/{maximum}{}", base.unwrap_or_default())
    }
}

/// Formats the use of a limit: `40 of 100 writes and deletions`.
#[must_use]
pub fn describe_usage(limit: &Limit) -> String {
    match find_row(&limit.quantity) {
        Some(row) => format!(
            "{} of {}",
            row.unit.format_amount(limit.used),
            row.format_amount(limit.maximum)
        ),
        None => format!("{} of {} {}", limit.used, limit.maximum, name_of(&limit.quantity)),
    }
}
