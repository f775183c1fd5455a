//! Puts our hooks back after a change of the settings that was refused.

use super::HookCaller;
use crate::stored_records::write_record;
use portcullis_agents::Invocation;
use portcullis_config::paths::own_program;
use portcullis_core::event::Event;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_store::{Durability, Home};
use std::path::Path;

/// Restores our hooks in a settings file after a refused change. The running session keeps its
/// hooks, but the next one would start without them.
pub(super) fn restore_hooks(
    caller: &HookCaller,
    home: &Home,
    file: &Path,
    event: &Event,
    now: u64,
    durability: Durability,
) -> Option<String> {
    let agent = caller.agent;
    let program = own_program().ok()?;
    let wanted = Invocation { agent: agent.name(), program, pinned: caller.pins.folders() };
    let restored = agent.restore_hooks(home, file, &wanted);
    let shown = one_line(&file.display().to_string(), 240);
    let message = match restored {
        Ok(None) => return None,
        Ok(Some(change)) => format!(
            "Portcullis put its hooks back into `{shown}`, since {change}; to remove Portcullis, \
             run `portcullis uninstall {}`.",
            agent.name()
        ),
        Err(error) => format!(
            "The next session may run without Portcullis: {}. Fix it and run `portcullis install {}`.",
            one_line(&format!("{error:#}"), 512),
            agent.name()
        ),
    };
    let mut record = Record::outside_session(
        RecordKind::Configuration,
        "put-back",
        &message,
        now,
        &event.session,
    );
    record.session.clone_from(&event.session);
    // The person gets the message even if it cannot be recorded.
    let _written = write_record(home, durability, &record);
    Some(message)
}
