//! What the registry of host/registry's tests asks of its surroundings.

use crate::common::{in_ci, tell};

/// Says why something is not tested here; the continuous integration has to test it.
pub fn skip(why: &str) {
    assert!(!in_ci(), "{why}");
    tell(&format!("not tested: {why}"));
}
