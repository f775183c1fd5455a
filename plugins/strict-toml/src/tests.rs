//! Every kind of problem with its place and its words, and the proof that no text breaks the
//! reader.

use crate::{Document, Keys, MOST_PROBLEMS, Table, escape, line_and_column, nearest};
use proptest::prelude::*;

const LABEL: Keys<'_> = Keys {
    names: &["name", "count", "loud", "lines", "size", "box", "part", "list"],
    owner: "a label",
};
const PART: Keys<'_> = Keys { names: &["name"], owner: "a part" };

/// Reads each type under the key that stands for it.
fn read_label(table: &Table<'_>) -> usize {
    [
        table.text("name").is_some(),
        table.integer("count", 1..=9).is_some(),
        table.flag("loud").is_some(),
        table.texts("lines").is_some(),
        table.get("size").is_some_and(|item| item.word(&["small", "large"]).is_some()),
        table.table("box", &PART).is_some_and(|part| part.text("name").is_some()),
        table.tables("part", &PART).iter().any(|part| part.text("name").is_some()),
        table.get("list").is_some_and(|item| item.list(2).is_some()),
    ]
    .into_iter()
    .filter(|read| *read)
    .count()
}

fn problems(text: &str) -> (Vec<String>, usize, usize) {
    let document = Document::parse(text);
    let read = read_label(&document.root(&LABEL));
    let (problems, omitted) = document.problems();
    let shown = problems.iter().map(|problem| {
        let (line, column) = document.place(problem.span.start);
        format!("{line}:{column} {}", problem.what)
    });
    (shown.collect(), omitted, read)
}

#[test]
fn every_problem_has_its_place_and_its_fix() {
    for (text, expected) in [
        ("nmae = 1", &["1:1 `nmae` is unknown; did you mean `name`?"][..]),
        (
            "zzzzzz = 1",
            &[
                "1:1 `zzzzzz` is unknown; a label has `name`, `count`, `loud`, `lines`, `size`, `box`, `part`, `list`",
            ],
        ),
        ("\"na me\\u202e\" = 1", &["1:1 `\"na me\\u{202e}\"` is unknown; did you mean `name`?"]),
        ("name = 1", &["1:8 `name` is a whole number; it must be text"]),
        ("name = 1.5", &["1:8 `name` is a decimal; it must be text"]),
        ("name = 2020-01-01", &["1:8 `name` is a date; it must be text"]),
        ("name = true", &["1:8 `name` is a boolean; it must be text"]),
        ("name = [\"a\"]", &["1:8 `name` is a list; it must be text"]),
        ("name = [1]", &["1:8 `name` is a list of other things than texts; it must be text"]),
        ("[name]", &["1:1 `name` is a table; it must be text"]),
        ("[[name]]", &["1:1 `name` is a list of tables; it must be text"]),
        ("count = 10", &["1:9 `count` is `10`; it must be a whole number from 1 to 9"]),
        ("count = 0x0", &["1:9 `count` is `0`; it must be a whole number from 1 to 9"]),
        (
            "count = 99999999999999999999",
            &["1:9 `count` is a number that is too large; it must be a whole number from 1 to 9"],
        ),
        ("loud = \"yes\"", &["1:8 `loud` is text; it must be `true` or `false`"]),
        ("lines = \"one\"", &["1:9 `lines` is text; it must be a list of texts"]),
        (
            "size = \"smal\"",
            &["1:8 `size` is `smal`; it must be one of `small`, `large`; did you mean `small`?"],
        ),
        ("size = 1", &["1:8 `size` is a whole number; it must be one of `small`, `large`"]),
        ("box = 1", &["1:7 `box` is a whole number; it must be a table"]),
        ("[box]\nnme = 1", &["2:1 `box.nme` is unknown; did you mean `name`?"]),
        ("[part]", &["1:1 `part` is a table; write it with two brackets: `[[part]]`"]),
        (
            "part = [1]",
            &["1:9 `part` holds a whole number; write it with two brackets: `[[part]]`"],
        ),
        ("[[part]]\nname = 1", &["2:8 `part.name` is a whole number; it must be text"]),
        ("list = 1", &["1:8 `list` is a whole number; it must be a list"]),
        ("list = [1, 2, 3]", &["1:8 `list` has 3 items; at most 2 are read"]),
        // A broken line has its syntax error alone; the other lines are read.
        (
            "é = 1\nname = 1",
            &[
                "1:1 it is not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`",
                "2:8 `name` is a whole number; it must be text",
            ],
        ),
        (
            "name = 1\nnme = 1",
            &[
                "1:8 `name` is a whole number; it must be text",
                "2:1 `nme` is unknown; did you mean `name`?",
            ],
        ),
    ] {
        let (found, omitted, read) = problems(text);
        assert_eq!(
            (found, omitted),
            (expected.iter().map(|what| (*what).to_owned()).collect(), 0),
            "{text}"
        );
        assert!(read <= 1, "{text}: {read} values are read despite the problem");
    }
}

#[test]
fn everything_that_is_right_is_read() {
    let text = "name = \"a\"\ncount = 0x9\nloud = false\nlines = ['a', \"b\"]\nsize = \"large\"\nlist = [1, [2]]\n\
                [box]\nname = \"b\"\n[[part]]\nname = \"c\"\n[[part]]\n";
    assert_eq!(problems(text), (Vec::new(), 0, 8));
}

#[test]
fn entries_are_in_the_order_of_the_text() {
    let document = Document::parse("b = 1\na = 2\n[c]\n\"d e\" = 1\n");
    let root = document.any_root();
    let paths: Vec<String> =
        root.entries().iter().map(|item| format!("{} {:?}", item.path(), item.place())).collect();
    assert_eq!(paths, ["b (1, 1)", "a (2, 1)", "c (3, 2)"]);
    assert_eq!(root.any_table("c").unwrap().get("d e").unwrap().path(), "c.\"d e\"");
    assert_eq!(document.problems(), (Vec::new(), 0));
}

#[test]
fn too_many_problems_are_counted() {
    let text: String = (0..200).map(|number| format!("k{number} = 1\n")).collect();
    let (found, omitted, _) = problems(&text);
    assert_eq!((found.len(), omitted), (MOST_PROBLEMS, 200 - MOST_PROBLEMS));
}

#[test]
fn words_are_short_and_visible() {
    for (text, limit, expected) in [
        ("plain 'text' \\ \"x\"", 64, "plain 'text' \\ \"x\""),
        ("a\nb\tc\u{7}", 64, "a\\nb\\tc\\u{7}"),
        ("a\u{202e}b\u{200b}\u{e0041}", 64, "a\\u{202e}b\\u{200b}\\u{e0041}"),
        ("grün हिन्दी 😀", 64, "grün हिन्दी 😀"),
        ("abcdefgh", 7, "abcd…"),
    ] {
        assert_eq!(escape(text, limit), expected);
    }
    let known = ["verdict", "reason", "name"];
    for (given, expected) in
        [("verdcit", Some("verdict")), ("nam", Some("name")), ("colour", None), ("", None)]
    {
        assert_eq!(nearest(known, given), expected, "{given}");
    }
    assert_eq!(nearest(known, &"x".repeat(1 << 20)), None);
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[a-e\\[\\]{}=\"'#.\n\r é\u{202e}]{0,80}|.{0,80}") {
        let document = Document::parse(&text);
        read_label(&document.root(&LABEL));
        let (problems, _) = document.problems();
        prop_assert_eq!(document.is_sound(), toml::de::DeTable::parse(&text).is_ok());
        for problem in problems {
            let harmless = !problem.what.contains(['\n', '\u{202e}']);
            prop_assert!(problem.span.start <= text.len() && harmless, "{problem:?}");
            let (line, column) = line_and_column(&text, problem.span.start);
            prop_assert!(line >= 1 && column >= 1);
        }
    }
}
