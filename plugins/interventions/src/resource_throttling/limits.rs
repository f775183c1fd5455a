//! The new limits.

use super::QUANTITIES;
use super::config::Config;
use super::growth::Growth;
use portcullis_plugin::intervention::{Context, Issue, Limit, Quantity};

/// A limit that becomes tighter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// The new limit.
    pub(super) limit: Limit,
    /// The old maximum; none if there was no such limit.
    before: Option<u64>,
    /// The configured maximum, if an earlier answer tightened the limit.
    base: Option<u64>,
}

impl Change {
    /// Formats the change: `50 (100 before, 40 used)`, or
    /// `50 (70 before, 100 configured, 40 used)`.
    pub(super) fn format_change(&self) -> String {
        let quantity = &self.limit.quantity;
        let (new, used) = (self.limit.maximum, self.limit.used);
        let amount = |amount| self.amount(amount);
        let before = self.before.map_or_else(
            || "no limit before".to_owned(),
            |before| format!("{} before", amount(before)),
        );
        let base =
            self.base.map_or_else(String::new, |base| format!(", {} configured", amount(base)));
        let renewed =
            matches!(quantity, Quantity::FileOperations | Quantity::Tokens | Quantity::Time);
        let left = match used {
            0 => String::new(),
            _ if renewed && used >= new => {
                format!(", {} used: nothing is left until the next prompt", amount(used))
            }
            _ => format!(", {} used", amount(used)),
        };
        format!("{} ({before}{base}{left})", amount(new))
    }

    /// Formats an amount in round units, unless the change would not be visible in these.
    fn amount(&self, amount: u64) -> String {
        let quantity = &self.limit.quantity;
        let seen = self
            .before
            .is_none_or(|before| quantity.amount(before) != quantity.amount(self.limit.maximum));
        match quantity {
            Quantity::Memory if !seen => format!("{amount} bytes"),
            Quantity::Time if !seen => format!("{amount} ms"),
            _ => quantity.amount(amount),
        }
    }
}

/// Returns every limit that becomes tighter.
pub(super) fn of(
    config: &Config,
    issue: &Issue,
    context: &Context,
    grown: &[Growth],
) -> Vec<Change> {
    QUANTITIES
        .iter()
        .filter_map(|quantity| change(config, issue, context, grown, quantity))
        .collect()
}

fn change(
    config: &Config,
    issue: &Issue,
    context: &Context,
    grown: &[Growth],
    quantity: &Quantity,
) -> Option<Change> {
    let in_force = context
        .limits
        .iter()
        .filter(|limit| limit.quantity == *quantity)
        .min_by_key(|limit| limit.maximum);
    let before = in_force.map(|limit| limit.maximum);
    let from = before.unwrap_or_else(|| config.first(quantity));
    let base = base_limit(context, quantity).filter(|base| *base > from);
    // The factor is one of the configured limit: what was cut before is not cut again.
    let whole = base.unwrap_or(from);
    let maximum = match (quantity, grown) {
        (Quantity::BatchSize, _) => from / 2,
        (_, []) => scaled(whole, config.by_severity(issue.severity)),
        (_, grown) => {
            let growth = grown.iter().find(|growth| growth.quantity == *quantity)?;
            scaled(whole, config.factor(growth.ratio))
        }
    };
    // At least one is left, and a limit is never loosened here.
    let maximum = maximum.max(1).min(from);
    let limit =
        Limit { quantity: quantity.clone(), maximum, used: in_force.map_or(0, |limit| limit.used) };
    (maximum < from).then_some(Change { limit, before, base })
}

/// Returns the configured limit, which the host names where the limit in force is tighter.
fn base_limit(context: &Context, quantity: &Quantity) -> Option<u64> {
    let name = match quantity {
        Quantity::FileOperations => "base-limit.file-operations",
        Quantity::Memory => "base-limit.memory",
        Quantity::Tokens => "base-limit.tokens",
        Quantity::Time => "base-limit.time",
        _ => return None,
    };
    let known = context.attributes.iter().find(|attribute| attribute.name == name)?;
    known.value.parse().ok()
}

/// Scales a value, rounded to the nearest whole number.
fn scaled(value: u64, thousandths: u64) -> u64 {
    let scaled = (u128::from(value) * u128::from(thousandths) + 500) / 1000;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
