//! Files that hold secrets, by their names.

use crate::config::Config;
use crate::globs::{matches_part, matches_path};

/// How sure a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Such a file holds a secret, or it would have another name.
    Surely,
    /// Such a file holds one often enough to look first.
    Perhaps,
}

/// Names that stand for a secret. `*` stands for any characters.
const SURELY: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc.private",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*_rsa",
    "*_ed25519",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.kdbx",
    "*.asc.key",
    "service-account*.json",
    "service_account*.json",
    "serviceaccount*.json",
    "*-service-account.json",
    "client_secret*.json",
    "credentials.json",
    "application_default_credentials.json",
    "gcp-key*.json",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    "kubeconfig",
    "kubeconfig.*",
    "*.kubeconfig",
    "terraform.tfstate",
    "terraform.tfstate.*",
    "*.tfstate",
    "*.tfstate.backup",
    "secrets.tfvars",
    "*.secret.tfvars",
    "master.key",
    ".vault_pass",
    ".vault-pass",
    "vault_password*",
    ".vault-token",
    "*.mobileprovision",
    "*.ovpn",
];
/// Names that stand for one sometimes.
const PERHAPS: &[&str] = &[
    ".npmrc",
    ".yarnrc.yml",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "secret.yml",
    "secret.yaml",
    "secret.json",
    "terraform.tfvars",
    "*.auto.tfvars",
    "credentials",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    ".envrc",
    "passwords.txt",
    "tokens.json",
    "auth.json",
    "google-services.json",
    "cookies.txt",
    "*.har",
];
/// Names that look like one of these and hold none: what is public, a pattern or an example.
const HARMLESS: &[&str] = &[
    "*.pub",
    "*.example",
    "*.example.*",
    "*.sample",
    "*.sample.*",
    "*.template",
    "*.template.*",
    "*.tmpl",
    "*.tpl",
    "*.dist",
    "*.defaults",
    "*.schema",
    "*.schema.*",
    ".env.vault",
    ".env.test",
    ".env.testing",
    ".env.ci",
    "example.env",
    "sample.env",
    "template.env",
    "env.example",
    "cacert.pem",
    "ca.pem",
    "ca-*.pem",
    "*-ca.pem",
    "cert.pem",
    "*cert.pem",
    "*certs.pem",
    "certificate.pem",
    "fullchain.pem",
    "chain.pem",
    "*bundle.pem",
    "public*.pem",
    "*public.pem",
    "*_pub.pem",
    "*-pub.pem",
    "dhparam*.pem",
    "public*.key",
    "*public.key",
    "*.enc",
    "*.enc.*",
    "*.sops.*",
    "*.age",
    "*.gpg",
];
/// Folders of which every file is a secret.
const FOLDERS: &[&str] = &[".ssh", ".gnupg", ".password-store"];
/// Files whose names are ordinary ones outside of their folder.
const IN_FOLDERS: &[&str] =
    &["**/.aws/credentials", "**/.kube/config", "**/.docker/config.json", "**/gcloud/*.db"];

/// Returns how surely a path, as a command names it, is that of a file of secrets.
pub fn find_holding(path: &str, config: &Config) -> Option<Holding> {
    let path = path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.is_empty() || config.harmless.iter().any(|glob| matches_path(glob, path)) {
        return None;
    }
    if config.files.iter().any(|glob| matches_path(glob, path)) {
        return Some(Holding::Surely);
    }
    // A glob of the command stands for the plainest name that it matches.
    let plain = name.replace(['*', '?'], "");
    if has_name(HARMLESS, name) || has_name(HARMLESS, &plain) {
        return None;
    }
    let is_of_folder = path.split('/').any(|part| FOLDERS.contains(&part));
    let is_public =
        matches!(name, "known_hosts" | "config" | "authorized_keys") && path.contains(".ssh/");
    let is_in_folder = IN_FOLDERS.iter().any(|glob| matches_path(glob, path));
    let is_named = has_name(SURELY, name) || has_name(SURELY, &plain);
    if (is_of_folder && !is_public) || is_in_folder || is_named {
        return Some(Holding::Surely);
    }
    has_name(PERHAPS, name).then_some(Holding::Perhaps)
}

/// Returns true if a line of `.gitignore` keeps secrets out of commits.
pub fn is_line_about_secrets(line: &str, config: &Config) -> bool {
    let line =
        line.trim().trim_start_matches('!').trim_start_matches("**/").trim_start_matches('/');
    !line.is_empty() && !line.starts_with('#') && find_holding(line, config).is_some()
}

fn has_name(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| matches_part(known, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::risk_calculator::{FromSettings, Setting, Settings};

    fn config(settings: &[Setting]) -> Config {
        Config::from_settings(&Settings::check(Config::SPECS, settings).unwrap()).unwrap()
    }

    #[test]
    fn names_tell_files_of_secrets() {
        let config = config(&[]);
        for (path, expected) in [
            (".env", Some(Holding::Surely)),
            ("app/.env.production", Some(Holding::Surely)),
            (".env*", Some(Holding::Surely)),
            (".env.example", None),
            (".env.local.example", None),
            ("certs/server.pem", Some(Holding::Surely)),
            ("*.pem", Some(Holding::Surely)),
            ("certs/fullchain.pem", None),
            ("id_ed25519", Some(Holding::Surely)),
            ("id_ed25519.pub", None),
            (".ssh", Some(Holding::Surely)),
            ("service-account-prod.json", Some(Holding::Surely)),
            (".npmrc", Some(Holding::Perhaps)),
            ("secrets.enc.yaml", None),
            ("src/environment.ts", None),
            ("src/keys.rs", None),
            ("keyboard.key.ts", None),
            ("README.md", None),
            ("terraform.tfstate", Some(Holding::Surely)),
        ] {
            assert_eq!(find_holding(path, &config), expected, "{path}");
        }
    }

    #[test]
    fn settings_add_and_take_away() {
        let config = config(&[
            Setting::new("files", ["vault/**"]),
            Setting::new("harmless", ["certs/dev/*.pem"]),
        ]);
        assert_eq!(find_holding("vault/a.txt", &config), Some(Holding::Surely));
        assert_eq!(find_holding("certs/dev/a.pem", &config), None);
        assert_eq!(find_holding("certs/a.pem", &config), Some(Holding::Surely));
    }
}
