//! The errors for invalid conditions and files, and their places.

use super::compile;
use crate::place::line_and_column;
use crate::read;

/// A condition, the text that the place covers, a part of the error.
const CONDITIONS: &[(&str, &str, &str)] = &[
    ("tol == \"Bash\"", "tol", "`tol` is unknown; did you mean `tool`?"),
    ("cwd == \"/\"", "cwd", "did you mean `context.cwd`?"),
    ("zzzzzz == 1", "zzzzzz", "`portcullis rules fields` lists the names"),
    (
        "commands.exists(c, c.progam == \"x\")",
        "progam",
        "a command has no `progam`; did you mean `program`?",
    ),
    (
        "commands.program == \"x\"",
        "program",
        "a list has no `program`; ask each of its items: `.exists(x, x.program ...)`",
    ),
    ("tool.size == 1", "size", "a text has no `size`"),
    (
        "effects.exists(e, e.kind == \"file-delte\")",
        "\"file-delte\"",
        "`file-delte` is not a value of this field; did you mean `file-delete`?",
    ),
    (
        "intent in [\"file-read\", \"nonsense\"]",
        "\"nonsense\"",
        "`nonsense` is not a value of this field; it is one of `file-read`",
    ),
    ("tool", "tool", "`tool` is a text; a condition has to be true or false"),
    ("tool == 1", "==", "`==` between a text and a number: both sides have to be of one type"),
    ("history.failures > \"2\"", ">", "both sides have to be numbers, or both texts"),
    ("\"x\" in tool", "in", "its right side must be a list of such items, or a map"),
    ("tool + 1 == \"x\"", "+", "`+` between a text and a number"),
    ("commands == commands", "==", "no group of names"),
    ("history", "history", "`history` is the history; a condition has to be true or false"),
    ("tool && true", "tool", "`tool` is a text; it has to be true or false"),
    ("!tool", "tool", "`tool` is a text; it has to be true or false"),
    (
        "tool.startswith(\"B\")",
        "startswith",
        "there is no function `startswith`; did you mean `startsWith`?",
    ),
    ("tool.frobnicate()", "frobnicate", "known are `size`"),
    ("contains(tool, \"x\")", "contains", "`contains` is a method: write `x.contains(...)`"),
    ("tool.int() == 1", "int", "`int` is not a method"),
    ("tool.contains()", "contains", "`contains` takes one value, here are 0"),
    ("tool.contains(1)", "1", "`1` is a number; `contains` takes a text"),
    ("tool.has_flag(\"-f\")", "tool", "`tool` is a text; `has_flag` takes a command"),
    ("commands.exists(c, c.has_flag(\"force\"))", "\"force\"", "`force` is not a flag"),
    ("commands.exists(c, c.has_flag(tool))", "tool", "`tool` has to be a constant"),
    ("path.matches(\"(\")", "\"(\"", "`(` is not a valid regular expression"),
    ("path.matches(\"(a{99}){99}\")", "\"(a{99}){99}\"", "is not a valid regular expression"),
    ("path.matches(tool)", "path.matches(tool)", "`matches` takes one constant text"),
    ("path.glob(\"[a\")", "\"[a\"", "does not close it"),
    ("path.glob(\"*.{a,b}\")", "\"*.{a,b}\"", "no alternatives in braces"),
    ("programs.exists(p)", "exists", "`exists` takes a name and what is asked of each item"),
    ("programs.exists(p.x, true)", "exists", "`exists` takes a name"),
    ("tool.exists(c, true)", "tool", "`tool` is a text; `exists` asks each item of a list"),
    ("has(tool)", "has(tool)", "`has` takes a key of a map"),
    ("has(context.cwd)", "cwd", "`cwd` is always there"),
    ("tool[0] == \"B\"", "tool", "`tool` is a text; only lists and maps have items"),
    ("[1, \"a\"] == [1]", "\"a\"", "`\"a\"` is a text in a list of others"),
    ("true ? 1 : \"a\"", "\"a\"", "`\"a\"` is a text; the other side is a number"),
    ("tool = \"Bash\"", "=", "equal is `==`"),
    ("true & false", "&", "and is `&&`"),
    ("true | false", "|", "or is `||`"),
    ("history.failures > 0.5", "0.5", "a score is in thousandths"),
    ("history.failures > 99999999999999999999", "99999999999999999999", "too large"),
    ("tool == 'Bash", "'Bash", "this text does not end"),
    (r"tool == 'C:\Bash'", r"\B", "is not an escape sequence; a backslash is `\\\\`"),
    ("tool == null", "null", "nothing is null here"),
    ("if (true)", "if", "`if` is a reserved word of CEL"),
    ("{\"a\": 1}.a == 1", "{", "maps are not made in conditions"),
    ("(true", "", "expected `)`, found the end"),
    ("true false", "false", "expected an operator or the end, found `false`"),
    ("true &&", "", "expected a value, found the end"),
    ("tool.", "", "expected a name after `.`, found the end"),
    ("", "", "expected a value, found the end"),
    ("tool # == 1", "#", "`#` means nothing here"),
];

#[test]
fn conditions() {
    for (text, place, part) in CONDITIONS {
        let problem = compile(text).expect_err(text);
        let found =
            text.get(problem.span.start..problem.span.end.min(text.len())).unwrap_or_default();
        assert_eq!((found, problem.what.contains(part)), (*place, true), "{text}: {problem:?}");
    }
}

#[test]
fn large_files_are_not_read() {
    let chain = |part: &str| part.repeat(40);
    for (text, part) in [
        ("(".repeat(2000), "this expression nests deeper than"),
        (format!("{}true", "!".repeat(200)), "this expression chains more than"),
        (format!("1{} == 1", chain("+1")), "chains more than"),
        (format!("programs{} == 1", chain("[0]")), "chains more than"),
        (
            format!("tool == '{}'", "x".repeat(5000)),
            "this expression has 5010 bytes; at most 4096 are read",
        ),
    ] {
        let problem = compile(&text).expect_err(&text);
        assert!(problem.what.contains(part), "{part}: {problem:?}");
    }
    compile(&format!("tool == 'x'{}", " || tool == 'y'".repeat(150)))
        .expect("a long list of choices is one level");
}

fn rule(changes: &[(&str, &str)]) -> String {
    let mut text = String::from("[[rule]]\n");
    for (key, value) in
        [("name", "\"r\""), ("when", "'true'"), ("verdict", "\"warn\""), ("reason", "\"why\"")]
    {
        let value =
            changes.iter().find(|(changed, _)| *changed == key).map_or(value, |(_, value)| value);
        if !value.is_empty() {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    for (key, value) in
        changes.iter().filter(|(key, _)| !["name", "when", "verdict", "reason"].contains(key))
    {
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

#[test]
fn files() {
    let when = |text: &str| rule(&[("when", text)]);
    let mut wrong = Vec::new();
    for (text, place, part) in [
        ("x = 1".to_owned(), (1, 1), "`x` is unknown; a rules file has `rule`"),
        ("name = 'x'".to_owned(), (1, 1), "put `[[rule]]` before it"),
        ("[rule]\nname = 'x'".to_owned(), (1, 1), "write it with two brackets: `[[rule]]`"),
        ("[[rule]\n".to_owned(), (1, 8), "it is not TOML"),
        ("[[rule]]\n".to_owned(), (1, 1), "this rule has no `name`, `when`, `verdict`, `reason`"),
        (rule(&[("verdict", "")]), (1, 1), "this rule has no `verdict`"),
        (rule(&[("wen", "1")]), (6, 1), "`rule.wen` is unknown; did you mean `when`?"),
        (rule(&[("name", "\"A b\"")]), (2, 8), "lower case letters"),
        (rule(&[("name", "\"refuse_unseen_code\"")]), (2, 9), "is the name of a builtin rule"),
        ([rule(&[]), rule(&[])].concat(), (7, 9), "`r` is the name of two rules"),
        (
            rule(&[("verdict", "\"blok\"")]),
            (4, 11),
            "`rule.verdict` is `blok`; it must be one of `warn`, `ask`, `block`",
        ),
        (rule(&[("verdict", "\"modify\"")]), (4, 11), "a rule cannot write down a rewrite"),
        (rule(&[("severity", "\"worst\"")]), (6, 12), "one of `low`, `medium`, `high`, `critical`"),
        (rule(&[("reason", "\"\"")]), (5, 10), "it must not be empty"),
        (rule(&[("reason", "\"see {pth}\"")]), (5, 16), "did you mean `path`?"),
        (rule(&[("reason", "\"see {commands}\"")]), (5, 16), "`commands` cannot be shown"),
        (rule(&[("reason", "\"see {path\"")]), (5, 15), "this brace does not close"),
        (rule(&[("reason", "\"see path}\"")]), (5, 19), "this brace was not opened"),
        (rule(&[("alternatives", "\"x\"")]), (6, 16), "it must be a list"),
        (
            rule(&[("must_match", "[5]")]),
            (6, 15),
            "`rule.must_match` holds a whole number; an example is a command line",
        ),
        (
            rule(&[("must_match", "[{ tool = 'X', comand = 'y' }]")]),
            (6, 29),
            "did you mean `command`?",
        ),
        (
            rule(&[("must_match", "[{ tool = 'X', command = 'y' }]")]),
            (6, 15),
            "either `command`, or `tool` and `input`",
        ),
        (rule(&[("must_match", "[{ tool = 'X', input = { a = 1.5 } }]")]), (6, 43), "is a decimal"),
        (
            rule(&[("must_not_match", "[{ command = 'X', cwd = 'y' }]")]),
            (6, 19),
            "must begin with `/`",
        ),
        (when("'tol == 1'"), (3, 9), "did you mean `tool`?"),
        (when("'''\n  tool == 'a'\n  && tol == 'b'\n'''"), (5, 6), "did you mean `tool`?"),
        // The place in the file, despite the escapes of TOML itself.
        (when("\"tool == \\\"a\\\" && tol == \\u0027b\\u0027\""), (3, 26), "did you mean `tool`?"),
        (when("\"\"\"\ntool == 'a' \\\n   && tol == 'b'\"\"\""), (5, 7), "did you mean `tool`?"),
        (when("'tool == \"é\" && tol == \"b\"'"), (3, 24), "did you mean `tool`?"),
        (when("5"), (3, 8), "`rule.when` is a whole number; it must be text"),
    ] {
        let problems = read(&text).expect_err(&text);
        let [problem, ..] = problems.as_slice() else { panic!("{text}: nothing is wrong") };
        let found = line_and_column(&text, problem.span.start);
        if found != place || !problem.what.contains(part) {
            wrong.push(format!("{text}\n{found:?} {problem:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let text = rule(&[("when", "'tol'"), ("verdict", "'x'"), ("reason", "'{a'"), ("foo", "1")]);
    let lines: Vec<usize> = read(&text)
        .expect_err(&text)
        .iter()
        .map(|problem| line_and_column(&text, problem.span.start).0)
        .collect();
    assert_eq!(lines, [3, 4, 5, 6]);
}
