//! Changes that a request makes at a repository service: the path says who gets rights, which
//! protection goes, what others get at once.

use crate::types::EffectKind;

/// Parts of a path behind which somebody gets a way in: people, keys, and addresses that are told
/// of everything.
const WAYS_IN: &[&str] = &[
    "access_tokens",
    "collaborators",
    "deploy_keys",
    "deploy_tokens",
    "gpg_keys",
    "hooks",
    "invitations",
    "keys",
    "members",
    "memberships",
    "personal_access_tokens",
    "registration-token",
    "ssh_signing_keys",
];
/// Parts of a path behind which the protection of a repository is set.
const PROTECTIONS: &[&str] = &[
    "automated-security-fixes",
    "permissions",
    "private-vulnerability-reporting",
    "protected_branches",
    "protection",
    "push_rule",
    "rulesets",
    "secret-scanning",
    "code-scanning",
    "vulnerability-alerts",
];
/// Last parts of a path that put something where others get it, or start what does.
const PUBLISHES: &[&str] =
    &["deployments", "dispatches", "merge", "merges", "pages", "releases", "trigger"];

/// Returns the effect of a request that changes something, and the form of it.
pub(super) fn outcome(address: &str, words: &[&str]) -> (Option<EffectKind>, Option<&'static str>) {
    let path = address.split(['?', '#']).next().unwrap_or("");
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let has = |list: &[&str]| parts().any(|part| list.contains(&part));
    let sets = |pairs: &[&str]| {
        words.iter().any(|word| {
            let pair = word.trim_start_matches("-f").trim_start_matches("-F").replace(":=", "=");
            pairs.contains(&pair.to_ascii_lowercase().as_str())
        })
    };
    if parts().any(|part| part == "refs") && sets(&["force=true"]) {
        return (Some(EffectKind::RemoteChange), Some("force-push"));
    }
    if sets(&["private=false", "visibility=public"]) {
        return (Some(EffectKind::RemoteChange), Some("open-to-all"));
    }
    if has(WAYS_IN) {
        return (Some(EffectKind::RemoteChange), Some("grant-rights"));
    }
    if has(PROTECTIONS) || words.iter().any(|word| word.contains("security_and_analysis")) {
        return (Some(EffectKind::RemoteChange), Some("protection-off"));
    }
    if parts().next_back().is_some_and(|last| PUBLISHES.contains(&last)) {
        return (Some(EffectKind::Publish), None);
    }
    (Some(EffectKind::RemoteChange), None)
}
