//! Inputs made of seeds: cut, repeated, spliced and mixed with characters that are meaningful to a
//! parser.

use proptest::collection::vec;
use proptest::prelude::*;

/// The longest input, in bytes, of a target whose seeds are shorter.
const LENGTH: usize = 96 * 1024;

/// Characters of shells and of JSON, words that parsers know, and unusual characters.
#[rustfmt::skip]
const SIGNS: &[&str] = &[
    "$(", ")", "(", "${", "}", "{", "'", "\"", "`", "\\", "\\\n", "\n", "\r\n", "\t", " ", ";", ";;", "&", "&&", "|", "||", "<", ">", ">>",
    "<<E\n", "\nE\n", "<<<", "<(", ">(", ">&2", "&>", "((", "))", "[[ ", " ]]", "$((", "${a:-", "${a%%*}", "${a//b/c}", "${!a}", "$'\\x",
    "$a", "$@", "$IFS", "*", "?", "[a-z]", "{a,b}", "{1..9}", "~", "#", "!", "=", "a=(", "if ", "then ", "else ", "fi ", "for x in ",
    "while ", "do ", "done ", "case x in ", "esac ", "function f ", "f() ", "eval ", "sh -c ", "sudo ", "xargs ", "find . -exec ", "{} \\;",
    "python3 -c ", "base64 -d", "| sh", "rm -rf /", "DROP TABLE x;", "ssh h ", "docker run -v /:/h x ", "C:\\x", "Remove-Item ", "\u{0}",
    "\u{fffd}", "\u{f0000}", "é", "\u{202e}", "\u{10ffff}", "{\"", "\":", "[", "]", ",", "null", "true", "-1", "1e999", "\\u0000", "\\ud800",
    "\"tool_input\":", "\"command\":", "\"hook_event_name\":\"PreToolUse\"", "\"session_id\":\"s\"",
];

/// Numbers with a meaning in a guest's memory: small ones, addresses, and values just too large.
const WORDS: &[u32] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    16,
    17,
    64,
    65,
    255,
    1000,
    1001,
    4096,
    4097,
    0xffff,
    0x1_0000,
    0x10_0000,
    0x10_00a0,
    0x10_00b0,
    0x1f_fff0,
    0x20_0000,
    0x0fff_ffff,
    0x7fff_ffff,
    0xffff_fff0,
    0xffff_ffff,
];

/// One change of an input. Positions are shares of its length.
#[derive(Clone, Debug)]
enum Change {
    Insert { at: f64, sign: usize },
    Remove { from: f64, length: usize },
    Repeat { from: f64, length: usize, times: usize },
    Splice { at: f64, seed: usize, from: f64, length: usize },
    Byte { at: f64, byte: u8 },
    Word { at: f64, word: usize },
    Cut { at: f64 },
}

/// A seed and its changes.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    seeds: &'static [&'static [u8]],
    seed: usize,
    changes: Vec<Change>,
}

/// Generates inputs from these seeds.
pub(crate) fn inputs(seeds: &'static [&'static [u8]]) -> impl Strategy<Value = Input> {
    let count = seeds.len().max(1);
    let place = || 0.0..1.0_f64;
    let change = prop_oneof![
        6 => (place(), 0..SIGNS.len()).prop_map(|(at, sign)| Change::Insert { at, sign }),
        3 => (place(), 1..64_usize).prop_map(|(from, length)| Change::Remove { from, length }),
        1 => (place(), 1..24_usize, 2..2000_usize).prop_map(|(from, length, times)| Change::Repeat { from, length, times }),
        3 => (place(), 0..count, place(), 1..200_usize)
            .prop_map(|(at, seed, from, length)| Change::Splice { at, seed, from, length }),
        1 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Byte { at, byte }),
        2 => (place(), 0..WORDS.len()).prop_map(|(at, word)| Change::Word { at, word }),
        1 => place().prop_map(|at| Change::Cut { at }),
    ];
    (0..count, vec(change, 0..16)).prop_map(move |(seed, changes)| Input { seeds, seed, changes })
}

impl Input {
    /// Returns the resulting bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let most = self.seeds.iter().map(|seed| seed.len()).fold(LENGTH, usize::max);
        let mut bytes = self.seed(self.seed).to_vec();
        for change in &self.changes {
            self.apply(change, &mut bytes);
            bytes.truncate(most);
        }
        bytes
    }

    fn seed(&self, number: usize) -> &'static [u8] {
        self.seeds.get(number).copied().unwrap_or_default()
    }

    fn apply(&self, change: &Change, bytes: &mut Vec<u8>) {
        match *change {
            Change::Insert { at, sign } => {
                insert(bytes, at, SIGNS.get(sign).map_or(&[], |sign| sign.as_bytes()))
            }
            Change::Remove { from, length } => {
                let (from, to) = range(bytes, from, length);
                bytes.drain(from..to);
            }
            Change::Repeat { from, length, times } => {
                let (start, to) = range(bytes, from, length);
                let piece = bytes.get(start..to).unwrap_or_default().repeat(times);
                insert(bytes, from, &piece);
            }
            Change::Splice { at, seed, from, length } => {
                let other = self.seed(seed);
                let (from, to) = range(other, from, length);
                insert(bytes, at, other.get(from..to).unwrap_or_default());
            }
            Change::Byte { at, byte } => {
                let at = place(bytes.len(), at);
                if let Some(old) = bytes.get_mut(at) {
                    *old = byte;
                }
            }
            Change::Word { at, word } => {
                let at = place(bytes.len(), at) / 4 * 4;
                let word = WORDS.get(word).copied().unwrap_or_default().to_le_bytes();
                bytes.iter_mut().skip(at).zip(word).for_each(|(old, byte)| *old = byte);
            }
            Change::Cut { at } => bytes.truncate(place(bytes.len(), at)),
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a length"
)]
fn place(length: usize, share: f64) -> usize {
    ((length as f64 * share) as usize).min(length)
}

fn range(bytes: &[u8], from: f64, length: usize) -> (usize, usize) {
    let from = place(bytes.len(), from);
    (from, (from + length).min(bytes.len()))
}

fn insert(bytes: &mut Vec<u8>, at: f64, more: &[u8]) {
    let at = place(bytes.len(), at);
    bytes.splice(at..at, more.iter().copied());
}
