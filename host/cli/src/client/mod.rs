//! The agents' clients: their settings files, what they make of them, how we are registered there.
//!
//! Knows files and programs of others. It decides nothing about actions, and says nothing to people: that
//! is for the commands.

pub mod backup;
pub mod claude;
pub mod file;
pub mod json;
pub mod run;
