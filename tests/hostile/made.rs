//! Guests that no text would show better.

use crate::guest::{component, from_text};
use crate::trial::BENIGN;
use anyhow::Result;

/// Says nothing, and says so in a descriptor that nests lists.
pub fn deep_descriptor() -> Result<Vec<u8>> {
    let deep = "[".repeat(10_000);
    component(&format!(";; world: assessor\n(@custom \"portcullis-descriptor\" \"{{\\\"settings\\\":{deep}\")"))
}

/// More than a component may have.
pub fn thousand_instances() -> Result<Vec<u8>> {
    instances(1_000)
}

/// As many as a component may have, and more than ours may.
pub fn five_hundred_instances() -> Result<Vec<u8>> {
    instances(500)
}

/// A good component that makes so many instances of an empty module beside its own.
fn instances(count: usize) -> Result<Vec<u8>> {
    let whole = from_text(BENIGN)?;
    let added = u8::try_from(core_modules(&whole))?;
    let instances = [number(count), [0, added, 0].repeat(count)].concat();
    Ok([whole, section(CORE_MODULE, HEAD_OF_MODULE), section(CORE_INSTANCES, &instances)].concat())
}

/// What a person might write.
pub fn text() -> Result<Vec<u8>> {
    Ok(b"(component)".to_vec())
}

/// What a compiler writes without the tool that makes a component of it.
pub fn core_module() -> Result<Vec<u8>> {
    Ok(HEAD_OF_MODULE.to_vec())
}

/// What compiled code begins with: it would run without a sandbox.
pub fn native_code() -> Result<Vec<u8>> {
    Ok([b"\x7fELF\x02\x01\x01\x00".as_slice(), &[0; 4096]].concat())
}

/// A good component, each time with less of its end.
pub fn cut() -> Result<Vec<Vec<u8>>> {
    let whole = from_text(BENIGN)?;
    Ok(sampled(whole.len(), 40).map(|length| whole.get(..length).unwrap_or_default().to_vec()).collect())
}

/// A good component, each time with another bit of it changed.
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

const HEAD_OF_MODULE: &[u8] = b"\0asm\x01\0\0\0";
const HEAD_OF_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const CORE_MODULE: u8 = 1;
const CORE_INSTANCES: u8 = 2;

fn section(kind: u8, content: &[u8]) -> Vec<u8> {
    [vec![kind], number(content.len()), content.to_vec()].concat()
}

/// In the variable length of the binary format.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// How many core modules a component holds: the index of the next one.
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
