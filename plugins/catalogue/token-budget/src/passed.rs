//! Which budgets have passed a threshold.

use crate::amounts::{format_money, group_digits};
use crate::budgets::{BUDGETS, Budget, Unit};
use crate::config::{Config, Money};
use crate::usage::{Amounts, Usage};

/// A budget of which a threshold has just been passed.
#[derive(Debug)]
pub struct Passed {
    /// The budget.
    pub budget: &'static Budget,
    /// How much of it is used: per cent, rounded down.
    pub share: u128,
    /// What is used.
    pub used: u128,
    /// What may be used.
    pub most: u64,
    /// What is used is estimated.
    pub is_estimate: bool,
}

impl Passed {
    /// Returns what is used and what may be, for a person: `800,000 of 1,000,000`.
    pub fn format_amounts(&self, money: &Money) -> String {
        let format = |amount| match self.budget.unit {
            Unit::Cost => format_money(amount, money),
            Unit::Tokens | Unit::Minutes => group_digits(&amount.to_string()),
        };
        format!("{} of {}", format(self.used), format(self.most.into()))
    }
}

/// Returns the budgets that have passed a threshold since they were last reported, and notes them as
/// reported.
pub fn list_passed(usage: &mut Usage, config: &Config) -> Vec<Passed> {
    let (prompt, session) = (usage.now.amounts, usage.before.amounts.plus(usage.now.amounts));
    let mut found = Vec::new();
    for ((budget, most), reported) in
        BUDGETS.iter().zip(config.most).zip(&mut usage.reported).filter(|((_, most), _)| *most > 0)
    {
        let amounts = if budget.is_of_prompt { prompt } else { session };
        let (used, is_estimate) = find_used(amounts, budget.unit, config);
        let share = 100 * used / u128::from(most);
        let mut thresholds = config.thresholds.iter().copied();
        let threshold = thresholds.rfind(|threshold| share >= u128::from(*threshold));
        if let Some(threshold) = threshold.filter(|threshold| threshold > reported) {
            *reported = threshold;
            found.push(Passed { budget, share, used, most, is_estimate });
        }
    }
    found
}

/// Returns how much is used, and whether that is an estimate.
fn find_used(amounts: Amounts, unit: Unit, config: &Config) -> (u128, bool) {
    if unit == Unit::Minutes {
        return ((amounts.ms / 60_000).into(), false);
    }
    let (tokens, is_estimate) = amounts.count_tokens(config.bytes_per_token);
    let used = if unit == Unit::Cost { find_cost(tokens, config.price) } else { tokens.into() };
    (used, is_estimate)
}

/// Returns what tokens cost in the smallest unit, rounded up: a budget is not to be passed by
/// rounding.
pub fn find_cost(tokens: u64, price: u64) -> u128 {
    (u128::from(tokens) * u128::from(price)).div_ceil(1_000_000)
}
