//! Approvers of a fleet answer for a user behind a boundary: root lets the user join, the service takes
//! the orders and puts the question, and the answer counts there. PostgreSQL and the hub are real.

use super::fleets::Fleet;
use super::machine::{Machine, Test, wait_for, write_root_file};
use super::people::DOUBTFUL;
use anyhow::{Context, Result, anyhow, ensure};
use portcullis_bundle::SecretKey;
use portcullis_fleet::HubClient;
use portcullis_fleet::approvals::{ApproverSigned, FleetAnswer, FleetQuestion, digest_question};
use portcullis_fleet::orders::{AfterExpiry, FORMAT, Orders, SignedOrders};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::chown;
use std::time::{SystemTime, UNIX_EPOCH};

pub const ROWS: &[(&str, Test)] =
    &[("an approver of the fleet answers, and the user does not", fleet_answers)];

const CONFIG: &str = "/etc/portcullis/config.toml";
/// Files for root's command, which reads them as the service's user.
const TOKEN: &str = "/run/fleet-token";
const KEY: &str = "/run/orders.key.pub";

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn fleet_answers(machine: &mut Machine) -> Result<()> {
    write_root_file(CONFIG, "approvals.wait_seconds = 120\n")?;
    let agent = machine.agent.clone();
    machine.reviews(&agent)?;
    let fleet = Fleet::start("behind_a_boundary")?;
    let (operator, approver) = (SecretKey::of_seed(&[7; 32]), SecretKey::of_seed(&[8; 32]));
    let token = fleet.token("token", &["--label", "group=web"])?;
    fs::copy(&token, TOKEN)?;
    chown(TOKEN, Some(machine.service_user.id), None)?;
    write_root_file(KEY, &operator.public().to_pem()?)?;
    let url = fleet.url();
    let join = ["fleet", "join", &url, "--token-file", TOKEN, "--orders-key", KEY];
    let join = [&join[..], &["--group", "web"]].concat();
    // The agent's user can neither join nor leave for the service.
    let line = format!("{} {}", machine.programs.join("portcullis").display(), join.join(" "));
    let own = agent.shell(&format!("{line} --of-user agent"))?;
    ensure!(own.code != Some(0), "{}", own.all());
    let joined = machine.as_root(&agent, &join)?;
    ensure!(joined.code == Some(0), "{}", joined.all());
    let signed = SignedOrders::sign_orders(&orders(&approver)?, &operator);
    let file = fleet.folder.join("web-1.json");
    fs::write(&file, serde_json::to_vec(&signed)?)?;
    fleet.output(&["hub", "orders", "publish", &file.display().to_string()])?;
    let status = || -> Result<Value> {
        let shown = machine.as_root(&agent, &["fleet", "status", "--json"])?;
        serde_json::from_str(&shown.text()).with_context(|| shown.all())
    };
    wait_for("the service takes no orders", || Ok(status()?["orders"]["version"] == 1))?;
    let relayed = agent.state().join("approvals.relayed");
    wait_for("the service asks nobody", || Ok(relayed.exists()))?;
    let held = machine.hold(&agent, "s", "c1", DOUBTFUL);
    let select = "SELECT document FROM approval_questions WHERE ended_at IS NULL";
    wait_for("the hub has no question", || Ok(!fleet.query(select)?.is_empty()))?;
    let text = fleet.query(select)?;
    let question = FleetQuestion::parse_text(&text).map_err(|why| anyhow!(why))?;
    let answer = FleetAnswer {
        machine: question.machine,
        question: question.question,
        digest: digest_question(&text),
        allows: true,
        words: "the jobs are old".into(),
        at: now(),
    };
    let authority = fs::read_to_string(fleet.folder.join("authority.pem"))?;
    let client = HubClient::of_authority(&url, &authority)?;
    client.give_answer(&ApproverSigned::sign_answer(&answer, &approver)?)?;
    held.passes_through()?;
    let records = machine.records(&agent)?;
    let by = records.iter().filter_map(|record| record["details"]["by"].as_str());
    let by: Vec<&str> = by.collect();
    let expected = format!("ann, with the key {}, over the hub {url}", approver.public().id()?);
    ensure!(by == [expected.as_str()], "{by:?}");
    let left = machine.as_root(&agent, &["fleet", "leave"])?;
    ensure!(left.code == Some(0), "{}", left.all());
    machine.verify(&agent)
}

fn orders(approver: &SecretKey) -> Result<Orders> {
    let pem = approver.public().to_pem()?;
    Ok(Orders {
        format: FORMAT,
        group: "web".into(),
        version: 1,
        not_before: now(),
        expires_at: now() + 3_600_000,
        after_expiry: AfterExpiry::Keep,
        configuration: "fleet.approvals = true\n".into(),
        trust: String::new(),
        lock: String::new(),
        approvals: format!(
            "role = \"oncall\"\n[[approver]]\nname = \"ann\"\nroles = [\"oncall\"]\nkey = \
             \"\"\"\n{pem}\"\"\"\n"
        ),
    })
}
