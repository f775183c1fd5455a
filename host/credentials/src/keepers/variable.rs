//! Values in variables of the environment.

use super::{SecretKeeper, kept_elsewhere};
use crate::failure::CredentialFailure;
use crate::name::CredentialName;
use crate::value::read_variable;
use secrecy::SecretString;
use std::ffi::OsString;

/// A variable of the environment.
pub(crate) struct VariableKeeper<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl SecretKeeper for VariableKeeper<'_> {
    fn read_value(&self, _: &CredentialName) -> Result<SecretString, CredentialFailure> {
        read_variable(self.name, self.variable)
    }

    fn write_value(&self, _: &CredentialName, _: &SecretString) -> Result<(), CredentialFailure> {
        Err(kept_elsewhere(&format!("the variable `{}`", self.name)))
    }

    fn remove_value(&self, _: &CredentialName) -> Result<(), CredentialFailure> {
        Ok(())
    }
}
