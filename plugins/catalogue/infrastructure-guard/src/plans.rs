//! Terraform's plans: was one saved before, so that somebody could look at it, and does anything ask
//! before it is carried out?

use crate::tools::Family;
use portcullis_plugin::types::{Command, Direction, Shell};

/// How changes are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// A plan that was saved earlier is carried out.
    Planned,
    /// The plan was made in the same command line: nobody saw it.
    UnseenPlan,
    /// There is no saved plan; the tool itself asks.
    Unplanned,
    /// Nothing asks.
    Unapproved,
}

/// Options of Terraform whose value may be the next word.
const WITH_VALUE: &[&str] = &[
    "var",
    "var-file",
    "target",
    "replace",
    "state",
    "state-out",
    "backup",
    "lock-timeout",
    "parallelism",
    "exclude",
    "out",
    "working-dir",
    "terragrunt-working-dir",
    "chdir",
    "queue-include-dir",
    "queue-exclude-dir",
];

/// Returns Terraform's verb (`apply`), and the words after it that are no options.
pub fn verb_and_operands(command: &Command) -> (&str, Vec<&str>) {
    let mut found = Vec::new();
    let mut skips = false;
    for word in &command.words {
        let text = word.text.as_str();
        if std::mem::take(&mut skips) {
            continue;
        }
        match text.strip_prefix('-').map(|option| option.trim_start_matches('-')) {
            Some(option) => skips = WITH_VALUE.contains(&option),
            None => found.push(text),
        }
    }
    // `terragrunt run-all apply`, `terragrunt run --all -- apply`, `terragrunt stack run apply`
    let lead =
        found.iter().take_while(|word| matches!(**word, "run-all" | "run" | "stack")).count();
    let mut rest = found.split_off(lead.min(found.len()));
    let verb = if rest.is_empty() { "" } else { rest.remove(0) };
    (verb.strip_suffix("-all").unwrap_or(verb), rest)
}

/// Returns the file that a plan is saved in.
pub fn saved_plan(command: &Command) -> Option<&str> {
    if verb_and_operands(command).0 != "plan" {
        return None;
    }
    command.words.iter().enumerate().find_map(|(at, word)| {
        let option = word.text.strip_prefix('-')?.trim_start_matches('-');
        match option.split_once('=') {
            Some(("out", file)) => Some(file),
            None if option == "out" => command.words.get(at + 1).map(|next| next.text.as_str()),
            _ => None,
        }
    })
}

/// Returns how a command applies changes; none where it applies none, or the tool has no plans.
/// `saved` are the plans that earlier commands of the line made, `arguments` what a variable adds to
/// the command's words.
pub fn approval(
    command: &Command,
    family: Family,
    shell: &Shell,
    saved: &[&str],
    arguments: &str,
) -> Option<Approval> {
    let is_set = |names: &[&str]| {
        let words = command.words.iter().map(|word| word.text.as_str());
        words.chain(arguments.split_ascii_whitespace()).any(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            names.contains(&name) && value != "false"
        })
    };
    match (family, command.program.as_str()) {
        (Family::Terraform, _) => {
            let (verb, operands) = verb_and_operands(command);
            if verb != "apply" {
                return None;
            }
            let plan = operands.first().copied();
            if let Some(plan) = plan {
                let unseen = saved.contains(&plan);
                return Some(if unseen { Approval::UnseenPlan } else { Approval::Planned });
            }
            let unasked = is_set(&["-auto-approve", "--auto-approve"])
                || (command.program == "terragrunt"
                    && is_set(&["--non-interactive", "--terragrunt-non-interactive"]))
                || says_yes(command, shell);
            Some(if unasked { Approval::Unapproved } else { Approval::Unplanned })
        }
        (Family::Stack, "pulumi") => {
            let ups = command
                .words
                .iter()
                .any(|word| matches!(word.text.as_str(), "up" | "update" | "refresh"));
            let unasked = is_set(&["-y", "--yes", "-f", "--skip-preview", "-yf", "-fy"])
                || says_yes(command, shell);
            (ups && unasked).then_some(Approval::Unapproved)
        }
        (Family::Stack, "cdk") => {
            let deploys = command.words.iter().any(|word| word.text == "deploy");
            let never = command.words.iter().enumerate().any(|(at, word)| {
                word.text == "--require-approval=never"
                    || (word.text == "--require-approval"
                        && command.words.get(at + 1).is_some_and(|next| next.text == "never"))
            });
            (deploys && never).then_some(Approval::Unapproved)
        }
        _ => None,
    }
}

/// Returns true if its input answers the question: `yes | terraform apply`, `echo yes | ...`.
fn says_yes(command: &Command, shell: &Shell) -> bool {
    let is_yes = |text: &str| text.trim_start().to_ascii_lowercase().starts_with('y');
    let fed = command
        .input_from
        .and_then(|at| shell.commands.get(usize::try_from(at).ok()?))
        .is_some_and(|feeder| match feeder.program.as_str() {
            "yes" => feeder.words.first().is_none_or(|word| is_yes(&word.text)),
            "echo" | "printf" => feeder
                .words
                .iter()
                .find(|word| !word.text.starts_with('-'))
                .is_some_and(|word| is_yes(&word.text)),
            _ => false,
        });
    fed || command.redirections.iter().any(|redirection| {
        redirection.direction == Direction::Heredoc && is_yes(&redirection.target.text)
    })
}
