//! The health of the service, for monitoring.
//!
//! Anybody who reaches the port may ask, so an answer names nothing, and is kept for a moment.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The time for which an answer counts: a look costs about as much as the begin of a review.
const PERIOD: Duration = Duration::from_secs(1);

/// The health of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceHealth {
    /// The reason why it cannot review, without any name; `None` if it can.
    pub obstacle: Option<&'static str>,
    /// The number of changes of plugins that are held back.
    pub held_back: usize,
}

/// The look at the service that serves the page.
#[derive(Default)]
pub(crate) struct HealthWatch {
    look: OnceLock<Look>,
    last: Mutex<Option<(Instant, ServiceHealth)>>,
}

type Look = Arc<dyn Fn() -> ServiceHealth + Send + Sync>;

impl HealthWatch {
    /// Sets how to look, once.
    pub(crate) fn set_look(&self, look: impl Fn() -> ServiceHealth + Send + Sync + 'static) {
        let _earlier = self.look.set(Arc::new(look));
    }

    /// Looks at the service, unless somebody has just done so. Others wait for the answer.
    pub(crate) async fn look_at_service(&self) -> ServiceHealth {
        let unable = |obstacle| ServiceHealth { obstacle: Some(obstacle), held_back: 0 };
        let mut last = self.last.lock().await;
        if let Some((at, health)) = *last
            && at.elapsed() < PERIOD
        {
            return health;
        }
        let health = match self.look.get().map(Arc::clone) {
            Some(look) => tokio::task::spawn_blocking(move || look())
                .await
                .unwrap_or_else(|_| unable("a defect ended the look at it")),
            None => unable("it has not started yet"),
        };
        *last = Some((Instant::now(), health));
        health
    }
}
