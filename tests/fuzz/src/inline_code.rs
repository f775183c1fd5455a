//! Fuzzes the reader of Python and JavaScript: no panic, no exhausted stack, bounded work.

use portcullis_inline_code::{Language, read_code};

/// The seeds of inputs.
pub(crate) const SEEDS: &[&[u8]] = &[
    include_bytes!("../seeds/inline-code/names.py"),
    include_bytes!("../seeds/inline-code/flow.py"),
    include_bytes!("../seeds/inline-code/names.ts"),
    include_bytes!("../seeds/inline-code/flow.ts"),
];

/// The steps that any text may take.
const STEPS: usize = 400_000;

/// The stack of a guest, in bytes.
const STACK: usize = 1024 * 1024;

/// Checks the requirements for every text, in both languages, on a stack of a guest's size.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || check_text(&text))
            .map_err(|error| format!("no thread: {error}"))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn check_text(text: &str) -> Result<(), String> {
    for language in [Language::Python, Language::JavaScript] {
        let code = read_code(text, language, None);
        if code.steps > STEPS {
            return Err(format!("{language:?}: {} steps, {STEPS} are allowed", code.steps));
        }
        if code.calls.len() > 2048 {
            return Err(format!("{language:?}: {} calls are listed", code.calls.len()));
        }
        if !code.parsed && code.gaps.is_empty() {
            return Err(format!("{language:?}: a text that was not parsed has no gap"));
        }
    }
    Ok(())
}
