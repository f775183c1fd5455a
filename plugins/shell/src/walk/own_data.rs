//! Data of the services on this machine: databases of local servers and of one's own containers,
//! and the volumes of one's own set of containers. A person decides about their loss; the loss of
//! data that another machine or production holds stays what it is.

use super::expand::Field;
use super::rehearsals::{dropped, flag_value, goes_elsewhere, is_earnest};
use super::simple::Call;
use super::sql::{self, Change};
use super::{Setting, Walker, elsewhere};
use crate::catalogue::{self, Item, Plan};
use crate::places::{self, Place};
use crate::types::EffectKind;

/// Clients that connect to this machine unless something says otherwise.
const CLIENTS: &[&str] = &[
    "clickhouse-client",
    "dropdb",
    "iredis",
    "mongo",
    "mongosh",
    "mycli",
    "mysql",
    "mysqladmin",
    "pgcli",
    "psql",
    "redis-cli",
    "valkey-cli",
];
/// Flags that lead a client to a machine that only a file or a service knows, or to many.
const LEADING: &[&str] = &[
    "--cluster",
    "--config-file",
    "--connection",
    "--defaults-extra-file",
    "--defaults-file",
    "--defaults-group-suffix",
    "--login-path",
    "--service",
    "--ssh-host",
];
/// Flags that name a database.
const DATABASES: &[&str] = &["-d", "-D", "--dbname", "--database", "--db"];
/// Forms that stand for the loss of data, and those for the same loss on this machine.
const LOSSES: &[(&str, &str)] =
    &[("drop-data", "drop-own-data"), ("delete-volumes", "delete-own-volumes")];
/// Variables that lead a container engine to another machine, with the flags that do.
const ENGINE_HOSTS: &[&str] = &["CONTAINER_HOST", "DOCKER_HOST"];
const ENGINE_CONTEXTS: &[&str] = &["CONTAINER_CONNECTION", "DOCKER_CONTEXT"];
/// Contexts that are on this machine whoever set the engine up.
const OWN_CONTEXTS: &[&str] = &["", "colima", "default", "desktop-linux", "orbstack", "rootless"];

impl Walker<'_> {
    /// Replaces the forms of a plan that loses data of this machine's own services.
    pub(super) fn soften_own_loss(
        &self,
        name: &str,
        rest: &[Field],
        plan: &mut Plan,
        call: &Call,
        setting: &Setting,
    ) {
        let own = match catalogue::name_of(name) {
            "docker" | "podman" | "nerdctl" | "docker-compose" | "docker compose" => {
                setting.place == Place::Here
                    && elsewhere::is_compose(name, plan, rest)
                    && self.is_own_project(rest, call)
            }
            client @ ("dropdb" | "iredis" | "mysqladmin" | "redis-cli") => {
                self.is_own_database(client, &[], rest, plan, call, setting)
            }
            _ => false,
        };
        if own {
            plan.items.retain(|item| *item != Item::Form("destroy-remote"));
        }
        for item in plan.items.iter_mut().filter(|_| own) {
            let Item::Form(form) = item else { continue };
            if let Some((_, softer)) = LOSSES.iter().find(|(loss, _)| loss == form) {
                *form = softer;
            }
        }
    }

    /// Returns true for a set of containers that nothing gives the name of production.
    fn is_own_project(&self, rest: &[Field], call: &Call) -> bool {
        let named = ["COMPOSE_PROJECT_NAME", "COMPOSE_FILE", "COMPOSE_PROFILES"];
        let earnest = |text: &str| is_earnest(text) || text.contains("prod");
        rest.iter().all(|field| field.known && !earnest(&field.text))
            && named.iter().all(|name| self.named(call, name).is_none_or(|text| !earnest(&text)))
            && self.engine_host(&[], call).is_none()
    }

    /// Returns the machine that a container engine works on, if that is not this one: what the
    /// flags before the engine's verb say, else the variables.
    pub(super) fn engine_host(&self, flags: &[Field], call: &Call) -> Option<String> {
        let given = |names: &[&str], variables: &[&str]| {
            let flag = flag_value(flags, names).map(str::to_owned);
            flag.or_else(|| variables.iter().find_map(|name| self.named(call, name)))
        };
        let local = |address: &str| {
            address.is_empty()
                || ["unix:", "npipe:", "fd:", "/"].iter().any(|start| address.starts_with(start))
                || places::host(address).is_some_and(|host| places::is_loopback(&host))
        };
        let host = given(&["-H", "--host", "--url"], ENGINE_HOSTS).filter(|host| !local(host));
        let context = given(&["--context", "-c", "--connection"], ENGINE_CONTEXTS)
            .filter(|context| !OWN_CONTEXTS.contains(&context.as_str()));
        host.or(context).map(|away| places::host(&away).unwrap_or(away))
    }

    /// Returns true if a client's statements reach a database of this machine or of one's own
    /// container, and neither has the name of production.
    pub(super) fn is_own_database(
        &self,
        name: &str,
        texts: &[Field],
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        setting: &Setting,
    ) -> bool {
        let name = catalogue::name_of(name);
        let place = match &setting.place {
            Place::Here => true,
            Place::Host(_) => false,
            Place::Container(container, _) => !is_earnest(container),
        };
        let operands = || plan.operands.iter().filter_map(|at| rest.get(*at));
        let led = rest.iter().any(|field| {
            let flag = field.text.split('=').next().unwrap_or("");
            LEADING.contains(&flag)
                || ["service=", "hostaddr="].iter().any(|key| field.text.contains(key))
        });
        let address = |field: &&Field| {
            let text = field.text.as_str();
            let plain = !text.contains(['.', ':', '/']) || text.ends_with(".js");
            !plain && places::host(text).is_none_or(|host| !places::is_loopback(&host))
        };
        let far = name.starts_with("mongo") && operands().any(|field| address(&field));
        let earnest = flag_value(rest, DATABASES)
            .map(str::to_owned)
            .into_iter()
            .chain(operands().map(|field| field.text.clone()))
            .chain(rest.iter().filter(|field| field.text.contains("://")).map(|f| f.text.clone()))
            .chain(["PGDATABASE", "DATABASE_URL"].iter().filter_map(|name| self.named(call, name)))
            .any(|text| is_earnest(&text));
        let statements = || texts.iter().flat_map(|field| sql::strip_flag(&field.text).split(';'));
        CLIENTS.contains(&name)
            && place
            && !led
            && !far
            && !earnest
            && rest.iter().chain(texts).all(|field| field.known)
            && self.is_here(rest, call, setting)
            && !statements()
                .any(|text| goes_elsewhere(text) || dropped(text).is_some_and(is_earnest))
    }

    /// Notes the loss of a database's data on this machine; false for anything less.
    pub(super) fn lose_own_data(
        &mut self,
        change: Change,
        command: Option<u32>,
        setting: &Setting,
    ) -> bool {
        let loses = matches!(change, Change::Table | Change::Drop);
        if loses {
            self.out.form("drop-own-data", command);
            self.plain(EffectKind::RemoteDelete, "database", true, command, setting);
        }
        loses
    }
}
