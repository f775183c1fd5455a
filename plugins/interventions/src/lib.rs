//! The builtin interventions: a module a plugin, and one component for all of them.
//!
//! They share most of their code, which is about messages. Each is still a plugin of its own, with
//! its name, settings and an instance for each call.

pub mod checkpoint_rollback;
pub mod context_reinforcement;
pub mod emergency_stop;
mod first_checks;
#[cfg(test)]
mod random;
pub mod resource_throttling;
pub mod soft_correction;

portcullis_plugin::export!(intervention: [
    checkpoint_rollback::CheckpointRollback,
    context_reinforcement::ContextReinforcement,
    emergency_stop::EmergencyStop,
    resource_throttling::ResourceThrottling,
    soft_correction::SoftCorrection,
]);
