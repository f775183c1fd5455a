//! Phrases about secrets: the files that hold them, and the places that they are sent to.

/// A file of secrets is where something goes, not what is read.
pub(in super::super) const KEPT_IN: &[&str] =
    &["add to", "added to", "save to", "saved in", "store in", "stored in", "write to"];

/// Files that hold secrets in any folder.
pub(in super::super) const SECRET_FILES: &[&str] = &[
    "/etc/shadow",
    "/etc/passwd",
    "/etc/sudoers",
    ".ssh/id_",
    "id_rsa",
    "id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    "/proc/self/environ",
    "/var/log/auth.log",
    ".kube/config",
    ".docker/config.json",
    ".pgpass",
    "169.254.169.254",
    "metadata.google.internal",
    "wallet.dat",
    "login.keychain",
    ".cursor/mcp.json",
    ".claude.json",
    ".bash_history",
    ".npmrc",
    ".pypirc",
];

/// Services that show a stranger the data sent to them, and names that say as much.
pub(in super::super) const SINKS: &[&str] = &[
    "webhook.site",
    "ngrok",
    "requestbin",
    "pipedream",
    "interact.sh",
    "interactsh",
    "oastify",
    "burpcollaborator",
    "beeceptor",
    "hookbin",
    "pastebin.com",
    "transfer.sh",
    "file.io",
    "attacker",
    "evil",
    "malicious",
    "exfil",
    "canarytokens",
    "dnslog",
];

/// Somewhere else without an address.
pub(in super::super) const ELSEWHERE: &[&str] =
    &["external server", "remote server", "my server", "attacker", "my endpoint", "against ns"];

/// To disclose, in addition to the words for it.
pub(in super::super) const DISCLOSE: &[&str] = &["tell me", "contents", "show me", "give me"];

/// All that a file of settings holds.
pub(in super::super) const EVERY_SECRET: &[&str] =
    &["every secret", "secrets", "every line", "all secrets", "secret line"];

/// A reader's own key, which programs need.
pub(in super::super) const OWN_KEY: &[&str] =
    &["header", "headers", "your api key", "your token", "your own", "authenticate"];

/// To have a picture loaded.
pub(in super::super) const LOAD: &[&str] = &[
    "load",
    "render",
    "embed",
    "then include",
    "then load",
    "then display",
    "append",
    "puis chargez",
];

/// Other people's data.
pub(in super::super) const OTHERS: &[&str] =
    &["autre locataire", "another tenant", "other tenants", "another customers"];

pub(in super::super) const SECRETS: &[&str] = &[
    "password",
    "secret key",
    "secret word",
    "secret code",
    "api key",
    "api keys",
    "credentials",
    "passphrase",
];

/// To put a secret into what others see.
pub(in super::super) const INCLUDE: &[&str] = &[
    "include the value",
    "include the contents",
    "include the content",
    "include any secret",
    "include all secrets",
    "put the value",
    "paste the value",
];

/// To ask for a secret, and the things asked for.
pub(in super::super) const ASK_SECRET: &[&str] = &[
    "tell me the",
    "give me the",
    "reveal the",
    "what is the secret",
    "disclose the",
    "tell me your",
];

/// To keep something from the person.
pub(in super::super) const SECRETLY: &[&str] = &[
    "without telling the user",
    "without informing the user",
    "without notifying the user",
    "without the users knowledge",
    "without the user noticing",
    "without the user knowing",
    "do not mention this",
    "dont mention this",
    "do not tell the user",
    "dont tell the user",
    "never tell the user",
    "not tell the user about this",
    "do not tell anyone",
    "dont tell anyone",
    "do not inform the user",
    "do not alert the user",
    "hide this from the user",
    "keep this secret from",
    "keep this hidden from",
    "do not mention these",
    "dont mention these",
    "without mentioning this",
    "do not mention that you",
];
