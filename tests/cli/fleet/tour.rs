//! From nothing to two machines that run a vetted bundle: the script of the documentation, and the page
//! that shows its commands.

use super::fleets::hub_command;
use crate::common::Ground;
use crate::common::process;
use crate::machine::{ASKS, released};
use crate::real::{Kind, Registry};
use anyhow::{Context, Result, ensure};
use portcullis_tests::compiled::copy_state;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
/// The steps whose time the script prints.
const STEPS: &[&str] = &[
    "a hub serves",
    "the keys of a publisher, a vetter and an operator",
    "a bundle is built and signed",
    "it is vetted",
    "it is in the registry",
    "it is locked at the desk",
    "two machines have joined",
    "both machines run the bundle",
    "it is revoked on both",
];
/// The fewest commands of the page.
const LEAST: usize = 12;
/// The fewest tests of the table of attacks.
const LEAST_ATTACKS: usize = 15;

fn documented(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../host/docs").join(name)
}

/// The script ends well: both machines ask as the bundle wants it, and no longer once it is revoked.
pub fn script() -> Result<()> {
    let Some(registry) = Registry::start(Kind::Tls) else { return Ok(()) };
    let authority = registry.authority.as_ref().context("the registry has no authority")?;
    let ground = Ground::get()?;
    let folder = ground.root.join("first-fleet");
    // Compiled plugins, which a machine makes once.
    for home in ["desk", "laptop-1", "laptop-2"] {
        fs::create_dir_all(&folder)?;
        copy_state(&ground.warm, &folder.join(home))?;
    }
    let mut path = ground.binary.parent().context("no folder")?.as_os_str().to_owned();
    path.push(":/usr/local/bin:/usr/bin:/bin");
    let mut command = Command::new("sh");
    command.arg(documented("hub/first-fleet.sh")).arg(&folder).arg(released(ASKS)?);
    command.arg(format!("127.0.0.1:{}", registry.port)).env_clear().current_dir(&ground.root);
    command.env("PATH", path).env("TMPDIR", &ground.root).env("SSL_CERT_FILE", authority);
    let ended = process::run(command, b"", LIMIT)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    let text = ended.text();
    let steps: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(" ms  ").map(|(_, step)| step)).collect();
    ensure!(steps == STEPS, "{steps:?}");
    Ok(())
}

/// Every command of the page is one of the script, in its order.
pub fn page() -> Result<()> {
    let script = fs::read_to_string(documented("hub/first-fleet.sh"))?;
    let mut lines = script.lines().map(plain_command);
    let page = fs::read_to_string(documented("first-fleet.md"))?;
    let (mut inside, mut commands) = (false, 0);
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            command if inside && command.starts_with("portcullis ") => {
                ensure!(lines.any(|line| line == command), "the script does not run `{command}`");
                commands += 1;
            }
            _ => {}
        }
    }
    ensure!(commands >= LEAST, "only {commands} commands");
    // The programs that it needs are there.
    ensure!(hub_command(&["hub", "--help"])?.output()?.status.success());
    Ok(())
}

/// Every test that the table of attacks names is one of this program.
pub fn attacks() -> Result<()> {
    let page = fs::read_to_string(documented("fleet.md"))?;
    let (_, section) = page.split_once("\n## Attacks\n").context("no table of attacks")?;
    let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
    let mut named = 0;
    for row in rows.skip(1).take_while(|line| line.starts_with('|')) {
        let tests = row.trim_end_matches('|').rsplit('|').next().context("no tests")?;
        for test in tests.split('`').skip(1).step_by(2) {
            let trial = format!("trial(\"fleet: {test}\",");
            ensure!(include_str!("../fleet.rs").contains(&trial), "there is no test `{test}`");
            named += 1;
        }
    }
    ensure!(named >= LEAST_ATTACKS, "only {named} tests");
    Ok(())
}

/// Returns a line of the script as the page shows it: without the place where it runs, and with names
/// in the place of variables.
fn plain_command(line: &str) -> String {
    let mut line = line.trim().trim_start_matches('(').trim_end_matches(')').to_owned();
    if let Some((_, command)) = line
        .split_once("portcullis ")
        .filter(|_| line.starts_with("on ") || line.contains("&& on "))
    {
        line = format!("portcullis {command}");
    }
    for (written, shown) in [
        (" --passphrase-file passphrase", ""),
        (" --folder hub/hub", ""),
        (" --folder \"$PWD/hub\" --port 0 >hub.out 2>hub.log &", ""),
        ("\"$registry/acme/checks\"", "registry.example/acme/checks"),
        ("\"$registry/acme/checks:1.0.0\"", "registry.example/acme/checks:1.0.0"),
        ("\"$url\"", "https://hub.example:8443"),
        (" --name $machine", ""),
        ("desk/portcullis.lock", "portcullis.lock"),
    ] {
        line = line.replace(written, shown);
    }
    line
}
