//! Encryption through its public interface, each test in a folder of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod keys;
mod locked;
mod masters;
mod parts;

use portcullis_encryption::{DataKeys, DataKind};
use std::path::Path;

/// 2026-11-18, in milliseconds since 1970.
const AT: u64 = 1_795_000_000_000;
const DAY: u64 = 24 * 60 * 60 * 1000;

/// The keys of a folder as another process sees them: nothing read yet.
fn keys(folder: &Path) -> DataKeys {
    DataKeys::new(folder.join("keys"), [7; 32])
}

fn encrypt(keys: &DataKeys, at: u64, text: &str) -> Vec<u8> {
    keys.encrypt(DataKind::Journal, at, &["records", "r1"], text.as_bytes()).unwrap().unwrap()
}

/// The text, or the beginning of the error.
fn decrypt(keys: &DataKeys, bytes: &[u8]) -> String {
    match keys.decrypt(DataKind::Journal, &["records", "r1"], bytes.to_vec()) {
        Ok(text) => String::from_utf8(text).unwrap(),
        Err(error) => format!("error: {error}"),
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder.join("keys"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "master" && name != "lock")
        .collect();
    names.sort();
    names
}
