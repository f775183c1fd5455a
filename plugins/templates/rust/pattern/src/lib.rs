//! Notices when one action after another fails.
//!
//! An agent that fails at everything lately is better stopped and asked than left to try a tenth
//! way.

use portcullis_plugin::pattern::*;

/// The plugin.
pub struct Plugin;

impl Pattern for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        "Notices when one action after another fails.",
    )
    .reads(&[Reads::Outcome, Reads::History])
    .severity(Severity::Medium)
    .settings(&[
        Spec::integer("most", 3, "how many failures in a row are too many").between(2, 50)
    ]);

    fn detect(
        prepared: &[u8],
        _: &[u8],
        history: &History,
        action: &Action,
        _: &Context,
    ) -> Result<Report, Error> {
        let most = usize::try_from(Settings::read(prepared)?.integer("most")?).unwrap_or_default();
        let Some(outcome) = &action.outcome else { return Ok(Report::nothing()) };
        // The action itself is the last of them, now that it has ended.
        let steps = history.newest(most);
        if steps.len() < most || steps.iter().any(|step| step.status != Status::Failed) {
            return Ok(Report::nothing());
        }
        let first = steps.first().map_or(action.step, |step| step.index);
        let summary = format!("the last {most} actions failed");
        let error = outcome.error.lines().next().unwrap_or_default();
        Ok(Detection::new("sample-check", Severity::Medium, &summary)
            .sure(700, 500)
            .since(first)
            .because(Evidence::error(error))
            .into())
    }
}

portcullis_plugin::export!(pattern: Plugin);

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing::{self, BuildAction, BuildStep};

    #[test]
    fn three_failures_in_a_row_are_one_too_many() {
        let prepared = Plugin::prepare(&[]).unwrap();
        for (fails, expected) in [([true, true, true], 1), ([true, false, true], 0)] {
            let steps = fails.iter().zip(0..).map(|(fails, at)| {
                if *fails { testing::step(at).failed(1) } else { testing::step(at) }
            });
            let action = testing::shell("make").failed("error: no rule").at_step(2);
            let report = Plugin::detect(
                &prepared,
                &[],
                &testing::history(steps),
                &action,
                &testing::context(),
            )
            .unwrap();
            assert_eq!(report.detections.len(), expected, "{fails:?}");
        }
    }
}
