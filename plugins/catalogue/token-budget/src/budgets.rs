//! The budgets that there are.

/// What may be used of something, in a prompt or in the session.
#[derive(Debug, PartialEq, Eq)]
pub struct Budget {
    /// The setting with its size.
    pub key: &'static str,
    /// How it is named to a person.
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// It is of the newest prompt alone; else of the session.
    pub is_of_prompt: bool,
}

/// What a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Tokens.
    Tokens,
    /// Whole minutes.
    Minutes,
    /// Money, in the smallest unit of the currency.
    Cost,
}

/// All of them, in the order in which they are reported.
pub const BUDGETS: [Budget; 6] = [
    Budget::of_prompt("prompt_tokens", "tokens of this prompt", Unit::Tokens),
    Budget::of_session("session_tokens", "tokens of the session", Unit::Tokens),
    Budget::of_prompt("prompt_minutes", "minutes of this prompt", Unit::Minutes),
    Budget::of_session("session_minutes", "minutes of the session", Unit::Minutes),
    Budget::of_prompt("prompt_cost", "money for this prompt", Unit::Cost),
    Budget::of_session("session_cost", "money for the session", Unit::Cost),
];

impl Budget {
    const fn of_prompt(key: &'static str, name: &'static str, unit: Unit) -> Self {
        Self { key, name, unit, is_of_prompt: true }
    }

    const fn of_session(key: &'static str, name: &'static str, unit: Unit) -> Self {
        Self { key, name, unit, is_of_prompt: false }
    }
}
