//! The machines that a replica has heard of, and what they said of their orders, noted in the database
//! once a second: with one statement for all of them, not with one for each request.

use crate::database::Database;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time between two notes.
const PERIOD: Duration = Duration::from_secs(1);

/// The machines of whom a request came since the last note, and what they said of their orders.
#[derive(Debug, Default)]
pub struct SeenMachines(Mutex<BTreeMap<String, Option<SaidOrders>>>);

/// The newest orders that a machine has, and why it refuses newer ones.
#[derive(Debug)]
struct SaidOrders {
    seen: i64,
    refused: Option<String>,
}

impl SeenMachines {
    /// Adds a machine.
    pub fn add_machine(&self, machine: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains_key(machine) {
            seen.insert(machine.to_owned(), None);
        }
    }

    /// Adds what a machine says of its orders.
    pub fn add_orders(&self, machine: &str, seen: i64, refused: Option<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(machine.to_owned(), Some(SaidOrders { seen, refused }));
    }

    /// Notes all machines of the time since the last note. What is lost with a replica, each machine
    /// says again with its next request.
    pub async fn note_all(&self, database: &Database) -> Result<(), Failure> {
        let seen = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if seen.is_empty() {
            return Ok(());
        }
        let machines: Vec<&str> = seen.keys().map(String::as_str).collect();
        let said = |machine: &Option<SaidOrders>| machine.as_ref().map(|said| said.seen);
        let versions: Vec<Option<i64>> = seen.values().map(said).collect();
        let why = |machine: &Option<SaidOrders>| machine.as_ref()?.refused.clone();
        let refused: Vec<Option<String>> = seen.values().map(why).collect();
        let client = database.connect().await?;
        // A machine whose row somebody is changing is passed over: nobody waits for a note. An older
        // note of another replica changes nothing that is newer.
        let statement = client
            .prepare_cached(
                "UPDATE machines m SET seen_at = now(), \
                 orders_seen = CASE WHEN says THEN said_seen ELSE orders_seen END, \
                 orders_refused = CASE WHEN says THEN said_refused ELSE orders_refused END \
                 FROM (SELECT m.machine, said_seen, said_refused, \
                   coalesce(said_seen >= coalesce(orders_seen, 0), false) AS says \
                   FROM unnest($1::text[], $2::bigint[], $3::text[]) \
                   AS said (machine, said_seen, said_refused) JOIN machines m USING (machine) \
                   ORDER BY m.machine FOR NO KEY UPDATE OF m SKIP LOCKED) known \
                 WHERE m.machine = known.machine",
            )
            .await?;
        client.execute(&statement, &[&machines, &versions, &refused]).await?;
        Ok(())
    }
}

/// Notes machines again and again, until the process ends.
pub async fn keep_seen(seen: Arc<SeenMachines>, database: Database) {
    loop {
        tokio::time::sleep(PERIOD).await;
        if let Err(failure) = seen.note_all(&database).await {
            failure.report();
        }
    }
}
