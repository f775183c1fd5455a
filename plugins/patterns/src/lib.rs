//! The builtin patterns that share their code, in one component.
//!
//! A hook calls most of them for each action that ended, and the cost of loading a component hardly
//! depends on its size. Each is still a plugin of its own, with its name, settings, state and an
//! instance for each call. `instruction-injection` is not among them: its table of words would be
//! copied for each of the others.

portcullis_plugin::export!(pattern: [
    portcullis_builtin_blocked_then_bypassed::Plugin,
    portcullis_builtin_goal_drift::Plugin,
    portcullis_builtin_hallucination::Plugin,
    portcullis_builtin_loop::Plugin,
    portcullis_builtin_repetitive_errors::Plugin,
    portcullis_builtin_resource_spiral::Plugin,
    portcullis_builtin_scope_creep::Plugin,
    portcullis_builtin_secret_egress::Plugin,
]);
