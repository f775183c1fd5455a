//! Connections of a replica: accepted within a bound, and answered until their other side ends them.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The time for a handshake, and for the head of a request.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections, as many at once as there are places, and serves each by itself.
pub async fn accept_connections<F>(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    serve: impl Fn(TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, for example: what is open has to end first.
                crate::report_line(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Without it, small answers would wait for the other side.
        let _best_effort = stream.set_nodelay(true);
        let served = serve(stream);
        tokio::spawn(async move {
            served.await;
            drop(place);
        });
    }
}

/// Answers the requests of one connection until its other side ends it, or breaks a bound.
pub async fn answer_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    routes: Router,
) {
    // Its errors are the other side's: a broken connection, a request that is none.
    let _ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes))
        .await;
}
