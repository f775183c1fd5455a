//! Our conditions have the same meaning as in another implementation of CEL.

use super::{ask, compile};
use cel::{Context, Program, Value};
use proptest::prelude::*;
use std::collections::HashMap;

/// Evaluates a condition with the reference implementation, over the part of the sample that both
/// have.
fn reference(text: &str) -> Option<bool> {
    let program = Program::compile(text).ok()?;
    let mut context = Context::default();
    let command = |program: &str, words: &[&str]| {
        let words: Vec<Value> = words.iter().map(|word| (*word).into()).collect();
        Value::from(HashMap::from([
            ("program", Value::from(program)),
            ("words", Value::from(words)),
        ]))
    };
    let commands = vec![
        command("kubectl", &["--context=prod", "delete", "ns", "shop"]),
        command("rm", &["-rf", "--", "-x", "build"]),
    ];
    let programs: Vec<Value> = vec!["kubectl".into(), "rm".into()];
    context.add_variable_from_value("commands", commands);
    context.add_variable_from_value("programs", programs);
    context.add_variable_from_value("tool", "Bash");
    context.add_variable_from_value("path", "/work/shop/db/migrations/001_init.sql");
    context
        .add_variable_from_value("arguments", HashMap::from([("channel", "ops"), ("limit", "20")]));
    context.add_variable_from_value("history", HashMap::from([("failures", 2_i64)]));
    match program.execute(&context) {
        Ok(Value::Bool(flag)) => Some(flag),
        _ => None,
    }
}

/// Evaluates a condition with our implementation; none if there is no answer.
fn ours(text: &str) -> Option<bool> {
    ask(compile(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))).0.ok()
}

const CONDITIONS: &[&str] = &[
    r#"tool == "Bash""#,
    r#"commands.exists(c, c.program == "kubectl" && "delete" in c.words)"#,
    r#"commands.all(c, c.words.size() == 4)"#,
    r#"commands.exists_one(c, c.program.startsWith("r"))"#,
    r#"commands.filter(c, c.program == "rm").size() == 1"#,
    r#"commands.map(c, c.program) == ["kubectl", "rm"]"#,
    r#"commands.map(c, c.program == "rm", c.words[0]) == ["-rf"]"#,
    "1 + 2 * 3 == 7 && -7 / 2 == -3 && -7 % 3 == -1",
    "programs[5] == \"x\" || true",
    "programs[5] == \"x\" && false",
    "programs[5] == \"x\"",
    "1 / 0 == 1",
    "9223372036854775807 + 1 > 0",
    "has(arguments.channel) && !has(arguments.user)",
    r#""limit" in arguments && arguments["limit"] == "20""#,
    "arguments.user == \"x\"",
    r#"path.matches("^/work/.*[.]sql$") && path.matches("db/") && !path.matches("^db")"#,
    r#""\u00e9\x41\101\n".size() == 4 && 'a\'b' == "a'b" && r"\n" == "\\n""#,
    "history.failures > 1 ? tool == \"Bash\" : false",
    "[1, 2] + [3] == [1, 2, 3] && \"a\" + \"b\" == \"ab\" && \"a\" < \"b\"",
    "!(1 > 2) && 2 in [1, 2] && !(3 in [1, 2])",
    "true || false && false",
    "1 < 2 == true",
    "int(\"12\") == 12 && string(12) == \"12\"",
    "0x1F == 31",
];

#[test]
fn conditions_mean_the_same() {
    for text in CONDITIONS {
        assert_eq!(ours(text), reference(text), "{text}");
    }
}

/// Returns a condition of a given depth; a value that it uses may be missing.
fn condition() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("history.failures".to_owned()),
        (-3_i64..5).prop_map(|number| if number < 0 {
            format!("({number})")
        } else {
            number.to_string()
        }),
        Just("programs.size()".to_owned()),
        Just("9223372036854775807".to_owned()),
    ];
    let text = prop_oneof![
        Just("tool".to_owned()),
        Just("path".to_owned()),
        Just("\"rm\"".to_owned()),
        (0..4).prop_map(|at| format!("programs[{at}]")),
        Just("arguments.channel".to_owned()),
        Just("arguments.user".to_owned()),
    ];
    let sums = (number.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%"]), number)
        .prop_map(|(a, sign, b)| format!("({a} {sign} {b})"));
    let orders = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        (sums.clone(), orders.clone(), sums).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        (text.clone(), orders, text.clone()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        (text.clone(), text).prop_map(|(a, b)| format!("({a} + {b}).contains({b})")),
        Just("commands.exists(c, c.words[3] == \"shop\")".to_owned()),
        Just("programs.all(p, p == tool)".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            inner.clone().prop_map(|a| format!("programs.exists(p, {a})")),
            inner.prop_map(|a| format!("[1, 2].filter(n, {a}).size() == 2")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_conditions_mean_the_same(text in condition()) {
        prop_assert_eq!(ours(&text), reference(&text), "{}", text);
    }
}
