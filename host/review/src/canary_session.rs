//! The sessions in which `doctor` tests the hooks. Their records are not a person's work: commands
//! that speak of the last action, and metrics, leave them out.

/// The start of the name of such a session.
pub const CANARY_SESSION: &str = "portcullis-doctor-";
