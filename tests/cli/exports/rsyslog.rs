//! A syslog server of others, rsyslog with GnuTLS, that is stopped and started in between.

use crate::common::in_ci;
use crate::common::site::Site;
use crate::journal::{MANY, beside, check_complete, long_site};
use crate::receiver::{Authority, LONG, read_position};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The places of the program.
const PROGRAMS: [&str; 2] = ["/usr/sbin/rsyslogd", "/usr/local/sbin/rsyslogd"];
/// Names a folder with the program and its modules, in place of the system's.
const FOLDER: &str = "PORTCULLIS_RSYSLOG";

/// A server that ends with the test.
struct Server(Child);

impl Server {
    fn start(program: &Path, configuration: &Path, site: &Site, port: u16) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("-n").arg("-f").arg(configuration);
        command.arg("-i").arg(beside(site, "rsyslog.pid"));
        if let Some(root) = std::env::var_os(FOLDER).map(PathBuf::from) {
            let libraries = root.join("usr/lib/x86_64-linux-gnu");
            command.arg("-M").arg(libraries.join("rsyslog")).env("LD_LIBRARY_PATH", libraries);
        }
        let log = fs::File::create(beside(site, "rsyslog.log"))?;
        command.stdout(Stdio::null()).stderr(log);
        let server = Self(command.spawn().context("cannot start rsyslogd")?);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(beside(site, "rsyslog.log"))?;
            ensure!(begun.elapsed() < LONG, "rsyslogd does not listen: {log}");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    /// Lets it write what it has read, and end.
    fn stop(mut self) -> Result<()> {
        let id = i32::try_from(self.0.id())?;
        let process = rustix::process::Pid::from_raw(id).context("no process")?;
        rustix::process::kill_process(process, rustix::process::Signal::TERM)?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn find_program() -> Option<PathBuf> {
    let own = std::env::var_os(FOLDER).map(|root| Path::new(&root).join("usr/sbin/rsyslogd"));
    own.into_iter().chain(PROGRAMS.map(PathBuf::from)).find(|path| path.exists())
}

/// All records are in the server's file, in order, although the server is away in between.
pub fn over_tls() -> Result<()> {
    let Some(program) = find_program() else {
        ensure!(!in_ci(), "there is no rsyslogd: install the packages rsyslog and rsyslog-gnutls");
        crate::common::tell("skipped: there is no rsyslogd");
        return Ok(());
    };
    let site = long_site("rsyslog", "")?;
    let authority = Authority::make(&beside(&site, "tls"))?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let out = beside(&site, "received.log");
    let configuration = beside(&site, "rsyslog.conf");
    fs::write(
        &configuration,
        format!(
            "global(workDirectory=\"{root}\" maxMessageSize=\"64k\" \
             DefaultNetstreamDriverCAFile=\"{authority}\" \
             DefaultNetstreamDriverCertFile=\"{certificate}\" \
             DefaultNetstreamDriverKeyFile=\"{key}\")\n\
             module(load=\"imtcp\" StreamDriver.Name=\"gtls\" StreamDriver.Mode=\"1\" \
             StreamDriver.AuthMode=\"anon\")\n\
             input(type=\"imtcp\" port=\"{port}\" address=\"127.0.0.1\")\n\
             template(name=\"whole\" type=\"string\" \
             string=\"%syslogfacility-text%.%syslogseverity-text% %hostname% %app-name% %msgid% %msg%\\n\")\n\
             *.* action(type=\"omfile\" file=\"{out}\" template=\"whole\")\n",
            root = site.root().display(),
            authority = authority.path.display(),
            certificate = authority.certificate.display(),
            key = authority.key.display(),
            out = out.display(),
        ),
    )?;
    let settings = format!(
        "[exports.siem]\nformat = \"cef\"\nsink = \"syslog\"\nhost = \"127.0.0.1\"\nport = {port}\n\
         authorities = \"{}\"\nbatch.records = 500\nfacility = \"local4\"\n",
        authority.path.display()
    );
    site.write("config.toml", &settings)?;
    // Nobody is there yet.
    let ended = site.run(&["exports", "run"])?;
    ensure!(ended.code == Some(1) && ended.text().contains("cannot be reached"), "{}", ended.all());
    let server = Server::start(&program, &configuration, &site, port)?;
    let ended = site.run(&["exports", "run"])?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    server.stop()?;
    crate::journal::append(&site, MANY + 1..=MANY + 100)?;
    let ended = site.run(&["exports", "run"])?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    let server = Server::start(&program, &configuration, &site, port)?;
    let ended = site.run(&["exports", "run"])?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    server.stop()?;
    let received = fs::read_to_string(&out)?;
    let ours: Vec<&str> =
        received.lines().filter(|line| line.contains("CEF:0|Portcullis|")).collect();
    let positions = ours.iter().map(|line| read_position(line)).collect::<Result<Vec<_>>>()?;
    let twice = check_complete(&[positions], MANY + 100)?;
    ensure!(twice == 0, "{twice} came twice");
    let first = ours.first().context("nothing came")?;
    ensure!(first.starts_with("local4.info "), "{first}");
    ensure!(first.contains(" portcullis configuration "), "{first}");
    // The journal has control characters as escapes already.
    ensure!(first.contains(r"a\=b|c\\d \\u{1b}[2J"), "{first}");
    Ok(())
}
