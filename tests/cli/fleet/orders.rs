//! Orders on their way from an operator's key to machines, and everything that a hub which was
//! taken over could offer instead.

use super::fleets::{Fleet, act, machine_of, send_all, status};
use super::machine::{ASKS, Machine, NAME};
use super::wire::{certificate_of, request};
use crate::common::process::Ended;
use crate::common::reply::Answer;
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_bundle::SecretKey;
use portcullis_fleet::orders::{AfterExpiry, FORMAT, Orders, SignedOrders};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const LIMIT: Duration = Duration::from_secs(30);
/// A machine's own configuration, which orders tighten.
const OBSERVE: &str = "mode = \"observe\"\n";
pub const BLOCKING: &str = "mode = \"blocking\"\n";

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

pub fn operator() -> SecretKey {
    SecretKey::of_seed(&[7; 32])
}

/// Returns valid orders for the group `web`.
pub fn orders(version: u64) -> Orders {
    Orders {
        format: FORMAT,
        group: "web".into(),
        version,
        not_before: now(),
        expires_at: now() + 3_600_000,
        after_expiry: AfterExpiry::Keep,
        configuration: BLOCKING.into(),
        trust: String::new(),
        lock: String::new(),
        approvals: String::new(),
    }
}

/// Writes a file with signed orders.
pub fn write_signed(fleet: &Fleet, name: &str, orders: &Orders) -> Result<String> {
    let path = fleet.folder.join(name);
    fs::write(&path, serde_json::to_vec(&SignedOrders::sign_orders(orders, &operator()))?)?;
    Ok(path.display().to_string())
}

/// Signs orders and publishes them.
fn publish(fleet: &Fleet, orders: &Orders) -> Result<()> {
    let name = format!("orders-{}-{}.json", orders.group, orders.version);
    let file = write_signed(fleet, &name, orders)?;
    fleet.output(&["hub", "orders", "publish", &file]).map(drop)
}

/// Lets a home join a group, with the operator's key.
fn join(fleet: &Fleet, site: &Site, group: &str, more: &[&str]) -> Result<Ended> {
    let name = format!("token-{}", now() + NEXT.fetch_add(1, Ordering::Relaxed) as u64);
    let token = fleet.token(&name, &["--label", &format!("group={group}")])?;
    let key = fleet.folder.join("orders.key.pub");
    fs::write(&key, operator().public().to_pem()?)?;
    let (token, key) = (token.display().to_string(), key.display().to_string());
    let (url, join) = (fleet.url(), ["fleet", "join"]);
    let options = [&url, "--token-file", &token, "--orders-key", &key];
    site.run(&[&join[..], &options, more].concat())
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Creates a home that takes orders for the group `web`, and would only observe by itself.
pub fn machine(fleet: &Fleet, name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    site.write("config.toml", OBSERVE)?;
    let joined = join(fleet, &site, "web", &["--group", "web"])?;
    ensure!(joined.code == Some(0), "{}", joined.all());
    Ok(site)
}

/// Returns true if the machine refuses what must never run.
pub fn refuses(site: &Site) -> Result<bool> {
    let session = format!("refuses-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let reply = site.hook(&site.calls(&session).bash("b", "rm -rf / --no-preserve-root"))?;
    Ok(matches!(reply.answer, Answer::Refused | Answer::Stopped))
}

/// Returns the reason for which everything is refused, if it is.
fn stopped(site: &Site) -> Result<Option<String>> {
    let session = format!("stopped-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let reply = site.hook(&site.calls(&session).bash("b", "ls"))?;
    Ok((reply.answer == Answer::Refused).then_some(reply.said))
}

pub fn orders_of(site: &Site) -> Result<Value> {
    Ok(status(site)?["orders"].clone())
}

/// Lets a home fetch once, whatever is due.
pub fn fetch(site: &Site) -> Result<()> {
    // A hook may have started another instance, which does not fetch what came later.
    while site.run(&["maintain", "--all"])?.text().contains("another instance") {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Waits until a home has taken this version.
pub fn await_version(site: &Site, version: u64) -> Result<()> {
    let start = Instant::now();
    while orders_of(site)?["version"] != version {
        ensure!(start.elapsed() < LIMIT, "no version {version}: {}", orders_of(site)?);
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits until the hub knows how many machines have orders: they say so with their next request.
fn await_holders(fleet: &Fleet, orders: &str, holders: &str) -> Result<()> {
    let start = Instant::now();
    loop {
        let listed = fleet.output(&["hub", "orders", "list"])?;
        if listed.lines().any(|line| line.contains(orders) && line.contains(holders)) {
            return Ok(());
        }
        ensure!(start.elapsed() < LIMIT, "{listed}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A resident service; it ends with this value.
pub struct Service(Child);

impl Service {
    pub fn start(site: &Site) -> Result<Self> {
        let mut command = site.command(&["serve", "--no-page"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut service = Self(command.spawn()?);
        let mut line = String::new();
        BufReader::new(service.0.stdout.take().context("no output")?).read_line(&mut line)?;
        ensure!(line.contains("The service answers"), "{line}");
        Ok(service)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// From a key, by the commands of the page, to two machines: one with the service, which holds a
/// request, and one without.
pub fn arrive() -> Result<()> {
    let fleet = Fleet::start("orders")?;
    let desk = Site::new("operator")?;
    let passphrase = desk.root().join("passphrase");
    fs::write(&passphrase, "seven quiet otters\n")?;
    fs::set_permissions(&passphrase, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let path = |name: &str| desk.root().join(name).display().to_string();
    let (key, secret) = (path("orders.key"), passphrase.display().to_string());
    desk.output(&["bundle", "key", "new", "--output", &key, "--passphrase-file", &secret])?;
    fs::write(path("web.toml"), BLOCKING)?;
    let sign = |version: &str, more: &[&str]| {
        let (out, configuration) = (path(&format!("web-{version}.json")), path("web.toml"));
        let arguments = [
            &["fleet", "sign", "--group", "web", "--version", version, "--expires", "30"][..],
            &["--key", &key, "--passphrase-file", &secret, "--configuration", &configuration],
            &["-o", &out],
            more,
        ]
        .concat();
        Ok::<_, anyhow::Error>((desk.run(&arguments)?, out))
    };
    let (signed, first) = sign("1", &[])?;
    ensure!(signed.code == Some(0), "{}", signed.all());
    let token = fleet.token("of-web", &["--label", "group=web", "--uses", "2"])?;
    let (token, public) = (token.display().to_string(), format!("{key}.pub"));
    let sites = [Site::new("orders held")?, Site::new("orders fetched")?];
    for site in &sites {
        site.write("config.toml", OBSERVE)?;
        let options = ["--token-file", &token, "--orders-key", &public, "--group", "web"];
        let shown = site.output(&[&["fleet", "join", &fleet.url()][..], &options].concat())?;
        ensure!(shown.contains("orders for the group `web`"), "{shown}");
        ensure!(!refuses(site)?, "it refuses before any orders");
        ensure!(orders_of(site)?["version"].is_null());
    }
    let _service = Service::start(&sites[0])?;
    thread::sleep(Duration::from_millis(500));
    let published = Instant::now();
    fleet.output(&["hub", "orders", "publish", &first])?;
    await_version(&sites[0], 1)?;
    // A request that is asked again would take a whole period.
    ensure!(published.elapsed() < Duration::from_secs(20), "{:?}", published.elapsed());
    fetch(&sites[1])?;
    await_version(&sites[1], 1)?;
    for site in &sites {
        ensure!(refuses(site)?, "it does not refuse");
        let shown = site.output(&["config", "show"])?;
        ensure!(shown.contains("the fleet's orders say otherwise"), "{shown}");
        let recorded = site.records()?.iter().any(|record| {
            record["summary"].as_str().is_some_and(|text| text.contains("took version 1"))
        });
        ensure!(recorded, "taking the orders was not recorded");
        site.verify()?;
    }
    // The next one arrives through the other replica's notification, too.
    let (signed, second) = sign("2", &["--after-expiry", "own"])?;
    ensure!(signed.code == Some(0), "{}", signed.all());
    fleet.output(&["hub", "orders", "publish", &second])?;
    await_version(&sites[0], 2)?;
    await_holders(&fleet, "web 2", "1 of 2 have it")?;
    let shown = fleet.output(&["hub", "orders", "show", "web"])?;
    ensure!(shown.contains("version 2") && shown.contains("mode = \"blocking\""), "{shown}");
    let again = fleet.run(&["hub", "orders", "publish", &first])?;
    ensure!(again.stderr.contains("has version 2 already"), "{}", again.all());
    // Mistakes are found before anything is signed.
    for (configuration, said) in [
        ("plugins_dir = \"/tmp\"\n", "is not for orders"),
        ("modes = 1\n", "`modes` is unknown"),
        ("[pipelines.a]\nprojects = [\"/**\"]\n", "no pipelines"),
    ] {
        fs::write(path("web.toml"), configuration)?;
        let (refused, out) = sign("9", &[])?;
        ensure!(refused.stderr.contains(said), "{configuration}: {}", refused.all());
        ensure!(!Path::new(&out).exists());
    }
    Ok(())
}

/// A row of the attacks: its name, a change of honest orders, and the reason for the refusal.
type Attack = (&'static str, fn(&mut Orders), &'static str);

const ATTACKS: &[Attack] = &[
    ("an older version", |orders| orders.version = 1, "version 2 was seen before"),
    ("the same version", |orders| orders.version = 2, "version 2 was seen before"),
    ("another group's", |orders| orders.group = "db".into(), "for the group `db`"),
    ("expired", |orders| orders.expires_at = now() - 1, "expire"),
    (
        "expired before it came",
        |orders| (orders.not_before, orders.expires_at) = (1, now() - 1),
        "have expired",
    ),
    (
        "of the future",
        |orders| (orders.not_before, orders.expires_at) = (now() + 900_000, now() + 990_000),
        "only from a later time",
    ),
    ("another format", |orders| orders.format = 2, "another format"),
    ("SQL as a group", |orders| orders.group = "'; DROP TABLE orders; --".into(), "a group has"),
    ("markup as a group", |orders| orders.group = "<script>".into(), "a group has"),
    ("a huge version", |orders| orders.version = u64::MAX, "versions count"),
    ("too large", |orders| orders.configuration = "#".repeat(300_000), "more than"),
    ("no configuration", |orders| orders.configuration = "mode = ".into(), "not TOML"),
    ("an unknown key", |orders| orders.configuration = "modes = 1".into(), "unknown"),
    (
        "a program that is started",
        |orders| orders.configuration = "[notifications.channels.a]\nprogram = \"/x\"".into(),
        "not for orders",
    ),
    (
        "another folder of plugins",
        |orders| orders.configuration = "plugins_dir = \"/tmp\"".into(),
        "not for orders",
    ),
    (
        "rules of the machine's files",
        |orders| orders.configuration = "[rules]\nfiles = [\"/etc/passwd\"]".into(),
        "not for orders",
    ),
    (
        "a pipeline",
        |orders| orders.configuration = "[pipelines.a]\nprojects = [\"/**\"]".into(),
        "no pipelines",
    ),
    ("no trust policy", |orders| orders.trust = "[[rule]]".into(), "the trust policy"),
    ("no lock", |orders| orders.lock = "x".into(), "the lock"),
    ("no approvers", |orders| orders.approvals = "x = 1".into(), "the approvals"),
];

/// Puts signed orders into the hub's database, as whoever has taken it over could.
fn plant(fleet: &Fleet, signed: &SignedOrders) -> Result<()> {
    fleet.query("DELETE FROM orders WHERE version > 2")?;
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    fleet.cluster.feed(
        &fleet.database,
        &format!(
            "INSERT INTO orders (group_name, version, document, signature, share, expires_at, \
             published_by) VALUES ('web', 1000, {}, {}, 100, 'infinity', 'nobody');",
            quote(&signed.orders),
            quote(&signed.signature)
        ),
    )
}

/// Rows: what a hub that was taken over offers. Each is refused with its reason, recorded once, and
/// shown; what was in force stays.
pub fn attacks() -> Result<()> {
    let fleet = Fleet::start("orders_attacks")?;
    let site = machine(&fleet, "orders attacked")?;
    publish(&fleet, &orders(1))?;
    publish(&fleet, &orders(2))?;
    fetch(&site)?;
    await_version(&site, 2)?;
    let mut rows: Vec<(String, SignedOrders, String)> = Vec::new();
    for (name, change, said) in ATTACKS {
        let mut changed = orders(3);
        change(&mut changed);
        let signed = SignedOrders::sign_orders(&changed, &operator());
        rows.push(((*name).to_owned(), signed, (*said).to_owned()));
    }
    let honest = SignedOrders::sign_orders(&orders(3), &operator());
    let foreign = SignedOrders::sign_orders(&orders(3), &SecretKey::of_seed(&[8; 32]));
    let with = |orders: String| SignedOrders { orders, ..honest.clone() };
    let swapped = with(SignedOrders::sign_orders(&orders(4), &operator()).orders);
    for (name, signed) in [
        ("a foreign signature", foreign),
        ("another document's signature", swapped),
        ("tampered", with(honest.orders.replace("blocking", "observe"))),
        ("not JSON", with("{".into())),
        ("an unknown field", with(honest.orders.replacen('{', "{\"x\":1,", 1))),
        ("no signature", SignedOrders { signature: String::new(), ..honest.clone() }),
        ("a huge signature", SignedOrders { signature: "A".repeat(2000), ..honest.clone() }),
    ] {
        let said = if name.starts_with("a huge") { "more than" } else { "not signed with the key" };
        rows.push((name.to_owned(), signed, said.to_owned()));
    }
    let refusals = |site: &Site| -> Result<usize> {
        let refused = |record: &&Value| {
            record["summary"].as_str().is_some_and(|text| text.contains("refused orders"))
        };
        Ok(site.records()?.iter().filter(refused).count())
    };
    for (name, signed, said) in &rows {
        plant(&fleet, signed).with_context(|| name.clone())?;
        fetch(&site)?;
        let shown = orders_of(&site)?;
        let reason = shown["refused"].as_str().unwrap_or("");
        ensure!(reason.contains(said.as_str()), "{name}: {shown}");
        ensure!(shown["version"] == 2 && shown["in_force"] == true, "{name}: {shown}");
    }
    // The same once more: known, and not recorded again.
    fetch(&site)?;
    ensure!(refusals(&site)? == rows.len());
    ensure!(refuses(&site)?, "the orders are no longer in force");
    let shown = site.run(&["fleet", "status"])?;
    ensure!(shown.code == Some(1) && shown.text().contains("refused: orders"), "{}", shown.all());
    let doctor = site.run(&["doctor", "--quick"])?;
    ensure!(doctor.text().contains("orders from the hub were refused"), "{}", doctor.all());
    let listed = fleet.list("machines")?;
    ensure!(listed[0]["orders"] == 2 && listed[0]["orders_refused"].is_string(), "{listed:?}");
    // Honest orders still count.
    plant(&fleet, &honest)?;
    fetch(&site)?;
    await_version(&site, 3)?;
    ensure!(orders_of(&site)?["refused"].is_null());
    // A grant in them is valid, and gives nothing that the owner has not.
    let grants = "[plugins.mine.grants]\ndirectories = [\"/\"]\nproject = true\n";
    let generous = Orders { configuration: format!("{BLOCKING}{grants}"), ..orders(4) };
    plant(&fleet, &SignedOrders::sign_orders(&generous, &operator()))?;
    fetch(&site)?;
    await_version(&site, 4)?;
    let shown: Value = serde_json::from_str(&site.output(&["config", "show", "--json"])?)?;
    let granted = shown["keys"].as_array().context("no keys")?.iter().filter(|key| {
        let of_mine = key["key"].as_str().is_some_and(|key| key.starts_with("plugins.mine.grants"));
        of_mine && key["value"] != serde_json::json!([]) && key["value"] != false
    });
    ensure!(granted.count() == 0, "{shown}");
    ensure!(shown.to_string().contains("plugins.mine.grants.directories"), "{shown}");
    // A machine that joined without a key takes none, and one of another group gets none.
    let plain = fleet.machine("orders untaken")?;
    let other = Site::new("orders of db")?;
    let wrong = join(&fleet, &other, "db", &["--group", "web"])?;
    ensure!(wrong.stderr.contains("into the group `db`, not into `web`"), "{}", wrong.all());
    ensure!(!other.state().join("fleet/membership").exists());
    ensure!(join(&fleet, &other, "db", &[])?.code == Some(0));
    for site in [&plain, &other] {
        fetch(site)?;
        ensure!(orders_of(site)?["version"].is_null(), "{}", orders_of(site)?);
    }
    // Without a machine's certificate there are none either.
    let body = br#"{"version":1,"seen":0,"wait_seconds":0}"#;
    let answer = request(&fleet, None, "POST /v1/orders", "", body)?;
    ensure!(answer.refused() == (401, "unidentified"), "{answer:?}");
    let own = certificate_of(&site)?;
    for body in [&b"{}"[..], br#"{"version":1,"seen":-1,"wait_seconds":0}"#] {
        let answer = request(&fleet, Some(&own), "POST /v1/orders", "", body)?;
        ensure!(answer.refused() == (400, "malformed"), "{answer:?}");
    }
    Ok(())
}

/// Rows: what orders say of their end, and what then holds. Newer ones end each of them.
pub fn expire() -> Result<()> {
    let fleet = Fleet::start("orders_expire")?;
    let rows = [
        ("keep", AfterExpiry::Keep, true, false),
        ("own", AfterExpiry::Own, false, false),
        ("block", AfterExpiry::Block, true, true),
    ];
    let mut sites = Vec::new();
    for (group, ..) in rows {
        let site = Site::new(&format!("orders expire {group}"))?;
        site.write("config.toml", OBSERVE)?;
        ensure!(join(&fleet, &site, group, &[])?.code == Some(0));
        sites.push(site);
    }
    let expires_at = now() + 8000;
    for ((group, after_expiry, ..), site) in rows.iter().zip(&sites) {
        let (group, after_expiry) = ((*group).to_owned(), *after_expiry);
        publish(&fleet, &Orders { group, after_expiry, expires_at, ..orders(1) })?;
        fetch(site)?;
        await_version(site, 1)?;
        ensure!(refuses(site)?, "{after_expiry:?}");
    }
    // Neither the lost connection nor the time before the end changes anything.
    fleet.balancer.set_targets(Vec::new());
    thread::sleep(Duration::from_millis(expires_at.saturating_sub(now()) + 50));
    for ((_, after_expiry, refuses_then, stops), site) in rows.iter().zip(&sites) {
        ensure!(refuses(site)? == *refuses_then, "{after_expiry:?}");
        let reason = stopped(site)?;
        ensure!(reason.is_some() == *stops, "{after_expiry:?}: {reason:?}");
        ensure!(reason.is_none_or(|reason| reason.contains("orders have expired")));
        let shown = status(site)?;
        ensure!(shown["orders"]["expired"] == true && shown["in_order"] == false, "{shown}");
        let doctor = site.run(&["doctor", "--quick"])?;
        ensure!(doctor.text().contains("expired"), "{}", doctor.all());
    }
    fleet.balancer.set_targets(vec![fleet.replica(0), fleet.replica(1)]);
    for ((group, after_expiry, ..), site) in rows.iter().zip(&sites) {
        publish(&fleet, &Orders { group: (*group).to_owned(), ..orders(2) })?;
        fetch(site)?;
        await_version(site, 2)?;
        ensure!(refuses(site)? && stopped(site)?.is_none(), "{after_expiry:?}");
    }
    Ok(())
}

/// Rows: what somebody without the home's key does to the orders in it. Nothing runs after any.
pub fn tampered() -> Result<()> {
    let fleet = Fleet::start("orders_tampered")?;
    type Deed = fn(&Path) -> std::io::Result<()>;
    let rows: &[(&str, Deed)] = &[
        ("removed", |file| fs::remove_file(file)),
        ("emptied", |file| fs::write(file, "")),
        ("changed", |file| {
            fs::write(file, fs::read_to_string(file)?.replace("blocking", "observe"))
        }),
        ("a link", |file| {
            fs::rename(file, file.with_extension("x"))?;
            std::os::unix::fs::symlink(file.with_extension("x"), file)
        }),
    ];
    publish(&fleet, &orders(1))?;
    for (name, deed) in rows {
        let site = machine(&fleet, &format!("orders {name}"))?;
        fetch(&site)?;
        await_version(&site, 1)?;
        let file: PathBuf = site.state().join("fleet/orders");
        deed(&file)?;
        let reason = stopped(&site)?;
        let reason = reason.with_context(|| format!("{name}: it runs"))?;
        ensure!(reason.contains("orders") && reason.contains("fleet leave"), "{name}: {reason}");
        let shown = site.run(&["fleet", "status"])?;
        ensure!(shown.code == Some(1), "{name}: {}", shown.all());
        site.run(&["maintain", "--all"])?;
        ensure!(stopped(&site)?.is_some(), "{name}: it healed itself");
        site.output(&["fleet", "leave", "--force"])?;
        ensure!(stopped(&site)?.is_none(), "{name}: it does not run after `fleet leave`");
    }
    Ok(())
}

/// A version reaches the share of the group's machines that an operator chooses.
pub fn shares() -> Result<()> {
    let fleet = Fleet::start("orders_shares")?;
    let sites: Vec<Site> = (0..4)
        .map(|index| machine(&fleet, &format!("orders share {index}")))
        .collect::<Result<_>>()?;
    let file = write_signed(&fleet, "share.json", &orders(1))?;
    fleet.output(&["hub", "orders", "publish", &file, "--share", "0"])?;
    let having = || -> Result<Vec<bool>> {
        let has = |site: &Site| {
            fetch(site)?;
            Ok(orders_of(site)?["version"] == 1)
        };
        sites.iter().map(has).collect()
    };
    ensure!(having()? == [false; 4], "a share of 0 reached somebody");
    let mut before = having()?;
    for share in ["30", "60", "100"] {
        fleet.output(&["hub", "orders", "share", "web", "1", share])?;
        let after = having()?;
        let place = |site: &Site| -> Result<u32> {
            let sql = format!(
                "SELECT ('x' || encode(substr(sha256('{}'), 1, 4), 'hex'))::bit(32)::bigint % 100",
                machine_of(site)?
            );
            Ok(fleet.query(&sql)?.parse()?)
        };
        for (site, has) in sites.iter().zip(&after) {
            ensure!(*has == (place(site)? < share.parse()?), "{share}: {}", place(site)?);
        }
        ensure!(before.iter().zip(&after).all(|(before, after)| !before || *after));
        before = after;
    }
    let unknown = fleet.run(&["hub", "orders", "share", "web", "7", "1"])?;
    ensure!(unknown.stderr.contains("has no version 7"), "{}", unknown.all());
    Ok(())
}

/// Locked bundles, trust and revocation of orders count beside the machine's own.
pub fn bundles() -> Result<()> {
    let fleet = Fleet::start("orders_bundles")?;
    let machine = Machine::new("orders bundles")?;
    let joined = join(&fleet, &machine.site, "web", &[])?;
    ensure!(joined.code == Some(0), "{}", joined.all());
    let archive = machine.publish("1.0.0", ASKS)?;
    machine.done(&["bundle", "install", &archive])?;
    machine.runs()?;
    let lock = fs::read_to_string(machine.lock())?;
    // From now on it is the orders that lock it.
    publish(&fleet, &Orders { lock: lock.clone(), ..orders(1) })?;
    fetch(&machine.site)?;
    await_version(&machine.site, 1)?;
    machine.done(&["bundle", "remove", NAME]).ok();
    machine.runs()?;
    // A bundle that cannot be had keeps orders from counting.
    let digest = "0".repeat(64);
    let found = lock.lines().find(|line| line.starts_with("digest")).context("no digest")?;
    let missing = lock.replacen(found, &format!("digest = \"sha256:{digest}\""), 1);
    publish(&fleet, &Orders { lock: missing, ..orders(2) })?;
    fetch(&machine.site)?;
    let shown = orders_of(&machine.site)?;
    ensure!(shown["version"] == 1, "{shown}");
    ensure!(shown["refused"].as_str().unwrap_or("").contains("a locked bundle"), "{shown}");
    machine.runs()?;
    // A revocation counts with the next action.
    let index = found.split('"').nth(1).context("no digest")?;
    let trust = format!("[revoked]\ndigests = [\"{index}\"]\n");
    publish(&fleet, &Orders { trust, ..orders(3) })?;
    fetch(&machine.site)?;
    await_version(&machine.site, 3)?;
    let unlocked = machine.migration()?;
    ensure!(!unlocked.said.contains("migration"), "{}", unlocked.said);
    let refused = machine.site.run(&["bundle", "install", &archive])?;
    ensure!(refused.stderr.contains("revoked"), "{}", refused.all());
    Ok(())
}

/// A machine whose certificate was revoked gets no orders, and keeps those that it has.
pub fn revoked() -> Result<()> {
    let fleet = Fleet::start("orders_revoked")?;
    let site = machine(&fleet, "orders revoked")?;
    publish(&fleet, &orders(1))?;
    act(&site, 1)?;
    send_all(&site, LIMIT)?;
    await_version(&site, 1)?;
    fleet.output(&["hub", "revoke", &machine_of(&site)?])?;
    publish(&fleet, &orders(2))?;
    fetch(&site)?;
    ensure!(orders_of(&site)?["version"] == 1 && refuses(&site)?);
    Ok(())
}
