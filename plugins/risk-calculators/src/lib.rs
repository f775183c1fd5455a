//! The builtin risk-calculators that are called for every action, in one component.
//!
//! The cost of loading a component hardly depends on its size. Each is still a plugin of its own,
//! with its name, settings and an instance for each call. `custom-rules` is not among them: it is
//! loaded only if somebody wrote rules.

portcullis_plugin::export!(risk-calculator: [
    portcullis_builtin_rationality::Plugin,
    portcullis_builtin_risk::Plugin,
    portcullis_builtin_rules::Plugin,
    portcullis_builtin_side_effects::Plugin,
]);
