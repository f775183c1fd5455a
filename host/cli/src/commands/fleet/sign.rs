//! `portcullis fleet sign`: signs orders for a group of machines with the operator's key, away from
//! any hub.

use crate::bundles::secrets::{Passphrase, decrypt_key};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::file;
use portcullis_config::orders::check_configuration;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::approvals::{ApprovalRules, ApproverKey};
use portcullis_fleet::orders::{
    AfterExpiry, FORMAT, MOST_DAYS, MOST_ORDERS, Orders, SignedOrders, is_group,
};
use portcullis_fs::replace_bytes;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const DAY: u64 = 24 * 60 * 60 * 1000;
/// The permissions of the signed orders: they hold no secret, and the signature protects them.
const RIGHTS: u32 = 0o644;

#[derive(clap::Args)]
pub struct Arguments {
    /// The group of machines: the label `group` of their join token
    #[arg(long, value_parser = parse_group)]
    group: String,
    /// The version, which has to be greater than that of all earlier orders of the group
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    version: u32,
    /// A configuration that tightens that of each machine
    #[arg(long, value_name = "FILE")]
    configuration: Option<PathBuf>,
    /// A trust policy that bundles have to satisfy besides that of each machine; it also revokes
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// A lock with bundles that have to run besides those of each machine
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// The approvers who may answer for these machines, with their public keys and roles
    #[arg(long, value_name = "FILE")]
    approvals: Option<PathBuf>,
    /// Let them expire after this many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_DAYS)))]
    expires: u32,
    /// The state of a machine that got no newer ones until then
    #[arg(long, value_enum, default_value = "keep")]
    after_expiry: AfterWord,
    /// Sign with this secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
    /// Write the signed orders to this file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum AfterWord {
    /// They stay in force
    Keep,
    /// The machine's own configuration holds; what was revoked or locked stays so
    Own,
    /// Every action is refused
    Block,
}

pub fn run_sign(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let not_before = now_ms();
    let orders = Orders {
        format: FORMAT,
        group: arguments.group.clone(),
        version: arguments.version.into(),
        not_before,
        expires_at: not_before.saturating_add(u64::from(arguments.expires).saturating_mul(DAY)),
        after_expiry: match arguments.after_expiry {
            AfterWord::Keep => AfterExpiry::Keep,
            AfterWord::Own => AfterExpiry::Own,
            AfterWord::Block => AfterExpiry::Block,
        },
        configuration: read_part(arguments.configuration.as_deref())?,
        trust: read_part(arguments.trust.as_deref())?,
        lock: read_part(arguments.lock.as_deref())?,
        approvals: read_part(arguments.approvals.as_deref())?,
    };
    let unusable = |what: String| {
        Error::invalid(format!("these orders would be refused by each machine: {what}"))
            .with_hint("the page on orders says what they may hold: host/docs/fleet-orders.md")
    };
    orders.check_form().map_err(|error| unusable(error.to_string()))?;
    check_configuration(&orders).map_err(unusable)?;
    let key = decrypt_key(&arguments.key, &arguments.passphrase)?;
    let signed = SignedOrders::sign_orders(&orders, &key);
    if signed.orders.len() > MOST_ORDERS {
        return Err(unusable(format!("they have more than {MOST_ORDERS} bytes")));
    }
    let shown = arguments.output.display();
    let bytes = serde_json::to_vec(&signed)?;
    replace_bytes(&arguments.output, RIGHTS, &bytes)
        .with_context(|| format!("cannot write `{shown}`"))?;
    let id = key.public().id()?;
    let rules = read_rules(&orders)?;
    let approvers = rules.as_ref().map(list_approvers).transpose()?.unwrap_or_default();
    let asked = rules.as_ref().map(describe_asking).unwrap_or_default();
    if arguments.json {
        let made = json!({
            "group": orders.group, "version": orders.version, "expires_at": orders.expires_at,
            "key": id, "written": arguments.output, "approvers": approvers, "asked": asked,
        });
        paint::print_text(&format!("{made}\n"));
        return Ok(CommandExit::Success);
    }
    let line = format!(
        "{} version {} for the group `{}` with the key {id}, until {} UTC; on the hub: `portcullis \
         hub orders publish {}`\n",
        paint::good("signed"),
        orders.version,
        orders.group,
        paint::time(orders.expires_at),
        one_line(&shown.to_string(), 400)
    );
    paint::print_wrapped(&line, 2);
    for line in &asked {
        paint::print_wrapped(&format!("{line}\n"), 2);
    }
    for approver in &approvers {
        let text = |name: &str| approver[name].as_str().unwrap_or_default();
        let (name, roles) = (one_line(text("name"), 64), one_line(text("roles"), 200));
        let line = format!("may answer as {roles}: {name}, {} {}\n", text("sort"), text("key"));
        paint::print_wrapped(&line, 2);
    }
    Ok(CommandExit::Success)
}

/// Returns the rules of approvals, if there are any.
fn read_rules(orders: &Orders) -> Result<Option<ApprovalRules>> {
    if orders.approvals.is_empty() {
        return Ok(None);
    }
    let rules = ApprovalRules::parse_rules(&orders.approvals);
    rules.map(Some).map_err(|error| Error::invalid(error.to_string()))
}

/// Says whom machines ask, after what time, and on which page passkeys sign: a line each, so that an
/// operator sees what came in with a key that they pasted.
fn describe_asking(rules: &ApprovalRules) -> Vec<String> {
    let first = format!("machines ask: {}", one_line(&rules.role, 64));
    let later = rules.escalations.iter().map(|later| {
        let role = one_line(&later.role, 64);
        format!("{} later, they also ask: {role}", count_noun(later.after_seconds, "second"))
    });
    let page = rules.page.as_ref().map(|page| format!("passkeys sign on {}", page.origin()));
    std::iter::once(first).chain(later).chain(page).collect()
}

/// Returns each key that may answer, whose fingerprint the operator compares with its person.
fn list_approvers(rules: &ApprovalRules) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for approver in &rules.approvers {
        for key in approver.list_keys(rules.page.as_ref()) {
            let (id, key) = key?;
            let sort = match &key {
                ApproverKey::Passkey(passkey, _) if passkey.synced => "synced passkey",
                key => key.as_str(),
            };
            let roles = approver.roles.join(", ");
            found.push(json!({ "name": approver.name, "roles": roles, "sort": sort, "key": id }));
        }
    }
    Ok(found)
}

fn read_part(path: Option<&Path>) -> Result<String> {
    let Some(path) = path else { return Ok(String::new()) };
    file::read_file(path)?
        .ok_or_else(|| Error::not_found(format!("there is no `{}`", path.display())))
}

fn parse_group(text: &str) -> std::result::Result<String, String> {
    if is_group(text) {
        Ok(text.to_owned())
    } else {
        Err("a group has 1 to 64 of the characters a-z, A-Z, 0-9, `.`, `_`, `-`".into())
    }
}
