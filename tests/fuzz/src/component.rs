//! Fuzzes the inspection of an untrusted component before it is compiled by a separate process:
//! kind, imports, descriptor. All of it is shown to people, so none of it may contain control
//! sequences.

use portcullis_engine::{Grants, Inspection, Tier, inspect_component};

/// Returns the seeds: the smallest builtin components. The others hold nothing else, and take longer
/// to read.
pub(crate) fn seeds() -> Vec<&'static [u8]> {
    let mut components: Vec<&'static [u8]> =
        portcullis_builtin::COMPONENTS.iter().map(|component| component.bytes()).collect();
    components.sort_by_key(|bytes| bytes.len());
    components.truncate(SEEDS);
    components
}

/// The number of seeds.
const SEEDS: usize = 2;
/// The longest text that is shown, in bytes.
const SHOWN: usize = 4096;

/// Checks the requirements for every file.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    match inspect_component(bytes) {
        Err(error) => one_line("the error", &error.to_string()),
        Ok(found) => holds(&found, bytes.len()),
    }
}

fn holds(found: &Inspection, length: usize) -> Result<(), String> {
    if u64::try_from(length) != Ok(found.size) {
        return Err(format!("{length} bytes are told as {}", found.size));
    }
    if let Some(descriptor) = &found.descriptor {
        let texts = [
            ("name", &descriptor.name),
            ("version", &descriptor.version),
            ("kind", &descriptor.kind),
        ];
        texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .try_for_each(|(what, text)| one_line(what, text))?;
    }
    let refused =
        found.imports.iter().any(|import| matches!(import.tier, Tier::Hosts | Tier::Refused));
    match found.check_grants(&Grants::default()) {
        Ok(()) if refused => Err("an import is refused, yet all of them are granted".to_owned()),
        Err(error) => one_line("the refusal", &error.to_string()),
        Ok(()) => Ok(()),
    }
}

fn one_line(what: &str, text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > SHOWN || text.chars().any(char::is_control) {
        return Err(format!("{what} is not a line of at most {SHOWN} bytes: {text:?}"));
    }
    Ok(())
}
