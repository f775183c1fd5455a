//! Orders as the database holds them, and the part of a group's machines that gets them.

use portcullis_fleet::orders::SignedOrders;
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

/// Returns a machine's place in every rollout, from 0 to 99: those with a place below the share get
/// a version. It is the same for each version, so a greater share keeps the machines of a smaller.
pub fn place_of(machine: &str) -> i16 {
    i16::try_from(spread_of(machine)).unwrap_or(0)
}

/// Returns a number from 0 to 99 that is always the same for a machine.
pub fn spread_of(machine: &str) -> u32 {
    let digest = Sha256::digest(machine.as_bytes());
    digest.iter().take(4).fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte)) % 100
}

/// Returns the orders of a row that begins with document and signature.
pub fn signed_of(row: &Row) -> SignedOrders {
    SignedOrders { orders: row.get(0), signature: row.get(1) }
}

/// Converts a number that the document's form has found to fit.
pub fn signed_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_spread_over_all_places() {
        let mut places = [0_u32; 100];
        for number in 0..10_000 {
            let place = usize::try_from(place_of(&format!("m-{number}"))).unwrap();
            places[place] += 1;
        }
        assert!(places.iter().all(|count| (50..200).contains(count)), "{places:?}");
        assert_eq!(place_of("m-1"), place_of("m-1"));
    }
}
