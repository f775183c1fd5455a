//! Paths of files that hold credentials.

use super::{file_name, globs, is_below};
use portcullis_autoruns::is_sample;

/// The top folders of a machine that are not working copies.
pub(super) const TOPS: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Users",
    "System",
    "Library",
    "Applications",
    "Volumes",
    "*",
];

/// Endings of paths that hold credentials, no matter whose they are.
const SECRET_ENDINGS: &[&str] = &[
    "/.ssh",
    "/.ssh/*",
    "/.aws",
    "/.aws/credentials",
    "/.netrc",
    "/_netrc",
    "/.pgpass",
    "/.my.cnf",
    "/.git-credentials",
    "/.docker/config.json",
    "/.kube/config",
    "/.pypirc",
    "/pypoetry/auth.toml",
    "/.gem/credentials",
    "/.cargo/credentials",
    "/.cargo/credentials.toml",
    "/.vault-token",
    "/.terraformrc",
    "/.config/gh/hosts.yml",
    "/.config/hub",
    "/.config/gcloud/application_default_credentials.json",
    "/.config/gcloud/credentials.db",
    "/.config/gcloud/access_tokens.db",
    "/.azure/accessTokens.json",
    "/.azure/msal_token_cache.json",
    "/.claude/.credentials.json",
    "/.codex/auth.json",
    "/.config/op/config",
    "/.gnupg",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/master.passwd",
    "/etc/security/opasswd",
    "/Login Data",
    "/logins.json",
    "/key4.db",
    "/cookies.sqlite",
    "/etc/krb5.keytab",
    "/.s3cfg",
    "/.boto",
    "/.htpasswd",
    "/etc/kubernetes/admin.conf",
    "/.config/rclone/rclone.conf",
    "/wallet.dat",
    "/.ethereum/keystore",
    "/.electrum/wallets",
    "/.cache/huggingface/token",
    "/.composer/auth.json",
    "/.config/Bitwarden CLI/data.json",
    "/.config/composer/auth.json",
    "/.config/containers/auth.json",
    "/.config/dart/pub-credentials.json",
    "/.config/doctl/config.yaml",
    "/.config/github-copilot/apps.json",
    "/.config/github-copilot/hosts.json",
    "/.config/hcloud/cli.toml",
    "/.config/linode-cli",
    "/.config/netlify/config.json",
    "/.config/scw/config.yaml",
    "/.databrickscfg",
    "/.fly/config.yml",
    "/.gemini/oauth_creds.json",
    "/.huggingface/token",
    "/.kaggle/kaggle.json",
    "/.local/share/com.vercel.cli/auth.json",
    "/.m2/settings-security.xml",
    "/.oci/config",
    "/.pulumi/credentials.json",
    "/.railway/config.json",
    "/.supabase/access-token",
    "/.terraform.d/credentials.tfrc.json",
    "/.wrangler/config/default.toml",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
];

/// Records of what was typed into databases: the statements that set passwords are among it.
const RECORDS: &[&str] = &[
    ".dbshell",
    ".mongorc_history",
    ".mongosh_history",
    ".mycli-history",
    ".mysql_history",
    ".psql_history",
    ".rediscli_history",
    ".sqlite_history",
    "mongosh_repl_history",
];

/// Folders that hold credentials and little else.
const SECRET_FOLDERS: &[&str] = &[
    "/.gnupg/",
    "/.password-store/",
    "/Library/Keychains/",
    "/.local/share/keyrings/",
    "/etc/ssl/private/",
    "/run/secrets/",
    "/var/run/secrets/",
    "/.aws/sso/",
    "/etc/sssd/",
    "/etc/NetworkManager/system-connections/",
    "/.config/sops/age/",
];

/// Returns true for a path below a system folder for homes, services and the system itself, or on a
/// Windows drive: any other path, such as `/repo` or `/workspace`, is a working copy.
fn is_machines(path: &str) -> bool {
    let top = path.trim_start_matches('/').split('/').next().unwrap_or("");
    TOPS.contains(&top)
        || top.contains(['\u{fffd}', '$', ':', '*'])
        || matches!(top, "" | "mnt" | "private")
}

/// Returns true for a key, a token, a password, or a file that usually holds them.
pub(crate) fn is_secret(path: &str, home: &str) -> bool {
    let name = file_name(path);
    let lower = name.to_ascii_lowercase();
    if is_sample(path) {
        return false;
    }
    let kept = |path: &str| is_machines(path) || home.is_empty() || is_below(path, home);
    if SECRET_ENDINGS.iter().any(|ending| path.ends_with(ending)) {
        return kept(path);
    }
    if globs::may_name_secret(path, home, SECRET_ENDINGS) {
        return true;
    }
    if SECRET_FOLDERS.iter().any(|folder| path.contains(folder)) {
        // A pod has these two beside its token, and they are no secret.
        return !matches!(name, "namespace" | "ca.crt");
    }
    if path.contains("/.ssh/") {
        return !(name.ends_with(".pub")
            || matches!(name, "config" | "known_hosts" | "authorized_keys" | "known_hosts.old"));
    }
    if path.starts_with("/proc/") && name == "environ" {
        return true;
    }
    if name == ".npmrc" || name == ".yarnrc.yml" {
        let in_home = ["/home/", "/Users/"].iter().any(|start| path.starts_with(start))
            && path.matches('/').count() == 3;
        return in_home
            || path.starts_with("/root/")
            || (!home.is_empty() && path.strip_suffix(name) == Some(&format!("{home}/")));
    }
    if name == ".env" || name == ".envrc" {
        return true;
    }
    if let Some(kind) = name.strip_prefix(".env.") {
        // The data of tests is made up and is in the repository.
        return !matches!(
            kind,
            "example" | "sample" | "template" | "dist" | "defaults" | "schema" | "test" | "testing"
        );
    }
    if RECORDS.contains(&name) {
        return true;
    }
    (lower.starts_with("id_rsa")
        || lower.starts_with("id_ed25519")
        || lower.starts_with("id_ecdsa")
        || lower.starts_with("id_dsa"))
        && !lower.ends_with(".pub")
        || lower.ends_with(".pem") && !is_certificate(&lower)
        || [".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".p8"]
            .iter()
            .any(|ending| lower.ends_with(ending))
        || matches!(
            lower.as_str(),
            "credentials.json"
                | "service-account.json"
                | "service_account.json"
                | "secrets.json"
                | "credentials"
        )
}

/// Returns true if a PEM file's name says that it holds what everybody may see.
fn is_certificate(lower: &str) -> bool {
    let stem = lower.trim_end_matches(".pem");
    !stem.contains("key")
        && stem.split(['-', '_', '.']).any(|part| {
            part.starts_with("cert")
                || part.ends_with("chain")
                || matches!(part, "ca" | "cacert" | "csr" | "crt" | "pub" | "public" | "bundle")
        })
}

/// Returns true for a file of a credential store, or of its settings: write access to one controls
/// access to the credentials.
pub(crate) fn is_store(path: &str, home: &str) -> bool {
    let beside =
        path.rsplit_once('/').is_some_and(|(folder, _)| is_secret(&format!("{folder}/file"), home));
    let is_folder = ["/.ssh", "/.aws", "/.gnupg"].iter().any(|folder| path.ends_with(folder));
    !is_folder && (is_secret(path, home) || beside || path.ends_with("/.aws/config"))
}

/// Returns true if the folder, or a folder below it, holds a credential store: a home, its
/// `.config`, the system's `/etc`.
pub(crate) fn holds_credentials(path: &str, home: &str) -> bool {
    let folder = path.trim_end_matches(['*', '/']);
    let is_home = folder == "/root"
        || folder == home
        || folder.matches('/').count() == 2
            && ["/home/", "/Users/"].iter().any(|start| folder.starts_with(start));
    let holds = |ending: &str| {
        let of_machine = is_machines(ending) && !ending.starts_with("/.");
        let store = if of_machine { ending.to_owned() } else { format!("{home}{ending}") };
        is_below(store.trim_end_matches(['*', '/']), folder)
    };
    path.starts_with('/')
        && (is_home || SECRET_ENDINGS.iter().chain(SECRET_FOLDERS).any(|ending| holds(ending)))
}

#[cfg(test)]
mod tests {
    use super::{SECRET_ENDINGS, globs};

    #[test]
    fn patterns_of_credentials() {
        for (path, expected) in [
            ("/home/me/.ss*/id_*", true),
            ("/home/me/.ssh/id_[re]*", true),
            ("/home/me/.[s]sh/id_rs?", true),
            ("/home/me/.aws/cred*", true),
            ("/home/me/.a?s/credential[s]", true),
            ("/home/me/.config/g*/hosts.yml", true),
            ("/etc/shado?", true),
            ("/e*/shadow", true),
            ("/srv/app/.en?", true),
            ("/srv/app/.e*", true),
            ("/srv/app/id_r*", true),
            ("/srv/app/*", false),
            ("/srv/app/*.rs", false),
            ("/srv/app/.gitignor?", false),
            ("/srv/app/.*", false),
            ("/home/me/*", false),
            ("/home/me/*/*", false),
            ("/home/me/src/*.c", false),
            ("/etc/*.conf", false),
            ("/home/me/.ssh/id_[^red]*", false),
        ] {
            let found = globs::may_name_secret(path, "/home/me", SECRET_ENDINGS);
            assert_eq!(found, expected, "`{path}`");
        }
    }
}
