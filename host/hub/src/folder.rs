//! A hub's folder: its configuration, its authority and its keys. All replicas of one hub have the
//! same files; nothing else of a hub is outside the database.
//!
//! ```text
//! hub.toml       address, database, names
//! authority.pem  the certificate of the authority, which join tokens name by its digest
//! authority.key  its key, 0600
//! receipt.key    the seed of the key that signs receipts, 0600
//! credentials    what `credential:NAME` in `hub.toml` leads to, with the command that sets it
//! ```

use crate::authority;
use crate::hub_files::{read_secret, read_text};
use crate::hub_secret::HubSecret;
use crate::oidc::OidcConfig;
use crate::page_address::PageAddress;
use anyhow::{Context, Result, bail, ensure};
use portcullis_bundle::SecretKey;
use portcullis_core::known_failure::HintedFailure;
use portcullis_fleet::RECEIPT_KEY;
use portcullis_fs::{create_private_folder, replace_bytes};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

const CONFIGURATION: &str = "hub.toml";
const CERTIFICATE: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";

/// The configuration, as `hub.toml` holds it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// The address by which machines reach the hub.
    pub url: String,
    /// The address to listen on.
    pub listen: String,
    /// The database, as a connection string of libpq without a password.
    pub database: String,
    /// The database's password.
    pub password: Option<HubSecret>,
    /// The certificates of the authorities that may vouch for the database, in PEM. With it, the
    /// connection uses TLS; without it, the database has to be on this machine.
    pub database_authority: Option<PathBuf>,
    /// Further names in the hub's own certificate.
    #[serde(default)]
    pub names: Vec<String>,
    /// The life of a machine's certificate, in days.
    #[serde(default = "default_days")]
    pub certificate_days: u32,
    /// The days after which records are dropped, a whole day of them at once; 0 keeps all.
    #[serde(default)]
    pub retention_days: u32,
    /// Webhooks that are told of questions for approvers.
    #[serde(default, rename = "webhook")]
    pub webhooks: Vec<QuestionWebhook>,
    /// The most connections of one replica to the database, and to its standby.
    #[serde(default = "default_connections")]
    pub connections: usize,
    /// The connection string of a standby of the database from which the pages read.
    pub standby: Option<String>,
    /// The seconds by which the standby may be behind while the pages read from it.
    #[serde(default = "default_lag")]
    pub standby_lag_seconds: u32,
    /// The most connections of machines that one replica keeps open.
    #[serde(default = "default_machine_connections")]
    pub machine_connections: usize,
    /// The address on which people reach the hub's pages; none serves no page.
    pub page: Option<String>,
    /// The address by which they reach it, if that is another one.
    pub page_url: Option<String>,
    /// False if a proxy on this machine has the page's certificate.
    #[serde(default = "default_page_tls")]
    pub page_tls: bool,
    /// The provider by which people sign in.
    pub oidc: Option<OidcConfig>,
    /// The hub's folder.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl HubConfig {
    /// Returns the addresses of the page; `None` if there is none.
    pub fn page_address(&self) -> Result<Option<PageAddress>> {
        let Some(listen) = &self.page else { return Ok(None) };
        let hub = host_of(&self.url)?;
        PageAddress::parse(listen, self.page_url.as_deref(), self.page_tls, hub).map(Some)
    }
}

const fn default_page_tls() -> bool {
    true
}

/// A webhook that is told of questions: a chat, or another service that takes Slack's JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionWebhook {
    /// Its address: `https://...`, or `http://` and a loopback address. Where it is a secret, its
    /// place, as a [`HubSecret`] names one.
    pub url: String,
    /// The roles whose questions it gets; empty for all.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Its token.
    pub bearer: Option<HubSecret>,
    /// The authorities that may vouch for it, in PEM, in place of Mozilla's.
    pub authorities: Option<PathBuf>,
}

const fn default_days() -> u32 {
    30
}

const fn default_connections() -> usize {
    16
}

const fn default_lag() -> u32 {
    10
}

const fn default_machine_connections() -> usize {
    16_384
}

/// A hub's folder, read.
pub struct HubFolder {
    /// The configuration.
    pub config: HubConfig,
    /// The authority.
    pub authority: authority::Authority,
    /// The key that signs receipts.
    pub receipt_key: SecretKey,
}

/// Returns the host in a hub's address, which its certificate names.
pub fn host_of(url: &str) -> Result<&str> {
    let rest =
        url.strip_prefix("https://").context("the address of a hub begins with `https://`")?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(host, _)| host),
        None => Some(rest.split_once(':').map_or(rest, |(host, _)| host)),
    };
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-:".contains(letter);
    host.filter(|host| !host.is_empty() && host.chars().all(allowed))
        .with_context(|| format!("`{url}` is not of the form `https://HOST[:PORT]`"))
}

/// Creates a hub's folder.
pub fn create_folder(folder: &Path, url: &str, database: &str, listen: &str) -> Result<()> {
    host_of(url)?;
    let config: toml::Table = [("url", url), ("listen", listen), ("database", database)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), toml::Value::String(value.to_owned())))
        .collect();
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!(HintedFailure {
            message: format!("`{}` is not empty", folder.display()),
            hint: "name a new folder, or remove the old hub's: machines that joined it have to \
                   join again then"
                .into(),
        });
    }
    create_private_folder(folder)
        .with_context(|| format!("cannot create `{}`", folder.display()))?;
    let (certificate, key) = authority::create_authority()?;
    let mut seed = [0_u8; 32];
    getrandom::fill(&mut seed).context("the system gives no random bytes")?;
    let write = |name: &str, mode, text: &str| {
        let path = folder.join(name);
        replace_bytes(&path, mode, text.as_bytes())
            .with_context(|| format!("cannot write `{}`", path.display()))
    };
    write(CERTIFICATE, 0o644, &certificate)?;
    write(AUTHORITY_KEY, 0o600, &key)?;
    write(RECEIPT_KEY, 0o600, &format!("{}\n", data_encoding::HEXLOWER.encode(&seed)))?;
    write(CONFIGURATION, 0o600, &config.to_string())
}

/// Reads a hub's folder.
pub fn read_folder(folder: &Path) -> Result<HubFolder> {
    let config = read_config(folder)?;
    let certificate = read_text(&folder.join(CERTIFICATE))?;
    let key = read_secret(&folder.join(AUTHORITY_KEY))?;
    Ok(HubFolder {
        authority: authority::Authority::read(&certificate, &key)
            .with_context(|| format!("the authority in `{}`", folder.display()))?,
        config,
        receipt_key: read_receipt_key(folder)?,
    })
}

/// Reads the key that signs receipts and seals the audit.
pub fn read_receipt_key(folder: &Path) -> Result<SecretKey> {
    let path = folder.join(RECEIPT_KEY);
    let seed = data_encoding::HEXLOWER.decode(read_secret(&path)?.trim().as_bytes()).ok();
    let seed: Option<[u8; 32]> = seed.and_then(|seed| seed.try_into().ok());
    let seed = seed.with_context(|| format!("`{}` does not hold 64 hex digits", path.display()))?;
    Ok(SecretKey::of_seed(&seed))
}

/// Reads the configuration alone: commands that need no key do not open one.
pub fn read_config(folder: &Path) -> Result<HubConfig> {
    let path = folder.join(CONFIGURATION);
    let config = parse_config(&read_text(&path)?, folder)
        .with_context(|| format!("`{}` is not the configuration of a hub", path.display()))?;
    host_of(&config.url).with_context(|| format!("`{}`", path.display()))?;
    ensure!(
        (1..=825).contains(&config.certificate_days),
        "`{}`: `certificate_days` is from 1 to 825",
        path.display()
    );
    ensure!(
        (16..=1_000_000).contains(&config.machine_connections),
        "`{}`: `machine_connections` is from 16 to 1000000",
        path.display()
    );
    ensure!(
        config.retention_days <= 36_500,
        "`{}`: `retention_days` is from 0 to 36500",
        path.display()
    );
    ensure!(
        (1..=1000).contains(&config.connections),
        "`{}`: `connections` is from 1 to 1000",
        path.display()
    );
    config.page_address().with_context(|| format!("`{}`", path.display()))?;
    config
        .oidc
        .iter()
        .try_for_each(OidcConfig::check)
        .with_context(|| format!("`{}`", path.display()))?;
    Ok(config)
}

/// Returns what is wrong without the value, which may be a secret in the wrong place.
fn describe_mistake(message: &str) -> String {
    let repeats = ["invalid type: ", "invalid value: "];
    match message.rsplit_once(", expected ") {
        Some((found, expected)) if repeats.iter().any(|prefix| found.starts_with(prefix)) => {
            format!("the value is not {expected}")
        }
        _ => message.to_owned(),
    }
}

fn parse_config(text: &str, folder: &Path) -> Result<HubConfig> {
    let config: HubConfig = toml::from_str(text).map_err(|error| {
        // The error itself would repeat the line, which may hold a secret.
        let before = error.span().and_then(|span| text.get(..span.start));
        let what = describe_mistake(error.message());
        match before.map(|before| before.matches('\n').count().saturating_add(1)) {
            Some(line) => anyhow::anyhow!("line {line}: {what}"),
            None => anyhow::anyhow!("{what}"),
        }
    })?;
    Ok(HubConfig { folder: folder.to_owned(), ..config })
}

/// Returns the digest of the authority, which join tokens hold.
pub fn read_authority_digest(folder: &Path) -> Result<[u8; 32]> {
    authority::digest_pem(&read_text(&folder.join(CERTIFICATE))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn the_host_of_an_address_is_what_a_certificate_names() {
        for (url, host) in [
            ("https://hub.example", Some("hub.example")),
            ("https://hub.example:8443/", Some("hub.example")),
            ("https://[::1]:8443", Some("::1")),
            ("http://hub.example", None),
            ("https://", None),
            ("https://a/b", None),
        ] {
            assert_eq!(host_of(url).ok(), host, "{url}");
        }
    }

    #[test]
    fn a_folder_is_made_once_and_its_keys_are_private() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("hub");
        let create = || create_folder(&folder, "https://hub.example", "host=/run \"x", "[::]:1");
        create().unwrap();
        assert!(create().is_err());
        let read = read_folder(&folder).unwrap();
        assert_eq!(read.config.database, "host=/run \"x");
        let digest = portcullis_fleet::digest_certificate(read.authority.certificate());
        assert_eq!(read_authority_digest(&folder).unwrap(), digest);
        for key in [AUTHORITY_KEY, RECEIPT_KEY] {
            let path = folder.join(key);
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(read_folder(&folder).is_err(), "{key}");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}
