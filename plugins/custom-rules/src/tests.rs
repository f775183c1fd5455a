//! Rules over actions, natively: every name has its value, a rule that fails is not a pass.

use super::CustomRules;
use portcullis_plugin::risk_calculator::{Assessment, Objection, RiskCalculator};
use portcullis_plugin::testing::{
    self, BuildAction, BuildContext, fetch, file_write, message, shell, tool,
};
use portcullis_plugin::types::{Action, EffectKind, Error, Setting};
use portcullis_rule_language::evaluate::{Fields, Value};
use portcullis_rule_language::schema::{Kind, Type};

fn rule(name: &str, verdict: &str, when: &str) -> String {
    format!(
        "[[rule]]\nname = \"{name}\"\nverdict = \"{verdict}\"\nreason = \"about {{path}}\"\nwhen = '''{when}'''\n"
    )
}

fn settings(text: &str, more: &[Setting]) -> Vec<Setting> {
    let files = Setting::new("files", vec!["rules.toml".to_owned(), text.to_owned()]);
    std::iter::once(files).chain(more.iter().cloned()).collect()
}

fn assess(text: &str, more: &[Setting], action: &Action) -> Result<Assessment, Error> {
    let prepared = CustomRules::prepare(&settings(text, more)).expect("the rules can be read");
    CustomRules::assess(&prepared, action, &testing::context().goal("tidy up"))
}

fn action() -> Action {
    let mut action = shell("rm -rf build")
        .deletes("build")
        .affects(EffectKind::Network, "example.com")
        .form("recursive-force-delete", 200);
    action.facts.effects[0].command = Some(0);
    action
}

/// Returns true if a value has the type in the table.
fn fits(value: &Value<'_>, kind: Type) -> bool {
    match (value, kind) {
        (Value::Flag(_), Type::Flag)
        | (Value::Number(_), Type::Number)
        | (Value::Text(_), Type::Text) => true,
        (Value::Map(_), Type::Map) | (Value::Record(_), Type::Record(_)) => true,
        (Value::Text(word), Type::Word(words)) => words.contains(&word.as_ref()),
        (Value::List(items), Type::Texts) => {
            items.iter().all(|item| matches!(item, Value::Text(_)))
        }
        (Value::List(items), Type::Records(_)) => {
            items.iter().all(|item| matches!(item, Value::Record(_)))
        }
        _ => false,
    }
}

fn whole(record: &dyn Fields, kind: Kind) {
    for field in kind.fields() {
        let value = record.field(field.name);
        assert!(
            fits(&value, field.kind),
            "`{}` of {} is no {}",
            field.name,
            kind.as_str(),
            field.kind
        );
        match (field.kind, value) {
            (Type::Record(inner), Value::Record(record)) => whole(record, inner),
            (Type::Records(inner), Value::List(items)) => {
                for item in items.iter() {
                    if let Value::Record(record) = item {
                        whole(*record, inner);
                    }
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_name_of_the_table_has_its_value() {
    let context = testing::context();
    for action in [
        action(),
        file_write("a.txt", "text"),
        fetch("https://example.com/a"),
        message("user", "hello"),
        tool("mcp__a__b", &[("c", "d")]),
    ] {
        whole(&super::Seen::new(&action, &context), Kind::Action);
    }
}

#[test]
fn every_effect_has_a_name_that_conditions_know() {
    for kind in [
        EffectKind::FileRead,
        EffectKind::Publish,
        EffectKind::UnseenCode,
        EffectKind::ResourceUse,
        EffectKind::Other("new".into()),
    ] {
        let action = shell("x").affects(kind, "y");
        whole(&super::Seen::new(&action, &testing::context()), Kind::Action);
    }
}

#[test]
fn conditions_see_the_action() {
    for (when, action, objects) in [
        ("commands.exists(c, c.program == 'rm' && c.has_flag('-f'))", shell("rm -rf build"), true),
        ("effects.exists(e, e.kind == 'file-delete' && e.program == 'rm')", action(), true),
        ("effects.exists(e, e.kind == 'file-delete' && e.scope == 'outside')", action(), false),
        ("paths.exists(p, p.name == 'build' && !p.restorable)", action(), true),
        ("forms.exists(f, f.weight >= 200)", action(), true),
        (
            "path.below('src') && content.contains('secret')",
            file_write("src/a.rs", "a secret"),
            true,
        ),
        ("access == 'create' && intent == 'file-creation'", file_write("src/a.rs", ""), true),
        (
            "url.startsWith('https://') && host == 'example.com'",
            fetch("https://example.com/a"),
            true,
        ),
        ("message.contains('hello')", message("user", "hello"), true),
        (
            "tool.startsWith('mcp__') && arguments.channel == 'ops'",
            tool("mcp__chat__post", &[("channel", "ops")]),
            true,
        ),
        ("context.goals.exists(g, g.contains('tidy')) && history.failures == 0", shell("ls"), true),
        ("history.file_operations_left > 0 && context.roots.size() == 1", shell("ls"), true),
        ("coverage == 'partial' && gaps.size() > 0", shell("ls").partly("a variable"), true),
    ] {
        let assessment = assess(&rule("r", "ask", when), &[], &action).expect(when);
        assert_eq!(assessment.rulings.len(), usize::from(objects), "{when}");
    }
}

#[test]
fn a_ruling_says_what_the_rule_says() {
    let text = "[[rule]]\nname = \"r\"\nwhen = 'true'\nverdict = \"block\"\nseverity = \"critical\"\n\
                reason = \"{tool} on {path}: {programs} {{x}} {programs[9]}\"\nalternatives = [\"use {program}\"]\n";
    let action = shell("a; b; c; d").deletes("x\ny");
    let ruling = assess(text, &[], &action).expect("it answers").rulings.remove(0);
    assert_eq!((ruling.rule.as_str(), ruling.objection), ("r", Objection::Block));
    assert_eq!(ruling.severity.as_str(), "critical");
    assert_eq!(ruling.reason, "Bash on /project/x y: a, b, c and 1 more {x} ?");
    assert_eq!(ruling.alternatives, ["use a"]);
    let project = assess(text, &[Setting::new("project", true)], &action)
        .expect("it answers")
        .rulings
        .remove(0);
    assert!(
        project.reason.starts_with("a rule of this project says: Bash")
            && project.alternatives[0].starts_with("a rule of this project")
    );
}

#[test]
fn texts_stay_within_bounds() {
    let text = rule("r", "warn", "true").replace("about {path}", &"{path}{command}".repeat(60));
    let long = "x".repeat(60_000);
    let assessment = assess(&text, &[], &shell(&long).deletes(&long)).expect("it answers");
    assert!(assessment.rulings[0].reason.len() <= 1024);
    let many: String = (0..200).map(|at| rule(&format!("r{at}"), "warn", "true")).collect();
    assert_eq!(assess(&many, &[], &shell("ls")).expect("it answers").rulings.len(), 64);
}

#[test]
fn a_rule_that_fails_is_no_pass_and_makes_nothing_milder() {
    let failing = rule("broken", "warn", "programs[9] == 'x'");
    for (other, on_fault, expected) in [
        (None, "block", None),
        (Some("warn"), "block", None),
        (Some("ask"), "block", None),
        (Some("block"), "block", Some(Objection::Block)),
        (Some("ask"), "ask", Some(Objection::Ask)),
        (Some("warn"), "warn", Some(Objection::Warn)),
        (Some("ask"), "warn", Some(Objection::Ask)),
        (None, "warn", None),
    ] {
        let text =
            other.map(|verdict| rule("other", verdict, "true")).unwrap_or_default() + &failing;
        let answer = assess(&text, &[Setting::new("on_fault", on_fault)], &shell("ls"));
        match expected {
            Some(verdict) => {
                let rulings = answer.expect("it answers").rulings;
                assert_eq!(rulings[0].objection, verdict, "{other:?} {on_fault}");
                assert!(rulings.iter().any(
                    |ruling| ruling.rule == "failed_rule" && ruling.reason.contains("`broken`")
                ));
            }
            None => {
                let message = answer.expect_err("it fails").message();
                assert!(
                    message
                        .contains("the rule `broken` of `rules.toml` failed: there is no item 9"),
                    "{message}"
                );
            }
        }
    }
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    for (settings, part) in [
        (settings("[[rule]]", &[]), "rules.toml:1:1: this rule has no `name`"),
        (
            settings(&rule("r", "ask", "tol == 'x'"), &[]),
            "rules.toml:5:11: `tol` is unknown; did you mean `tool`?",
        ),
        (settings("", &[Setting::new("on_fault", "allow")]), "should be one of `warn`"),
        (settings("", &[Setting::new("threshold", 1)]), "the files are named by `rules.files`"),
        (vec![Setting::new("files", ["a"])], "a name without a text"),
    ] {
        let message = CustomRules::prepare(&settings).expect_err(part).message();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn disabled_rules_do_not_apply() {
    let text = rule("one", "ask", "true") + &rule("two", "ask", "true");
    let assessment =
        assess(&text, &[Setting::new("disabled", ["one"])], &shell("ls")).expect("it answers");
    assert_eq!(
        assessment.rulings.iter().map(|ruling| ruling.rule.as_str()).collect::<Vec<_>>(),
        ["two"]
    );
}

#[test]
fn foreign_bytes_are_refused() {
    let prepared = CustomRules::prepare(&settings(&rule("r", "ask", "true"), &[]))
        .expect("the rules can be read");
    for bytes in
        [&[][..], &[3], &[9, 0], &prepared[..prepared.len() - 1], &[&prepared[..], &[1]].concat()]
    {
        assert!(CustomRules::assess(bytes, &shell("ls"), &testing::context()).is_err());
    }
}
