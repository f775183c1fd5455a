//! `portcullis serve`: the resident service, in the foreground.

mod manager;

use super::install::prepare::compile_plugins;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::export_delivery::follow_exports;
use crate::fleet_approvals::follow_approvals;
use crate::fleet_orders::follow_orders;
use crate::given_file::read_given_file;
use crate::paint;
use crate::service_unit::{self, UnitKind};
use anyhow::{Context, anyhow};
use manager::{BoundSockets, take_sockets, tell_ready};
use portcullis_agents::HookEnvironment;
use portcullis_config::Config;
use portcullis_config::boundary::{
    BOUNDARY_FILE, Boundary, STATE, list_kept_users, places_of, state_of,
};
use portcullis_config::handed::HandedFiles;
use portcullis_config::paths::{Paths, own_program};
use portcullis_core::text::one_line;
use portcullis_fleet::FleetFiles;
use portcullis_protocol::{ServiceStatus, ask_status};
use portcullis_review::page_address::{announce_page, forget_page};
use portcullis_service::{OwnSocket, Service};
use portcullis_store::Home;
use portcullis_traces::{Collector, CollectorError, TraceExport};
use portcullis_web::{MetricsToken, Page, PageHandle, Role, SHORTEST_TOKEN, ServiceHealth};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

/// The version that the service tells.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The purpose of a link with which a person sets up a passkey, before the person's name.
pub const PASSKEY_OF: &str = "passkey of ";
/// The most bytes of a file with a token or with headers.
const MOST_SECRET: u64 = 4096;
/// The time between two looks for users who have joined a fleet, or have exports.
const LOOK: Duration = Duration::from_secs(5);
/// One of so many looks is for exports, too.
const EXPORTS_LOOK: u64 = 3;
/// The open files that the service needs for the most users: three for the journal of each export,
/// and those of hooks and fleets.
const OPEN_FILES: u64 = 16_384;
/// The most users whose fleets and exports are followed: each takes a few threads and connections.
const MOST_FOLLOWED: usize = 256;
/// The port of the page.
const PORT: u16 = 4747;

#[derive(clap::Args)]
pub struct Arguments {
    /// Show the service that runs for this home, and start none
    #[arg(long)]
    status: bool,
    /// Print a unit with which systemd starts the service, and start none: for this home (user), or
    /// for the boundary of this machine (system)
    #[arg(
        long,
        value_name = "KIND",
        num_args = 0..=1,
        default_missing_value = "user",
        conflicts_with_all = ["status", "json"]
    )]
    unit: Option<UnitKind>,
    /// With --unit: print the unit of the socket, which starts the service at the first event
    #[arg(long, requires = "unit")]
    socket: bool,
    /// Stand behind the boundary of this machine: review for other users, as the user whom
    /// `/etc/portcullis/boundary.toml` names
    #[arg(
        long,
        conflicts_with_all = ["status", "unit", "page_port", "no_page", "metrics_token_file"]
    )]
    boundary: bool,
    /// Serve the page for people on this port of loopback (0: any)
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    page_port: u16,
    /// Serve no page
    #[arg(long, conflicts_with = "page_port")]
    no_page: bool,
    /// Let whoever shows the token in this file collect `/metrics` of the page
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    metrics_token_file: Option<PathBuf>,
    /// Send traces of the reviews to this collector, by OTLP over HTTP: `https://...`, or `http://...`
    /// on this machine
    #[arg(long, value_name = "URL", conflicts_with_all = ["status", "unit"])]
    traces: Option<String>,
    /// Headers that the collector wants, one `Name: value` a line; a file for its owner alone
    #[arg(long, value_name = "FILE", requires = "traces")]
    traces_header_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_serve(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    if arguments.status {
        return show_status(&places, arguments.json);
    }
    if let Some(kind) = arguments.unit {
        if cfg!(not(target_os = "linux")) {
            return Err(Error::refused("a unit is for systemd, which this system does not have")
                .with_hint(
                    "start `portcullis serve` when you log in; on macOS, launchd does that",
                ));
        }
        let program = own_program().context("cannot determine where this program is")?;
        paint::print_text(&if arguments.socket {
            service_unit::write_socket_unit(kind, &places)?
        } else {
            service_unit::write_service_unit(kind, &program, &places)?
        });
        return Ok(CommandExit::Success);
    }
    let token = arguments.metrics_token_file.as_deref().map(read_token).transpose()?;
    let _traces = start_traces(arguments)?;
    let boundary = if arguments.boundary { Some(read_boundary()?) } else { None };
    if let Some(boundary) = &boundary {
        compile_ahead(boundary)?;
    }
    let BoundSockets { service: bound, page: bound_page } = take_sockets()?;
    let socket = match &boundary {
        Some(boundary) => OwnSocket::bind_boundary(boundary, bound)?,
        None => OwnSocket::bind(Home::open_root(&places.state)?.path(), bound)?,
    };
    let page = match &boundary {
        Some(boundary) => bind_boundary_page(boundary, bound_page),
        None if arguments.no_page => Err("it was started with `--no-page`".to_owned()),
        None => Ok(bind_page(&places, arguments.page_port, token)?),
    };
    let handle = page.as_ref().map(Page::handle).map_err(Clone::clone);
    let (page, links) = (page.ok(), handle.clone().ok());
    let state = boundary.as_ref().map_or_else(|| places.state.clone(), |_| STATE.into());
    let make_link = move |user: Option<u32>, purpose: &str| {
        make_link(handle.as_ref().map_err(Clone::clone)?, user, purpose)
    };
    let service = Service::new(socket, VERSION, super::maintain::start_for_hook, make_link)
        .context("cannot set the service up")?;
    let service = match boundary {
        Some(boundary) => service.stand_behind(boundary)?,
        None => service,
    };
    stop_on_signals(&service, links.clone())?;
    if let Some(page) = &links {
        announce_page(&state, page.address()).context("cannot tell hooks where the page is")?;
        let (probe, places) = (service.probe(), places.clone());
        page.report_health(move || ServiceHealth {
            obstacle: probe.find_obstacle(&places),
            held_back: probe.count_held_back(),
        });
    }
    if arguments.boundary {
        raise_file_limit();
        follow_users().context("cannot start a thread")?;
    } else {
        follow_fleet(&places).context("cannot start a thread")?;
        follow_exports(places.clone()).context("cannot start a thread")?;
    }
    tell_ready()?;
    announce(&service, links.as_ref(), arguments.boundary, arguments.json);
    let serve_page =
        page.map(|page| Builder::new().name("portcullis-page".into()).spawn(move || page.run()));
    let serve_page = serve_page.transpose().context("cannot start the page")?;
    let served = service.run();
    forget_page(&state);
    served?;
    // The service can end by itself, too.
    links.iter().for_each(PageHandle::stop);
    if let Some(ended) = serve_page.map(JoinHandle::join) {
        ended.map_err(|_| Error::invalid("a defect ended the page"))??;
    }
    if !arguments.json {
        paint::print_text("The service has ended.\n");
    }
    Ok(CommandExit::Success)
}

/// Returns the boundary of this machine, if this process runs as its user.
fn read_boundary() -> Result<Boundary> {
    let boundary = Boundary::read_machine().map_err(|problems| anyhow!("{problems}"))?;
    let Some(boundary) = boundary else {
        return Err(Error::not_found(format!("there is no `{BOUNDARY_FILE}`")).with_hint(
            "the page on the resident service says how to set up a boundary: host/docs/service.md",
        ));
    };
    let user = geteuid().as_raw();
    if user != boundary.user {
        let name = &boundary.user_name;
        return Err(Error::invalid(format!(
            "the service of the boundary runs as `{name}`, and this is user {user}"
        ))
        .with_hint(format!(
            "start it as root: `runuser -u {name} -- portcullis serve --boundary`"
        )));
    }
    Ok(boundary)
}

/// Takes orders of the fleet of these places, and puts what waits there to its approvers.
fn follow_fleet(places: &Paths) -> std::io::Result<()> {
    follow_orders(places.clone())?;
    follow_approvals(places.clone())
}

/// Does the same for each user who has joined a fleet, as soon as root has let the user join, and
/// delivers the exports of each user who has some.
fn follow_users() -> std::io::Result<()> {
    let follow = || {
        let mut followed = FollowedUsers::default();
        for look in 0_u64.. {
            for user in list_kept_users() {
                // That parses a configuration.
                followed.follow_user(user, look % EXPORTS_LOOK == 0);
            }
            sleep(LOOK);
        }
    };
    Builder::new().name("portcullis-users".into()).spawn(follow).map(drop)
}

/// Lets the process open more files, as far as the system allows it: a service that cannot open one
/// answers no hook.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < OPEN_FILES) else { return };
    let allowed = limit.maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    let raised = Rlimit { current: Some(allowed.max(current)), ..limit };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        Error::io(format!("cannot open more than {current} files: {error}")).print_error(false);
    }
}

/// The users whose fleets and exports the service follows. Each has threads that never end, so none
/// is started twice.
#[derive(Default)]
struct FollowedUsers {
    orders: BTreeSet<u32>,
    approvals: BTreeSet<u32>,
    exports: BTreeSet<u32>,
    has_warned: bool,
}

impl FollowedUsers {
    /// Starts what a user has, and what is not started yet. What cannot be started now is tried at
    /// the next look.
    fn follow_user(&mut self, user: u32, looks_at_exports: bool) {
        if self.approvals.contains(&user) && self.exports.contains(&user) {
            return;
        }
        let Ok(Some(home)) = Home::open_existing(state_of(user)) else { return };
        let places = || places_of(user, HookEnvironment::of_process(), HandedFiles::default());
        if !self.approvals.contains(&user)
            && FleetFiles::of_home(&home).is_member()
            && self.may_follow(user)
            && (self.orders.contains(&user) || follow_orders(places()).is_ok())
        {
            self.orders.insert(user);
            if follow_approvals(places()).is_ok() {
                self.approvals.insert(user);
            }
        }
        if looks_at_exports
            && !self.exports.contains(&user)
            && has_exports(&places(), &home)
            && self.may_follow(user)
            && follow_exports(places()).is_ok()
        {
            self.exports.insert(user);
        }
    }

    /// Returns true if the user is among those who are followed, or one more may be.
    fn may_follow(&mut self, user: u32) -> bool {
        let all: BTreeSet<&u32> = self.orders.union(&self.exports).collect();
        let may = all.contains(&user) || all.len() < MOST_FOLLOWED;
        if !may && !self.has_warned {
            let what = format!(
                "more than {MOST_FOLLOWED} users have a fleet or exports: the service follows no \
                 others, whose records `portcullis maintain` sends"
            );
            Error::invalid(what).print_error(false);
            self.has_warned = true;
        }
        may
    }
}

/// Returns true if the configuration of these places has exports. One that cannot be read has none:
/// hooks and `doctor` report it.
fn has_exports(places: &Paths, home: &Home) -> bool {
    Config::load(places, Some(home)).is_ok_and(|config| !config.exports.is_empty())
}

/// Compiles the plugins of all users before the first event, which has a client that waits. What
/// cannot be used here is a fault of each review, so that hooks say it.
fn compile_ahead(boundary: &Boundary) -> Result<()> {
    let home = Home::open_root(STATE)?;
    let environment = HookEnvironment::of_process();
    let places = places_of(boundary.user, environment, HandedFiles::default());
    let compiled = Config::load(&places, None)
        .map_err(Error::from)
        .and_then(|config| compile_plugins(&places, &home, config));
    if let Err(error) = compiled {
        error.print_error(false);
    }
    Ok(())
}

/// Binds the page; another port if something else has this one already.
fn bind_page(places: &Paths, port: u16, token: Option<MetricsToken>) -> Result<Page> {
    let bind = |port| Page::bind(places.clone(), port, token.clone());
    let is_default = port == PORT;
    Ok(bind(port).or_else(|error| if is_default { bind(0) } else { Err(error) })?)
}

/// Binds the page of a boundary, if it has one; else returns the reason. Where another process has the
/// port, the service reviews all the same: nobody can keep it from that.
fn bind_boundary_page(
    boundary: &Boundary,
    bound: Option<TcpListener>,
) -> std::result::Result<Page, String> {
    let Some(port) = boundary.page else {
        return Err(format!("it has no page, since `{BOUNDARY_FILE}` has no `page`"));
    };
    let find_places = |user| places_of(user, HookEnvironment::of_process(), HandedFiles::default());
    Page::bind_boundary(find_places, port, bound).map_err(|error| {
        Error::from(error).with_context("the page is not served").print_error(false);
        format!("it has no page, since it could not listen on port {port} when it started")
    })
}

/// Reads the token of whoever collects metrics.
fn read_token(file: &Path) -> Result<MetricsToken> {
    let shown = one_line(&file.display().to_string(), 400);
    MetricsToken::new(&read_secret_text(file)?).map_err(|error| {
        Error::invalid(format!("`{shown}` has no usable token: {error}"))
            .with_hint(format!("`openssl rand -hex {SHORTEST_TOKEN}` makes one"))
    })
}

/// Begins to send traces, if a collector is named.
fn start_traces(arguments: &Arguments) -> Result<Option<TraceExport>> {
    let Some(address) = &arguments.traces else { return Ok(None) };
    let wrong = |shown: &str, error| {
        Error::invalid(format!("`{}` cannot be used for traces: {error}", one_line(shown, 400)))
    };
    let mut collector = Collector::parse(address).map_err(|error| {
        // It may hold a password.
        let shown = if error == CollectorError::Credential { "--traces" } else { address };
        wrong(shown, error)
    })?;
    if let Some(file) = &arguments.traces_header_file {
        let headers = read_secret_text(file)?;
        let shown = file.display().to_string();
        collector = collector.with_headers(&headers).map_err(|error| wrong(&shown, error))?;
    }
    let report = |line: &str| paint::report_wrapped(&format!("{line}\n"), 2);
    let export = TraceExport::start(&collector, VERSION, report)
        .map_err(|error| Error::invalid(error.to_string()))?;
    Ok(Some(export))
}

/// Reads a file with a secret, which only its owner may read.
fn read_secret_text(file: &Path) -> Result<String> {
    let bytes = read_given_file(file, MOST_SECRET, true)?;
    let shown = one_line(&file.display().to_string(), 400);
    String::from_utf8(bytes).map_err(|_| Error::invalid(format!("`{shown}` is not UTF-8")))
}

/// Makes a link for a role, or with which a person sets up a passkey.
fn make_link(
    page: &PageHandle,
    user: Option<u32>,
    purpose: &str,
) -> std::result::Result<String, String> {
    let link = match purpose.strip_prefix(PASSKEY_OF) {
        Some(name) => page.make_enrollment(user, name),
        None => {
            let role = Role::from_name(purpose);
            let role = role.ok_or_else(|| format!("it does not know the role `{purpose}`"))?;
            page.make_link(user, role)
        }
    };
    link.map_err(|error| format!("{error:#}"))
}

fn announce(service: &Service, page: Option<&PageHandle>, is_boundary: bool, as_json: bool) {
    let path = service.socket_path().display().to_string();
    let address = page.map(PageHandle::address);
    if as_json {
        let document = json!({
            "socket": path,
            "version": VERSION,
            "process": std::process::id(),
            "page": address,
        });
        return paint::print_text(&format!("{document}\n"));
    }
    let then = if is_boundary {
        "hooks do then what its file says"
    } else {
        "hooks review by themselves then"
    };
    paint::print_text(&format!("The service answers at {path}. Ctrl-C ends it; {then}.\n"));
    if let Some(address) = address {
        let how =
            if is_boundary { "sudo portcullis open --of-user NAME" } else { "portcullis open" };
        paint::print_text(&format!("Its page is {address}: `{how}` signs you in.\n"));
    }
}

/// Lets the service end, with all answers given, when it is interrupted or terminated.
fn stop_on_signals(service: &Service, page: Option<PageHandle>) -> Result<()> {
    // A write beyond the limit on file sizes fails like a full disk, instead of ending the service.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot handle signals")?;
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot handle signals")?;
    let stop = service.stop_handle();
    let wait = move || {
        if signals.forever().next().is_some() {
            page.iter().for_each(PageHandle::stop);
            stop.stop();
        }
    };
    Builder::new()
        .name("portcullis-signals".into())
        .spawn(wait)
        .context("cannot handle signals")?;
    Ok(())
}

fn show_status(places: &Paths, as_json: bool) -> Result<CommandExit> {
    let Some(status) = ask_status(&places.state).context("the service does not answer")? else {
        return Err(Error::not_found("no service runs for this home").with_hint(
            "start one with `portcullis serve`; without one, hooks review by themselves",
        ));
    };
    let ServiceStatus { version, process, uptime, reviewed, declined, held_back } = status;
    let text = if as_json {
        json!({
            "version": version,
            "process": process,
            "uptime_seconds": uptime,
            "reviewed": reviewed,
            "left_to_hooks": declined,
            "held_back": held_back,
        })
        .to_string()
    } else {
        let summary = format!(
            "version {version}, process {process}, up for {uptime} s: {reviewed} events reviewed, \
             {declined} left to their hooks"
        );
        std::iter::once(summary).chain(held_back).collect::<Vec<_>>().join("\n")
    };
    paint::print_text(&format!("{text}\n"));
    Ok(CommandExit::Success)
}
