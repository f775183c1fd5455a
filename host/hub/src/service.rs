//! The means with which a replica answers a request. All of it comes from the hub's folder;
//! everything that changes is in the database.

use crate::authority::Authority;
use crate::database::Database;
use crate::folder::{HubFolder, QuestionWebhook};
use crate::news::OrdersNews;
use crate::orders_cache::OrdersCache;
use crate::seen::SeenMachines;
use anyhow::Result;
use portcullis_bundle::SecretKey;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::broadcast::Sender;

/// One replica of a hub.
pub struct Hub {
    /// The database.
    pub database: Database,
    /// The authority for machines.
    pub authority: Arc<Authority>,
    /// The life of a machine's certificate, in days.
    pub certificate_days: u32,
    /// The key that signs receipts.
    pub receipt_key: SecretKey,
    /// The address by which machines and approvers reach the hub.
    pub url: String,
    /// The hub's folder, whose store has the tokens of webhooks.
    pub folder: PathBuf,
    /// Webhooks that are told of questions.
    pub webhooks: Vec<QuestionWebhook>,
    /// The machines of whom a request came lately.
    pub seen: Arc<SeenMachines>,
    /// The orders that were read lately.
    pub orders: OrdersCache,
    /// The most connections of machines; three quarters of them may hold a request.
    pub machine_connections: usize,
    /// The address by which people reach the pages, if there are any.
    pub page: Option<String>,
    /// Wakes the requests for orders that this replica holds.
    pub news: Sender<OrdersNews>,
}

/// The news that a held request may miss before it has to look for itself.
const MOST_NEWS: usize = 64;

impl Hub {
    /// Prepares a replica; nothing is connected yet.
    pub fn of_folder(folder: HubFolder) -> Result<Self> {
        Ok(Self {
            database: Database::configure(&folder.config)?,
            authority: Arc::new(folder.authority),
            certificate_days: folder.config.certificate_days,
            receipt_key: folder.receipt_key,
            page: folder.config.page_address()?.map(|page| page.door.origin),
            url: folder.config.url,
            folder: folder.config.folder,
            webhooks: folder.config.webhooks,
            seen: Arc::default(),
            orders: OrdersCache::default(),
            machine_connections: folder.config.machine_connections,
            news: Sender::new(MOST_NEWS),
        })
    }
}
