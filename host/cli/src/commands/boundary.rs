//! Commands of a person on a machine with a boundary.

use crate::error::{Error, Result};
use anyhow::anyhow;
use portcullis_config::boundary::{Boundary, ServiceFault, config_of, state_of};
use rustix::process::getuid;

/// Refuses a command that would open the records of this user's agents, since the service keeps
/// them: an agent runs as this user too.
pub fn refuse_beyond_boundary() -> Result<()> {
    let boundary = Boundary::read_machine().map_err(|problems| anyhow!("{problems}"))?;
    let blocks = |found: &Boundary| found.on_service_fault == ServiceFault::Block;
    let Some(Boundary { user_name, .. }) = boundary.filter(blocks) else { return Ok(()) };
    let user = getuid().as_raw();
    let (state, config) = (state_of(user), config_of(user));
    Err(Error::refused(format!(
        "the records of this machine's agents belong to `{user_name}`, behind the boundary"
    ))
    .with_hint(format!(
        "an administrator runs the command there, with the folders of this user: `runuser -u \
         {user_name} -- portcullis audit show --state {} --config {}`",
        state.display(),
        config.display()
    )))
}
