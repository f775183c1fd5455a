//! Arbitrary text as a configuration: valid files with pieces cut, duplicated, moved and sprinkled
//! with special characters. Each is either refused with problems that a person can find, or valid,
//! and then its printed form parses to the same values.
//!
//! Runs for `PORTCULLIS_FUZZ_SECONDS` seconds from the seed `PORTCULLIS_FUZZ_START`; without them
//! only for a moment, so that the test itself is tested.

use super::arbitrary::document;
use super::places;
use crate::Config;
use crate::keys::toml_text;
use crate::layers::{Layer, LayerContext, LayerFile, merge_layers};
use crate::problem::{MOST, Problems};
use crate::reading::parse_layer;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Syntax of TOML, words of the table, and unusual characters.
#[rustfmt::skip]
const SIGNS: &[&str] = &[
    "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "\"", "'", "\"\"\"", "'''", "#", "\n", "\r", "\r\n", "\t", " ", "\\", "\\u0000", "\\uD800",
    "\0", "\u{1b}[2J", "\u{202e}", "\u{feff}", "é", "\u{10ffff}", "true", "false", "nan", "-inf", "1e400", "0x7fffffffffffffff",
    "9223372036854775808", "-1", "1979-05-27", "mode = ", "plugins.", "plugins.mine.", ".settings.", ".grants.", "pipelines.", "projects = ",
    "rules", "scope", "risk.negligible = 1.0", "mode = \"off\"", "[plugins.\"\u{1b}\"]", "a.b.c.d.e.f.g.h = 1", "[[pipelines]]", "on_fault = \"ask\"",
];

/// A valid text, another one, and the changes to the first. Positions are fractions of its length.
fn changed() -> impl Strategy<Value = String> {
    let change = (0..5_u8, 0.0..1.0_f64, 0.0..1.0_f64, 0..SIGNS.len(), 1..400_usize);
    (document(), document(), vec(change, 0..8)).prop_map(|(mut text, other, changes)| {
        for (what, at, from, sign, length) in changes {
            let (at, from) = (place(&text, at), place(&other, from));
            match what {
                0 | 1 => text.insert_str(at, SIGNS[sign]),
                2 => text.replace_range(at..place_near(&text, at + length), ""),
                3 => text.insert_str(at, &other[from..place_near(&other, from + length)]),
                _ => text.insert_str(at, &text[at..place_near(&text, at + length)].repeat(length)),
            }
            text.truncate(place_near(&text, 64 << 10));
        }
        text
    })
}

fn place(text: &str, share: f64) -> usize {
    place_near(text, (text.len() as f64 * share) as usize)
}

/// Returns the boundary of the character that contains this byte, or the end.
fn place_near(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Checks the properties of every text; returns the violated one.
fn judge(text: &str) -> Result<(), String> {
    match parse_layer(Layer::User, Path::new("config.toml"), text) {
        Err(problems) => tells(&problems, text),
        Ok(read) => holds(&read, text),
    }
}

/// Checks that each problem is one printable line with an existing position, and that there are not
/// too many.
fn tells(problems: &Problems, text: &str) -> Result<(), String> {
    let (lines, all) = (text.split('\n').count(), problems.lines());
    if problems.problems.is_empty() || all.len() > MOST + 1 {
        return Err(format!("{} problems", all.len()));
    }
    for line in all.iter().chain([&problems.to_string()]) {
        if line.chars().any(|sign| sign.is_control() || sign == '\u{202e}') {
            return Err(format!("a problem that cannot be shown on a line: {line:?}"));
        }
    }
    for problem in &problems.problems {
        let names = problem.what.contains('`') || problem.what.contains("not TOML");
        let there =
            problem.place.is_none_or(|(line, column)| (1..=lines).contains(&line) && column >= 1);
        if !(names && there) || problem.what.len() > 4096 {
            return Err(format!("a problem without its key or its place: {problem:?}"));
        }
    }
    Ok(())
}

/// Checks that the values in force are usable, and that their printed lines parse to the same
/// values.
fn holds(read: &LayerFile, text: &str) -> Result<(), String> {
    let context =
        LayerContext { person: super::PERSON, project: None, trusted: false, pipeline: None };
    let settled = merge_layers(std::slice::from_ref(read), &context);
    let _usable = Config::of(&settled, &places());
    let again: String = settled
        .entries
        .values()
        .filter(|entry| entry.origin.pipeline.is_none())
        .map(|entry| shown(&entry.said))
        .collect();
    let second = parse_layer(Layer::User, Path::new("config.toml"), &again)
        .map_err(|problems| format!("{problems}: {again:?} of {text:?}"))?;
    let settled_again = merge_layers(&[second], &context);
    for (path, entry) in &settled.entries {
        let value = settled_again.entries.get(path).map(|entry| &entry.said.value);
        if value != Some(&entry.said.value) {
            return Err(format!("`{path}` is {:?} and then {value:?}", entry.said.value));
        }
    }
    Ok(())
}

/// Formats a line like `config show`.
fn shown(said: &crate::parse::KeyValue) -> String {
    format!("{} = {}\n", said.written(), toml_text(&said.value))
}

/// Names of settings that need quotes, and a name with an empty part, which differs from the one
/// without it.
#[test]
fn odd_names_are_shown_as_they_were_said() {
    for (said, shown) in [
        ("a.b", "a.b"),
        ("\"a.b\"", "a.b"),
        ("\"c d\"", "\"c d\""),
        ("\"\"", "\"\""),
        ("\"\".b", "\".b\""),
        ("a.\"=\"", "\"a.=\""),
    ] {
        let text = format!("plugins.mine.settings.{said} = 1\n");
        assert_eq!(judge(&text), Ok(()), "{text}");
        let read = parse_layer(Layer::User, Path::new("config.toml"), &text).unwrap();
        assert_eq!(read.document.said[0].written(), format!("plugins.mine.settings.{shown}"));
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_text_is_refused_in_words_or_holds() {
    let start = number("PORTCULLIS_FUZZ_START")
        .unwrap_or_else(|| SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs());
    let most = Duration::from_secs(number("PORTCULLIS_FUZZ_SECONDS").unwrap_or(1));
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&start.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &seed),
    );
    let (texts, begun) = (changed(), Instant::now());
    let (mut tried, mut held) = (0_u64, 0_u64);
    while tried < 50 || begun.elapsed() < most {
        let text = texts.new_tree(&mut runner).unwrap().current();
        if let Err(problem) = judge(&text) {
            panic!("{problem}\nafter {tried} texts from PORTCULLIS_FUZZ_START={start}: {text:?}");
        }
        tried += 1;
        held += u64::from(parse_layer(Layer::User, Path::new("config.toml"), &text).is_ok());
    }
    eprintln!(
        "fuzz configuration: {tried} texts from PORTCULLIS_FUZZ_START={start}, {held} of them sound"
    );
    assert!(held > 0 && held < tried, "{held} of {tried} texts are sound");
}
