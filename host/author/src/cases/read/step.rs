//! Reads a step of a case: the event and its end.

use super::super::values::Reader;
use super::super::{CallEnd, CaseEvent, CaseScene, CaseStep, Expectation};
use portcullis_config::toml_text::{shown, start};
use portcullis_engine::Kind;
use toml::de::DeTable;

const STEP: &[&str] =
    &["says", "tool", "input", "returns", "fails", "refused", "after", "agent", "issue", "expect"];
/// The longest delay before a step, in seconds: a year.
const MOST_SECONDS: i64 = 31_536_000;

impl Reader<'_> {
    pub(super) fn step(
        &mut self,
        at: usize,
        table: &DeTable<'_>,
        scene: &CaseScene,
    ) -> Option<CaseStep> {
        let path = "case.step";
        self.known(table, path, STEP);
        let seconds = match table.get("after") {
            Some(_) => self.whole(table, path, "after", 0..=MOST_SECONDS)?,
            None => 1,
        };
        let agent = self.text(table, path, "agent");
        let expected = self.expectation(at, table, Expectation::STEP);
        let issue = table.get("issue").and_then(|given| self.issue(given));
        let what = self.what(at, table)?;
        self.is_asked(&what, table, scene);
        Some(CaseStep {
            place: self.lines.place(at),
            what,
            after: seconds.saturating_mul(1000),
            agent,
            issue,
            expected,
        })
    }

    /// Reports an `issue` or an `expect` in a step that does not reach the plugin.
    fn is_asked(&mut self, what: &CaseEvent, table: &DeTable<'_>, scene: &CaseScene) {
        let says = matches!(what, CaseEvent::Says(_));
        if let (true, Some(given)) = (says, table.get("issue")) {
            self.problem(
                start(given),
                "a step with `says` has no issue; move `issue` to a step with a `tool`".to_owned(),
            );
        }
        let Some(given) = table.get("expect") else { return };
        let why = match self.kind {
            Kind::AuditExporter => {
                "an audit-exporter gets the records of the whole case; write `[[case.expect]]`"
            }
            _ if says => {
                "no plugin is asked about what the person says; move `expect` to a step with a `tool`"
            }
            Kind::Intervention if scene.with.is_empty() && !table.contains_key("issue") => {
                "the plugin is asked about no issue here; add `[case.step.issue]` with its `name` to the step"
            }
            _ => return,
        };
        self.problem(start(given), why.to_owned());
    }

    fn what(&mut self, at: usize, table: &DeTable<'_>) -> Option<CaseEvent> {
        let path = "case.step";
        if table.contains_key("says") {
            let others = ["tool", "input", "returns", "fails", "refused"];
            if let Some((key, _)) =
                table.iter().find(|(key, _)| others.contains(&key.get_ref().as_ref()))
            {
                let what = format!(
                    "a step with `says` has no `{}`: what the person says and what the agent does are two steps; write two",
                    key.get_ref()
                );
                self.problem(start(key), what);
            }
            return self.text(table, path, "says").map(CaseEvent::Says);
        }
        if !table.contains_key("tool") {
            let what = "the step has neither `tool` nor `says`; name what the agent calls, as `tool = \"Bash\"`, or what the person says";
            self.problem(at, what.to_owned());
            return None;
        }
        let tool = self.text(table, path, "tool")?;
        let input = match table.get("input") {
            Some(given) => {
                let given = self.table(given, "case.step.input")?;
                self.object(given, "case.step.input")
            }
            None => {
                let what = format!(
                    "the step calls `{}` without `input`; give its parameters, as `input = {{ command = \"ls\" }}`",
                    shown(&tool)
                );
                self.problem(at, what);
                return None;
            }
        };
        let end = self.end(table)?;
        Some(CaseEvent::Calls { tool, input, end })
    }

    fn end(&mut self, table: &DeTable<'_>) -> Option<CallEnd> {
        let path = "case.step";
        let given: Vec<_> = table
            .iter()
            .filter(|(key, _)| matches!(key.get_ref().as_ref(), "returns" | "fails" | "refused"))
            .collect();
        if let [(one, _), (other, _), ..] = given.as_slice() {
            let (later, earlier) =
                if start(one) > start(other) { (one, other) } else { (other, one) };
            let what = format!(
                "a call that has `{}` has no `{}`: it ends in one way; take one of them out",
                earlier.get_ref(),
                later.get_ref()
            );
            self.problem(start(later), what);
            return None;
        }
        Some(match given.first().map(|(key, _)| key.get_ref().as_ref()) {
            Some("fails") => CallEnd::Fails(self.text(table, path, "fails")?),
            Some("returns") => CallEnd::Returns(self.text(table, path, "returns")?),
            Some(_) if self.flag(table, path, "refused")? => CallEnd::Refused,
            _ => CallEnd::Returns(String::new()),
        })
    }
}
