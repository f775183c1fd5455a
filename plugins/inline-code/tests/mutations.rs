//! Programs that are cut, doubled and spliced: the reader neither panics nor exhausts its stack.
#![allow(clippy::indexing_slicing, clippy::string_slice, reason = "tests")]

use portcullis_inline_code::{Language, read_code};

const SEEDS: &[&str] = &[
    include_str!("../../../tests/fuzz/seeds/inline-code/names.py"),
    include_str!("../../../tests/fuzz/seeds/inline-code/flow.py"),
    include_str!("../../../tests/fuzz/seeds/inline-code/names.ts"),
    include_str!("../../../tests/fuzz/seeds/inline-code/flow.ts"),
];
const ROUNDS: usize = 4_000;

/// Pseudo-random numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % end.max(1)
    }

    /// Returns a piece of a text.
    fn piece<'t>(&mut self, text: &'t str) -> &'t str {
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at += 1;
            }
            at
        };
        let from = boundary(self.below(text.len()));
        let end = boundary((from + 1 + self.below(40)).min(text.len()));
        &text[from..end]
    }
}

#[test]
fn changed_programs_are_read_within_bounds() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for round in 0..ROUNDS {
        let mut text = SEEDS[round % SEEDS.len()].to_owned();
        for _ in 0..=numbers.below(4) {
            let piece = numbers.piece(SEEDS[numbers.0 as usize % SEEDS.len()]).to_owned();
            let own = numbers.piece(&text).to_owned();
            text = match numbers.below(3) {
                0 => text.replacen(&own, &piece, 1),
                1 => text.replacen(&own, "", 1),
                _ => text.replacen(&own, &piece.repeat(1 + numbers.below(60)), 1),
            };
        }
        for language in [Language::Python, Language::JavaScript] {
            let code = read_code(&text, language, None);
            assert!(code.steps < 400_000, "{} steps:\n{text}", code.steps);
            assert!(code.parsed || !code.gaps.is_empty(), "no gap:\n{text}");
        }
    }
}

#[test]
fn seeds_are_programs() {
    for (at, seed) in SEEDS.iter().enumerate() {
        let language = if at < 2 { Language::Python } else { Language::JavaScript };
        let code = read_code(seed, language, None);
        assert!(code.parsed, "seed {at}: {:?}", code.gaps);
        assert!(code.calls.len() > 4, "seed {at}: {:?}", code.calls);
    }
}
