//! Requests to the hub. They block, and only commands of a person and `maintain` make them: no
//! hook waits for the network.

use crate::approvals::ApproverSigned;
use crate::membership::Membership;
use crate::protocol::{
    Acceptance, Admission, AnswerReceipt, ApprovalsAnswer, ApprovalsRequest, ApproverQuestions,
    Authority, Batch, Farewell, JoinRequest, KnownHeads, LONGEST_WAIT, MOST_BODY, OrdersAnswer,
    OrdersRequest, ProtectionReport, Refusal, RenewRequest, TrialReport, VERSION,
};
use crate::token::{JoinToken, digest_certificate};
use portcullis_network::{client_settings, create_client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Response;
use ureq::http::header::RETRY_AFTER;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

/// The time for a connection, and for the whole of one exchange.
const CONNECT: Duration = Duration::from_secs(10);
const EXCHANGE: Duration = Duration::from_secs(60);

/// The reasons why an exchange with the hub failed.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The address is not of the form `https://HOST[:PORT]`.
    #[error("`{0}` is not the address of a hub: it has the form `https://HOST[:PORT]`")]
    Address(String),
    /// The hub of the token has another authority.
    #[error(
        "the hub at `{0}` is not the one that made the token: its authority has another digest"
    )]
    OtherAuthority(String),
    /// No exchange took place.
    #[error("the hub at `{hub}` does not answer: {reason}")]
    Unreachable {
        /// Its address.
        hub: String,
        /// The reason.
        reason: String,
    },
    /// The hub asks to come again later.
    #[error("the hub is busy: {reason}")]
    Busy {
        /// The hub's reason.
        reason: String,
        /// The time that it asked for, if it did.
        after: Option<Duration>,
    },
    /// The hub refuses.
    #[error("the hub refuses: {}", .0.reason)]
    Refused(Box<Refusal>),
    /// The answer is not understood.
    #[error("the hub at `{hub}` gave an answer that is not understood: {reason}")]
    Malformed {
        /// Its address.
        hub: String,
        /// The reason.
        reason: String,
    },
    /// The machine's own key or certificate cannot be used.
    #[error("this machine's certificate cannot be used: {0}")]
    Identity(String),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// A hub, and what is needed to talk to it.
pub struct HubClient {
    hub: String,
    agent: Agent,
}

/// A key that was made here, with the request for its certificate.
struct NewKey {
    key: String,
    request: String,
}

impl HubClient {
    /// Prepares the exchanges of a member.
    ///
    /// # Errors
    /// Fails if the machine's certificate or key cannot be read.
    pub fn of_member(membership: &Membership) -> Result<Self, HubError> {
        let identity = |error: ureq::Error| HubError::Identity(error.to_string());
        let authority = Certificate::from_pem(membership.authority.as_bytes()).map_err(identity)?;
        let certificate =
            Certificate::from_pem(membership.certificate.as_bytes()).map_err(identity)?;
        let key = PrivateKey::from_pem(membership.key.as_bytes()).map_err(identity)?;
        let own = ClientCert::new_with_certs(&[certificate], key);
        Ok(Self {
            hub: membership.hub.clone(),
            agent: agent_for(
                TlsConfig::builder()
                    .root_certs(RootCerts::Specific(Arc::new(vec![authority])))
                    .client_cert(Some(own))
                    .build(),
            ),
        })
    }

    /// Prepares the exchanges of somebody who has no certificate of the hub's authority, as an
    /// approver. `authority` is its certificate, in PEM.
    ///
    /// # Errors
    /// Fails if the address or the certificate is wrong.
    pub fn of_authority(address: &str, authority: &str) -> Result<Self, HubError> {
        let authority = Certificate::from_pem(authority.as_bytes())
            .map_err(|error| HubError::Identity(error.to_string()))?;
        let roots = RootCerts::Specific(Arc::new(vec![authority]));
        let agent = agent_for(TlsConfig::builder().root_certs(roots).build());
        Ok(Self { hub: check_address(address)?, agent })
    }

    /// Exchanges a token for an identity: makes a key, and has the hub issue its certificate. The
    /// token's secret goes to no hub but the one whose authority the token names.
    ///
    /// # Errors
    /// Fails if the address is wrong, the hub cannot be reached, is not the token's, or refuses.
    pub fn join_fleet(
        address: &str,
        token: &JoinToken,
        name: &str,
        portcullis: &str,
    ) -> Result<Membership, HubError> {
        let hub = check_address(address)?;
        // The answer on this connection is believed only by its digest, and it carries no secret.
        let unproven = Self {
            hub: hub.clone(),
            agent: agent_for(TlsConfig::builder().disable_verification(true).build()),
        };
        let authority: Authority = unproven.get("/v1/authority")?;
        let certificate = Certificate::from_pem(authority.certificate.as_bytes())
            .map_err(|_| HubError::OtherAuthority(hub.clone()))?;
        if digest_certificate(certificate.der()) != *token.authority() {
            return Err(HubError::OtherAuthority(hub));
        }
        let proven = Self {
            hub: hub.clone(),
            agent: agent_for(
                TlsConfig::builder()
                    .root_certs(RootCerts::Specific(Arc::new(vec![certificate])))
                    .build(),
            ),
        };
        let new = make_key()?;
        let admission: Admission = proven.post(
            "/v1/join",
            &JoinRequest {
                version: VERSION,
                secret: token.secret().to_owned(),
                name: name.to_owned(),
                portcullis: portcullis.to_owned(),
                request: new.request,
            },
        )?;
        Ok(Membership {
            hub,
            authority: authority.certificate,
            receipt_key: admission.receipt_key,
            machine: admission.machine,
            labels: admission.labels,
            certificate: admission.certificate,
            key: new.key,
            issued_at: admission.issued_at,
            expires_at: admission.expires_at,
            orders: None,
        })
    }

    /// Returns the membership with a new key and certificate.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn renew_certificate(
        &self,
        membership: &Membership,
        portcullis: &str,
    ) -> Result<Membership, HubError> {
        let new = make_key()?;
        let request = RenewRequest {
            version: VERSION,
            portcullis: portcullis.to_owned(),
            request: new.request,
        };
        let admission: Admission = self.post("/v1/renew", &request)?;
        if admission.machine != membership.machine {
            return Err(self.malformed("the certificate is another machine's"));
        }
        Ok(Membership {
            certificate: admission.certificate,
            key: new.key,
            issued_at: admission.issued_at,
            expires_at: admission.expires_at,
            ..membership.clone()
        })
    }

    /// Sends records.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn send_batch(&self, batch: &Batch) -> Result<Acceptance, HubError> {
        self.post("/v1/records", batch)
    }

    /// Returns how far the hub has the machine's journals.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn list_heads(&self) -> Result<KnownHeads, HubError> {
        self.get("/v1/heads")
    }

    /// Returns orders that are newer than `seen`; waits for them as long as the hub holds the
    /// request, or not at all. `refused` says why the machine refuses those that it was offered, and
    /// `trial` what came of those that it tries.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn ask_orders(
        &self,
        seen: u64,
        refused: Option<String>,
        trial: Option<TrialReport>,
        waits: bool,
    ) -> Result<OrdersAnswer, HubError> {
        let wait_seconds =
            if waits { u32::try_from(LONGEST_WAIT.as_secs()).unwrap_or(0) } else { 0 };
        let request = OrdersRequest { version: VERSION, seen, refused, wait_seconds, trial };
        self.post("/v1/orders", &request)
    }

    /// Sends what `portcullis doctor` finds on this machine.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn send_protection(&self, report: &ProtectionReport) -> Result<(), HubError> {
        self.post::<serde_json::Value>("/v1/protection", report).map(drop)
    }

    /// Says which actions wait, and returns answers; waits for them as long as the request asks.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn relay_approvals(&self, request: &ApprovalsRequest) -> Result<ApprovalsAnswer, HubError> {
        self.post("/v1/approvals", request)
    }

    /// Returns the questions that wait for the approver who signed the request.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn list_questions(&self, request: &ApproverSigned) -> Result<ApproverQuestions, HubError> {
        self.post("/v1/approver/questions", request)
    }

    /// Gives an approver's answer to the hub.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn give_answer(&self, answer: &ApproverSigned) -> Result<AnswerReceipt, HubError> {
        self.post("/v1/approver/answers", answer)
    }

    /// Tells the hub that the machine leaves.
    ///
    /// # Errors
    /// Fails if the hub cannot be reached, or refuses.
    pub fn leave_fleet(&self) -> Result<Farewell, HubError> {
        self.post("/v1/leave", &serde_json::json!({}))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, HubError> {
        self.read(self.agent.get(format!("{}{path}", self.hub)).call())
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, HubError> {
        let bytes = serde_json::to_vec(body).map_err(|error| self.malformed(error))?;
        let request = self.agent.post(format!("{}{path}", self.hub));
        self.read(request.header("content-type", "application/json").send(&bytes[..]))
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<T, HubError> {
        let unreachable = |error: ureq::Error| HubError::Unreachable {
            hub: self.hub.clone(),
            reason: error.to_string(),
        };
        let mut answer = answer.map_err(unreachable)?;
        let status = answer.status().as_u16();
        let after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let after = after.and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let bytes = answer
            .body_mut()
            .with_config()
            .limit(MOST_BODY as u64)
            .read_to_vec()
            .map_err(unreachable)?;
        if status == 200 {
            return serde_json::from_slice(&bytes).map_err(|error| self.malformed(error));
        }
        let refusal = serde_json::from_slice::<Refusal>(&bytes);
        match (status, refusal) {
            (429 | 500..=599, refusal) => {
                let reason = refusal.map_or(format!("status {status}"), |refusal| refusal.reason);
                Err(HubError::Busy { reason, after })
            }
            (_, Ok(refusal)) => Err(HubError::Refused(Box::new(refusal))),
            (_, Err(_)) => Err(self.malformed(format!("status {status}"))),
        }
    }

    fn malformed(&self, reason: impl ToString) -> HubError {
        HubError::Malformed { hub: self.hub.clone(), reason: reason.to_string() }
    }
}

impl std::fmt::Debug for HubClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubClient").field("hub", &self.hub).finish_non_exhaustive()
    }
}

fn agent_for(tls: TlsConfig) -> Agent {
    let settings = client_settings()
        .https_only(true)
        .timeout_connect(Some(CONNECT))
        .timeout_global(Some(EXCHANGE))
        .tls_config(tls);
    create_client(settings)
}

/// Returns the address in the form to which paths are added.
fn check_address(address: &str) -> Result<String, HubError> {
    let wrong = || HubError::Address(address.to_owned());
    let host = address.strip_prefix("https://").ok_or_else(wrong)?;
    let host = host.strip_suffix('/').unwrap_or(host);
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
    if host.is_empty() || host.len() > 255 || !host.chars().all(allowed) {
        return Err(wrong());
    }
    Ok(format!("https://{host}"))
}

fn make_key() -> Result<NewKey, HubError> {
    let failed = |error: rcgen::Error| HubError::Identity(error.to_string());
    let key = rcgen::KeyPair::generate().map_err(failed)?;
    let request = rcgen::CertificateParams::default().serialize_request(&key).map_err(failed)?;
    Ok(NewKey { key: key.serialize_pem(), request: request.pem().map_err(failed)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_behind_https() {
        for (address, read) in [
            ("https://hub.example", Some("https://hub.example")),
            ("https://hub.example:8443/", Some("https://hub.example:8443")),
            ("https://[::1]:8443", Some("https://[::1]:8443")),
            ("http://hub.example", None),
            ("hub.example", None),
            ("https://", None),
            ("https://hub.example/path", None),
            ("https://person:word@hub.example", None),
            ("https://hub.example?x", None),
        ] {
            assert_eq!(check_address(address).ok().as_deref(), read, "{address}");
        }
    }
}
