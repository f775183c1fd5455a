//! Serves the page: with the hub's own certificate, or without TLS for a proxy on this machine.

use super::changes::{LiveChanges, watch_changes};
use super::provider_client::Provider;
use super::routes::build_routes;
use super::visit::PageState;
use crate::audit::AuditLog;
use crate::folder::{HubConfig, host_of, read_receipt_key};
use crate::listener::{HEAD_DEADLINE, accept_connections, answer_requests};
use crate::page_address::PageAddress;
use crate::replica_certificate::ReplicaCertificate;
use crate::service::Hub;
use anyhow::{Context, Result};
use axum::Router;
use portcullis_served::Failures;
use rustls::ServerConfig;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// The most connections of people; a browser makes six.
const MOST_CONNECTIONS: usize = 512;

/// A page that is bound and not served yet.
pub struct PageServer {
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    routes: Router,
    state: Arc<PageState>,
}

impl PageServer {
    /// Binds the page of a configuration; `None` if it has none.
    pub async fn bind(folder: &Path, config: &HubConfig, hub: Arc<Hub>) -> Result<Option<Self>> {
        let Some(address) = config.page_address()? else { return Ok(None) };
        let listener = TcpListener::bind(address.listen)
            .await
            .with_context(|| format!("cannot serve the page on `{}`", address.listen))?;
        let acceptor = match address.has_tls {
            true => Some(TlsAcceptor::from(Arc::new(configure_tls(&hub, config, &address)?))),
            false => None,
        };
        let provide = |oidc| Provider::of_config(oidc, &config.folder);
        let provider = config.oidc.clone().map(provide).transpose()?.map(Arc::new);
        let state = Arc::new(PageState {
            audit: AuditLog::of_key(read_receipt_key(folder)?),
            door: address.door,
            is_secure: address.is_secure,
            guesses: Failures::default(),
            changes: LiveChanges::default(),
            provider,
            hub,
        });
        let routes = build_routes(Arc::clone(&state));
        Ok(Some(Self { listener, acceptor, routes, state }))
    }

    /// Returns the address.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().context("the listener of the page has no address")
    }

    /// Serves the page, until the task ends.
    pub async fn serve(self) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let Self { listener, acceptor, routes, state } = self;
        let accepting = accept_connections(&listener, &places, |stream| {
            serve_connection(stream, acceptor.clone(), routes.clone())
        });
        tokio::join!(accepting, watch_changes(&state.changes, &state.hub.database));
    }
}

/// Configures TLS. A machine's certificate is not asked for, and says nothing here.
fn configure_tls(hub: &Hub, config: &HubConfig, address: &PageAddress) -> Result<ServerConfig> {
    let mut names =
        vec![host_of(&config.url)?.to_owned(), host_of(&address.door.origin)?.to_owned()];
    names.extend(config.names.iter().cloned());
    names.dedup();
    let own = ReplicaCertificate::issue(Arc::clone(&hub.authority), names)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(own));
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

async fn serve_connection(stream: TcpStream, acceptor: Option<TlsAcceptor>, routes: Router) {
    match acceptor {
        None => answer_requests(stream, routes).await,
        Some(acceptor) => {
            let handshake = tokio::time::timeout(HEAD_DEADLINE, acceptor.accept(stream)).await;
            if let Ok(Ok(stream)) = handshake {
                answer_requests(stream, routes).await;
            }
        }
    }
}
