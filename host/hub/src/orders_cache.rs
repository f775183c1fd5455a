//! The orders of groups as this replica has read them: of a thousand held requests that are woken by
//! the same news, one asks the database.
//!
//! Orders that were read count until the database sends news, and for a short time at most.
//! A request that was read before the news came is never kept.

use crate::database::Database;
use crate::failure::Failure;
use crate::stored_orders::signed_of;
use portcullis_fleet::orders::SignedOrders;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as BlockingMutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_postgres::Row;

/// The time after which orders are read again without any news.
const MOST_AGE: Duration = Duration::from_secs(2);

/// The groups that machines of this replica have asked for.
#[derive(Default)]
pub struct OrdersCache {
    groups: BlockingMutex<BTreeMap<String, Arc<Mutex<Option<Kept>>>>>,
    /// The number of news so far.
    news: AtomicU64,
}

struct Kept {
    orders: Arc<GroupOrders>,
    news: u64,
}

/// The orders that machines of a group may get.
pub struct GroupOrders {
    read_at: Instant,
    /// The newest first.
    published: Vec<OfferedOrders>,
    tried: Vec<OfferedOrders>,
}

/// Orders of one version.
struct OfferedOrders {
    version: i64,
    /// The part of the machines that gets them, in percent.
    share: i16,
    /// The time that they still had when they were read.
    life: Duration,
    signed: SignedOrders,
}

impl OrdersCache {
    /// Forgets what was read: something has changed.
    pub fn note_news(&self) {
        self.news.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the orders of a group.
    pub async fn find_orders(
        &self,
        database: &Database,
        group: &str,
    ) -> Result<Arc<GroupOrders>, Failure> {
        let place = {
            let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(groups.entry(group.to_owned()).or_default())
        };
        // Others of the group wait here for the one that reads.
        let mut kept = place.lock().await;
        let news = self.news.load(Ordering::Acquire);
        if let Some(kept) = &*kept
            && kept.news == news
            && kept.orders.read_at.elapsed() < MOST_AGE
        {
            return Ok(Arc::clone(&kept.orders));
        }
        let orders = Arc::new(GroupOrders::read(database, group).await?);
        *kept = Some(Kept { orders: Arc::clone(&orders), news });
        Ok(orders)
    }
}

impl GroupOrders {
    /// Reads the orders of a group from the database: the newest version for each machine, whatever
    /// it has seen. An older version counts only for machines that no newer one is for.
    pub async fn read(database: &Database, group: &str) -> Result<Self, Failure> {
        let client = database.connect().await?;
        let read_at = Instant::now();
        let published = client
            .prepare_cached(
                "SELECT document, signature, version, share, \
                 (extract(epoch FROM least(expires_at, now() + interval '1 day') - now()) * 1000)::bigint FROM (SELECT *, \
                   max(share) OVER (ORDER BY version DESC \
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newer \
                   FROM orders WHERE group_name = $1 AND share > 0 AND expires_at > now()) o \
                 WHERE share > coalesce(newer, 0) ORDER BY version DESC",
            )
            .await?;
        let published = client.query(&published, &[&group]).await?;
        let tried = client
            .prepare_cached(
                "SELECT document, signature, version, trial_share, \
                 (extract(epoch FROM least(expires_at, now() + interval '1 day') - now()) * 1000)::bigint \
                 FROM rollouts JOIN orders USING (group_name, version) WHERE group_name = $1 \
                 AND trial_share > 0 AND state IN ('running', 'paused') AND expires_at > now() \
                 ORDER BY version DESC",
            )
            .await?;
        let tried = client.query(&tried, &[&group]).await?;
        let offers = |rows: &[Row]| rows.iter().map(OfferedOrders::of_row).collect();
        Ok(Self { read_at, published: offers(&published), tried: offers(&tried) })
    }

    /// Returns the newest orders for a machine at a place of the rollout, if they are newer than
    /// those that it has seen.
    pub fn newest_for(&self, place: i16, seen: i64) -> Option<&SignedOrders> {
        let age = self.read_at.elapsed();
        find_offered(&self.published, age, place, seen).map(|offered| &offered.signed)
    }

    /// Returns the orders that such a machine should try.
    pub fn trial_for(&self, place: i16, seen: i64) -> Option<(i64, &SignedOrders)> {
        let offered = find_offered(&self.tried, self.read_at.elapsed(), place, seen)?;
        Some((offered.version, &offered.signed))
    }
}

/// Returns the first orders for a machine, of those that were read a time ago.
fn find_offered(
    offers: &[OfferedOrders],
    age: Duration,
    place: i16,
    seen: i64,
) -> Option<&OfferedOrders> {
    offers.iter().find(|one| one.version > seen && one.share > place && one.life > age)
}

impl OfferedOrders {
    fn of_row(row: &Row) -> Self {
        Self {
            version: row.get(2),
            share: row.get(3),
            life: Duration::from_millis(u64::try_from(row.get::<_, i64>(4)).unwrap_or(0)),
            signed: signed_of(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(version: i64, share: i16, life: u64) -> OfferedOrders {
        let signed = SignedOrders { orders: String::new(), signature: String::new() };
        OfferedOrders { version, share, life: Duration::from_secs(life), signed }
    }

    /// Rows: the seconds since the orders were read, the machine's place, the version that it has
    /// seen, and the one that it gets.
    #[test]
    fn a_machine_gets_the_newest_version_for_its_place() {
        let offers = [offer(9, 10, 60), offer(7, 50, 2), offer(4, 100, 60)];
        for (age, place, seen, version) in [
            (0, 0, 0, Some(9)),
            (0, 9, 8, Some(9)),
            (0, 10, 0, Some(7)),
            (0, 10, 7, None),
            (0, 49, 4, Some(7)),
            (0, 50, 0, Some(4)),
            (0, 99, 4, None),
            (0, 0, 9, None),
            (2, 10, 0, Some(4)),
            (2, 10, 4, None),
            (60, 0, 0, None),
        ] {
            let found = find_offered(&offers, Duration::from_secs(age), place, seen);
            assert_eq!(found.map(|one| one.version), version, "{age} {place} {seen}");
        }
    }
}
