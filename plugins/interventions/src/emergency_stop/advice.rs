//! The advice: immediate, preventive, and for the configuration.
//!
//! Each kind of issue has its lines, followed by the common ones. A line that names a detail is
//! left out if the issue does not have it.

use super::items;
use crate::first_checks::{SINCE, look_at};
use portcullis_plugin::intervention::{Issue, Situation};
use portcullis_plugin::template::Values;
use portcullis_plugin::types::Error;

struct Advice {
    issue: &'static str,
    preventive: &'static str,
    configuration: &'static str,
}

const ADVICE: &[Advice] = &[
    Advice {
        issue: "repetitive_errors",
        preventive: "Give the agent the facts that it lacked (versions, paths, how to run the \
             tests) in the project's instructions.",
        configuration: "Lower `plugins.repetitive-errors.settings.sensitivity` if it was right to \
             try so often; raise it to be warned earlier.",
    },
    Advice {
        issue: "scope_creep",
        preventive: "Say in the request which folders belong to the task.",
        configuration: "If those places belong to the work, add them to `scope.folders`; if not, keep them out of it.",
    },
    Advice {
        issue: "resource_spiral",
        preventive: "Split the task, and ask for a small sample before the whole.",
        configuration: "Lower `limits.file_operations`, `limits.token_usage` and `limits.execution_time_seconds`.",
    },
    Advice {
        issue: "goal_drift",
        preventive: "State one goal in a request, and what is not part of it.",
        configuration: "Raise `plugins.goal-drift.settings.sensitivity` to be warned earlier.",
    },
    Advice {
        issue: "hallucination",
        preventive: "Name the real files, commands and versions in the project's instructions.",
        configuration: "Raise `plugins.hallucination.settings.sensitivity` to be warned earlier.",
    },
    Advice {
        issue: "loop",
        preventive: "Tell the agent when to give up and what to report then.",
        configuration: "Raise `plugins.loop.settings.sensitivity` to be warned earlier.",
    },
    Advice {
        issue: "blocked_then_bypassed",
        preventive: "Where the task needs it, do it yourself or allow this one action beforehand.",
        configuration: "If the refusal was wrong, change the rule that refused; do not switch this pattern off.",
    },
    Advice {
        issue: "secret_egress",
        preventive: "Keep secrets out of the agent's reach: in a vault or in variables that only the program gets.",
        configuration: "List the hosts that the work needs in \
             `rules.warn_external_network.trusted_hosts`: requests to all others are warned \
             about.",
    },
    Advice {
        issue: "instruction_injection",
        preventive: "Let the agent read pages and files of strangers in a session of its own, with \
             nothing worth taking.",
        configuration: "Ask before network requests and writes in sessions that read from outside: \
             a rule in `rules.files` can do that.",
    },
    Advice {
        issue: "rule:*",
        preventive: "Say in the project's instructions what `{rule}` forbids and what to do \
             instead.\nInstead of it: {evidence.alternative}",
        configuration: "If `{rule}` was wrong here, `portcullis allow` lets single actions run, \
             and `rules.disabled` switches the rule off for good.",
    },
];

const OTHER: Advice = Advice {
    issue: "default",
    preventive: "Say in the project's instructions what to do where `{issue}` comes up.",
    configuration: "If `{issue}` was wrong here, lower `patterns.sensitivity`.",
};

const COMMON_BACK: &str = "The files can be put back to before step {checkpoint_step}: `portcullis \
     checkpoint restore {checkpoint}`";

/// Returns the immediate steps.
pub(super) fn immediate(
    issue: &Issue,
    situation: &Situation,
    values: &Values,
) -> Result<Vec<String>, Error> {
    let mut values = values.clone();
    let safe = situation.checkpoints.iter().find(|checkpoint| {
        checkpoint.unsafe_because.is_none() && checkpoint.step <= issue.first_step
    });
    values.set("checkpoint", safe.map(|checkpoint| checkpoint.id.as_str()));
    values.set("checkpoint_step", safe.map(|checkpoint| checkpoint.step.to_string()).as_deref());
    items("immediate", &format!("{}\n{SINCE}\n{COMMON_BACK}", look_at(issue)), &values)
}

/// Returns the steps that prevent a recurrence.
pub(super) fn preventive(issue: &Issue, values: &Values) -> Result<Vec<String>, Error> {
    items(
        "preventive",
        &format!(
            "{}\nKeep the work in git, so that what an agent changes can be restored.",
            of(issue).preventive
        ),
        values,
    )
}

/// Returns the changes to the configuration.
pub(super) fn configuration(issue: &Issue, values: &Values) -> Result<Vec<String>, Error> {
    items("configuration", of(issue).configuration, values)
}

fn of(issue: &Issue) -> &'static Advice {
    ADVICE.iter().find(|advice| advice.issue == issue.family()).unwrap_or(&OTHER)
}
