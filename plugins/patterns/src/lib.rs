//! The builtin patterns: a module a plugin, and one component for all of them.
//!
//! A hook calls most of them for each action that ended, and the cost of loading a component hardly
//! depends on its size. Each is still a plugin of its own, with its name, settings, state and an
//! instance for each call. `instruction-injection` has a crate and a component of its own: its
//! table of words would be copied for each call of the others.

pub mod blocked_then_bypassed;
pub mod goal_drift;
pub mod hallucination;
pub mod r#loop;
pub mod repetitive_errors;
pub mod resource_spiral;
pub mod scope_creep;
pub mod secret_egress;

portcullis_plugin::export!(pattern: [
    blocked_then_bypassed::BlockedThenBypassed,
    goal_drift::GoalDrift,
    hallucination::Hallucination,
    r#loop::Loop,
    repetitive_errors::RepetitiveErrors,
    resource_spiral::ResourceSpiral,
    scope_creep::ScopeCreep,
    secret_egress::SecretEgress,
]);
