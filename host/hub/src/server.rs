//! The connections of a replica: TLS with the hub's own authority on both sides.
//!
//! A machine that joins has no certificate yet, so a connection may come without one; what needs
//! one is refused by its address (`routes`). A certificate of another authority ends the handshake.

use crate::approvals::escalation::keep_approvals;
use crate::approvals::messages::keep_messages;
use crate::findings::forget_traits;
use crate::folder::{HubConfig, host_of, read_folder};
use crate::listener::{HEAD_DEADLINE, accept_connections, answer_requests};
use crate::news::OrdersNews;
use crate::orders::follow_news;
use crate::page::PageServer;
use crate::replica_certificate::ReplicaCertificate;
use crate::rollouts::keep_rollouts;
use crate::routes::{PeerCertificate, build_routes};
use crate::seen::keep_seen;
use crate::service::Hub;
use crate::sessions::forget_sessions;
use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Extension;
use portcullis_core::text::count_noun;
use portcullis_fleet::digest_certificate;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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

/// The files that a replica has open besides the connections of machines: the pages' connections,
/// those to the database, and its own.
const OTHER_FILES: u64 = 1024;
/// The time that running requests get when the replica ends.
const FAREWELL: Duration = Duration::from_secs(10);
/// The time between two looks at the partitions.
const PARTITION_PERIOD: Duration = Duration::from_secs(60 * 60);
/// The time between two attempts to reach the database at the start.
const RETRY: Duration = Duration::from_secs(1);
/// Attempts before a replica gives up.
const ATTEMPTS: u32 = 30;

/// Addresses to listen on in place of the configured ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses<'a> {
    /// The address for machines.
    pub machines: Option<&'a str>,
    /// The address of the page.
    pub page: Option<&'a str>,
}

/// The addresses that a replica serves.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The address for machines.
    pub machines: SocketAddr,
    /// The address of the page, if it serves one.
    pub page: Option<SocketAddr>,
}

/// Serves machines, and the page if there is one, until `end` completes. `ready` is told the
/// addresses.
pub async fn serve_hub(
    folder: &Path,
    addresses: Addresses<'_>,
    ready: impl FnOnce(&Served),
    end: impl Future<Output = ()>,
) -> Result<()> {
    let read = read_folder(folder)?;
    raise_file_limit(read.config.machine_connections);
    let mut config = read.config.clone();
    if let Some(page) = addresses.page {
        config.page = Some(page.to_owned());
    }
    let hub = Arc::new(Hub::of_folder(read)?);
    let acceptor = TlsAcceptor::from(Arc::new(configure_tls(&hub, &config)?));
    prepare_database(&hub).await?;
    let address = addresses.machines.unwrap_or(&config.listen);
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on `{address}`"))?;
    let page = PageServer::bind(folder, &config, Arc::clone(&hub)).await?;
    ready(&Served {
        machines: listener.local_addr().context("the listener has no address")?,
        page: page.as_ref().map(PageServer::address).transpose()?,
    });
    let page = tokio::spawn(async move {
        if let Some(page) = page {
            page.serve().await;
        }
    });
    let keeper = tokio::spawn(keep_partitions(Arc::clone(&hub), config.retention_days));
    let follower = tokio::spawn(follow_news(Arc::clone(&hub)));
    let escalator = tokio::spawn(keep_approvals(Arc::clone(&hub)));
    let messenger = tokio::spawn(keep_messages(Arc::clone(&hub)));
    let roller = tokio::spawn(keep_rollouts(Arc::clone(&hub)));
    let noter = tokio::spawn(keep_seen(Arc::clone(&hub.seen), hub.database.clone()));
    let reader = tokio::spawn({
        let database = hub.database.clone();
        async move { database.keep_standby().await }
    });
    let routes = build_routes(Arc::clone(&hub));
    let most = hub.machine_connections;
    let places = Arc::new(Semaphore::new(most));
    tokio::select! {
        () = accept_connections(&listener, &places, |stream| {
            serve_connection(stream, acceptor.clone(), routes.clone())
        }) => {}
        () = end => {}
    }
    page.abort();
    keeper.abort();
    follower.abort();
    roller.abort();
    escalator.abort();
    noter.abort();
    reader.abort();
    messenger.abort();
    // Held requests end now, and the machines ask another replica.
    let _nobody = hub.news.send(OrdersNews::End);
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    // Connections that are only kept open end with the process.
    let _all_ended = tokio::time::timeout(FAREWELL, places.acquire_many(all)).await;
    if let Err(failure) = hub.seen.note_all(&hub.database).await {
        failure.report();
    }
    Ok(())
}

/// Lets the process open a file for each connection of a machine, as far as the system allows it.
fn raise_file_limit(connections: usize) {
    let needed = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < needed) else { return };
    let allowed = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = allowed > current
        && setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..limit }).is_ok();
    let has = if raised { allowed } else { current };
    if has < needed {
        crate::report_line(&format!(
            "the system allows {has} open files, and {connections} connections of machines need \
             {needed}: raise `LimitNOFILE` or `ulimit -n`, or lower `machine_connections`"
        ));
    }
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
        let forgotten = async {
            forget_traits(&hub.database).await?;
            forget_sessions(&hub.database, retention_days).await
        };
        if let Err(failure) = forgotten.await {
            failure.report();
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
    let own = ReplicaCertificate::issue(Arc::clone(&hub.authority), names)?;
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
        .with_cert_resolver(Arc::new(own));
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

/// Serves one connection until its other side ends it, or breaks a bound.
async fn serve_connection(stream: TcpStream, acceptor: TlsAcceptor, routes: Router) {
    let handshake = tokio::time::timeout(HEAD_DEADLINE, acceptor.accept(stream)).await;
    let Ok(Ok(stream)) = handshake else { return };
    let peer = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let peer = PeerCertificate(peer.map(|certificate| digest_certificate(certificate)));
    answer_requests(stream, routes.layer(Extension(peer))).await;
}
