//! Reads a step of a case: the event and its end.

use super::super::values::read_object;
use super::super::{CaseEvent, CaseSetup, CaseStep, Expectation, ScriptedCost, ScriptedEnd};
use super::Reader;
use portcullis_engine::Kind;
use portcullis_strict_toml::{Keys, Table, show};

pub(super) const STEP: Keys<'_> = Keys {
    names: &[
        "says",
        "tool",
        "input",
        "returns",
        "fails",
        "refused",
        "tokens",
        "duration_ms",
        "after",
        "agent",
        "issue",
        "expect",
    ],
    owner: "`case.step`",
};
/// The longest delay before a step, in seconds: a year.
const MOST_SECONDS: i64 = 31_536_000;

impl Reader {
    pub(super) fn step(&self, table: &Table<'_>, setup: &CaseSetup) -> Option<CaseStep> {
        let seconds = match table.get("after") {
            Some(item) => u64::try_from(item.integer(0..=MOST_SECONDS)?).ok()?,
            None => 1,
        };
        let agent = table.text("agent");
        // The parts are read before the event, so that one mistake does not hide another.
        let expected = self.expectation(table, Expectation::STEP);
        let issue = table.get("issue").and_then(|given| self.issue(&given));
        let what = read_event(table)?;
        self.check_asked(&what, table, setup);
        Some(CaseStep {
            place: table.place(),
            what,
            after: seconds.saturating_mul(1000),
            agent,
            issue,
            expected,
        })
    }

    /// Reports an `issue` or an `expect` in a step that does not reach the plugin.
    fn check_asked(&self, what: &CaseEvent, table: &Table<'_>, setup: &CaseSetup) {
        let says = matches!(what, CaseEvent::Says(_));
        if let (true, Some(given)) = (says, table.get("issue")) {
            given.report("a step with `says` has no issue; move `issue` to a step with a `tool`");
        }
        let Some(given) = table.get("expect") else { return };
        given.report(match self.kind {
            Kind::AuditExporter => {
                "an audit-exporter gets the records of the whole case; write `[[case.expect]]`"
            }
            _ if says => {
                "plugins are not asked about the person's words; move `expect` to a step with a `tool`"
            }
            Kind::Intervention if setup.with.is_empty() && !table.contains("issue") => {
                "the plugin is asked about no issue here; add `[case.step.issue]` with its `name` to the step"
            }
            _ => return,
        });
    }
}

fn read_event(table: &Table<'_>) -> Option<CaseEvent> {
    if let Some(says) = table.get("says") {
        let others = ["tool", "input", "returns", "fails", "refused", "tokens", "duration_ms"];
        if let Some(item) = table.entries().into_iter().find(|item| others.contains(&item.key())) {
            item.report_key(format!(
                "a step with `says` has no `{}`: what the person says and what the agent does are two steps; write two",
                item.key()
            ));
        }
        return says.text().map(|text| CaseEvent::Says(text.to_owned()));
    }
    if !table.contains("tool") {
        table.report(
            "the step has neither `tool` nor `says`; name what the agent calls, as `tool \
             = \"Bash\"`, or what the person says",
        );
        return None;
    }
    let tool = table.text("tool")?;
    if !table.contains("input") {
        table.report(format!(
            "the step calls `{}` without `input`; give its parameters, as `input = {{ command = \"ls\" }}`",
            show(&tool)
        ));
        return None;
    }
    let input = read_object(&table.any_table("input")?);
    let end = read_end(table)?;
    let cost = ScriptedCost {
        tokens: read_amount(table, "tokens")?,
        duration_ms: read_amount(table, "duration_ms")?,
    };
    if let (ScriptedEnd::Refused, Some(item)) =
        (&end, table.get("tokens").or_else(|| table.get("duration_ms")))
    {
        item.report_key(format!("a refused call never runs, so it has no `{}`", item.key()));
        return None;
    }
    Some(CaseEvent::Calls { tool, input, end, cost })
}

/// Reads an amount; `None` within if the step has none.
fn read_amount(table: &Table<'_>, key: &str) -> Option<Option<u32>> {
    let Some(item) = table.get(key) else { return Some(None) };
    let amount = item.integer(0..=u32::MAX.into())?;
    Some(u32::try_from(amount).ok())
}

fn read_end(table: &Table<'_>) -> Option<ScriptedEnd> {
    let ends = ["returns", "fails", "refused"];
    let given: Vec<_> =
        table.entries().into_iter().filter(|item| ends.contains(&item.key())).collect();
    if let [first, second, ..] = given.as_slice() {
        second.report_key(format!(
            "a call that has `{}` has no `{}`: it ends in one way; take one of them out",
            first.key(),
            second.key()
        ));
        return None;
    }
    Some(match given.first() {
        Some(item) if item.key() == "fails" => ScriptedEnd::Fails(item.text()?.to_owned()),
        Some(item) if item.key() == "returns" => ScriptedEnd::Returns(item.text()?.to_owned()),
        Some(item) if item.flag()? => ScriptedEnd::Refused,
        _ => ScriptedEnd::Returns(String::new()),
    })
}
