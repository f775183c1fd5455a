//! Placeholder until the demo's session is written.
use anyhow::Result;
#[derive(clap::Args)]
pub struct Arguments {}
pub fn run(_: &Arguments) -> Result<u8> { Ok(0) }
