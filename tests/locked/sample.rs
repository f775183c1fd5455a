//! The environment that the registry of host/registry's tests needs.

use crate::common::{in_ci, tell};

/// Reports why something is not tested here; continuous integration has to test it.
pub fn skip(why: &str) {
    assert!(!in_ci(), "{why}");
    tell(&format!("not tested: {why}"));
}
