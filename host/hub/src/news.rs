//! The news of orders, for the requests that a replica holds.

use tokio::sync::broadcast::{Receiver, error::RecvError};

/// The channel of the database's notifications; each one carries a group.
pub const CHANNEL: &str = "portcullis_orders";

/// A reason for held requests to look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrdersNews {
    /// Something changed for a group.
    Group(String),
    /// Something may have changed.
    Any,
    /// The replica ends.
    End,
}

/// Completes with true when something may have changed for the group, and with false when the
/// replica ends.
pub async fn await_news(news: &mut Receiver<OrdersNews>, group: &str) -> bool {
    loop {
        match news.recv().await {
            Ok(OrdersNews::Group(other)) if other != group => {}
            Ok(OrdersNews::Group(_) | OrdersNews::Any) | Err(RecvError::Lagged(_)) => return true,
            Ok(OrdersNews::End) | Err(RecvError::Closed) => return false,
        }
    }
}
