//! Addresses that are more than a place to fetch from: a file of this machine, or data that is
//! sent.

use super::parts::host_of;
use crate::mask::{Masker, Secret, SecretKind};

/// Returns the path of a `file:` address.
pub(super) fn local_file(url: &str) -> Option<String> {
    let scheme = url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"))?;
    let rest = url.get(scheme.len()..)?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => rest,
    };
    Some(unescaped(path.split(['?', '#']).next().unwrap_or(path)))
}

/// Replaces the escapes of an address: `%20`.
pub(crate) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The shortest encoded text that counts as data, in bytes: longer than digests and identifiers.
const ENCODED: usize = 80;
/// Parameters of signed addresses, which are long by nature.
const SIGNED: &[&str] = &["x-amz-", "x-goog-", "sig", "signature", "policy", "key-pair-id", "jwt"];

/// The fewest bytes of a label of a name that holds data, and of a parameter in plain text: longer
/// than names and questions.
const LABEL: usize = 41;
const PLAIN: usize = 400;

/// Returns true if an address carries a long text, encoded in its path, a parameter or a label of
/// its host, or as the lines of a parameter: that text is sent to the host.
pub(super) fn carries_data(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = path.split(['/', '#', ':']).next().unwrap_or("");
    let in_host = host.matches('.').count() >= 2 && host.split('.').any(is_data_label);
    if in_host || query.split('&').any(holds_lines) {
        return true;
    }
    let values = query.split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        let name = name.to_ascii_lowercase();
        (!SIGNED.iter().any(|signed| name.starts_with(signed))).then_some(value)
    });
    path.split(['/', '#']).skip(1).chain(values).any(is_encoded)
}

/// Returns true for a label of a name that holds data: digits and letters without a word in them.
fn is_data_label(label: &str) -> bool {
    let digits = label.bytes().filter(u8::is_ascii_digit).count();
    label.len() >= LABEL
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (digits * 6 >= label.len() || label.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns true for a parameter that holds several lines, as those of a file.
fn holds_lines(pair: &str) -> bool {
    let value = pair.split_once('=').map_or(pair, |(_, value)| value);
    value.len() >= PLAIN && unescaped(value).lines().take(4).count() == 4
}

/// Paths at which services hand out secrets, and ends of paths of files with secrets.
const SECRET_PATHS: &[&str] = &[
    "/actuator/configprops",
    "/actuator/env",
    "/actuator/heapdump",
    "/api/v1/secrets",
    "/latest/meta-data/iam",
    "/v1/kv/",
    "/v1/secret/",
    "/v2/keys/",
];
const SECRET_FILES: &[&str] = &[
    "/.aws/credentials",
    "/.env",
    "/.env.local",
    "/.env.production",
    "/.git-credentials",
    "/.git/config",
    "/.htpasswd",
    "/.netrc",
    "/.npmrc",
    "/.ssh/id_ed25519",
    "/.ssh/id_rsa",
    "/wp-config.php.bak",
];
/// Hosts that show what people publish.
const FORGES: &[&str] = &[
    "bitbucket.org",
    "codeberg.org",
    "gist.github.com",
    "github.com",
    "gitlab.com",
    "raw.githubusercontent.com",
];

/// Returns true if an address asks a service for the secrets that it keeps.
pub(super) fn asks_for_secrets(url: &str, host: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = path.find('/').and_then(|at| path.get(at..)).unwrap_or("");
    let path = unescaped(path);
    let namespaced = path.starts_with("/api/v1/namespaces/") && path.contains("/secrets");
    !FORGES.contains(&host)
        && (namespaced
            || SECRET_PATHS.iter().any(|start| path.starts_with(start))
            || SECRET_FILES.iter().any(|end| path.ends_with(end)))
}

/// Addresses that start a deployment as soon as anybody fetches them: the host, and the begin of
/// the path.
const DEPLOY_HOOKS: &[(&str, &str)] = &[
    ("api.cloudflare.com", "/client/v4/pages/webhooks/deploy_hooks/"),
    ("api.netlify.com", "/build_hooks/"),
    ("api.render.com", "/deploy/"),
    ("api.vercel.com", "/v1/integrations/deploy/"),
];

/// Returns true for such an address.
pub(super) fn starts_deployment(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    DEPLOY_HOOKS
        .iter()
        .any(|(host, path)| rest.strip_prefix(host).is_some_and(|rest| rest.starts_with(path)))
}

/// Returns true for text in base64 or hexadecimal, as opposed to words with hyphens.
fn is_encoded(text: &str) -> bool {
    let text = text.trim_end_matches("%3D").trim_end_matches("%3d").trim_end_matches('=');
    let has = |class: fn(&u8) -> bool| text.bytes().any(|byte| class(&byte));
    let signs = text.bytes().filter(|byte| b"-_+%".contains(byte)).count();
    text.len() >= ENCODED
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+%".contains(&byte))
        && signs * 12 < text.len()
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
            || text.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The longest text in which secrets are looked for, in bytes.
const SEARCHED: usize = 64 * 1024;

/// Returns true if an address of another machine holds a password, or a token with a known form:
/// in its user part, a path or a parameter, encoded or not.
pub(super) fn holds_password(url: &str) -> bool {
    let text = unescaped(url);
    !is_this_machine(&host_of(url)) && find_secrets(&text).any(|secret| is_plain(&secret, &text))
}

/// Returns true if a text that is sent holds secrets: tokens, keys, addresses with passwords, or
/// settings such as `STRIPE_SECRET_KEY=...`.
pub(super) fn holds_secrets(text: &str) -> bool {
    let text = crate::text::cut_text(text, SEARCHED);
    find_secrets(&text).any(|secret| is_plain(&secret, &text)) || text.lines().any(is_setting)
}

fn find_secrets(text: &str) -> impl Iterator<Item = Secret> {
    Masker::new([0; 32], &[]).find_secrets(text).into_iter()
}

/// Returns true for a secret that is one wherever it stands. The value of something called a token
/// is often the number of a page, and a signed token is in many addresses that are shared.
fn is_plain(secret: &Secret, text: &str) -> bool {
    match secret.kind {
        SecretKind::Token | SecretKind::PrivateKey | SecretKind::Credential => true,
        SecretKind::Password => {
            let before = text.get(..secret.range.start).unwrap_or("").to_ascii_lowercase();
            let name = before.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            name.ends_with("password") || name.ends_with("passwd")
        }
        _ => false,
    }
}

/// Returns true for a line that sets a variable with a secret's name to a value that is none of the
/// usual examples.
fn is_setting(line: &str) -> bool {
    const NAMES: &[&str] = &["KEY", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];
    const EXAMPLES: &[&str] =
        &["<", "${", "change", "dummy", "example", "placeholder", "replace", "test", "xxx", "your"];
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some((name, value)) = line.split_once('=') else { return false };
    let value = value.trim_matches(['"', '\'']).to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let secret = name.split('_').any(|word| NAMES.contains(&word));
    let made_up = EXAMPLES.iter().any(|sign| value.contains(sign));
    name.chars().all(is_name) && secret && value.len() >= 8 && !made_up
}

/// Returns true for a name of this machine.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let numbers = host.starts_with("127.")
        && host.split('.').count() == 4
        && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    numbers || matches!(host, "localhost" | "::1") || host.ends_with(".localhost")
}
