//! The newest test run that failed: the plugin's own state.

/// How much is kept of what it showed.
const MOST_SHOWN: usize = 2048;

/// A test run that failed.
pub struct Memory<'a> {
    /// Its step.
    pub step: u64,
    /// What it showed.
    pub shown: &'a [u8],
}

impl<'a> Memory<'a> {
    /// What the state tells of it.
    pub fn read(state: &'a [u8]) -> Option<Self> {
        let rest = state.strip_prefix(b"1 ")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let step = std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
        Some(Self { step, shown: rest.get(end + 1..)? })
    }
}

/// The state that tells of it.
pub fn state(step: u64, error: &str, output: &str) -> Vec<u8> {
    let shown = [error, "\n", output].concat().into_bytes();
    let head = format!("1 {step}\n").into_bytes();
    head.into_iter().chain(shown.into_iter().take(MOST_SHOWN)).collect()
}
