//! A pattern's own state: one byte that names the layout, then the pattern's data.

use portcullis_plugin::codec::Reader;
use portcullis_plugin::types::Error;

/// Decodes a state that begins with `layout`. The first one is empty, and another layout's is
/// dropped: at worst the same thing is reported once more.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub fn read<T: Default>(
    state: &[u8],
    layout: u8,
    body: impl FnOnce(&mut Reader<'_>) -> Option<T>,
) -> Result<T, Error> {
    let mut input = Reader::new(state);
    match input.byte() {
        Some(first) if first == layout => body(&mut input)
            .filter(|_| input.is_empty())
            .ok_or_else(|| Error::input("`state` is damaged: start a new session")),
        None | Some(_) => Ok(T::default()),
    }
}

/// Reads a number that was written as eight bytes.
pub fn long(input: &mut Reader<'_>) -> Option<u64> {
    input.eight().map(u64::from_le_bytes)
}

/// Reads a list with at most `most` entries.
pub fn list<T>(
    input: &mut Reader<'_>,
    most: usize,
    mut entry: impl FnMut(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = input.number().filter(|count| *count <= most)?;
    (0..count).map(|_| entry(input)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_layout_is_read() {
        let cases: [(&[u8], Option<u64>); 6] = [
            (b"", Some(0)),
            (b"\x01\x07\x00\x00\x00\x00\x00\x00\x00", Some(7)),
            (b"\x02anything", Some(0)),
            (b"\x01", None),
            (b"\x01\x07\x00\x00\x00\x00\x00\x00", None),
            (b"\x01\x07\x00\x00\x00\x00\x00\x00\x00\x00", None),
        ];
        for (state, expected) in cases {
            assert_eq!(read(state, 1, long).ok(), expected, "{state:?}");
        }
    }

    #[test]
    fn a_list_is_bounded() {
        let cases: [(&[u8], Option<usize>); 4] = [
            (b"\x00\x00\x00\x00", Some(0)),
            (b"\x02\x00\x00\x00ab", Some(2)),
            (b"\x03\x00\x00\x00abc", None),
            (b"\xff\xff\xff\xff", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                list(&mut Reader::new(bytes), 2, |input| input.byte()).map(|list| list.len()),
                expected,
                "{bytes:?}"
            );
        }
    }
}
