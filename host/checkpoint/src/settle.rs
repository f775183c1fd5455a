//! After the action: attributes the differences to it.

use crate::content_writer::ContentWriter;
use crate::error::CheckpointError;
use crate::id::Id;
use crate::manifest::{BeforeState, Manifest, Settling};
use crate::report::{LeftOuts, SettledChanges};
use crate::vault::Vault;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, CheckpointError>;

impl Vault {
    /// Scans again after the action and records the differences. `at` is the time, in milliseconds
    /// since
    /// 1970. For a checkpoint that was settled already, the recorded result is returned again.
    ///
    /// # Errors
    /// Fails if the checkpoint does not exist or is damaged, a root is no longer a folder, or the
    /// system refuses. Then the checkpoint is unchanged.
    pub fn settle_checkpoint(&self, id: &Id, at: u64, budget: Duration) -> Result<SettledChanges> {
        let _lock = self.lock_shared()?;
        self.settle_shared(id, at, Some(budget))
    }

    pub(crate) fn settle_shared(
        &self,
        id: &Id,
        at: u64,
        budget: Option<Duration>,
    ) -> Result<SettledChanges> {
        let start = Instant::now();
        let mut manifest = self.manifest(id)?;
        // With the key of the day of the take: all of a checkpoint becomes unreadable together.
        let (room, taken_at) = (self.bounds.max_bytes, manifest.at);
        let mut keeper = ContentWriter::new(&self.dir, &manifest.policy, room, taken_at)?;
        if manifest.settled.is_none() {
            let settled = self.write_down(&mut manifest, at, (budget, start), &mut keeper);
            if settled.is_err() {
                keeper.discard();
            }
            settled?;
        }
        let left_out =
            manifest.settled.as_ref().map(|settling| settling.left_out.clone()).unwrap_or_default();
        Ok(SettledChanges {
            changes: manifest.changes(),
            complete: left_out.by_choice(),
            left_out,
            bytes_read: keeper.bytes_read,
            bytes_stored: keeper.bytes_stored,
            elapsed: start.elapsed(),
        })
    }

    fn write_down(
        &self,
        manifest: &mut Manifest,
        at: u64,
        time: (Option<Duration>, Instant),
        keeper: &mut ContentWriter<'_>,
    ) -> Result<()> {
        let mut left_out = LeftOuts::default();
        let mut areas = std::mem::take(&mut manifest.areas);
        let mut news = Vec::new();
        for area in &mut areas {
            let before = self.before(&area.before)?;
            let seen = self.look(
                (&area.root, &area.scopes),
                manifest,
                (&before, true),
                time,
                keeper,
                &mut left_out,
            )?;
            area.changes = before.changes(&seen.snapshot);
            area.before = BeforeState::Settled;
            news.extend((manifest.tree && seen.news).then(|| (area.root.clone(), seen.snapshot)));
        }
        keeper.finish()?;
        manifest.areas = areas;
        manifest.settled = Some(Settling { at, left_out });
        for (root, snapshot) in news {
            self.remember(&root, &snapshot, at, keeper.names())?;
        }
        self.dir.write(&self.manifest_path(&manifest.id), manifest, true, manifest.at).map(|_| ())
    }
}
