//! `warn_credential_read` and `warn_credential_written`: a key, token or password leaves its usual
//! place.
//!
//! Once read, its value is visible to the agent and to everyone who reads the conversation; once
//! written, it is in an unexpected place. Other rules judge if it leaves the machine.

use super::config::{CREDENTIALS, Config, WRITTEN};
use super::showing::showing;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, EffectKind, Operation};

/// Objects to a written secret: masked, so that only its kind is known.
pub(super) fn written(action: &Action, _: &Context, _: &Config) -> Option<Ruling> {
    let Operation::File(file) = &action.operation else { return None };
    let text = file.content.as_deref()?;
    let before = file.replaced.as_deref().unwrap_or_default();
    let new =
        text.split(PLACEHOLDER).skip(1).filter_map(|rest| rest.split('>').next()).find(|id| {
            let kind = id.split(':').next().unwrap_or_default();
            !COMMON.contains(&kind) && !before.contains(*id)
        })?;
    let kind = new.split(':').next().unwrap_or_default();
    let reason =
        ["this writes a secret (", kind, ") into ", &listed([file.path.as_str()])].concat();
    let ruling = Ruling::warn(WRITTEN, &reason)
        .instead("leave the secret where it is kept, and let the program read it from there");
    Some(ruling.because(evidence("path", &file.path, None)))
}

/// The prefix of a masked value.
const PLACEHOLDER: &str = "<secret:";
/// Kinds that are common in sample data and tests.
const COMMON: &[&str] = &["password", "email", "payment-card"];

/// Applies the rule.
pub(super) fn rule(action: &Action, _: &Context, _: &Config) -> Option<Ruling> {
    let mut read = place::lasting(&action.facts)
        .filter(|effect| effect.kind == EffectKind::SecretRead)
        .peekable();
    read.peek()?;
    let targets: Vec<&str> =
        read.map(|effect| effect.target.as_str()).filter(|target| !target.is_empty()).collect();
    let reason = if targets.is_empty() {
        "this reads credentials".to_owned()
    } else {
        ["this reads credentials: ", &listed(targets.iter().copied())].concat()
    };
    let ruling = Ruling::warn(CREDENTIALS, &reason)
        .instead("let the program that needs the credential read it by itself");
    Some(showing(ruling, "path", targets))
}
