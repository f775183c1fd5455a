//! `warn_credential_read` and `warn_credential_written`: a key, token or password leaves its usual
//! place.
//!
//! Once read, its value is visible to the agent and to everyone who reads the conversation; once
//! written, it is in an unexpected place. Other rules judge if it leaves the machine.

use super::config::{CREDENTIALS, Config, WRITTEN};
use super::showing::showing;
use super::system;
use portcullis_builtin_shared::masked::{PLACEHOLDER, is_common, is_personal};
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Operation};

/// Objects to a written secret: masked, so that only its kind is known.
pub(super) fn written(action: &Action, _: &Context, _: &Config) -> Option<Ruling> {
    let Operation::File(file) = &action.operation else { return None };
    let text = file.content.as_deref()?;
    let before = file.replaced.as_deref().unwrap_or_default();
    let new =
        text.split(PLACEHOLDER).skip(1).filter_map(|rest| rest.split('>').next()).find(|id| {
            let kind = id.split(':').next().unwrap_or_default();
            !is_personal(kind) && !is_common(kind) && !before.contains(*id)
        })?;
    let kind = new.split(':').next().unwrap_or_default();
    let reason =
        ["this writes a secret (", kind, ") into ", &listed([file.path.as_str()])].concat();
    let ruling = Ruling::warn(WRITTEN, &reason)
        .instead("leave the secret where it is kept, and let the program read it from there");
    Some(ruling.because(evidence("path", &file.path, None)))
}

/// Files in which browsers, keyrings, password managers and the system keep credentials.
const KEPT: &[&str] = &[
    "/etc/gshadow",
    "/etc/krb5.keytab",
    "/etc/kubernetes/admin.conf",
    "/etc/master.passwd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssl/private",
];
const KEPT_PARTS: &[&str] = &[
    "/.config/op/",
    "/.config/rclone/",
    "/.local/share/keyrings/",
    "/.password-store/",
    "/Library/Keychains/",
    "/Login Data",
    "/cookies.sqlite",
    "/key4.db",
    "/logins.json",
    "/wallet.dat",
];
/// Programs that show what a store of the person holds.
const MANAGERS: &[&str] =
    &["bw", "gopass", "keyring", "kwallet-query", "lpass", "op", "pass", "secret-tool", "security"];

/// Returns true for a store of credentials that belongs to the person or the machine, not to the
/// project.
fn is_kept(effect: &Effect, action: &Action, context: &Context) -> bool {
    let path = effect.target.as_str();
    if !path.starts_with('/') {
        let index = effect.command.and_then(|index| usize::try_from(index).ok());
        let command = index.and_then(|index| action.shell()?.commands.get(index));
        return command.is_some_and(|command| MANAGERS.contains(&command.program.as_str()));
    }
    let is_stored = |path: &str| {
        place::root_of(path, &context.roots).is_none()
            && (system::is_store(path, context.home())
                || KEPT.iter().any(|kept| place::holds(kept, path))
                || KEPT_PARTS.iter().any(|part| path.contains(part)))
    };
    // A link counts as the place that it leads to.
    let real = action.facts.path(effect).and_then(|path| path.link_target.as_deref());
    is_stored(path) || real.is_some_and(is_stored)
}

/// Applies the rule.
pub(super) fn rule(action: &Action, context: &Context, _: &Config) -> Option<Ruling> {
    let mut read = place::lasting(&action.facts)
        .filter(|effect| effect.kind == EffectKind::SecretRead)
        .peekable();
    read.peek()?;
    let kept = place::lasting(&action.facts)
        .filter(|effect| effect.kind == EffectKind::SecretRead)
        .any(|effect| is_kept(effect, action, context));
    let targets: Vec<&str> =
        read.map(|effect| effect.target.as_str()).filter(|target| !target.is_empty()).collect();
    let reason = if targets.is_empty() {
        "this reads credentials".to_owned()
    } else {
        ["this reads credentials: ", &listed(targets.iter().copied())].concat()
    };
    let ruling =
        if kept { Ruling::ask(CREDENTIALS, &reason) } else { Ruling::warn(CREDENTIALS, &reason) };
    let ruling = ruling.instead("let the program that needs the credential read it by itself");
    Some(showing(ruling, "path", targets))
}
