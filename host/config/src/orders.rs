//! The orders of the machine's fleet, as the parts of the host read them.
//!
//! Configuration, trust policy and lock of orders count beside the machine's own. The first is a
//! layer ([`crate::settle_layers`]); the others are read where those of the machine are.

use crate::reading::parse_orders;
use portcullis_core::text::one_line;
use portcullis_fleet::orders::Orders;
use portcullis_fleet::{FleetFiles, OrdersFileError};
use portcullis_store::Home;
use std::path::{Path, PathBuf};

/// Checks the configuration of orders, which this version of Portcullis has to understand.
///
/// # Errors
/// Fails with the first problem, in one line.
pub fn check_configuration(orders: &Orders) -> Result<(), String> {
    parse_orders(&orders.configuration, Path::new("configuration")).map(drop).map_err(|problems| {
        let lines = problems.lines();
        one_line(lines.first().map_or("", String::as_str), 400)
    })
}

/// Returns the newest orders that a machine has taken, with the path of their file. Trust policy and
/// lock of them count until newer ones come, expired or not: time alone revives nothing that was
/// revoked.
///
/// # Errors
/// Fails if they were changed or removed.
pub fn read_newest(home: &Home, now: u64) -> Result<Option<(Orders, PathBuf)>, OrdersFileError> {
    let files = FleetFiles::of_home(home);
    let held = files.read_orders(now)?;
    Ok(held.map(|held| (held.orders, files.orders().path().to_owned())))
}
