//! The test of custom rules: each rule's examples, judged in the sandbox. The meaning of rules is
//! not known here. `listing` shows all rules to people.

pub mod dry_run;
pub mod listing;

use anyhow::{Context, Result, bail};
use dry_run::{ExampleOutcome, RuleBench};
use portcullis_config::Config;
use portcullis_config::rules::CustomRules;
use portcullis_store::Home;
use std::os::unix::fs::OpenOptionsExt;

/// Tests the examples of a configuration's rules, once for each text.
///
/// # Errors
/// Fails if an example has another outcome than its rule says.
pub fn check_examples(config: &Config, home: &Home) -> Result<()> {
    let rules = &config.rules;
    if rules.files.is_empty() || rules.proven {
        return Ok(());
    }
    for file in &rules.files {
        let shown = file.path.display();
        let read = portcullis_rule_language::read(&file.text).unwrap_or_default();
        if read.iter().all(|read| read.examples.is_empty()) {
            continue;
        }
        let mut bench = RuleBench::new(file, config, home)?;
        for (rule, example) in read
            .iter()
            .flat_map(|read| read.examples.iter().map(move |example| (&read.rule, example)))
        {
            let outcome = bench.run_example(&rule.name, example);
            if let Some(what) = outcome.explain_wrong(&rule.name, example) {
                let (line, column) = portcullis_rule_language::place::line_and_column(
                    &file.text,
                    example.place.start,
                );
                bail!(
                    "the rules file `{shown}`, line {line}, column {column}: {what}; `portcullis \
                     rules check` shows what the rule saw"
                );
            }
        }
    }
    keep(rules, home)
}

/// Writes the receipt. If that fails, the examples are tested again next time.
fn keep(rules: &CustomRules, home: &Home) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(rules.receipt_path(home)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).context("cannot note that the rules were tried"),
    }
}

impl ExampleOutcome {
    /// Returns the difference to the example's expectation, if there is one.
    #[must_use]
    pub fn explain_wrong(
        &self,
        rule: &str,
        example: &portcullis_rule_language::Example,
    ) -> Option<String> {
        match self {
            Self::Failed(why) => {
                Some(format!("the example of `{rule}` could not be judged: {why}"))
            }
            Self::Judged { objected, .. } if *objected == example.matches => None,
            Self::Judged { .. } if example.matches => {
                Some(format!("`{rule}` has to match this example, and does not"))
            }
            Self::Judged { .. } => Some(format!("`{rule}` must not match this example, and does")),
        }
    }
}
