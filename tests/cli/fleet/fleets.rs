//! A hub of two replicas with a database of its own, and machines that join it.

use super::balancer::Balancer;
use super::cluster::{self, Cluster};
use crate::common::Ground;
use crate::common::process::{self, Ended};
use crate::common::site::{LIMIT, Site};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const REPLICAS: usize = 2;

/// A running hub.
pub struct Fleet {
    pub cluster: &'static Cluster,
    pub database: String,
    pub folder: PathBuf,
    pub balancer: Balancer,
    replicas: Vec<Replica>,
}

struct Replica {
    process: Child,
    address: SocketAddr,
    page: Option<SocketAddr>,
}

/// The lines of a hub's configuration for its page.
#[derive(Clone, Debug)]
pub struct PageLines {
    /// The host under which it answers, with its port.
    pub host: String,
    /// The lines.
    pub lines: String,
}

impl PageLines {
    /// Returns the lines of a page without TLS, on a port of loopback that is free.
    pub fn plain() -> Result<Self> {
        let port = free_port()?;
        let host = format!("hub.localhost:{port}");
        let lines = format!(
            "page = \"127.0.0.1:{port}\"\npage_tls = false\npage_url = \"http://{host}\"\n"
        );
        Ok(Self { host, lines })
    }

    /// Returns the lines of a page with the hub's own certificate.
    pub fn secure() -> Result<Self> {
        let port = free_port()?;
        let host = format!("localhost:{port}");
        let lines = format!("page = \"127.0.0.1:{port}\"\npage_url = \"https://{host}\"\n");
        Ok(Self { host, lines })
    }

    /// Adds lines.
    pub fn and(mut self, more: &str) -> Self {
        self.lines.push_str(more);
        self
    }
}

/// Returns a port that nobody listens on.
pub fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

impl Fleet {
    /// Starts a hub; `name` is a word.
    pub fn start(name: &str) -> Result<Self> {
        Self::over(cluster::get()?, name)
    }

    /// Starts a hub with a page.
    pub fn with_page(name: &str, page: &PageLines) -> Result<Self> {
        Self::with_page_on(cluster::get()?, name, page)
    }

    /// Starts a hub with a page over this cluster.
    pub fn with_page_on(cluster: &'static Cluster, name: &str, page: &PageLines) -> Result<Self> {
        Self::prepare(cluster, name, true, |text| format!("{text}{}", page.lines))
    }

    /// Starts a hub with a page, whose database is filled before the first replica sees it.
    pub fn with_page_filled(name: &str, page: &PageLines, fill: impl FnOnce()) -> Result<Self> {
        let lines = |text: &str| {
            fill();
            format!("{text}{}", page.lines)
        };
        Self::prepare(cluster::get()?, name, true, lines)
    }

    /// Starts a hub with another configuration than `hub init` writes.
    pub fn configured(name: &str, change: impl FnOnce(&str) -> String) -> Result<Self> {
        Self::configured_on(cluster::get()?, name, change)
    }

    /// Starts a hub over this cluster with another configuration than `hub init` writes.
    pub fn configured_on(
        cluster: &'static Cluster,
        name: &str,
        change: impl FnOnce(&str) -> String,
    ) -> Result<Self> {
        Self::prepare(cluster, name, false, change)
    }

    /// Starts a hub over this cluster.
    pub fn over(cluster: &'static Cluster, name: &str) -> Result<Self> {
        Self::prepare(cluster, name, false, str::to_owned)
    }

    fn prepare(
        cluster: &'static Cluster,
        name: &str,
        has_page: bool,
        change: impl FnOnce(&str) -> String,
    ) -> Result<Self> {
        cluster.create_database(name)?;
        let balancer = Balancer::start()?;
        let folder = Ground::get()?.root.join(format!("hub-{name}"));
        let mut fleet =
            Self { cluster, database: name.to_owned(), folder, balancer, replicas: Vec::new() };
        let connection =
            format!("host='{}' user=portcullis dbname={name}", cluster.socket().display());
        let url = fleet.url();
        let arguments =
            ["hub", "init", "--url", &url, "--database", &connection, "--listen", "127.0.0.1:0"];
        let init = fleet.run(&arguments)?;
        ensure!(init.code == Some(0), "{}", init.all());
        let configuration = fleet.folder.join("hub.toml");
        // What is added comes last: it may be a table.
        let text = fs::read_to_string(&configuration)?;
        fs::write(&configuration, change(&text))?;
        for index in 0..REPLICAS {
            let replica = Replica::start(&fleet.folder, has_page, index > 0)?;
            fleet.replicas.push(replica);
        }
        fleet.balance();
        Ok(fleet)
    }

    /// Returns the address that machines use.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.balancer.port())
    }

    /// Runs a command of the hub, for its folder.
    pub fn run(&self, arguments: &[&str]) -> Result<Ended> {
        let mut command = hub_command(arguments)?;
        command.arg("--folder").arg(&self.folder);
        process::run(command, b"", LIMIT)
    }

    /// Runs a command of the hub, which must succeed, and returns what it printed.
    pub fn output(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.run(arguments)?;
        ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.all());
        Ok(ended.text())
    }

    /// Returns a list of the hub.
    pub fn list(&self, what: &str) -> Result<Vec<Value>> {
        let shown: Value = serde_json::from_str(&self.output(&["hub", what, "--json"])?)?;
        Ok(shown[what].as_array().context("no list")?.clone())
    }

    /// Returns a list that has another name than its command, `hub COMMAND list`.
    pub fn list_as(&self, command: &str, name: &str) -> Result<Vec<Value>> {
        let shown = self.output(&["hub", command, "list", "--json"])?;
        let shown: Value = serde_json::from_str(&shown)?;
        Ok(shown[name].as_array().context("no list")?.clone())
    }

    /// Returns the kinds of the incidents, the oldest first.
    pub fn incident_kinds(&self) -> Result<Vec<String>> {
        let mut incidents = self.list("incidents")?;
        incidents.sort_by_key(|incident| incident["incident"].as_i64());
        Ok(incidents.iter().map(|one| one["kind"].as_str().unwrap_or("").to_owned()).collect())
    }

    /// Creates a token with these options; returns its file.
    pub fn token(&self, name: &str, options: &[&str]) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let shown = path.display().to_string();
        let arguments = [&["hub", "token", "create", "-o", &shown], options].concat();
        self.output(&arguments)?;
        Ok(path)
    }

    /// Creates a home that has joined.
    pub fn machine(&self, name: &str) -> Result<Site> {
        let site = Site::new(name)?;
        let token = self.token(&format!("token-{name}").replace(' ', "-"), &[])?;
        let joined = join(&site, &self.url(), &token)?;
        ensure!(joined.code == Some(0), "{}", joined.all());
        Ok(site)
    }

    /// Runs SQL in the hub's database.
    pub fn query(&self, sql: &str) -> Result<String> {
        self.cluster.query(&self.database, sql)
    }

    /// Returns the hashes that the hub has of a machine's records, in order.
    pub fn hashes(&self, site: &Site) -> Result<Vec<String>> {
        let machine = machine_of(site)?;
        let sql = format!(
            "SELECT encode(hash, 'hex') FROM records WHERE machine = '{machine}' ORDER BY sequence"
        );
        Ok(self.query(&sql)?.lines().map(str::to_owned).collect())
    }

    /// Checks that the hub has exactly this journal.
    pub fn has_journal(&self, site: &Site) -> Result<()> {
        let own: Vec<String> = site
            .records()?
            .iter()
            .map(|record| record["hash"].as_str().unwrap_or("").to_owned())
            .collect();
        let there = self.hashes(site)?;
        ensure!(own == there, "{} records here, {} at the hub", own.len(), there.len());
        let head = format!(
            "SELECT head_sequence || ' ' || records FROM journals WHERE machine = '{}'",
            machine_of(site)?
        );
        let expected = format!("{0} {0}", own.len());
        ensure!(self.query(&head)? == expected, "{} is not {expected}", self.query(&head)?);
        Ok(())
    }

    /// Kills a replica, and starts another one in its place.
    pub fn replace_replica(&mut self, index: usize) -> Result<()> {
        self.replicas[index].process.kill()?;
        self.replicas[index].process.wait()?;
        let has_page = self.replicas[index].page.is_some();
        self.replicas[index] = Replica::start(&self.folder, has_page, index > 0)?;
        self.balance();
        Ok(())
    }

    /// Returns the processes of all replicas.
    pub fn replica_ids(&self) -> Vec<u32> {
        self.replicas.iter().map(|replica| replica.process.id()).collect()
    }

    /// Returns the address of a replica.
    pub fn replica(&self, index: usize) -> SocketAddr {
        self.replicas[index].address
    }

    /// Returns the address at which a replica serves the page.
    pub fn page(&self, index: usize) -> Result<SocketAddr> {
        self.replicas[index].page.context("this hub has no page")
    }

    fn balance(&self) {
        self.balancer.set_targets(self.replicas.iter().map(|replica| replica.address).collect());
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            // One that a test has killed is gone.
            let _ = replica.process.kill();
            let _ = replica.process.wait();
        }
    }
}

impl Replica {
    /// Starts a replica; with `elsewhere` its page takes another port than the configured one.
    fn start(folder: &Path, has_page: bool, elsewhere: bool) -> Result<Self> {
        let mut command = hub_command(&["hub", "serve", "--folder"])?;
        command.arg(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        if has_page && elsewhere {
            command.args(["--page", "127.0.0.1:0"]);
        }
        let mut process = command.spawn().context("cannot start the hub")?;
        let mut output = BufReader::new(process.stdout.take().context("no output")?);
        let mut read_address = || -> Result<SocketAddr> {
            let mut line = String::new();
            output.read_line(&mut line)?;
            let address = line.trim().rsplit(' ').next().and_then(|address| address.parse().ok());
            address.with_context(|| format!("the hub said `{line}`"))
        };
        let addresses = read_address()
            .and_then(|address| Ok((address, has_page.then(&mut read_address).transpose()?)));
        match addresses {
            Ok((address, page)) => Ok(Self { process, address, page }),
            Err(error) => {
                process.kill()?;
                process.wait()?;
                Err(error)
            }
        }
    }
}

/// Returns a command of a hub.
pub fn hub_command(arguments: &[&str]) -> Result<Command> {
    let ground = Ground::get()?;
    let root = &ground.root;
    let mut command = Command::new(&ground.binary);
    command.args(arguments).env_clear().current_dir(root);
    command.env("HOME", root).env("TMPDIR", root);
    Ok(command)
}

/// Lets a home join.
pub fn join(site: &Site, url: &str, token: &Path) -> Result<Ended> {
    let token = token.display().to_string();
    site.run(&["fleet", "join", url, "--token-file", &token, "--name", "a machine"])
}

/// Returns a home's identity, which is readable though sealed.
pub fn identity(site: &Site) -> Result<Value> {
    let text = fs::read_to_string(site.state().join("fleet/membership"))?;
    Ok(serde_json::from_str(&text)?)
}

/// Returns a home's machine.
pub fn machine_of(site: &Site) -> Result<String> {
    Ok(identity(site)?["machine"].as_str().context("no machine")?.to_owned())
}

/// Returns what a home knows of its fleet.
pub fn status(site: &Site) -> Result<Value> {
    Ok(serde_json::from_str(&site.run(&["fleet", "status", "--json"])?.text())?)
}

/// Sends what is there, once, whatever is due.
pub fn send(site: &Site) -> Result<Value> {
    site.run(&["maintain", "--all", "--json"])?;
    status(site)
}

/// Sends until the hub has everything.
pub fn send_all(site: &Site, limit: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        let status = send(site)?;
        if status["waiting"] == 0 && status["last_error"].is_null() {
            return Ok(());
        }
        ensure!(start.elapsed() < limit, "not sent in time: {status}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Adds records by real hooks.
pub fn act(site: &Site, times: usize) -> Result<()> {
    for _ in 0..times {
        site.ordinary("s")?;
    }
    Ok(())
}
