//! Files for TLS, for both libraries that connect.

use crate::failure::SinkFailure;
use crate::settings::TlsFiles;
use portcullis_fs::{FileAccess, read_named_file};
use portcullis_notify::read_authorities;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

const MOST_BYTES: usize = 1 << 20;

/// This machine's own certificate and its key, as PEM.
struct OwnCertificate {
    certificate: Vec<u8>,
    key: Vec<u8>,
    /// The certificate's file, for errors.
    path: String,
}

/// Returns the settings of an HTTP client.
pub(crate) fn http_settings(files: &TlsFiles) -> Result<TlsConfig, SinkFailure> {
    let roots = match &files.authorities {
        Some(path) => RootCerts::Specific(Arc::new(read_authorities(path)?)),
        None => RootCerts::WebPki,
    };
    let own = match read_own(files)? {
        None => None,
        Some(own) => {
            let chain: Vec<Certificate<'static>> = own
                .chain()?
                .into_iter()
                .map(|der| Certificate::from_der(&der).to_owned())
                .collect();
            let key = PrivateKey::from_pem(&own.key).map_err(|error| own.unusable(&error))?;
            Some(ClientCert::new_with_certs(&chain, key))
        }
    };
    Ok(TlsConfig::builder().root_certs(roots).client_cert(own).build())
}

/// Returns the settings of a connection without HTTP.
pub(crate) fn stream_settings(files: &TlsFiles) -> Result<Arc<ClientConfig>, SinkFailure> {
    let mut roots = RootCertStore::empty();
    match &files.authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            for authority in read_authorities(path)? {
                let added = roots.add(CertificateDer::from(authority.der().to_vec()));
                added.map_err(|error| {
                    SinkFailure::settings(
                        format!("`{}` holds a certificate that is none ({error})", path.display()),
                        "put the authorities' certificates into it, as PEM",
                    )
                })?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let unusable = |error: rustls::Error| {
        SinkFailure::settings(format!("TLS cannot be set up ({error})"), "report this as a defect")
    };
    let builder = versions.map_err(unusable)?.with_root_certificates(roots);
    Ok(Arc::new(match read_own(files)? {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let key =
                PrivateKeyDer::from_pem_slice(&own.key).map_err(|error| own.unusable(&error))?;
            let chain = own.chain()?.into_iter().map(CertificateDer::from).collect();
            builder.with_client_auth_cert(chain, key).map_err(|error| own.unusable(&error))?
        }
    }))
}

fn read_own(files: &TlsFiles) -> Result<Option<OwnCertificate>, SinkFailure> {
    let (certificate, key): (&Path, &Path) = match (&files.certificate, &files.key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        _ => {
            return Err(SinkFailure::settings(
                "one of `certificate` and `key` is missing",
                "name both, or neither",
            ));
        }
    };
    Ok(Some(OwnCertificate {
        certificate: read_named_file(certificate, MOST_BYTES, FileAccess::OwnerWrites)?,
        key: read_named_file(key, MOST_BYTES, FileAccess::OwnerOnly)?,
        path: certificate.display().to_string(),
    }))
}

impl OwnCertificate {
    fn chain(&self) -> Result<Vec<Vec<u8>>, SinkFailure> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.certificate)
            .map(|found| found.map(|certificate| certificate.to_vec()))
            .collect();
        match chain {
            Ok(chain) if !chain.is_empty() => Ok(chain),
            _ => Err(self.unusable(&"it holds no certificate")),
        }
    }

    fn unusable(&self, reason: &dyn std::fmt::Display) -> SinkFailure {
        SinkFailure::settings(
            format!("the certificate `{}` and its key cannot be used ({reason})", self.path),
            "name a certificate and its own key, both as PEM",
        )
    }
}
