//! The data that an action sends, its destination, and the masked values in it.

use super::config::Config;
use portcullis_builtin_shared::masked::{PLACEHOLDER, is_common, is_personal};
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, Command, Context, Effect, EffectKind, Operation};

/// The maximum number of placeholders of one text that are looked at.
const MOST: usize = 256;
/// The maximum number of commands that feed one another.
const CHAIN: usize = 16;

/// Returns the effects by which data leaves this machine for a host that may not have it.
pub(super) fn leaves<'a>(
    action: &'a Action,
    config: &'a Config,
) -> impl Iterator<Item = &'a Effect> {
    let reaches = |effect: &&Effect| {
        matches!(
            effect.kind,
            EffectKind::Network | EffectKind::Send | EffectKind::Publish | EffectKind::RemoteChange
        ) && !is_own(&effect.target)
    };
    action
        .facts
        .effects
        .iter()
        .filter(reaches)
        .filter(|effect| !is_trusted(&place::host_of(&effect.target), config))
}

/// Returns true for this machine, and for an address whose host is one word: a service of the
/// project's own network (`postgres://db:5432` of a compose file). One word without an address is
/// none: `origin` is a remote, and may be anywhere.
fn is_own(target: &str) -> bool {
    let host = place::host_of(target);
    let word = host.starts_with(|c: char| c.is_ascii_alphabetic())
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    let port = target
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    place::is_loopback(&host) || (word && (port || target.contains("://")))
}

/// Returns true for statements that a client runs in its database. The credentials that it is
/// started with, or that were read just before, are those of this database; a secret among the
/// statements' own values is another matter.
pub(super) fn is_database(effect: &Effect) -> bool {
    effect.kind == EffectKind::RemoteChange && effect.target == "database"
}

/// Words of a request that may forbid something.
const FORBIDDING: &[&str] = &["don't", "don\u{2019}t", "dont", "never", "no", "not", "without"];

/// Returns true for a machine that a request of the person names, without forbidding anything: to
/// work there, the agent has to sign in.
pub(super) fn is_named(effect: &Effect, context: &Context) -> bool {
    let host = place::host_of(&effect.target);
    let forbids = |text: &str| {
        text.split_whitespace().any(|word| FORBIDDING.contains(&word.to_lowercase().as_str()))
    };
    let names = |text: &str| place::names_host(text, &host) && !forbids(text);
    context.goals.iter().any(|goal| names(&goal.text))
}

/// Returns true for a value that the person's request needs: one that it holds itself, or the
/// password of a sign-in.
pub(super) fn is_requested(one: &Masked, action: &Action, context: &Context) -> bool {
    const SIGNS_IN: &[&str] =
        &["/auth", "/login", "/oauth", "/session", "/sign-in", "/sign_in", "/signin", "/token"];
    let text = text_of(action).to_ascii_lowercase();
    let signs_in = one.common && SIGNS_IN.iter().any(|part| text.contains(part));
    signs_in || context.goals.iter().any(|goal| goal.text.contains(&one.text))
}

/// Returns what the agent typed for an action.
pub(super) fn text_of(action: &Action) -> &str {
    action.shell().map_or(action.parameters.as_str(), |shell| shell.text.as_str())
}

fn is_trusted(host: &str, config: &Config) -> bool {
    config.trusted_hosts.iter().any(|trusted| {
        let below = host.strip_suffix(trusted.as_str());
        !trusted.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Returns the host of an effect, for people: if it is not named, one that the action contacts.
pub(super) fn host(effect: &Effect, action: &Action) -> String {
    let named = place::host_of(&effect.target);
    if named.is_empty() { action.facts.hosts.first().cloned().unwrap_or_default() } else { named }
}

/// A masked value in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Masked {
    /// Its eight digits, the same for the same value.
    pub(super) number: u32,
    /// The original placeholder.
    pub(super) text: String,
    /// Its kind is common in sample data and tests.
    pub(super) common: bool,
    /// It is in a place where a caller authenticates: a service needs its own credentials.
    pub(super) signs_in: bool,
}

/// Returns every masked value in a text.
pub(super) fn masked(text: &str) -> Vec<Masked> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(PLACEHOLDER).take(MOST) {
        let rest = text.get(at + PLACEHOLDER.len()..).unwrap_or_default();
        let Some((inner, after)) = rest.split_once('>') else { continue };
        let Some((kind, digits)) =
            inner.split_once(':').filter(|(kind, digits)| kind.len() < 32 && digits.len() == 8)
        else {
            continue;
        };
        let Ok(number) = u32::from_str_radix(digits, 16) else { continue };
        if !is_personal(kind) {
            let before = text.get(..at).unwrap_or_default();
            let shown = [PLACEHOLDER, inner, ">"].concat();
            found.push(Masked {
                number,
                text: shown,
                common: is_common(kind),
                signs_in: signs_in(before, after),
            });
        }
    }
    found
}

/// Returns true if the text around a value makes it a credential that is shown to its own service:
/// a header for it, or the user of an address.
fn signs_in(before: &str, after: &str) -> bool {
    const HEADERS: &[&str] = &[
        "authorization",
        "api-key",
        "apikey",
        "private-token",
        "auth-token",
        "access-token",
        "cookie",
    ];
    let start = before.len().saturating_sub(48);
    let near = before.get(before.ceil_char_boundary(start)..).unwrap_or_default();
    let line = near.rsplit(['\n', '"', '\'']).next().unwrap_or_default().to_ascii_lowercase();
    let header = line
        .split_once(':')
        .is_some_and(|(name, _)| HEADERS.iter().any(|header| name.trim_end().ends_with(header)));
    header || (after.starts_with('@') && near.contains("://"))
}

/// Returns the masked values that an action sends.
pub(super) fn sent(action: &Action, config: &Config) -> Vec<Masked> {
    let Operation::Shell(shell) = &action.operation else { return masked(&action.parameters) };
    let mut found: Vec<Masked> = Vec::new();
    let mut seen: Vec<usize> = Vec::new();
    for effect in leaves(action, config) {
        let Some(command) = effect.command.and_then(|index| usize::try_from(index).ok()) else {
            found.extend(masked(&shell.text));
            continue;
        };
        for index in feeding(&shell.commands, command) {
            if !seen.contains(&index) {
                seen.push(index);
                found.extend(shell.commands.get(index).map(given).unwrap_or_default());
            }
        }
    }
    found
}

/// Returns a command and those that feed it.
fn feeding(commands: &[Command], command: usize) -> Vec<usize> {
    let mut chain = vec![command];
    while let Some(next) = chain
        .last()
        .and_then(|last| commands.get(*last)?.input_from)
        .and_then(|next| usize::try_from(next).ok())
    {
        if chain.len() >= CHAIN || chain.contains(&next) {
            break;
        }
        chain.push(next);
    }
    chain
}

/// Returns the masked values that a command is given. A value in its variables, or after a flag
/// that names a user, authenticates the caller.
fn given(command: &Command) -> Vec<Masked> {
    const USER: &[&str] = &["-u", "--user", "--password", "--token", "--auth", "--oauth2-bearer"];
    let mut found = Vec::new();
    let mut before = "";
    for word in &command.words {
        let user = USER.contains(&before)
            || word.text.split_once('=').is_some_and(|(flag, _)| USER.contains(&flag));
        found.extend(
            masked(&word.text)
                .into_iter()
                .map(|one| Masked { signs_in: one.signs_in || user, ..one }),
        );
        before = &word.text;
    }
    found.extend(
        command.redirections.iter().flat_map(|redirection| masked(&redirection.target.text)),
    );
    let assigned = command.assignments.iter().flat_map(|set| masked(&set.value));
    found.extend(assigned.map(|one| Masked { signs_in: true, ..one }));
    found
}

#[cfg(test)]
mod tests {
    use super::masked;

    /// The number, a flag for a common kind, a flag for authentication.
    type Found = (u32, bool, bool);

    #[test]
    fn masked_values_are_found() {
        let cases: [(&str, &[Found]); 12] = [
            ("a <secret:token:0000000a> b", &[(10, false, false)]),
            ("<secret:password:ffffffff>", &[(u32::MAX, true, false)]),
            ("<secret:email:0000000a>", &[]),
            ("<secret:token:0000000a", &[]),
            ("<secret:token:xyzxyzxy>", &[]),
            ("<secret:token:a>", &[]),
            ("<secret:", &[]),
            ("<secret:<secret:token:00000001>", &[(1, false, false)]),
            ("Authorization: Bearer <secret:token:00000001>", &[(1, false, true)]),
            ("X-Data: <secret:token:00000001>", &[(1, false, false)]),
            ("https://<secret:credential:00000001>@example.org", &[(1, false, true)]),
            ("é".repeat(30).leak(), &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<Found> = masked(text)
                .into_iter()
                .map(|one| (one.number, one.common, one.signs_in))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
