//! Helpers for the binary format, for guests that are made by hand.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

/// The first bytes of a core module.
pub const HEAD_OF_MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// The first bytes of a component.
pub const HEAD_OF_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The ids of a component's sections.
pub const CORE_MODULE: u8 = 1;
pub const CORE_INSTANCES: u8 = 2;
pub const COMPONENT: u8 = 4;

/// Returns a section with its length prefix.
pub fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], number(content.len()).as_slice(), content].concat()
}

/// Encodes a number in groups of seven bits, lowest first (LEB128).
pub fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
