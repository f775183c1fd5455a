//! The builtin patterns: a module a plugin, and one component for all of them.
//!
//! A hook calls most of them for each action that ended, and the cost of loading a component hardly
//! depends on its size. Each is still a plugin of its own, with its name, settings, state and an
//! instance for each call. What one keeps in tables costs the others nothing: memory is mapped, and
//! copied page by page when it is used.

pub mod blocked_then_bypassed;
pub mod goal_drift;
pub mod hallucination;
pub mod instruction_injection;
pub mod r#loop;
pub mod repetitive_errors;
pub mod resource_spiral;
pub mod scope_creep;
pub mod secret_egress;

portcullis_plugin::export!(pattern: [
    blocked_then_bypassed::BlockedThenBypassed,
    goal_drift::GoalDrift,
    hallucination::Hallucination,
    instruction_injection::InstructionInjection,
    r#loop::Loop,
    repetitive_errors::RepetitiveErrors,
    resource_spiral::ResourceSpiral,
    scope_creep::ScopeCreep,
    secret_egress::SecretEgress,
]);
