//! Tests of a third-party intervention: instead of a builtin one, as the deciding one, and
//! configured but missing.

use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::{built, install};
use anyhow::{Result, ensure};
use serde_json::Value;

/// The guest: words for one issue, a stop for another.
pub(crate) const NAME: &str = "my-words";
pub(crate) const SOURCE: &str = "use portcullis_plugin::intervention::*;\nstruct Guest;\nimpl Intervention for Guest {\n    \
     const DESCRIPTOR: Descriptor = Descriptor::new(\"my-words\", \"0.1.0\", \"A guest of the tests.\");\n    \
     fn intervene(_: &[u8], issue: &Issue, _: &Situation, _: &Context) -> Result<Response, Error> {\n        \
         if issue.evidence.iter().any(|one| one.value.contains(\"enough\")) {\n            \
             return Ok(Stop { message: \"it was enough\".into(), report: StopReport { root_cause: String::new(), contributing_factors: vec![], \
             immediate: vec![], preventive: vec![], configuration: vec![] } }.into());\n        }\n        \
         Ok(Guidance::saying(format!(\"mind {}\", issue.name)).into())\n    }\n}\nportcullis_plugin::export!(intervention: Guest);\n";

/// Runs three failures of the same kind; returns the last answer.
fn failing(site: &Site, session: &str, error: &str) -> Result<crate::common::reply::Reply> {
    let calls = site.calls(session);
    let mut last = None;
    for id in ["1", "2", "3"] {
        site.hook(&calls.bash(id, "make"))?;
        last = Some(site.hook(&calls.bash_failed(id, "make", error))?);
    }
    last.ok_or_else(|| anyhow::anyhow!("nothing was asked"))
}

/// Returns the newest intervention's kind and outcome.
fn newest(site: &Site) -> Result<(String, String)> {
    let record = site.shown(&["--kind", "intervention"])?.pop().unwrap_or_default();
    let text = |key: &str| record["intervention"][key].as_str().unwrap_or_default().to_owned();
    Ok((text("kind"), text("outcome")))
}

pub(crate) fn answers() -> Result<()> {
    let site = Site::new("answers")?;
    failing(&site, "ours", "Exit code 2\nno rule")?.says(&["The same error keeps coming back"])?;
    let unknown = "interventions.plugins.soft_correction = \"my-words\"\n";
    site.write("config.toml", unknown)?;
    let refused = site.hook(&site.calls("none").bash("1", "ls"))?;
    ensure!(refused.answer == Answer::Refused, "{refused:?}");
    refused.says(&[
        "`interventions.plugins.soft_correction` names `my-words`",
        "there is no intervention plugin of that name",
    ])?;

    install(&site, &built(NAME)?, NAME)?;
    let worded = failing(&site, "words", "Exit code 2\nno rule")?;
    worded.says(&["the plugin `my-words` says", "mind repetitive_errors"])?;
    ensure!(
        newest(&site)? == ("soft_correction".into(), "continue".into()),
        "{:?}",
        newest(&site)?
    );

    site.write("config.toml", "interventions.strategy = \"custom\"\n")?;
    site.hook(&site.calls("none").bash("2", "ls"))?
        .says(&["`interventions.decider` names no plugin"])?;
    site.write(
        "config.toml",
        "interventions.strategy = \"custom\"\ninterventions.decider = \"my-words\"\n",
    )?;
    let stopped = failing(&site, "decides", "Exit code 2\nenough of this")?;
    ensure!(stopped.answer == Answer::Stopped, "{stopped:?}");
    ensure!(newest(&site)? == ("emergency_stop".into(), "stop".into()), "{:?}", newest(&site)?);
    let after = site.hook(&site.calls("decides").bash("9", "ls"))?;
    ensure!(
        after.answer == Answer::Stopped || after.answer == Answer::Refused,
        "a stopped session goes on: {after:?}"
    );
    let effective: Value = serde_json::from_str(&site.output(&["config", "show", "--json"])?)?;
    ensure!(effective.to_string().contains("interventions.decider"), "{effective}");
    site.write("config.toml", "")?;
    site.ordinary("beside")?;
    site.verify()
}
