//! The lists of popular names, made into tables while the plugin is compiled.
//!
//! A list is a text file in `data`, a name on each line, sorted. Nothing is parsed at run time: a
//! call gets a fresh instance, and would pay for it each time.

/// Names that people install most in the registry of npm.
pub static NPM: &[&str] = &split_lines::<{ count_lines(NPM_TEXT) }>(NPM_TEXT);
/// Names that people install most from PyPI.
pub static PYPI: &[&str] = &split_lines::<{ count_lines(PYPI_TEXT) }>(PYPI_TEXT);
/// Names that people install most from crates.io.
pub static CRATES: &[&str] = &split_lines::<{ count_lines(CRATES_TEXT) }>(CRATES_TEXT);
/// Modules of Go that people require most.
pub static GO: &[&str] = &split_lines::<{ count_lines(GO_TEXT) }>(GO_TEXT);
/// Names that people install most from RubyGems.
pub static GEMS: &[&str] = &split_lines::<{ count_lines(GEMS_TEXT) }>(GEMS_TEXT);
/// Names that people install most from Packagist.
pub static PACKAGIST: &[&str] = &split_lines::<{ count_lines(PACKAGIST_TEXT) }>(PACKAGIST_TEXT);
/// Names that people install most from NuGet.
pub static NUGET: &[&str] = &split_lines::<{ count_lines(NUGET_TEXT) }>(NUGET_TEXT);

const NPM_TEXT: &str = include_str!("../data/npm.txt");
const PYPI_TEXT: &str = include_str!("../data/pypi.txt");
const CRATES_TEXT: &str = include_str!("../data/crates.txt");
const GO_TEXT: &str = include_str!("../data/go.txt");
const GEMS_TEXT: &str = include_str!("../data/gems.txt");
const PACKAGIST_TEXT: &str = include_str!("../data/packagist.txt");
const NUGET_TEXT: &str = include_str!("../data/nuget.txt");

const fn count_lines(text: &str) -> usize {
    let mut rest = text.as_bytes();
    let mut count = 0;
    while let Some((byte, tail)) = rest.split_first() {
        if *byte == b'\n' {
            count += 1;
        }
        rest = tail;
    }
    count
}

#[allow(clippy::indexing_slicing, reason = "compile time; the table has a place for each line")]
const fn split_lines<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut lines = [""; N];
    let mut rest = text;
    let mut line = 0;
    while line < N {
        let end = line_length(rest);
        let (head, tail) = rest.split_at(end);
        lines[line] = head;
        rest = tail.split_at(1).1;
        line += 1;
    }
    lines
}

const fn line_length(text: &str) -> usize {
    let mut rest = text.as_bytes();
    let mut length = 0;
    while let Some((byte, tail)) = rest.split_first() {
        if *byte == b'\n' {
            break;
        }
        length += 1;
        rest = tail;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_of_one_spelling() {
        for list in [NPM, PYPI, CRATES, GO, GEMS, PACKAGIST, NUGET] {
            assert!((300..=800).contains(&list.len()), "{}", list.len());
            let lower: Vec<String> = list.iter().map(|name| name.to_lowercase()).collect();
            assert!(lower.is_sorted(), "{:?}", lower.windows(2).find(|pair| pair[0] > pair[1]));
            assert!(list.iter().all(|name| !name.is_empty() && !name.contains(' ')));
        }
        assert!(PYPI.iter().all(|name| !name.contains(['_', '.']) && name.is_ascii()));
        assert!(NPM.contains(&"lodash") && NUGET.contains(&"Newtonsoft.Json"));
    }
}
