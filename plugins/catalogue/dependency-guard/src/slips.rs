//! How two names differ: the slips that a person or a model makes, and those that somebody makes on
//! purpose so that a name looks like another.
//!
//! Names are bytes here. Both names are in lower case, or case is compared away.

/// A way in which one name looks like another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// Letters exchanged, doubled, left out, added or mistyped.
    Letters,
    /// Characters that look alike: `0` and `o`, `rn` and `m`, letters of other alphabets.
    LookAlike,
    /// The same letters with other separators.
    Separators,
    /// The same parts in another order.
    Swapped,
    /// The name with the language's name before or after it.
    Decorated,
    /// A scope, vendor or account that looks like another one's.
    Owner,
}

/// What a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same name.
    Same,
    /// Names that nobody takes for each other.
    Far,
    /// One slip between them; `at` is its place in the name that was given.
    Near {
        /// What the slip is.
        slip: Slip,
        /// Its first byte in the given name.
        at: usize,
    },
}

/// The shortest part of a name in which an exchange or a doubled letter counts. Below it almost
/// every name is one letter away from another.
const SHORT: usize = 5;
/// The shortest part in which any other single letter counts.
const USUAL: usize = 6;
/// The shortest part in which two letters count.
const LONG: usize = 9;
/// The least length of a whole name for a slip in a part of four letters.
const WHOLE: usize = 10;

/// Returns true for the characters that divide a name into parts.
pub const fn is_separator(byte: u8) -> bool {
    matches!(byte, b'-' | b'_' | b'.' | b'/' | b'@')
}

/// Returns true for two characters that most registries take for one.
pub const fn is_same(a: u8, b: u8) -> bool {
    a == b
        || a.eq_ignore_ascii_case(&b)
        || (matches!(a, b'-' | b'_' | b'.') && matches!(b, b'-' | b'_' | b'.'))
}

/// Compares a given name with a popular one.
#[inline]
pub fn compare(given: &[u8], popular: &[u8], folds_separators: bool) -> Comparison {
    if given.len().abs_diff(popular.len()) > 3 || !may_be_near(given, popular) {
        return Comparison::Far;
    }
    compare_closely(given, popular, folds_separators)
}

fn compare_closely(given: &[u8], popular: &[u8], folds_separators: bool) -> Comparison {
    let start = count_same(given.iter().zip(popular));
    if start == given.len() && start == popular.len() {
        return compare_separators(given, popular, folds_separators);
    }
    let (a, b) = (tail(given, start), tail(popular, start));
    let end = count_same(a.iter().rev().zip(b.iter().rev()));
    let (a, b) = (head(a, a.len() - end), head(b, b.len() - end));
    if a.len() <= 3 && b.len() <= 3 && !a.iter().chain(b).any(|byte| is_separator(*byte)) {
        let part = part_around(popular, start);
        return match find_slip(given, start, a, b, part.len(), popular.len()) {
            Some(slip) => Comparison::Near { slip, at: start },
            None => Comparison::Far,
        };
    }
    let slip = if is_squashed_same(given, popular) {
        Some(Slip::Separators)
    } else {
        is_swapped(given, popular).then_some(Slip::Swapped)
    };
    slip.map_or(Comparison::Far, |slip| Comparison::Near { slip, at: start })
}

/// Returns false for names that differ at both ends, as almost all do: one slip is at one end at
/// most, and only parts in another order change both. It is asked for every popular name, so that
/// it takes a few instructions only.
#[inline]
const fn may_be_near(given: &[u8], popular: &[u8]) -> bool {
    let ([first, .., last], [popular_first, .., popular_last]) = (given, popular) else {
        return false;
    };
    // One bit is all that letters of both cases differ in.
    *first | 0x20 == *popular_first | 0x20
        || *last | 0x20 == *popular_last | 0x20
        || given.len() == popular.len()
}

/// Returns true if two names are the same letters once every separator is left out.
pub fn is_squashed_same(a: &[u8], b: &[u8]) -> bool {
    let letters = |name: &[u8]| name.iter().filter(|byte| !is_separator(**byte)).count();
    let same = {
        let a = a.iter().filter(|byte| !is_separator(**byte));
        let b = b.iter().filter(|byte| !is_separator(**byte));
        a.zip(b).all(|(a, b)| a.eq_ignore_ascii_case(b))
    };
    same && letters(a) == letters(b) && letters(a) >= SHORT
}

/// Returns the part of a name around a place, between separators.
pub fn part_around(name: &[u8], at: usize) -> &[u8] {
    let at = at.min(name.len());
    let before = head(name, at).iter().rev().take_while(|byte| !is_separator(**byte)).count();
    let after = tail(name, at).iter().take_while(|byte| !is_separator(**byte)).count();
    name.get(at - before..at + after).unwrap_or_default()
}

fn compare_separators(given: &[u8], popular: &[u8], folds_separators: bool) -> Comparison {
    let same = given.eq_ignore_ascii_case(popular);
    if same || folds_separators {
        return Comparison::Same;
    }
    let at = given.iter().zip(popular).position(|(a, b)| a != b).unwrap_or_default();
    Comparison::Near { slip: Slip::Separators, at }
}

fn count_same<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(a, b)| is_same(**a, **b)).count()
}

fn head(name: &[u8], length: usize) -> &[u8] {
    name.get(..length).unwrap_or(name)
}

fn tail(name: &[u8], start: usize) -> &[u8] {
    name.get(start..).unwrap_or_default()
}

/// Judges the one place in which two names differ: `a` stands in the given name where `b` stands in
/// the popular one. `part` is the length of the popular name's part, `whole` that of the name.
fn find_slip(
    given: &[u8],
    at: usize,
    a: &[u8],
    b: &[u8],
    part: usize,
    whole: usize,
) -> Option<Slip> {
    let (slip, least) = match (a, b) {
        ([x], [y]) if x.is_ascii_digit() && y.is_ascii_digit() => return None,
        ([x], [y]) if looks_alike(*x, *y) => (Slip::LookAlike, SHORT - 1),
        ([x], [y]) if are_neighbours(*x, *y) => (Slip::Letters, SHORT),
        ([_], [_]) => (Slip::Letters, USUAL),
        ([x, y], [p, q]) if x == q && y == p => (Slip::Letters, least_for(whole)),
        ([x], []) if is_beside(given, at, *x) => (Slip::Letters, least_for(whole)),
        ([_], []) => (Slip::Letters, USUAL),
        ([], [y]) if is_doubled(given, at, *y) => (Slip::Letters, least_for(whole)),
        ([], [_]) if whole >= WHOLE => (Slip::Letters, SHORT - 1),
        // At its ends a short word becomes another word: `json` and `json5`, `args` and `yargs`.
        ([], [_]) if at > 0 && at < given.len() => (Slip::Letters, SHORT),
        ([], [_]) => (Slip::Letters, USUAL),
        _ if is_pair_alike(a, b) => (Slip::LookAlike, SHORT),
        _ if distance(a, b) <= 2 => (Slip::Letters, LONG),
        _ => return None,
    };
    (part >= least).then_some(slip)
}

/// A longer name that agrees in all else makes a slip in a short part more likely.
const fn least_for(whole: usize) -> usize {
    if whole >= WHOLE { SHORT - 1 } else { SHORT }
}

/// Returns true if an added character repeats the one before or after it.
fn is_beside(given: &[u8], at: usize, byte: u8) -> bool {
    let before = at.checked_sub(1).and_then(|before| given.get(before));
    before == Some(&byte) || given.get(at + 1) == Some(&byte)
}

/// Returns true if a character that is left out was one of two equal ones.
fn is_doubled(given: &[u8], at: usize, byte: u8) -> bool {
    let before = at.checked_sub(1).and_then(|before| given.get(before));
    before == Some(&byte) || given.get(at) == Some(&byte)
}

fn looks_alike(a: u8, b: u8) -> bool {
    const ALIKE: &[(u8, u8)] = &[
        (b'0', b'o'),
        (b'1', b'l'),
        (b'1', b'i'),
        (b'i', b'l'),
        (b'i', b'j'),
        (b'5', b's'),
        (b'2', b'z'),
        (b'6', b'b'),
        (b'8', b'b'),
        (b'9', b'g'),
        (b'q', b'g'),
        (b'u', b'v'),
        (b'v', b'y'),
        (b'3', b'e'),
        (b'4', b'a'),
    ];
    ALIKE.contains(&(a, b)) || ALIKE.contains(&(b, a))
}

fn is_pair_alike(a: &[u8], b: &[u8]) -> bool {
    const ALIKE: &[(&[u8], &[u8])] =
        &[(b"rn", b"m"), (b"vv", b"w"), (b"cl", b"d"), (b"nn", b"m"), (b"ii", b"u")];
    ALIKE.iter().any(|(x, y)| (a == *x && b == *y) || (a == *y && b == *x))
}

/// Returns true for two keys that lie beside each other on a keyboard.
fn are_neighbours(a: u8, b: u8) -> bool {
    const ROWS: [&[u8]; 4] = [b"1234567890", b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];
    let place = |key: u8| {
        let find = |row: &&[u8]| row.iter().position(|other| *other == key);
        ROWS.iter().enumerate().find_map(|(row, keys)| Some((row, find(keys)?)))
    };
    // A key of the next row lies half a key further right, so it touches two.
    match (place(a), place(b)) {
        (Some((row_a, a)), Some((row_b, b))) if row_a == row_b => a.abs_diff(b) == 1,
        (Some((row_a, a)), Some((row_b, b))) if row_a + 1 == row_b => a == b || a == b + 1,
        (Some((row_a, a)), Some((row_b, b))) if row_b + 1 == row_a => a == b || b == a + 1,
        _ => false,
    }
}

/// Returns the number of edits between two texts of at most three bytes.
fn distance(a: &[u8], b: &[u8]) -> usize {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len(),
        ([x, a @ ..], [y, b @ ..]) if x == y => distance(a, b),
        ([x, a_rest @ ..], [y, b_rest @ ..]) => {
            let swapped = match (a_rest, b_rest) {
                ([p, a_more @ ..], [q, b_more @ ..]) if x == q && y == p => {
                    distance(a_more, b_more)
                }
                _ => usize::MAX - 1,
            };
            let single = distance(a_rest, b_rest).min(distance(a, b_rest)).min(distance(a_rest, b));
            1 + single.min(swapped)
        }
    }
}

/// Returns true if two names are made of the same parts in another order.
fn is_swapped(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() || a.len() < SHORT + 3 || !a.contains(&b'-') || a.contains(&b'/') {
        return false;
    }
    let parts = |name: &'_ [u8]| {
        let mut parts: Vec<Vec<u8>> =
            name.split(|byte| is_separator(*byte)).map(<[u8]>::to_ascii_lowercase).collect();
        parts.sort();
        parts
    };
    // Sums of bytes first: sorting the parts of every popular name would cost far more.
    let sum = |name: &[u8]| {
        let letters = name.iter().filter(|byte| !is_separator(**byte));
        letters.map(|byte| u32::from(byte.to_ascii_lowercase())).sum::<u32>()
    };
    sum(a) == sum(b) && parts(a).len() > 1 && parts(a) == parts(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip(given: &str, popular: &str) -> Option<Slip> {
        match compare(given.as_bytes(), popular.as_bytes(), false) {
            Comparison::Near { slip, .. } => Some(slip),
            _ => None,
        }
    }

    #[test]
    fn slips_differ_from_other_names() {
        for (given, popular, expected) in [
            ("lodahs", "lodash", Some(Slip::Letters)),
            ("loadash", "lodash", Some(Slip::Letters)),
            ("expresss", "express", Some(Slip::Letters)),
            ("expres", "express", Some(Slip::Letters)),
            ("reqests", "requests", Some(Slip::Letters)),
            ("symfont/process", "symfony/process", Some(Slip::Letters)),
            ("beautifulsuop4", "beautifulsoup4", Some(Slip::Letters)),
            ("1odash", "lodash", Some(Slip::LookAlike)),
            ("nurnpy", "numpy", Some(Slip::LookAlike)),
            ("crossenv", "cross-env", Some(Slip::Separators)),
            ("cross_env", "cross-env", Some(Slip::Separators)),
            ("dom-react", "react-dom", Some(Slip::Swapped)),
            ("newtonsoft.jsn", "newtonsoft.json", Some(Slip::Letters)),
            // Short names, versions and other words are names of their own.
            ("koa2", "koa", None),
            ("tsc", "tsx", None),
            ("psycopg3", "psycopg2", None),
            ("preact", "react", None),
            ("react-dnd", "react-dom", None),
            ("flask", "black", None),
            ("vite", "vue", None),
        ] {
            assert_eq!(slip(given, popular), expected, "{given} and {popular}");
        }
    }

    #[test]
    fn names_that_a_registry_takes_for_one_are_the_same() {
        let same = |a: &str, b: &str, folds| compare(a.as_bytes(), b.as_bytes(), folds);
        assert_eq!(same("serde-json", "serde_json", true), Comparison::Same);
        assert_eq!(same("NEWTONSOFT.json", "Newtonsoft.Json", false), Comparison::Same);
        assert_ne!(same("lodash_merge", "lodash.merge", false), Comparison::Same);
    }

    #[test]
    fn keys_have_neighbours() {
        assert!(are_neighbours(b'y', b't') && are_neighbours(b'a', b'q'));
        assert!(are_neighbours(b's', b'w') && are_neighbours(b'g', b'b'));
        assert!(!are_neighbours(b'a', b'l') && !are_neighbours(b'q', b'z'));
    }
}
