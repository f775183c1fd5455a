//! Exports as the configuration has them.

use super::machine::read_machine_name;
use crate::canary_session::CANARY_SESSION;
use crate::named_table::NamedTable;
use portcullis_config::{Config, EXPORT};
use portcullis_core::text::hash_parts;
use portcullis_credentials::CredentialReader;
use portcullis_sinks::{
    FileSink, HttpAnswer, HttpCompression, HttpSink, OpenSink, Sink, SyslogEncryption, SyslogSink,
    TlsFiles,
};
use portcullis_store::StoredRecord;
use std::collections::BTreeMap;
use std::time::Duration;

/// An export as it is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredExport {
    /// The exporter plugin; empty if none is named.
    pub format: String,
    /// The word for its sink; empty if none is named.
    pub kind: String,
    /// Where it begins if it has no cursor.
    pub start: ExportStart,
    /// The records that it sends.
    pub filter: ExportFilter,
    /// The most records of one delivery.
    pub batch_records: usize,
    /// The bytes of documents at which a delivery takes no more records.
    pub batch_bytes: usize,
    /// How long a delivery that is not full waits for more records.
    pub batch_wait: Duration,
    /// The wait after the first failure.
    pub first_wait: Duration,
    /// The longest wait between two attempts.
    pub longest_wait: Duration,
    /// What happens to a single record that is refused for good.
    pub on_refusal: RefusalPolicy,
    /// The time for one delivery.
    pub timeout: Duration,
    /// The sink, or the problem with it and the advice.
    pub sink: Result<Sink, String>,
}

/// The beginning of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportStart {
    /// The oldest record of the journal.
    Beginning,
    /// The next record.
    Now,
}

/// What happens to a single record that is refused for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalPolicy {
    /// The export stays at it.
    Stop,
    /// It is passed over and counted.
    Skip,
}

/// The records that an export sends. An empty list names all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportFilter {
    /// Kinds of records.
    pub kinds: Vec<String>,
    /// Verdicts.
    pub verdicts: Vec<String>,
    /// True if `doctor`'s own trials are sent, too.
    pub canary: bool,
}

impl ExportFilter {
    /// Returns true if a record is sent.
    #[must_use]
    pub fn wants_record(&self, stored: &StoredRecord) -> bool {
        let has = |list: &[String], word: Option<&str>| {
            list.is_empty() || word.is_some_and(|word| list.iter().any(|known| known == word))
        };
        let is_trial = stored.session.as_deref().is_some_and(|id| id.starts_with(CANARY_SESSION));
        has(&self.kinds, Some(&stored.record.kind))
            && has(&self.verdicts, stored.record.verdict.as_deref())
            && (self.canary || !is_trial)
    }
}

impl ConfiguredExport {
    /// Returns the problem, as far as it is visible without a delivery, with the advice.
    #[must_use]
    pub fn problem(&self, credentials: &dyn CredentialReader) -> Option<String> {
        match &self.sink {
            Ok(sink) => {
                OpenSink::check_settings(sink, credentials).err().map(|failure| failure.to_string())
            }
            Err(problem) => Some(problem.clone()),
        }
    }

    /// Returns the wait after so many failures in a row, at least one: twice as long for each more,
    /// and a quarter shorter or longer, so that many exports do not come back together.
    #[must_use]
    pub fn retry_wait(&self, name: &str, failures: u64) -> Duration {
        let doublings = u32::try_from(failures.saturating_sub(1).min(16)).unwrap_or(16);
        let wait = self.first_wait.saturating_mul(1 << doublings).min(self.longest_wait);
        let share = hash_parts(&[name, &failures.to_string()]) % 501;
        // 750 to 1250 thousandths.
        let share = u32::try_from(750 + share).unwrap_or(1000);
        (wait.saturating_mul(share) / 1000).min(self.longest_wait)
    }
}

/// Returns all exports, by name. Reads no credential. `person` is the home folder for `~/`.
#[must_use]
pub fn configured_exports(config: &Config, person: &str) -> BTreeMap<String, ConfiguredExport> {
    config
        .exports
        .iter()
        .map(|(name, said)| {
            (
                name.clone(),
                ExportSettings(NamedTable { prefix: EXPORT, noun: "export", name, said, person })
                    .export(),
            )
        })
        .collect()
}

/// One export's table.
struct ExportSettings<'a>(NamedTable<'a>);

impl ExportSettings<'_> {
    fn export(&self) -> ConfiguredExport {
        let seconds = |key: &str| Duration::from_secs(self.number(key));
        let format = self.0.text("format");
        let sink = match &format {
            Some(_) => self.sink(),
            None => Err(self.0.missing("format")),
        };
        ConfiguredExport {
            format: format.unwrap_or_default(),
            kind: self.0.text("sink").unwrap_or_default(),
            start: match self.0.text("start").as_deref() {
                Some("now") => ExportStart::Now,
                _ => ExportStart::Beginning,
            },
            filter: ExportFilter {
                kinds: self.0.texts("filter.kinds"),
                verdicts: self.0.texts("filter.verdicts"),
                canary: self.0.flag("filter.canary"),
            },
            batch_records: usize::try_from(self.number("batch.records")).unwrap_or(usize::MAX),
            batch_bytes: usize::try_from(self.number("batch.max_kb").saturating_mul(1024))
                .unwrap_or(usize::MAX),
            batch_wait: seconds("batch.wait_seconds"),
            first_wait: seconds("retry.first_seconds"),
            longest_wait: seconds("retry.longest_seconds"),
            on_refusal: match self.0.text("retry.on_refusal").as_deref() {
                Some("skip") => RefusalPolicy::Skip,
                _ => RefusalPolicy::Stop,
            },
            timeout: seconds("timeout_seconds"),
            sink,
        }
    }

    fn sink(&self) -> Result<Sink, String> {
        match self.0.text("sink").as_deref() {
            Some("file") => self.file(),
            Some("webhook") => self.http(HttpAnswer::Status),
            Some("otlp") => self.http(HttpAnswer::Otlp),
            Some("splunk") => {
                self.http(HttpAnswer::Splunk { acknowledge: self.0.flag("acknowledge") })
            }
            Some("syslog") => self.syslog(),
            _ => Err(self.0.missing("sink")),
        }
    }

    fn file(&self) -> Result<Sink, String> {
        let hours = self.number("rotate_hours");
        Ok(Sink::File(FileSink {
            path: self.0.needed_path("path")?,
            rotate_bytes: self.number("rotate_mb").saturating_mul(1 << 20),
            rotate_after: (hours > 0).then(|| Duration::from_secs(hours.saturating_mul(3600))),
            keep: u32::try_from(self.number("keep_files")).unwrap_or(u32::MAX),
        }))
    }

    fn http(&self, answer: HttpAnswer) -> Result<Sink, String> {
        Ok(Sink::Http(HttpSink {
            url: self.0.address(self.0.needed("url")?),
            token: self.0.credential("token")?,
            header_file: self.0.path("header_file"),
            proxy: self.0.text("proxy").map(|proxy| self.0.address(proxy)),
            tls: self.tls(),
            compression: match self.0.text("compression").as_deref() {
                Some("gzip") => HttpCompression::Gzip,
                _ => HttpCompression::None,
            },
            answer,
        }))
    }

    fn syslog(&self) -> Result<Sink, String> {
        Ok(Sink::Syslog(SyslogSink {
            host: self.0.needed("host")?,
            port: u16::try_from(self.number("port")).unwrap_or_default(),
            encryption: match self.0.text("encryption").as_deref() {
                Some("none") => SyslogEncryption::None,
                _ => SyslogEncryption::Tls,
            },
            facility: self.0.text("facility").unwrap_or_default(),
            machine: read_machine_name(),
            tls: self.tls(),
            demands_notice: self.0.flag("demand_close_notify"),
        }))
    }

    fn tls(&self) -> TlsFiles {
        TlsFiles {
            authorities: self.0.path("authorities"),
            certificate: self.0.path("certificate"),
            key: self.0.path("key"),
        }
    }

    fn number(&self, key: &str) -> u64 {
        self.0.integer(key).and_then(|number| u64::try_from(number).ok()).unwrap_or_default()
    }
}
