//! Judges the commands of a shell line.

use crate::deeds::{self, Deed};
use crate::findings::Finding;
use crate::lines::{Line, Place};
use crate::names::Environment;
use crate::plans::{self, Approval};
use crate::settings::Config;
use crate::tasks;
use crate::tools::{self, Family};
use portcullis_plugin::text::cut;
use portcullis_plugin::types::{Action, Command, Context, Evidence, Shell};

/// The longest command that is quoted as evidence, in bytes.
const QUOTED: usize = 200;

/// Returns true if some command of a line may concern this plugin.
pub fn concern(shell: &Shell) -> bool {
    shell.commands.iter().any(|command| {
        tools::family(&command.program).is_some()
            || command.wrappers.iter().any(|wrapper| tools::leads_elsewhere(wrapper))
            || tasks::deed(command) > Deed::Nothing
    })
}

/// Judges every command of a line.
pub fn judge(shell: &Shell, action: &Action, context: &Context, config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut line = Line::new(shell, &action.facts.hosts, context);
    for (at, command) in (0..).zip(&shell.commands) {
        line.enter(command);
        judge_command(at, command, shell, action, &line, config, &mut findings);
        line.leave(command);
    }
    findings
}

fn judge_command(
    at: u32,
    command: &Command,
    shell: &Shell,
    action: &Action,
    line: &Line<'_>,
    config: &Config,
    findings: &mut Vec<Finding>,
) {
    let Some(Deal { family, deed, name, tool }) = classify(at, command, shell, action, line) else {
        return;
    };
    if deed == Deed::Nothing {
        return;
    }
    let approval = approve(command, family, shell, line);
    let place = line.place(command, family, &config.patterns);
    if !tool && place.environment < Environment::Protected {
        return;
    }
    let quoted = quote(command);
    findings.extend(judge_place(deed, &place, family, &name, &quoted, config));
    if place.environment == Environment::Development {
        return;
    }
    if deed == Deed::State {
        findings.push(Finding {
            rule: "infrastructure_state",
            answer: config.state,
            reason: format!(
                "{name} changes the record of what exists, not what exists: a mistake there makes \
                 the next apply destroy or duplicate it"
            ),
            instead: "describe the move in the configuration (moved, removed and import blocks), \
                      or let a person run it with a backup of the state at hand"
                .into(),
            evidence: Evidence::command(&quoted),
        });
    }
    if deed != Deed::Destroy {
        findings
            .extend(approval.and_then(|approval| judge_approval(approval, &name, &quoted, config)));
    }
}

/// What a command has to do with infrastructure.
struct Deal {
    family: Family,
    deed: Deed,
    /// What to call it in a message.
    name: String,
    /// It is a tool for infrastructure. Anything else (a task, a command on another machine) counts
    /// only where the environment is known.
    tool: bool,
}

/// Returns what a command has to do with infrastructure, if anything.
fn classify(
    at: u32,
    command: &Command,
    shell: &Shell,
    action: &Action,
    line: &Line<'_>,
) -> Option<Deal> {
    let effects = &action.facts.effects;
    if let Some(family) = tools::family(&command.program) {
        let deed = match family {
            Family::Docker => {
                let deed = deeds::of_docker(command, effects, at);
                let switch =
                    deeds::switch_target(command, family).map_or(Deed::Nothing, |_| Deed::Switch);
                // The engine of this machine is not infrastructure.
                let remote = line.is_remote_engine(command) || is_led_away(command);
                switch.max(if remote { deed } else { Deed::Nothing })
            }
            _ => deeds::of_effects(effects, at),
        };
        let deed = if deeds::edits_state(command, family) { Deed::State } else { deed };
        let switches = || deeds::switch_target(command, family).is_some();
        let deed = if deed <= Deed::Change && switches() { Deed::Switch } else { deed };
        let name = format!("`{}`", deeds::name_command(command, family));
        return Some(Deal { family, deed, name, tool: true });
    }
    if let Some(wrapper) = command.wrappers.iter().find(|one| tools::leads_elsewhere(one)) {
        let family = tools::family(wrapper).unwrap_or(Family::Kubernetes);
        if family == Family::Docker && !line.is_remote_engine(command) {
            return None;
        }
        let deed = deeds::of_far_command(effects, at, command);
        let program = if command.program.is_empty() { "a program" } else { &command.program };
        let name = format!("`{program}` through `{wrapper}`");
        return Some(Deal { family, deed, name, tool: wrapper != "ssh" });
    }
    let deed = tasks::deed(command);
    // Where the host read the recipe, its commands stand in the line themselves.
    let is_read = shell.commands.iter().any(|inner| {
        inner.wrappers.contains(&command.program) && tools::family(&inner.program).is_some()
    });
    (deed > Deed::Nothing && !is_read).then(|| Deal {
        family: Family::Stack,
        deed,
        name: format!("`{}`", tasks::name(command)),
        tool: false,
    })
}

fn is_led_away(command: &Command) -> bool {
    command.wrappers.iter().any(|wrapper| wrapper == "ssh")
}

fn approve(command: &Command, family: Family, shell: &Shell, line: &Line<'_>) -> Option<Approval> {
    if !matches!(family, Family::Terraform | Family::Stack) {
        return None;
    }
    let of_all = line.variable(command, "TF_CLI_ARGS").unwrap_or_default();
    let of_apply = line.variable(command, "TF_CLI_ARGS_apply").unwrap_or_default();
    let arguments = format!("{of_all} {of_apply}");
    plans::approval(command, family, shell, line.plans(), &arguments)
}

/// Judges a deed by where it goes.
pub fn judge_place(
    deed: Deed,
    place: &Place,
    family: Family,
    name: &str,
    quoted: &str,
    config: &Config,
) -> Option<Finding> {
    let environment = place.environment;
    let answers = config.answers(environment);
    let (rule, answer) = match (deed, environment) {
        (Deed::Nothing, _) | (_, Environment::Development) => return None,
        (Deed::Switch, Environment::Production) => ("infrastructure_switch", config.switch),
        (Deed::Switch, _) => return None,
        (Deed::Destroy, _) => (rule_of(environment), answers.destroys),
        (Deed::Change | Deed::State, _) => (rule_of(environment), answers.changes),
    };
    Some(Finding {
        rule,
        answer,
        reason: explain(deed, place, name),
        instead: advise(deed, environment, family),
        evidence: Evidence::command(quoted),
    })
}

fn explain(deed: Deed, place: &Place, name: &str) -> String {
    let because = &place.because;
    let environment = place.environment.as_str();
    match (deed, place.environment) {
        (Deed::Switch, _) => format!(
            "{name} makes production (`{because}`) the target of every later command, also of \
             those that do not name it"
        ),
        (Deed::Destroy, Environment::Unknown) => match &place.unmatched {
            Some(called) => format!(
                "{name} destroys something, and `{called}` names no environment that the \
                 settings know"
            ),
            None => format!(
                "{name} destroys something, and the command does not say in which environment"
            ),
        },
        (_, Environment::Unknown) => format!(
            "{name} changes an environment that the command does not name, or the settings do \
             not know"
        ),
        (Deed::Destroy, _) => {
            format!("{name} destroys something in {environment}, which `{because}` names")
        }
        _ => format!("{name} changes {environment}, which `{because}` names"),
    }
}

fn advise(deed: Deed, environment: Environment, family: Family) -> String {
    match (deed, environment) {
        (Deed::Switch, _) => format!("name it in each command instead, {}", family.naming()),
        (_, Environment::Unknown) => {
            format!("name the environment in the command, {}", family.naming())
        }
        (Deed::Destroy, _) => {
            "let a person run it, with a plan or backup at hand, or use another environment".into()
        }
        _ => "show what would change (plan, diff or dry run) and let a person decide, or use \
              another environment"
            .into(),
    }
}

const fn rule_of(environment: Environment) -> &'static str {
    match environment {
        Environment::Production => "infrastructure_production",
        Environment::Protected => "infrastructure_protected",
        Environment::Unknown | Environment::Development => "infrastructure_unknown",
    }
}

fn judge_approval(
    approval: Approval,
    name: &str,
    quoted: &str,
    config: &Config,
) -> Option<Finding> {
    const INSTEAD: &str =
        "save a plan (`plan -out=FILE`), show it, and apply that file in a command of its own";
    let (rule, answer, reason) = match approval {
        Approval::Planned => return None,
        Approval::UnseenPlan => (
            "infrastructure_unplanned",
            config.unplanned,
            format!(
                "{name} carries out a plan that this very command makes, so nobody can look at it"
            ),
        ),
        Approval::Unplanned => (
            "infrastructure_unplanned",
            config.unplanned,
            format!("{name} has no saved plan, so what it does may differ from what was looked at"),
        ),
        Approval::Unapproved => (
            "infrastructure_unapproved",
            config.unapproved,
            format!("{name} carries out changes that nobody has seen: nothing asks before it"),
        ),
    };
    let evidence = Evidence::command(quoted);
    Some(Finding { rule, answer, reason, instead: INSTEAD.to_owned(), evidence })
}

fn quote(command: &Command) -> String {
    let mut text = command.program.clone();
    for word in &command.words {
        if text.len() > QUOTED {
            break;
        }
        text.push(' ');
        text.push_str(&word.text);
    }
    cut(&text, QUOTED)
}
