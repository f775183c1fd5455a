//! The builtin risk-calculators that are called for every action: a module a plugin, and one
//! component for all of them.
//!
//! The cost of loading a component hardly depends on its size. Each is still a plugin of its own,
//! with its name, settings and an instance for each call. `custom-rules` has a crate and a
//! component of its own: it is loaded only if somebody wrote rules.

pub mod rationality;
mod requests;
pub mod risk;
pub mod rules;
pub mod side_effects;

portcullis_plugin::export!(risk-calculator: [
    rationality::RationalityCheck,
    risk::RiskScore,
    rules::BuiltinRules,
    side_effects::SideEffectAnalysis,
]);
