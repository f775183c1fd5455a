//! Templates with present, absent and unknown names.

use super::*;
use crate::testing::{self, BuildContext, BuildIssue};
use crate::types::{Quantity, Severity};

fn values() -> Values {
    let issue = testing::issue("rule:no_force", Severity::High, "a forced push")
        .with("path", "/project/a.txt")
        .with("path", "/project/b.txt")
        .with("error", "no such\nfile `x`")
        .with("growth", " \n");
    let mut situation = testing::situation();
    situation.recent = vec!["Bash: ls".into(), "Bash: git push -f".into()];
    situation.totals.failed = 2;
    let context =
        testing::context().goal("first").goal("second").limit(Quantity::FileOperations, 100, 40);
    Values::of(&issue, &situation, &context)
}

#[test]
fn filled() {
    for (template, expected) in [
        (
            "{issue} {rule} {severity} {confidence} {impact}",
            "rule:no_force no_force high 0.80 0.50",
        ),
        ("{summary} {time} {step} {first_step}", "a forced push 2026-01-01T12:00:00.000Z 7 3"),
        ("{request} / {earlier_request}", "second / first"),
        (
            "{folders} | {limits} | {recent}",
            "/project | file-operations 40 of 100 | Bash: git push -f, Bash: ls",
        ),
        (
            "{path} | {evidence.path} | {error}",
            "/project/a.txt | /project/a.txt, /project/b.txt | no such file 'x'",
        ),
        ("{failed}", "2"),
        (
            "kept\n{host}\n{evidence.growth} x\n{evidence.unheard}\n{blocked}\n{recurrences}\nkept",
            "kept\nkept",
        ),
        ("{host}", ""),
        ("{{issue}} }}", "{issue} }"),
        ("", ""),
    ] {
        assert_eq!(fill("t", template, &values()).unwrap(), expected, "{template}");
    }
}

#[test]
fn refused() {
    for (template, message) in [
        (
            "ok\n{summry}",
            "template `t`, line 2: unknown placeholder `{summry}`; did you mean `{summary}`?",
        ),
        ("{", "template `t`, line 1: a `{` without its `}`; write `{{` for the brace itself"),
        ("a } b", "template `t`, line 1: a `}` without its `{`; write `}}` for the brace itself"),
        (
            "{host}{nothing like it}",
            "template `t`, line 1: unknown placeholder `{nothing like it}`; known are `issue`",
        ),
        ("{}", "template `t`, line 1: unknown placeholder `{}`; known are `issue`"),
        ("{evidence.}", "template `t`, line 1: unknown placeholder `{evidence.}`"),
    ] {
        let error = fill("t", template, &values()).unwrap_err().message();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn values_are_bounded() {
    let long = "word ".repeat(500);
    assert!(one_line(&long).len() <= VALUE);
    let many: Vec<String> = (0..20).map(|number| format!("{number}{long}")).collect();
    let text = list(many.iter().map(String::as_str)).unwrap();
    assert!(text.ends_with(" and 15 more") && text.len() < VALUE, "{text}");
}

/// The names that `prepare` accepts are those known of any issue.
#[test]
fn the_same_names_are_always_known() {
    let issue = testing::issue("loop", Severity::Low, "");
    let of = Values::of(&issue, &testing::situation(), &testing::context());
    let sorted = |values: &Values| {
        let mut names: Vec<String> = values.0.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(sorted(&Values::names()), sorted(&of));
}

#[test]
fn invisible_values_are_absent() {
    for hidden in ["", " \n", "\u{200b}\u{200d}", "\u{202e} \u{feff}", "\u{7}"] {
        let issue =
            testing::issue("loop", Severity::Low, hidden).with("path", hidden).with("path", "/a");
        let values = Values::of(&issue, &testing::situation(), &testing::context());
        assert_eq!(
            fill("t", "{summary}\n{path} {evidence.path}", &values).unwrap(),
            "/a /a",
            "{hidden:?}"
        );
    }
}
