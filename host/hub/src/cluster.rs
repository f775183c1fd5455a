//! `hub dev`: a hub for trying it out, over a PostgreSQL that it starts and ends itself.
//!
//! The cluster has no network address and its socket is in a private folder, so it needs no
//! password. PostgreSQL refuses to run as root; started by root, it runs as the user `postgres`.

use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::folder::{create_folder, read_config};
use crate::operator::Operator;
use crate::output;
use crate::people::{add_person, make_link};
use crate::process::{await_end, explain_failure, new_token, start_runtime};
use crate::server::{Addresses, Served, serve_hub};
use crate::tokens::store_token;
use anyhow::{Context, Result, anyhow, bail, ensure};
use portcullis_core::known_failure::HintedFailure;
use portcullis_fleet::hub_command::DevArguments;
use portcullis_fs::replace_bytes;
use portcullis_served::Role;
use portcullis_terminal::paint;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::fs::{self, DirBuilder};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The folders in which Debian and others install PostgreSQL, one for each version.
const INSTALLED: &str = "/usr/lib/postgresql";
/// The user that the cluster runs as if root starts it.
const USER: &str = "postgres";
/// The token that `hub dev` prints.
const USES: u32 = 100;
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The person who tries the page out.
const PERSON: &str = "dev";
/// The time for a start or an end of the cluster.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves a hub over a cluster of its own, until it is asked to end.
pub fn run_dev(arguments: &DevArguments) -> Result<()> {
    let end = await_end()?;
    let place = DevPlace::create(arguments.folder.as_deref())?;
    let cluster = Cluster::start(&place.folder)?;
    let hub = place.folder.join("hub");
    if !hub.exists() {
        let port = choose_port(arguments.port)?;
        let database =
            format!("host='{}' user=portcullis dbname=postgres", cluster.socket.display());
        let listen = format!("127.0.0.1:{port}");
        create_folder(&hub, &format!("https://localhost:{port}"), &database, &listen)?;
        add_page(&hub)?;
    }
    let runtime = start_runtime()?;
    let token_file = place.folder.join("join-token");
    runtime.block_on(write_token(&hub, &token_file))?;
    let link = runtime.block_on(make_page_link(&hub))?;
    let url = read_config(&hub)?.url;
    let ready = |_: &Served| print_welcome(&hub, &url, &token_file, link.as_deref());
    runtime.block_on(serve_hub(&hub, Addresses::default(), ready, end))
}

async fn write_token(hub: &Path, file: &Path) -> Result<()> {
    let database = Database::configure(&read_config(hub)?)?;
    let start = Instant::now();
    while let Err(error) = database.prepare_tables().await {
        if start.elapsed() > PATIENCE {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let token = new_token(hub)?;
    let labels = [("from".to_owned(), "dev".to_owned())];
    let operator = Operator::of_folder(hub)?;
    let stored = store_token(&database, &token, &labels, USES, LIFETIME, &operator).await;
    let (_, expires_at) = stored.map_err(explain_failure)?;
    replace_bytes(file, 0o600, format!("{}\n", token.to_text()).as_bytes())
        .with_context(|| format!("cannot write `{}`", file.display()))?;
    crate::report_line(&format!("the token is valid until {} UTC", output::time(expires_at)));
    Ok(())
}

/// Adds a page to the hub's configuration, on a port of loopback that is free.
fn add_page(hub: &Path) -> Result<()> {
    let path = hub.join("hub.toml");
    let port = choose_port(0)?;
    let text = fs::read_to_string(&path).context("cannot read the configuration")?;
    let text = format!("{text}page = \"127.0.0.1:{port}\"\npage_tls = false\n");
    replace_bytes(&path, 0o600, text.as_bytes()).context("cannot write the configuration")
}

/// Makes a link for somebody who tries the page out; `None` if the hub has none.
async fn make_page_link(hub: &Path) -> Result<Option<String>> {
    let config = read_config(hub)?;
    let Some(page) = config.page_address()? else { return Ok(None) };
    let (database, operator) = (Database::configure(&config)?, Operator::of_folder(hub)?);
    let making = async {
        let mut client = database.connect().await?;
        let transaction = client.transaction().await?;
        let by = operator.name();
        let added = add_person(&transaction, PERSON, Role::Operator, by, LIFETIME).await?;
        let code = match added {
            Some(code) => Some(code),
            None => make_link(&transaction, PERSON, LIFETIME).await?,
        };
        let entry = NewEntry::of_act(Act::MakeLink, PERSON);
        operator.record(&transaction, entry).await?;
        transaction.commit().await?;
        Ok(code)
    };
    let code = making.await.map_err(explain_failure)?;
    Ok(code.map(|code| format!("{}/sign-in#{code}", page.door.origin)))
}

fn print_welcome(hub: &Path, url: &str, token_file: &Path, link: Option<&str>) {
    let (hub, token) = (hub.display(), token_file.display());
    paint::print_text(&format!(
        "a hub for trying it out serves on {url}; Ctrl-C ends it\n\n\
         join:       portcullis fleet join {url} --token-file {token}\n\
         machines:   portcullis hub machines --folder {hub}\n\
         incidents:  portcullis hub incidents --folder {hub}\n"
    ));
    if let Some(link) = link {
        paint::print_text(&format!("the page:   {link}\n"));
    }
}

fn choose_port(port: u16) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|error| {
        anyhow!(HintedFailure::new(
            format!("cannot listen on port {port}: {error}"),
            "name another one with `--port`; 0 takes a free one",
        ))
    })?;
    Ok(listener.local_addr().context("the listener has no address")?.port())
}

/// The folder of a trial; removed at the end, unless a person named it.
struct DevPlace {
    folder: PathBuf,
    is_kept: bool,
}

impl DevPlace {
    fn create(named: Option<&Path>) -> Result<Self> {
        let folder = match named {
            Some(folder) => std::path::absolute(folder).context("there is no current folder")?,
            None => {
                let mut id = [0; 8];
                getrandom::fill(&mut id).context("the system gives no random bytes")?;
                let id = data_encoding::HEXLOWER.encode(&id);
                std::env::temp_dir().join(format!("portcullis-hub-{id}"))
            }
        };
        let is_kept = named.is_some();
        // The cluster's user has to get through it; what is private in it is so by itself.
        let create = DirBuilder::new().recursive(is_kept).mode(0o711).create(&folder);
        create.with_context(|| format!("cannot create `{}`", folder.display()))?;
        Ok(Self { folder, is_kept })
    }
}

impl Drop for DevPlace {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.folder)
        {
            crate::report_line(&format!("cannot remove `{}`: {error}", self.folder.display()));
        }
    }
}

/// A running cluster; it ends with this value.
struct Cluster {
    process: Child,
    socket: PathBuf,
}

impl Cluster {
    fn start(folder: &Path) -> Result<Self> {
        let programs = find_programs(Path::new(INSTALLED))?;
        let owner = find_owner()?;
        let (data, socket) = (folder.join("data"), folder.join("socket"));
        for path in [&data, &socket] {
            create_owned(path, owner)?;
        }
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
            if let Some((user, group)) = owner {
                command.uid(user).gid(group);
            }
            command
        };
        if !data.join("PG_VERSION").exists() {
            let made = command("initdb")
                .args(["--username=portcullis", "--auth=trust", "--encoding=UTF8", "--locale=C"])
                .arg("-D")
                .arg(&data)
                .stderr(Stdio::piped())
                .output()
                .context("cannot start `initdb`")?;
            ensure!(
                made.status.success(),
                "`initdb` failed: {}",
                String::from_utf8_lossy(&made.stderr).trim()
            );
        }
        let log = fs::File::create(folder.join("postgresql.log"))
            .context("cannot create the cluster's log")?;
        let process = command("postgres")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&socket)
            .args(["-c", "listen_addresses="])
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("cannot start `postgres`")?;
        Ok(Self { process, socket })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // It ends its sessions and leaves its files in order. One that has ended is not there.
            let _ended = kill_process(id, Signal::INT);
        }
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _killed = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Returns the folder with the programs of the newest installed version.
fn find_programs(installed: &Path) -> Result<PathBuf> {
    let versions = fs::read_dir(installed).into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions
        .map(|entry| entry.path())
        .filter(|path| path.join("bin/initdb").exists())
        .max_by_key(|path| version(path));
    match newest {
        Some(folder) => Ok(folder.join("bin")),
        None => bail!(HintedFailure::new(
            format!("there is no PostgreSQL in `{}`", installed.display()),
            "install it (Debian: `apt-get install postgresql`), or use `portcullis hub init` with \
             a database that runs already",
        )),
    }
}

/// Returns user and group of the cluster; none if it runs as the one that starts it.
fn find_owner() -> Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").context("cannot read `/etc/passwd`")?;
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        (name == USER).then_some((user, group))
    });
    match found {
        Some(owner) => Ok(Some(owner)),
        None => bail!(HintedFailure::new(
            format!("PostgreSQL does not run as root, and there is no user `{USER}`"),
            "run this as another user",
        )),
    }
}

fn create_owned(path: &Path, owner: Option<(u32, u32)>) -> Result<()> {
    let shown = path.display();
    if !path.exists() {
        let create = DirBuilder::new().mode(0o700).create(path);
        create.with_context(|| format!("cannot create `{shown}`"))?;
    }
    if let Some((user, group)) = owner {
        chown(path, Some(user), Some(group))
            .with_context(|| format!("cannot give `{shown}` to `{USER}`"))?;
    }
    Ok(())
}
