//! Pages of the book that a test writes from its data.

use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::Path;

/// The variable that makes a test write its page instead of comparing it.
const BLESS: &str = "PORTCULLIS_BLESS";

/// Checks that a page of `host/docs` has exactly this text, or writes it. `source` names the data
/// that it is written from.
///
/// # Errors
/// Fails if the page has another text, or cannot be read or written.
pub fn check_page(name: &str, source: &str, text: &str) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs").join(name);
    if env::var_os(BLESS).is_some_and(|value| value == "1") {
        return fs::write(&file, text)
            .with_context(|| format!("cannot write `{}`", file.display()));
    }
    let found =
        fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    ensure!(
        found == text,
        "`{}` is not what {source} says: run this test with {BLESS}=1",
        file.display()
    );
    Ok(())
}
