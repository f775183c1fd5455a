//! Custom certificate authorities, for servers that no public one has signed for.

use crate::failure::DeliveryFailure;
use portcullis_fs::{FileAccess, read_named_file};
use std::path::Path;
use ureq::tls::{Certificate, PemItem, parse_pem};

/// The most bytes of a file of authorities.
const MOST_BYTES: usize = 1 << 20;

/// Reads the certificates of a PEM file, at least one.
///
/// # Errors
/// Fails if the file cannot be read, others can write it, or it holds no certificate.
pub fn read_authorities(path: &Path) -> Result<Vec<Certificate<'static>>, DeliveryFailure> {
    let pem = read_named_file(path, MOST_BYTES, FileAccess::OwnerWrites)?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&pem).filter_map(certificate).collect();
    if found.is_empty() {
        let what = format!("the file `{}` holds no certificate", path.display());
        return Err(DeliveryFailure::give_up(
            what,
            "put the authorities' certificates into it, as PEM",
        ));
    }
    Ok(found)
}
