//! `protect_the_system`: files of the operating system, and files that a repository, its builds or
//! an editor run by themselves, do not change unnoticed; logins and identities, start-up and
//! credentials change only with a person's consent. An installation by a package manager is not
//! such a change: it names no file. Whole folders belong to `prevent_recursive_deletion`. A text
//! that drops data, or leaves a check out, when something runs or reads its file is warned of.

use super::config::{Config, SYSTEM};
use super::showing::showing;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::listed;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Path, Scope};

/// Files that control logins and identities, and files that every program loads.
const IDENTITY: &[&str] = &[
    "/etc/passwd",
    "/etc/group",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/pam.d",
    "/etc/ssh",
    "/etc/security",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf.d",
    "/boot",
];

fn is_identity(path: &str) -> bool {
    IDENTITY.iter().any(|part| place::holds(part, path)) || path.ends_with("/.ssh/authorized_keys")
}

/// Stores of credentials below a home, and settings that control access to them.
const STORES: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".config/gcloud",
    ".config/gh",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".my.cnf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".vault-token",
    ".boto",
    ".s3cfg",
    ".terraformrc",
];

/// Returns true for a file of such a store; not for the folder itself and public files in it.
pub(super) fn is_store(path: &str, home: &str) -> bool {
    let public = path.ends_with(".pub")
        || path.rsplit('/').next().is_some_and(|name| name.starts_with("known_hosts"));
    let holds = |store: &str, rest: &str| {
        place::holds(store, rest) && !(FOLDERS.contains(&store) && rest == store)
    };
    !public
        && place::below_home(path, home)
            .is_some_and(|rest| STORES.iter().any(|store| holds(store, rest)))
}

/// Stores that are folders.
const FOLDERS: &[&str] = &[".ssh", ".aws", ".azure", ".gnupg", ".config/gcloud", ".config/gh"];

/// Programs that write no foreign content into a file.
const TOUCHES: &[&str] = &["chgrp", "chmod", "chown", "mkdir", "ssh-keygen", "gpg", "touch"];

/// Files by which other projects instruct their agents.
const INSTRUCTIONS: &[&str] = &[
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    "copilot-instructions.md",
];

/// Returns true for the configuration and the data of another program, in a person's home, or
/// another project's instructions for agents. The client's own folder holds its plans and notes;
/// its settings are guarded elsewhere.
fn is_theirs(path: &str, home: &str) -> bool {
    // Another program's log is not one of its settings.
    if path.ends_with(".log") {
        return false;
    }
    let instructs = path.rsplit('/').next().is_some_and(|name| INSTRUCTIONS.contains(&name));
    instructs
        || place::below_home(path, home)
            .is_some_and(|rest| rest.starts_with('.') && !place::holds(".claude", rest))
}

/// The class of a changed file, from the least to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// A build service or an editor runs its content, and nobody asked for that change.
    Served,
    /// Git or a shell runs its content, in this repository.
    Repository,
    /// Another program's, or an instruction of another project's agents.
    Theirs,
    System,
    /// It starts by itself, for the person or the machine.
    StartUp,
    Store,
    Identity,
}

/// The forms that the host's reader reports for a text which does harm once something runs or reads
/// its file.
const LATE: &[&str] = &["late-exposed", "late-loss", "late-unchecked"];

/// Applies the rule.
pub(super) fn rule(action: &Action, context: &Context, _: &Config) -> Option<Ruling> {
    match classed(action, context) {
        // The line says more than the file's name, but a person decides where the file asks for it.
        Some((worst, ruling)) if worst >= Class::StartUp => Some(ruling),
        Some((_, ruling)) => Some(late(action).unwrap_or(ruling)),
        None => late(action),
    }
}

/// Objects to a text that does harm later.
fn late(action: &Action) -> Option<Ruling> {
    let form = action.facts.forms.iter().find(|form| LATE.contains(&form.id.as_str()))?;
    let ruling = Ruling::warn(SYSTEM, &["this ", &form.label].concat());
    Some(ruling.instead("show the person the line, and let them decide"))
}

/// Objects to the files that an action changes; returns the gravest class of them, too.
fn classed(action: &Action, context: &Context) -> Option<(Class, Ruling)> {
    let facts = &action.facts;
    let mut changed: Vec<(Class, &str)> = Vec::new();
    let swept = |effect: &Effect| effect.kind == EffectKind::FileDelete && effect.recursive;
    let own = |effect: &&Effect| effect.certain && effect.kind.changes_files() && !swept(effect);
    for effect in place::lasting(facts).filter(own) {
        let Some(path) = facts.path(effect) else { continue };
        let class = class(effect, path, action, context);
        if let Some(class) = class.filter(|_| !changed.iter().any(|(_, known)| *known == path.text))
        {
            changed.push((class, &path.text));
        }
    }
    for effect in place::lasting(facts) {
        if let Some(class) = remote_class(effect)
            && !changed.contains(&(class, &effect.target))
        {
            changed.push((class, &effect.target));
        }
    }
    let worst = changed.iter().map(|(class, _)| *class).max()?;
    let (first, rest): (Vec<_>, Vec<_>) = changed.iter().partition(|(class, _)| *class == worst);
    let all = || first.iter().chain(&rest).map(|(_, path)| *path);
    let why = match worst {
        Class::Identity => "this changes who may do what on the machine: ",
        Class::Store => "this changes credentials, or what is done with them: ",
        Class::StartUp => "this schedules something to run later: ",
        Class::System => "this changes files of the operating system: ",
        Class::Theirs => "this changes files of other programs or for other agents: ",
        Class::Repository => "this changes what this repository runs automatically: ",
        Class::Served => "this changes what a build service or an editor runs automatically: ",
    };
    let reason = [why, &listed(all())].concat();
    let ruling = if worst >= Class::StartUp {
        Ruling::ask(SYSTEM, &reason)
    } else {
        Ruling::warn(SYSTEM, &reason)
    };
    let ruling = ruling.instead("show the person the change, and let them make it");
    Some((worst, showing(ruling, "path", all())))
}

fn class(effect: &Effect, path: &Path, action: &Action, context: &Context) -> Option<Class> {
    let (text, home) = (path.text.as_str(), context.home());
    let scope = place::scope_of(effect, path);
    let same = |other: &Effect| other.kind == EffectKind::Persistence && other.target == *text;
    let starts = action.facts.effects.iter().any(same);
    let touches = program(effect, action).is_some_and(|program| TOUCHES.contains(&program));
    let in_home = place::in_home(text, home);
    // A link counts as the place that it leads to.
    let named =
        |test: &dyn Fn(&str) -> bool| test(text) || path.link_target.as_deref().is_some_and(test);
    // The gravest class comes first.
    match scope {
        Scope::System if named(&is_identity) => Some(Class::Identity),
        Scope::System | Scope::Outside if named(&|text| is_store(text, home)) => {
            (!touches).then_some(Class::Store)
        }
        Scope::System | Scope::Outside if starts && effect.kind != EffectKind::FileDelete => {
            (!touches).then_some(Class::StartUp)
        }
        Scope::System if !in_home => Some(Class::System),
        Scope::Outside if named(&|text| is_theirs(text, home)) => Some(Class::Theirs),
        Scope::Inside if starts => Some(Class::Repository),
        Scope::Inside => served(text, context).then_some(Class::Served),
        _ => None,
    }
}

/// Returns the class of a file of another machine; its targets name the machine too.
fn remote_class(effect: &Effect) -> Option<Class> {
    let path = place::remote_path(effect)?;
    Some(match effect.kind {
        _ if is_identity(path) => Class::Identity,
        EffectKind::Persistence => Class::StartUp,
        _ => Class::System,
    })
}

fn program<'a>(effect: &Effect, action: &'a Action) -> Option<&'a str> {
    let command = action.shell()?.commands.get(usize::try_from(effect.command?).ok()?)?;
    Some(&command.program)
}

/// Files that build services and editors run, and the words of a request that is about them.
const SERVED: &[(&[&str], &[&str])] = &[
    (
        &[
            "/.github/workflows/",
            "/.github/actions/",
            "/.gitlab-ci.yml",
            "/.circleci/",
            "/.travis.yml",
            "/.drone.yml",
            "/.buildkite/",
            "/.woodpecker",
            "/azure-pipelines.yml",
            "/bitbucket-pipelines.yml",
            "/Jenkinsfile",
        ],
        &[
            "action",
            "actions",
            "build",
            "builds",
            "ci",
            "deploy",
            "deployment",
            "github",
            "gitlab",
            "jenkins",
            "job",
            "pipeline",
            "pipelines",
            "release",
            "workflow",
            "workflows",
        ],
    ),
    (
        &[
            "/.vscode/tasks.json",
            "/.devcontainer/",
            "/.devcontainer.json",
            "/.gitpod.yml",
            "/.idea/runConfigurations/",
        ],
        &[
            "code",
            "container",
            "devcontainer",
            "editor",
            "gitpod",
            "idea",
            "task",
            "tasks",
            "vscode",
        ],
    ),
    (
        &["/.pre-commit-config.yaml", "/lefthook.yml", "/lefthook.yaml"],
        &[
            "commit",
            "format",
            "formatter",
            "formatting",
            "hook",
            "hooks",
            "lefthook",
            "lint",
            "linter",
            "linting",
            "precommit",
        ],
    ),
];

/// Returns true for such a file of the project, if no request of the session is about it.
fn served(path: &str, context: &Context) -> bool {
    let Some(root) = place::root_of(path, &context.roots) else { return false };
    let below = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path);
    let at = |file: &str| {
        if file.ends_with('/') { below.contains(file) } else { below.starts_with(file) }
    };
    let Some((_, words)) = SERVED.iter().find(|(files, _)| files.iter().any(|file| at(file)))
    else {
        return false;
    };
    let asked = |text: &str| {
        text.to_ascii_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| words.contains(&word))
    };
    !context.goals.iter().any(|goal| asked(&goal.text))
}
