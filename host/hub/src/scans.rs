//! Looks at many records, which pages ask for: each holds a connection that machines need, too.

use crate::failure::Failure;
use portcullis_fleet::protocol::RefusalKind;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The most looks at once, of all people on this replica.
const MOST: usize = 2;
/// The time for which one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

static TURNS: Semaphore = Semaphore::const_new(MOST);

/// Waits for a turn, which lasts until the result is dropped.
///
/// # Errors
/// Fails if others have not ended after some seconds.
pub async fn await_turn() -> Result<SemaphorePermit<'static>, Failure> {
    let busy = || {
        let reason = "others look at many records: try again in some seconds";
        Failure::refuse(RefusalKind::Busy, reason)
    };
    let turn = tokio::time::timeout(PATIENCE, TURNS.acquire()).await.map_err(|_| busy())?;
    turn.map_err(Failure::internal)
}
