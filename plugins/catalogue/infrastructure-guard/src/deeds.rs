//! What a command does to infrastructure: from the effects that the host found, and from verbs where
//! the effects cannot tell.

use crate::tools::{Family, operands};
use portcullis_plugin::types::{Command, Effect, EffectKind};

/// What a command does, from the mildest to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// It looks.
    Nothing,
    /// It makes another environment the one that later commands go to.
    Switch,
    /// It makes or changes something.
    Change,
    /// It changes the record of what exists.
    State,
    /// It destroys something.
    Destroy,
}

/// Returns what the effects of a command amount to, on the far side.
pub fn of_effects(effects: &[Effect], command: u32) -> Deed {
    effects
        .iter()
        .filter(|effect| effect.command == Some(command))
        .map(|effect| match effect.kind {
            // Statements are the business of another plugin.
            _ if effect.target == "database" => Deed::Nothing,
            EffectKind::RemoteDelete => Deed::Destroy,
            EffectKind::RemoteChange | EffectKind::Publish => Deed::Change,
            _ => Deed::Nothing,
        })
        .max()
        .unwrap_or(Deed::Nothing)
}

/// Returns what a command does that runs on another machine or in a container of one: there, an
/// unknown program is a change, and so is a shell that waits for commands.
pub fn of_far_command(effects: &[Effect], at: u32, command: &Command) -> Deed {
    let own = || effects.iter().filter(|effect| effect.command == Some(at));
    let changes = own().any(|effect| {
        effect.target != "database"
            && matches!(
                effect.kind,
                EffectKind::SystemChange
                    | EffectKind::ProcessStart
                    | EffectKind::ProcessStop
                    | EffectKind::FileCreate
                    | EffectKind::FileModify
                    | EffectKind::FileDelete
                    | EffectKind::Persistence
                    | EffectKind::Privilege
                    | EffectKind::Evade
                    | EffectKind::UnseenCode
            )
    });
    // A client of a database that starts in a container is no program of unknown effect.
    let only_database = own().any(|effect| effect.target == "database");
    let opens_shell = command.words.is_empty() && is_shell(&command.program);
    if (changes && !only_database) || opens_shell {
        return of_effects(effects, at).max(Deed::Change);
    }
    of_effects(effects, at)
}

/// Returns true for a program that waits for commands.
fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "zsh" | "ash" | "dash" | "fish" | "ksh" | "")
}

/// Returns what a command of a container engine does on the machine that it works on.
pub fn of_docker(command: &Command, effects: &[Effect], at: u32) -> Deed {
    let words = operands(command, Family::Docker);
    let (noun, verb) = match words.as_slice() {
        [noun, verb, ..] if is_docker_noun(noun) => (*noun, *verb),
        [verb, ..] => ("", *verb),
        [] => return Deed::Nothing,
    };
    if noun == "context" {
        return Deed::Nothing;
    }
    let own = match verb {
        "rm" | "remove" | "rmi" | "prune" | "down" => Deed::Destroy,
        "run" | "start" | "stop" | "kill" | "restart" | "pause" | "unpause" | "update"
        | "rename" | "create" | "up" | "deploy" | "scale" | "cp" | "pull" | "build" | "load"
        | "import" | "connect" | "disconnect" | "rollback" | "promote" | "demote" | "leave"
        | "init" | "join" | "tag" => Deed::Change,
        _ => Deed::Nothing,
    };
    own.max(of_effects(effects, at))
}

fn is_docker_noun(word: &str) -> bool {
    matches!(
        word,
        "container"
            | "image"
            | "volume"
            | "network"
            | "system"
            | "builder"
            | "compose"
            | "stack"
            | "service"
            | "swarm"
            | "node"
            | "secret"
            | "config"
            | "context"
            | "buildx"
            | "plugin"
    )
}

/// Returns the place that a command makes the one of all later commands, with its family.
pub fn switch_target<'a>(command: &'a Command, family: Family) -> Option<(Family, &'a str)> {
    let words = operands(command, family);
    let after = |path: &[&str]| words_after(&words, path);
    let own = |target: &'a str| (family, target);
    match command.program.as_str() {
        "kubectx" | "kubens" => words.first().copied().map(own),
        "kubectl" | "k" | "oc" => after(&["config", "use-context"])
            .or_else(|| {
                let sets = words.windows(2).any(|pair| pair == ["config", "set-context"]);
                sets.then(|| option_value(command, &["--namespace", "-n"])).flatten()
            })
            .or_else(|| after(&["project"]).filter(|_| command.program == "oc"))
            .map(own),
        "terraform" | "tofu" | "terragrunt" => {
            after(&["workspace", "select"]).or_else(|| after(&["workspace", "new"])).map(own)
        }
        "pulumi" => after(&["stack", "select"])
            .or_else(|| {
                option_value(command, &["--stack", "-s"])
                    .filter(|_| words.starts_with(&["stack", "select"]))
            })
            .map(own),
        "docker" => after(&["context", "use"]).map(own),
        "hcloud" => after(&["context", "use"]).map(own),
        "argocd" => after(&["context"]).map(own),
        "firebase" => after(&["use"]).map(own),
        "gcloud" => {
            let kept = |word: &&str| {
                matches!(*word, "project" | "account" | "core/project" | "core/account")
            };
            let set = words.windows(3).find_map(|three| match three {
                ["config", "set", property] if kept(property) => Some(*property),
                _ => None,
            });
            set.and_then(|property| after(&["config", "set", property]))
                .or_else(|| after(&["config", "configurations", "activate"]))
                .map(own)
                .or_else(|| {
                    after(&["clusters", "get-credentials"]).map(|name| (Family::Kubernetes, name))
                })
        }
        "az" => {
            let named = || option_value(command, &["-s", "--subscription", "-n", "--name"]);
            match words.as_slice() {
                ["account", "set", ..] => named().map(own),
                ["aks", "get-credentials", ..] => named().map(|name| (Family::Kubernetes, name)),
                _ => None,
            }
        }
        "aws" => match words.as_slice() {
            ["eks", "update-kubeconfig", ..] => {
                option_value(command, &["--name"]).map(|name| (Family::Kubernetes, name))
            }
            _ => None,
        },
        "doctl" => {
            after(&["kubeconfig", "save"]).map(|name| (Family::Kubernetes, name)).or_else(|| {
                let switches = words.starts_with(&["auth", "switch"]);
                switches.then(|| option_value(command, &["--context"])).flatten().map(own)
            })
        }
        _ => None,
    }
}

/// Returns the word behind a path of subcommands.
fn words_after<'a>(words: &[&'a str], path: &[&str]) -> Option<&'a str> {
    let at = words.windows(path.len()).position(|window| window == path)?;
    words.get(at + path.len()).copied()
}

/// Returns the value of the first of these options that a command has.
pub fn option_value<'a>(command: &'a Command, names: &[&str]) -> Option<&'a str> {
    command.words.iter().enumerate().find_map(|(at, word)| {
        let (name, value) =
            word.text.split_once('=').map_or((word.text.as_str(), None), |(n, v)| (n, Some(v)));
        let next = || command.words.get(at + 1).map(|next| next.text.as_str());
        names.contains(&name).then(|| value.or_else(next)).flatten()
    })
}

/// Returns true if a command changes the record of what exists, instead of what exists.
pub fn edits_state(command: &Command, family: Family) -> bool {
    let words = operands(command, family);
    let has = |names: &[&str]| command.words.iter().any(|word| names.contains(&word.text.as_str()));
    match (family, words.as_slice()) {
        (
            Family::Terraform,
            ["state", "rm" | "mv" | "push" | "replace-provider", ..]
            | ["taint" | "untaint" | "force-unlock", ..]
            | ["workspace", "delete", ..],
        ) => true,
        (Family::Terraform, ["init", ..]) => {
            has(&["-migrate-state", "--migrate-state", "-force-copy", "--force-copy"])
        }
        (
            Family::Stack,
            ["state", "delete" | "unprotect" | "rename" | "move" | "edit" | "repair", ..]
            | ["stack", "import", ..]
            | ["cancel", ..],
        ) => command.program == "pulumi",
        _ => false,
    }
}

/// Returns how to call a command in a message: the program with the words that say what it does.
pub fn name_command(command: &Command, family: Family) -> String {
    let mut name = command.program.clone();
    let verbs = operands(command, family);
    let cloud = family == Family::Cloud;
    // `aws s3 rm`, `gcloud compute instances delete`, `kubectl delete pod`
    let most = if cloud && command.program != "aws" { 3 } else { 2 };
    let is_verb = |word: &&&str| {
        let belongs = |c: char| {
            c.is_ascii_lowercase() || matches!(c, '-' | ':') || (cloud && c.is_ascii_digit())
        };
        word.len() < 32 && word.chars().all(belongs)
    };
    for verb in verbs.iter().take_while(is_verb).take(most) {
        name.push(' ');
        name.push_str(verb);
    }
    name
}
