//! Guests that are easier to create by code than as text.

use crate::binary::{
    CORE_INSTANCES, CORE_MODULE, HEAD_OF_COMPONENT, HEAD_OF_MODULE, number, section,
};
use crate::guest::{component, from_text};
use crate::review::BENIGN;
use anyhow::Result;

/// Returns a guest without findings whose descriptor contains nested lists.
pub fn deep_descriptor() -> Result<Vec<u8>> {
    let deep = "[".repeat(10_000);
    component(&format!(
        ";; world: assessor\n(@custom \"portcullis-descriptor\" \"{{\\\"settings\\\":{deep}\")"
    ))
}

/// Returns more instances than a component may have.
pub fn thousand_instances() -> Result<Vec<u8>> {
    instances(1_000)
}

/// Returns as many instances as a component may have, and more than ours may.
pub fn five_hundred_instances() -> Result<Vec<u8>> {
    instances(500)
}

/// Returns a valid component with this many additional instances of an empty module.
fn instances(count: usize) -> Result<Vec<u8>> {
    let whole = from_text(BENIGN)?;
    let added = u8::try_from(core_modules(&whole))?;
    let instances = [number(count), [0, added, 0].repeat(count)].concat();
    Ok([whole, section(CORE_MODULE, HEAD_OF_MODULE), section(CORE_INSTANCES, &instances)].concat())
}

/// Returns an import whose name would clear a terminal and reverse its text.
pub fn names_with_escapes() -> Result<Vec<u8>> {
    Ok(wat::parse_str(format!(
        r#"(component (import "a:\1b[2Jb\e2\80\ae/c" (instance)) {EXPORT})"#
    ))?)
}

/// Returns more imports than a component may have.
pub fn ten_thousand_imports() -> Result<Vec<u8>> {
    let imports: String =
        (0..10_000).map(|at| format!(r#"(import "a:b/c{at}" (instance))"#)).collect();
    Ok(wat::parse_str(format!("(component {imports} {EXPORT})"))?)
}

const EXPORT: &str = r#"(instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i))"#;

/// Returns text that a person might write.
pub fn text() -> Result<Vec<u8>> {
    Ok(b"(component)".to_vec())
}

/// Returns a compiler's output before it is made a component.
pub fn core_module() -> Result<Vec<u8>> {
    Ok(HEAD_OF_MODULE.to_vec())
}

/// Returns the first bytes of compiled code, which would run without a sandbox.
pub fn native_code() -> Result<Vec<u8>> {
    Ok([b"\x7fELF\x02\x01\x01\x00".as_slice(), &[0; 4096]].concat())
}

/// Returns a valid component, truncated at different lengths.
pub fn cut() -> Result<Vec<Vec<u8>>> {
    let whole = from_text(BENIGN)?;
    Ok(sampled(whole.len(), 40)
        .map(|length| whole.get(..length).unwrap_or_default().to_vec())
        .collect())
}

/// Returns a valid component, each time with a different bit flipped.
pub fn flipped() -> Result<Vec<Vec<u8>>> {
    let whole = from_text(BENIGN)?;
    let flip = |at: usize| {
        let mut bytes = whole.clone();
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << (at % 8);
        }
        bytes
    };
    Ok(sampled(whole.len(), 60).map(flip).collect())
}

fn sampled(length: usize, places: usize) -> impl Iterator<Item = usize> {
    (0..places).map(move |place| place * length / places)
}

/// Returns the number of core modules in a component: the index of the next one.
fn core_modules(whole: &[u8]) -> usize {
    let (mut at, mut count) = (HEAD_OF_COMPONENT.len(), 0);
    while let Some(kind) = whole.get(at) {
        count += usize::from(*kind == CORE_MODULE);
        at += 1;
        let (mut length, mut shift) = (0, 0);
        while let Some(byte) = whole.get(at) {
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        at += length;
    }
    count
}
