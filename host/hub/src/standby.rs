//! A standby of the database (PostgreSQL's streaming replication) from which the pages read.
//!
//! It is used only while it is known to be near: the hub writes the database's own time into a row,
//! again and again, and reads how old the row is on the standby. A standby that stands still says so
//! by that row, whatever it says of itself. What a person has just done, and everything that decides
//! something, is read from the database itself.

use deadpool_postgres::{Object, Pool, PoolError};
use portcullis_core::text::{count_noun, one_line};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two looks at the standby.
pub const LOOK: Duration = Duration::from_secs(1);
/// The time for one look.
const PATIENCE: Duration = Duration::from_secs(5);

/// The standby.
pub struct Standby {
    pool: Pool,
    /// The most seconds that it may be behind.
    most_lag: u32,
    is_near: AtomicBool,
    /// The state that the log knows.
    reported: Mutex<Option<String>>,
}

impl Standby {
    /// Prepares connections to a standby, which is not used before the first look.
    pub fn new(pool: Pool, most_lag: u32) -> Self {
        Self { pool, most_lag, is_near: AtomicBool::new(false), reported: Mutex::new(None) }
    }

    /// Returns a connection, if the standby is near and answers.
    pub async fn connect(&self) -> Option<Object> {
        if !self.is_near.load(Ordering::Acquire) {
            return None;
        }
        let client = self.pool.get().await.ok();
        if client.is_none() {
            // The next look says why.
            self.is_near.store(false, Ordering::Release);
        }
        client
    }

    /// Finds out how far the standby is behind the database; returns a line for the log if that
    /// changes where the pages read.
    pub async fn look(&self, database: Result<Object, PoolError>) -> Option<String> {
        let looked = tokio::time::timeout(PATIENCE, self.measure_lag(database)).await;
        let found = looked.unwrap_or_else(|_| Err("it does not answer in time".to_owned()));
        let state = match found {
            Ok(lag) if lag <= u64::from(self.most_lag) => None,
            Ok(lag) => Some(format!("it is more than {} behind", count_noun(lag, "second"))),
            Err(reason) => Some(reason),
        };
        self.is_near.store(state.is_none(), Ordering::Release);
        let line = match &state {
            None => "the pages read from the standby".to_owned(),
            Some(reason) => format!("the pages do not read from the standby: {reason}"),
        };
        // A growing lag is one state.
        let state = state.map(|state| state.split(" than ").next().unwrap_or_default().to_owned());
        let state = state.unwrap_or_default();
        let mut reported = self.reported.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_news = reported.as_ref() != Some(&state);
        *reported = Some(state);
        is_news.then(|| one_line(&line, 1000))
    }

    /// Returns the whole seconds by which the standby is behind.
    async fn measure_lag(&self, database: Result<Object, PoolError>) -> Result<u64, String> {
        let of_database = |error: &dyn std::fmt::Display| format!("the database: {error}");
        let beat = "UPDATE pulse SET at = now() \
                    RETURNING (extract(epoch FROM now()) * 1000)::bigint";
        let database = database.map_err(|error| of_database(&error))?;
        let row = database.query_one(beat, &[]).await.map_err(|error| of_database(&error))?;
        let now: i64 = row.get(0);
        let client = self.pool.get().await.map_err(|error| error.to_string())?;
        let select =
            "SELECT pg_is_in_recovery(), (extract(epoch FROM at) * 1000)::bigint FROM pulse";
        let row = client.query_one(select, &[]).await.map_err(|error| error.to_string())?;
        if !row.get::<_, bool>(0) {
            return Err("it is no standby, but takes writes itself".to_owned());
        }
        let behind = now.saturating_sub(row.get(1)).max(0);
        Ok(u64::try_from(behind).unwrap_or(0) / 1000)
    }
}
