//! The connections of a replica: TLS with the hub's own authority on both sides.
//!
//! A machine that joins has no certificate yet, so a connection may come without one; what needs
//! one is refused by its address (`routes`). A certificate of another authority ends the handshake.

use crate::approvals::escalation::keep_approvals;
use crate::folder::{HubConfig, host_of, read_folder};
use crate::news::OrdersNews;
use crate::orders::follow_news;
use crate::rollouts::keep_rollouts;
use crate::routes::{PeerCertificate, build_routes};
use crate::service::Hub;
use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use portcullis_core::text::count_noun;
use portcullis_fleet::digest_certificate;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// The time for a handshake, and for the head of a request.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// The most connections of one replica.
const MOST_CONNECTIONS: usize = 4096;
/// The time that running requests get when the replica ends.
const FAREWELL: Duration = Duration::from_secs(10);
/// The time between two looks at the partitions.
const PARTITION_PERIOD: Duration = Duration::from_secs(60 * 60);
/// The time between two attempts to reach the database at the start.
const RETRY: Duration = Duration::from_secs(1);
/// Attempts before a replica gives up.
const ATTEMPTS: u32 = 30;

/// Serves machines until `end` completes. `ready` is told the address.
pub async fn serve_hub(
    folder: &Path,
    listen: Option<&str>,
    ready: impl FnOnce(SocketAddr),
    end: impl Future<Output = ()>,
) -> Result<()> {
    let read = read_folder(folder)?;
    let config = read.config.clone();
    let hub = Arc::new(Hub::of_folder(read)?);
    let acceptor = TlsAcceptor::from(Arc::new(configure_tls(&hub, &config)?));
    prepare_database(&hub).await?;
    let address = listen.unwrap_or(&config.listen);
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on `{address}`"))?;
    ready(listener.local_addr().context("the listener has no address")?);
    let keeper = tokio::spawn(keep_partitions(Arc::clone(&hub), config.retention_days));
    let follower = tokio::spawn(follow_news(Arc::clone(&hub)));
    let escalator = tokio::spawn(keep_approvals(Arc::clone(&hub)));
    let roller = tokio::spawn(keep_rollouts(Arc::clone(&hub)));
    let routes = build_routes(Arc::clone(&hub));
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    tokio::select! {
        () = accept_all(&listener, &acceptor, &routes, &places) => {}
        () = end => {}
    }
    keeper.abort();
    follower.abort();
    roller.abort();
    escalator.abort();
    // Held requests end now, and the machines ask another replica.
    let _nobody = hub.news.send(OrdersNews::End);
    drop(listener);
    let all = u32::try_from(MOST_CONNECTIONS).unwrap_or(u32::MAX);
    // Connections that are only kept open end with the process.
    let _all_ended = tokio::time::timeout(FAREWELL, places.acquire_many(all)).await;
    Ok(())
}

/// Prepares the tables; a database that starts at the same time gets half a minute.
async fn prepare_database(hub: &Hub) -> Result<()> {
    let mut attempts = 0;
    loop {
        let error = match hub.database.prepare_tables().await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        attempts += 1;
        let database =
            error.chain().find_map(|cause| cause.downcast_ref::<tokio_postgres::Error>());
        if attempts >= ATTEMPTS || !database.is_some_and(crate::database::is_temporary) {
            return Err(error);
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Makes the partitions of the coming days, and drops those whose retention is over; 0 keeps all.
async fn keep_partitions(hub: Arc<Hub>, retention_days: u32) {
    loop {
        if retention_days > 0 {
            match hub.database.drop_partitions(retention_days).await {
                Ok(dropped) if dropped.is_empty() => {}
                Ok(dropped) => crate::report_line(&format!(
                    "dropped {}: their records are older than {}",
                    dropped.join(", "),
                    count_noun(retention_days.into(), "day")
                )),
                Err(error) => crate::report_line(&format!("cannot drop partitions: {error:#}")),
            }
        }
        tokio::time::sleep(PARTITION_PERIOD).await;
        if let Err(error) = hub.database.make_partitions().await {
            crate::report_line(&format!("cannot make partitions: {error:#}"));
        }
    }
}

fn configure_tls(hub: &Hub, config: &HubConfig) -> Result<ServerConfig> {
    let mut names = vec![host_of(&config.url)?.to_owned()];
    names.extend(config.names.iter().cloned());
    let (chain, key) = hub.authority.issue_replica(&names)?;
    let mut roots = RootCertStore::empty();
    roots.add(hub.authority.certificate().clone()).context("the authority cannot be used")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .context("the authority cannot be used")?;
    let mut tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .context("the hub's certificate cannot be used")?;
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

async fn accept_all(
    listener: &TcpListener,
    acceptor: &TlsAcceptor,
    routes: &Router,
    places: &Arc<Semaphore>,
) {
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, for example: what is open has to end first.
                crate::report_line(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (acceptor, routes) = (acceptor.clone(), routes.clone());
        tokio::spawn(async move {
            serve_connection(stream, &acceptor, routes).await;
            drop(place);
        });
    }
}

/// Serves one connection until its other side ends it, or breaks a bound.
async fn serve_connection(stream: TcpStream, acceptor: &TlsAcceptor, routes: Router) {
    // Without it, small answers would wait for the other side.
    let _best_effort = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HEAD_DEADLINE, acceptor.accept(stream)).await;
    let Ok(Ok(stream)) = handshake else { return };
    let peer = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let peer = PeerCertificate(peer.map(|certificate| digest_certificate(certificate)));
    let service = TowerToHyperService::new(routes.layer(Extension(peer)));
    // Its errors are the other side's: a broken connection, a request that is none.
    let _ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
