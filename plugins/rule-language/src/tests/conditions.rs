//! The results of conditions.

use super::{ask, compile};
use crate::evaluate::{Budget, ConditionFault};

fn check(table: &[(&str, bool)]) {
    for (text, expected) in table {
        let code = compile(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
        assert_eq!(ask(code).0, Ok(*expected), "{text}");
    }
}

#[test]
fn of_the_action() {
    check(&[
        (r#"tool == "Bash" && "kubectl" in programs"#, true),
        (r#"commands.exists(c, c.program == "kubectl" && "delete" in c.words)"#, true),
        (r#"commands.all(c, c.program == "kubectl")"#, false),
        (r#"commands.exists_one(c, c.program == "rm")"#, true),
        (r#"commands.filter(c, c.program == "rm").size() == 1"#, true),
        (r#"commands.map(c, c.program) == ["kubectl", "rm"]"#, true),
        (r#"commands.map(c, c.program != "rm", c.words[1]) == ["delete"]"#, true),
        (r#"commands[0].line == "kubectl --context=prod delete ns shop""#, true),
        ("history.failures >= 2 && history.failures * 2 - 1 == 3", true),
        (
            r#"arguments.channel == "ops" && has(arguments.limit) && int(arguments["limit"]) > 10"#,
            true,
        ),
        (r#"has(arguments.user) || "user" in arguments"#, false),
        (r#"arguments.exists(name, name == "channel")"#, true),
        ("gaps.size() == 0 && size(arguments) == 2 && size(path) > 5", true),
        (r#"intent in ["file-read", "system-command"]"#, true),
        (r#"paths.exists(path, path.text == "never")"#, false),
    ]);
}

#[test]
fn flags_of_commands() {
    check(&[
        (r#"commands.exists(c, c.has_flag("-r") && c.has_flag("-f"))"#, true),
        (r#"commands.exists(c, c.has_flag("--context"))"#, true),
        (r#"commands.exists(c, c.has_flag("--cont"))"#, false),
        // A word after `--` is not a flag.
        (r#"commands.exists(c, c.has_flag("-x"))"#, false),
    ]);
}

#[test]
fn of_paths() {
    check(&[
        (
            r#"path.glob("*.sql") && path.glob("**/migrations/**") && path.glob("db/**/*.sql")"#,
            true,
        ),
        (r#"path.glob("db/*.sql") || path.glob("/db/**") || path.glob("~/**")"#, false),
        (r#"path.glob("/work/*/db/migrations/00[0-9]_*.sql")"#, true),
        (r#"path.glob("/work/*/db/migrations/00[!0-9]_*.sql")"#, false),
        (r#"path.glob("**/db/**/001_init.sql") && path.glob("/work/**/shop/**")"#, true),
        (r#"path.below("db") && path.below("/work/shop/") && path.below("/")"#, true),
        (
            r#"path.below("d") || path.below("/work/sho") || path.below("~") || path.below("")"#,
            false,
        ),
        (r#"(context.home + "/x").below("~")"#, true),
    ]);
}

#[test]
fn of_texts() {
    check(&[
        (r#""a-b-c".split("-") == ["a", "b", "c"] && ["x", "y"].join("/") == "x/y""#, true),
        (r#"" Ab ".trim().lowerAscii() == "ab" && "é".upperAscii() == "é""#, true),
        (
            r#"path.matches("^/work/.*\\.sql$") && path.matches("shop") && path.matches("^/work") && path.matches("sql$")"#,
            true,
        ),
        (r#"path.matches(r'\.sql$') && !path.matches(r'(?i)MIGRATE')"#, true),
        (r#""\u00e9\x41\101\n".size() == 4 && "äß".size() == 2"#, true),
        (
            r#"'''two
lines'''.contains("\n")"#,
            true,
        ),
        (r#"string(12) + string(true) == "12true" && int("-7") == -7"#, true),
        ("true // and a comment\n && 0x10 == 16", true),
    ]);
}

#[test]
fn as_in_cel_a_fault_counts_only_where_it_decides() {
    check(&[
        ("programs[9] == \"x\" && false", false),
        ("true || programs[9] == \"x\"", true),
        ("programs[9] == \"x\" || true", true),
        ("[9, 0].exists(i, programs[i] == \"kubectl\")", true),
        ("[9, 1].all(i, programs[i] == \"kubectl\")", false),
        ("true ? true : programs[9] == \"x\"", true),
        ("1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1", true),
    ]);
}

#[test]
fn missing_values_are_faults() {
    for (text, part) in [
        ("programs[2] == \"x\"", "no item 2 in a list of 2"),
        ("programs[-1] == \"x\"", "no item -1"),
        ("arguments.user == \"x\"", "no key `user`; ask with `has` first"),
        ("1 / (history.failures - 2) == 0", "divides by zero"),
        ("9223372036854775807 + history.failures > 0", "too large"),
        ("int(tool) == 1", "`Bash` is not a number"),
        ("programs[9] == \"x\" && true", "no item 9"),
        ("[9].exists(i, programs[i] == \"x\")", "no item 9"),
        ("commands.map(c, c.words[9]) == [\"x\"]", "no item 9"),
    ] {
        match ask(compile(text).expect(text)).0 {
            Err(ConditionFault::Value(what)) => assert!(what.contains(part), "{text}: {what}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn long_conditions_end() {
    let many = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]";
    let nested = format!(
        "{many}.all(a, {many}.all(b, {many}.all(c, {many}.all(d, {many}.all(e, a + b + c + d + e > 0)))))"
    );
    let growing = format!("{many}.map(a, {many}.map(b, content + content)).size() > 0");
    let patterns = format!("{many}.exists(a, {many}.exists(b, content.matches('(x+x+)+y')))");
    for text in [nested, growing, patterns] {
        let (answer, taken) = ask(compile(&text).expect(&text));
        assert_eq!((answer, taken), (Err(ConditionFault::Steps), Budget::STEPS), "{text}");
    }
}

#[test]
fn the_usual_condition_takes_few_steps() {
    let text = r#"tool == "Bash" && commands.exists(c, c.program == "kubectl" && c.words.exists(w, w.startsWith("--context=prod")))"#;
    let (answer, taken) = ask(compile(text).expect(text));
    assert!(answer == Ok(true) && taken < 50, "{taken} steps");
}
