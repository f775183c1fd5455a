//! No text makes the reader panic, and the evaluation of every accepted text ends.

use super::{ask, compile};
use crate::evaluate::{Budget, ConditionFault};
use crate::glob;
use crate::place::{line_and_column, line_of};
use crate::read;
use proptest::prelude::*;

/// Words of the language in any order: most of it is wrong, and some of it is right.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "tool",
        "path",
        "commands",
        "programs",
        "arguments",
        "history.failures",
        "c",
        "c.words",
        "c.program",
        "true",
        "1",
        "9",
        "\"a\"",
        "'",
        "\"",
        "\\",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        "?",
        ":",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        "in",
        ".exists(c,",
        ".all(c,",
        ".map(c,",
        ".filter(c,",
        ".size()",
        ".matches(",
        ".glob(",
        ".below(",
        ".has_flag(",
        ".split(",
        "has(",
        "int(",
        "//",
        "\n",
        "é",
        "\u{0}",
        "r'",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

/// Found by the property below.
#[test]
fn optional_parts_are_not_required() {
    for (pattern, text) in [("a+*", ""), ("ba+?", "ba"), ("a+{0}", ""), ("a++*b", "b")] {
        let Ok(code) = compile(&format!("{text:?}.matches(r'''{pattern}''')")) else { continue };
        let wanted = crate::evaluate::regex(pattern).expect("it was checked").is_match(text);
        assert_eq!(ask(code).0, Ok(wanted), "{pattern} in {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_condition_panics(text in prop_oneof![words(), ".{0,200}"]) {
        match compile(&text) {
            Err(problem) => prop_assert!(problem.span.start <= text.len() && !problem.what.is_empty() && !problem.what.contains('\n')),
            Ok(code) => prop_assert!(ask(code).1 <= Budget::STEPS),
        }
    }

    #[test]
    fn no_file_panics(text in prop_oneof![
        ".{0,300}",
        words().prop_map(|when| format!("[[rule]]\nname = 'a'\nverdict = 'ask'\nreason = '{{path}}'\nwhen = '''{when}'''\nmust_match = ['ls']")),
        (words(), ".{0,80}").prop_map(|(when, reason)| format!("[[rule]]\nname = 'a'\nverdict = 'ask'\nreason = {reason:?}\nwhen = {when:?}\n")),
    ]) {
        if let Err(problems) = read(&text) {
            for problem in problems {
                let (line, column) = line_and_column(&text, problem.span.start);
                prop_assert!(line >= 1 && column >= 1);
                prop_assert!(line_of(&text, problem.span.start).len() <= text.len());
            }
        }
    }

    /// A problem in a condition is found at the same place of the file in every notation of TOML.
    #[test]
    fn places_are_those_of_the_file(before in "[a-zA-Z0-9 é\\\\\"\t]{0,20}", plain in any::<bool>()) {
        let constant = format!("{before:?}").replace("\\u{e9}", "é");
        let condition = format!("tool != {constant} && tol == \"x\"");
        let quoted = format!("\"{}\"", condition.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t"));
        let when = if plain { format!("'''{condition}'''") } else { quoted };
        let text = format!("[[rule]]\nname = 'a'\nverdict = 'ask'\nreason = 'why'\nwhen = {when}\n");
        if let Err(problems) = read(&text) {
            for problem in problems.iter().filter(|problem| problem.what.contains("did you mean `tool`")) {
                prop_assert_eq!(&text[problem.span.start..problem.span.end], "tol", "{}", text);
            }
        }
    }

    /// The text that is searched for before an expression is compiled is in every text that matches
    /// it.
    #[test]
    fn a_regular_expression_fits_as_it_does_by_itself(pattern in "[abc.*+?^$\\[\\]{}12()|\\\\]{0,10}", text in "[abc.{}*]{0,8}") {
        if let Ok(code) = compile(&format!("{text:?}.matches(r'''{pattern}''')")) {
            let wanted = crate::evaluate::regex(&pattern).expect("it was checked").is_match(&text);
            prop_assert_eq!(ask(code).0, Ok(wanted), "{} in {}", pattern, text);
        }
    }

    #[test]
    fn a_glob_fits_as_its_parts_do(path in "(/[a-c]{1,2}){1,4}", glob in "[/abc*?]{0,8}") {
        let around = crate::evaluate::Around::default();
        let fits = |glob: &str| glob::check(glob).is_ok() && glob::fits(glob, &path, &around);
        prop_assert!(fits("/**"));
        // A path that matches within folders matches across them.
        if fits(&glob) && glob.starts_with('/') {
            prop_assert!(fits(&glob.replace('*', "**").replace("****", "**")));
        }
    }
}

#[test]
fn deep_and_long_texts_end() {
    for unit in [
        "(",
        "[",
        "!",
        "-",
        "a.",
        "a ? ",
        "a.exists(b, ",
        "f(",
        "\"",
        "'''",
        "//",
        "\\",
        "{",
        "[[rule]]\n",
        "a.b(",
        "1+",
        "\u{fffd}",
    ] {
        for count in [100, 4000, 100_000] {
            let text = unit.repeat(count);
            let _refused = compile(&text).err();
            let _also = read(&text).err();
            let _whole = read(&format!(
                "[[rule]]\nname = 'a'\nverdict = 'ask'\nreason = 'x'\nwhen = '''{text}'''"
            ))
            .err();
        }
    }
}

#[test]
fn steps_are_counted_not_time() {
    let code =
        compile("content.matches('(a|b|ab)*c') || content.contains('zz')").expect("a condition");
    let (answer, taken) = ask(code);
    assert!(
        matches!(answer, Ok(false) | Err(ConditionFault::Steps)) && taken > 1000,
        "{answer:?} {taken}"
    );
}
