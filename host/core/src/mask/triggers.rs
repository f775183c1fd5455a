//! Finds the places at which one of a few fixed texts ends in another text, ignoring ASCII case.
//!
//! An automaton finds them faster in long texts, but must be built first: each hook would pay for
//! that to read only some hundred bytes. This table is built at compile time.

use std::ops::Range;

/// Fixed texts, at most 64, none of them empty.
pub(super) struct Triggers<const N: usize> {
    texts: [&'static str; N],
    /// For each byte, the texts that end with it, by bit.
    last: [u64; 256],
    /// For each byte, the texts that have it before the last byte, and the texts of only one byte.
    before_last: [u64; 256],
}

impl<const N: usize> Triggers<N> {
    #[allow(
        clippy::indexing_slicing,
        clippy::panic,
        reason = "compile time; a table has an entry for each byte"
    )]
    pub(super) const fn new(texts: [&'static str; N]) -> Self {
        assert!(N <= 64, "one bit for each text");
        let (mut last, mut before_last) = ([0; 256], [0; 256]);
        let mut index = 0;
        while index < N {
            let bit = 1 << index;
            match texts[index].as_bytes() {
                [] => panic!("no text is empty"),
                [.., before, end] => {
                    add(&mut last, *end, bit);
                    add(&mut before_last, *before, bit);
                }
                [end] => {
                    add(&mut last, *end, bit);
                    let mut byte = 0;
                    while byte < 256 {
                        before_last[byte] |= bit;
                        byte += 1;
                    }
                }
            }
            index += 1;
        }
        Self { texts, last, before_last }
    }

    /// Returns every occurrence of a text with its index, ordered by its end.
    pub(super) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, Range<usize>)> {
        let bytes = text.as_bytes();
        let befores = std::iter::once(0).chain(bytes.iter().copied());
        let ends = bytes.iter().zip(befores).zip(1_usize..);
        let candidates = ends
            .map(|((byte, before), end)| (self.of(*byte, before), end))
            .filter(|(some, _)| *some != 0);
        candidates.flat_map(move |(some, end)| {
            let texts =
                (0..).zip(&self.texts).filter(move |(index, _)| some & (1_u64 << index) != 0);
            texts.filter_map(move |(index, trigger): (usize, &&str)| {
                let start = end.checked_sub(trigger.len())?;
                bytes
                    .get(start..end)?
                    .eq_ignore_ascii_case(trigger.as_bytes())
                    .then_some((index, start..end))
            })
        })
    }

    /// Returns the texts that may end with these two bytes.
    fn of(&self, last: u8, before: u8) -> u64 {
        let entry = |table: &[u64; 256], byte: u8| {
            table.get(usize::from(byte)).copied().unwrap_or_default()
        };
        entry(&self.last, last) & entry(&self.before_last, before)
    }
}

#[allow(clippy::indexing_slicing, reason = "compile time; a table has an entry for each byte")]
const fn add(table: &mut [u64; 256], byte: u8, bit: u64) {
    table[byte.to_ascii_lowercase() as usize] |= bit;
    if byte.is_ascii_alphabetic() {
        table[byte.to_ascii_uppercase() as usize] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    const SOME: &Triggers<8> =
        &Triggers::new(["@", "://", "sk-", "sk_live_", "ghp_", "live", "E", "-----BEGIN "]);

    proptest! {
        #[test]
        fn finds_what_an_automaton_finds(text in "([:/@eE_-]|sk|SK|LIVE|ghp|Ghp_|BEGIN|\u{e9}| ){0,40}") {
            let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(SOME.texts).unwrap();
            let mut wanted: Vec<_> = automaton.find_overlapping_iter(&text).map(|hit| (hit.pattern().as_usize(), hit.range())).collect();
            let mut found: Vec<_> = SOME.find(&text).collect();
            prop_assert!(found.is_sorted_by_key(|(_, range)| range.end));
            let order = |(index, range): &(usize, Range<usize>)| (range.end, *index);
            wanted.sort_by_key(order);
            found.sort_by_key(order);
            prop_assert_eq!(found, wanted);
        }
    }
}
