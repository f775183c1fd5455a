//! The binary format, as far as guests are made by hand in it.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

/// What a core module begins with.
pub const HEAD_OF_MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// What a component begins with.
pub const HEAD_OF_COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The sections of a component that hold such things.
pub const CORE_MODULE: u8 = 1;
pub const CORE_INSTANCES: u8 = 2;
pub const COMPONENT: u8 = 4;

/// A section, its length before it.
pub fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], number(content.len()).as_slice(), content].concat()
}

/// In groups of seven bits, the lowest first.
pub fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
