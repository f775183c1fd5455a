//! A private certificate authority, and the certificates that it issues.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A test's own files: an authority, and a server's certificate for `127.0.0.1` and `registry.test`
/// with its key.
pub(crate) struct Authority {
    pub(crate) root: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(folder: &Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let names = vec!["127.0.0.1".to_owned(), "registry.test".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        let write = |name: &str, label: &str, der: &[u8]| {
            let path = folder.join(name);
            let text = format!(
                "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
                data_encoding::BASE64.encode(der)
            );
            fs::write(&path, text).unwrap();
            path
        };
        Self {
            root: write("root.pem", "CERTIFICATE", own.der()),
            certificate: write("server.pem", "CERTIFICATE", certificate.der()),
            key: write("server.key", "PRIVATE KEY", &key.serialize_der()),
        }
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let certificate = CertificateDer::from_pem_file(&self.certificate).unwrap();
        let key = PrivateKeyDer::from_pem_file(&self.key).unwrap();
        Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
    }
}

pub(crate) fn secure(
    config: &Arc<ServerConfig>,
    stream: TcpStream,
) -> StreamOwned<ServerConnection, TcpStream> {
    StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream)
}
