//! A load balancer: each connection goes to the next replica that takes it.

use anyhow::Result;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A running balancer; its thread ends with the test program.
#[derive(Clone, Debug)]
pub struct Balancer {
    port: u16,
    targets: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Balancer {
    /// Starts a balancer without replicas.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let targets = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&targets);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || connect_through(stream, &shared));
            }
        });
        Ok(Self { port, targets })
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Names the replicas.
    pub fn set_targets(&self, targets: Vec<SocketAddr>) {
        *self.targets.lock().unwrap_or_else(PoisonError::into_inner) = targets;
    }
}

fn connect_through(client: TcpStream, targets: &Mutex<Vec<SocketAddr>>) {
    let tried = {
        let mut targets = targets.lock().unwrap_or_else(PoisonError::into_inner);
        if !targets.is_empty() {
            targets.rotate_left(1);
        }
        targets.clone()
    };
    let Some(server) = tried.iter().find_map(|target| TcpStream::connect(target).ok()) else {
        return;
    };
    let (Ok(back), Ok(forth)) = (client.try_clone(), server.try_clone()) else { return };
    let answering = thread::spawn(move || pass_on(server, back));
    pass_on(client, forth);
    let _ = answering.join();
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    // A connection that breaks on one side breaks on the other.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
