//! The builtin risk-calculators that every action is asked of, in one component.
//!
//! What it costs to load a component hardly depends on how much it holds. Each is a plugin of its own all the same,
//! with its name, settings and an instance for each call. `custom-rules` is not among them: it is loaded where
//! somebody wrote rules.

portcullis_plugin::export!(risk-calculator: [
    portcullis_builtin_rationality::Plugin,
    portcullis_builtin_risk::Plugin,
    portcullis_builtin_rules::Plugin,
    portcullis_builtin_side_effects::Plugin,
]);
