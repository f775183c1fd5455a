//! Claude Code: its hook format, its settings files and their validation, its transcript, and our registration in it.

pub mod edit;
pub mod find;
pub mod handlers;
pub mod listing;
pub mod registered;
pub mod restore_hooks;
pub mod settings;
pub mod shapes;
pub mod transcript;
pub mod validate;
pub mod version;
pub mod wire;

use crate::{Agent, HookOutput, Invocation, ShownCall, WireError};
use portcullis_core::event::{Event, Reply};
use portcullis_store::Home;
use std::path::Path;

/// Claude Code.
#[derive(Clone, Copy, Debug)]
pub struct Claude;

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn max_input(&self) -> usize {
        wire::MAX_INPUT
    }

    fn parse(&self, input: &[u8]) -> Result<Event, WireError> {
        wire::parse(input)
    }

    fn render(&self, event: &str, reply: &Reply) -> HookOutput {
        wire::render(event, reply)
    }

    fn shown_calls(&self, input: &[u8], since: u64) -> Vec<ShownCall> {
        let path = transcript::path_in(input);
        path.and_then(|path| transcript::calls(&path, since).ok()).unwrap_or_default()
    }

    fn restore_hooks(
        &self,
        home: &Home,
        file: &Path,
        invocation: &Invocation,
    ) -> anyhow::Result<Option<String>> {
        restore_hooks::restore_hooks(home, file, invocation)
    }
}
