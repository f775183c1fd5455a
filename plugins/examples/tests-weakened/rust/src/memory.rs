//! The newest test run that failed: the plugin's own state.

/// The most bytes of its output that are kept.
const MOST_SHOWN: usize = 2048;

/// A test run that failed.
pub struct Memory<'a> {
    /// Its step.
    pub step: u64,
    /// Its output.
    pub shown: &'a [u8],
}

impl<'a> Memory<'a> {
    /// Decodes the state.
    pub fn read(state: &'a [u8]) -> Option<Self> {
        let rest = state.strip_prefix(b"1 ")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let step = std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
        Some(Self { step, shown: rest.get(end + 1..)? })
    }
}

/// Encodes the state.
pub fn state(step: u64, error: &str, output: &str) -> Vec<u8> {
    let shown = [error, "\n", output].concat().into_bytes();
    let head = format!("1 {step}\n").into_bytes();
    head.into_iter().chain(shown.into_iter().take(MOST_SHOWN)).collect()
}
