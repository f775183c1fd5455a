//! The hub's own authority: it vouches for the hub's replicas and for machines, and for nobody
//! else. Machines believe no other authority, and the hub takes no certificate of another.

use anyhow::{Context, Result};
use portcullis_fleet::digest_certificate;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

/// The life of the authority and of a replica's certificate, in days.
const AUTHORITY_DAYS: i64 = 20 * 365;
const REPLICA_DAYS: i64 = 397;
/// A certificate counts from this long before it was issued: clocks differ.
const SKEW: Duration = Duration::hours(1);

/// The authority of a hub.
pub struct Authority {
    certificate: CertificateDer<'static>,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate of a machine.
pub struct IssuedCertificate {
    /// The certificate in PEM.
    pub pem: String,
    /// Its digest, by which the database knows it.
    pub digest: [u8; 32],
    /// Its life, in seconds from now.
    pub seconds: i64,
}

/// Creates an authority; returns its certificate and its key in PEM.
pub fn create_authority() -> Result<(String, String)> {
    let key = KeyPair::generate().context("cannot make a key")?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name = named("Portcullis hub");
    set_life(&mut params, AUTHORITY_DAYS);
    let certificate = params.self_signed(&key).context("cannot make a certificate")?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// Returns the digest of a certificate in PEM.
pub fn digest_pem(pem: &str) -> Result<[u8; 32]> {
    Ok(digest_certificate(&parse_certificate(pem)?))
}

impl Authority {
    /// Reads certificate and key from PEM.
    pub fn read(certificate: &str, key: &str) -> Result<Self> {
        let der = parse_certificate(certificate)?;
        let key = KeyPair::from_pem(key).context("the key cannot be read")?;
        let issuer =
            Issuer::from_ca_cert_der(&der, key).context("the certificate cannot be read")?;
        Ok(Self { certificate: der, pem: certificate.to_owned(), issuer })
    }

    /// Returns the certificate in PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the certificate.
    pub const fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Issues the certificate of a replica; returns its chain and its key.
    pub fn issue_replica(
        &self,
        names: &[String],
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let key = KeyPair::generate().context("cannot make a key")?;
        let mut params =
            CertificateParams::new(names).context("a name of the hub cannot be certified")?;
        params.distinguished_name = named("Portcullis hub replica");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_life(&mut params, REPLICA_DAYS);
        let certificate = params.signed_by(&key, &self.issuer).context("cannot certify the hub")?;
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        Ok((chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }

    /// Issues the certificate of a machine for the key of a request. Nothing else of the request
    /// counts: not its names, not the uses that it asks for. Fails if the request is none, or is
    /// not signed with its own key.
    pub fn issue_machine(
        &self,
        machine: &str,
        request: &str,
        days: u32,
    ) -> Result<IssuedCertificate> {
        let request = CertificateSigningRequestParams::from_pem(request)
            .context("the request for a certificate is not understood")?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named(machine);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        set_life(&mut params, days.into());
        let certificate = params
            .signed_by(&request.public_key, &self.issuer)
            .context("the key in the request cannot be certified")?;
        Ok(IssuedCertificate {
            pem: certificate.pem(),
            digest: digest_certificate(certificate.der()),
            seconds: Duration::days(days.into()).whole_seconds(),
        })
    }
}

fn parse_certificate(pem: &str) -> Result<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).context("it is not a certificate in PEM")
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn set_life(params: &mut CertificateParams, days: i64) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now.saturating_sub(SKEW);
    params.not_after = now.saturating_add(Duration::days(days));
}
