//! Disposable databases: on this machine, and named for tests or development, by their own name or
//! by the environment that a framework runs in. Dropping one changes something, and loses nothing.

use super::expand::Field;
use super::simple::Call;
use super::sql::{self, Change};
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places::{self, Place};
use crate::types::EffectKind;

/// Words of a name that mean tests and development.
const REHEARSALS: &[&str] = &[
    "ci",
    "dev",
    "development",
    "e2e",
    "sandbox",
    "scratch",
    "temp",
    "test",
    "testing",
    "tests",
    "tmp",
];
/// Words of a name that mean something more important.
const EARNEST: &[&str] = &[
    "backup",
    "customer",
    "customers",
    "live",
    "main",
    "master",
    "prod",
    "production",
    "stage",
    "staging",
];
/// Variables that name a database's machine or address.
const ADDRESSES: &[&str] = &[
    "DATABASE_URL",
    "DB_HOST",
    "DB_URL",
    "MYSQL_HOST",
    "PGHOST",
    "PGHOSTADDR",
    "POSTGRES_HOST",
    "TEST_DATABASE_URL",
];
/// Variables that make its location unknown.
const SERVICES: &[&str] = &["PGSERVICE", "PGSERVICEFILE", "MYSQL_HOME"];
/// Frameworks, and the variables that name the environment they run in.
const FRAMEWORKS: &[(&str, &[&str])] = &[
    ("rails", &["RAILS_ENV", "RACK_ENV"]),
    ("rake", &["RAILS_ENV", "RACK_ENV"]),
    ("mix", &["MIX_ENV"]),
    ("sequelize", &["NODE_ENV"]),
    ("sequelize-cli", &["NODE_ENV"]),
    ("typeorm", &["NODE_ENV"]),
    ("knex", &["NODE_ENV"]),
    ("prisma", &[]),
    ("dbmate", &[]),
    ("sqlx", &[]),
    ("artisan", &["APP_ENV"]),
    ("console", &["APP_ENV"]),
    ("symfony", &["APP_ENV"]),
    ("manage.py", &[]),
    ("django-admin", &[]),
    ("alembic", &[]),
    ("flask", &["FLASK_ENV"]),
    ("flyway", &[]),
    ("liquibase", &[]),
    ("diesel", &[]),
    ("goose", &[]),
    ("migrate", &[]),
    ("mikro-orm", &["NODE_ENV"]),
    ("drizzle-kit", &["NODE_ENV"]),
    ("hasura", &[]),
    ("pg_restore", &[]),
    ("mongorestore", &[]),
    ("dropdb", &[]),
    ("mysqladmin", &[]),
];
/// Clients of services, the variable that holds the service's address, and the flags that take
/// precedence over it.
const CLIENTS: &[(&str, &str, &[&str])] = &[
    ("aws", "AWS_ENDPOINT_URL", &["--endpoint-url"]),
    ("celery", "CELERY_BROKER_URL", &["-b", "--broker"]),
    ("consul", "CONSUL_HTTP_ADDR", &["-http-addr", "--http-addr"]),
    ("nats", "NATS_URL", &["-s", "--server", "--context"]),
    ("nomad", "NOMAD_ADDR", &["-address", "--address"]),
    ("temporal", "TEMPORAL_ADDRESS", &["--address", "--env"]),
    ("vault", "VAULT_ADDR", &["-address", "--address"]),
];
/// Programs that run the command elsewhere, though in a container.
const ELSEWHERE: &[&str] = &["kubectl", "oc", "heroku", "fly", "flyctl"];

impl Walker<'_> {
    /// Removes the loss from a plan that drops such a database.
    pub(super) fn rehearse(
        &self,
        name: &str,
        rest: &[Field],
        plan: &mut Plan,
        call: &Call,
        setting: &Setting,
    ) {
        let loses = |item: &Item| {
            matches!(
                item,
                Item::Constant(EffectKind::RemoteDelete, "database")
                    | Item::Form("drop-data" | "undo-migrations")
            )
        };
        if !plan.local && self.is_emulated(name, rest, call) {
            plan.stay_here();
        }
        let Some((_, variables)) = FRAMEWORKS.iter().find(|(framework, _)| *framework == name)
        else {
            return;
        };
        if !plan.items.iter().any(loses)
            || !self.is_here(rest, call, setting)
            || !rest.iter().all(|field| field.known)
        {
            return;
        }
        let operands: Vec<&str> = plan
            .operands
            .iter()
            .filter_map(|at| rest.get(*at))
            .map(|field| field.text.as_str())
            .collect();
        let rehearsed = match name {
            "dropdb" => operands.last().is_some_and(|database| is_rehearsal(database)),
            "mysqladmin" => operands
                .last()
                .filter(|_| operands.len() > 1)
                .is_some_and(|database| is_rehearsal(database)),
            "pg_restore" | "mongorestore" => {
                let database = flag_value(rest, &["-d", "--dbname", "--db"]);
                database.is_some_and(is_rehearsal) || addressed(rest).is_some_and(is_rehearsal)
            }
            // A word is nearer than a variable.
            _ => match addressed(rest) {
                Some(database) => is_rehearsal(database),
                None => match self.named(call, "DATABASE_URL") {
                    Some(address) => database_of(&address).is_some_and(is_rehearsal),
                    None => self
                        .environment(variables, rest, call)
                        .is_some_and(|environment| is_rehearsal(&environment)),
                },
            },
        };
        if rehearsed {
            plan.items.retain(|item| !matches!(item, Item::Form("drop-data" | "undo-migrations")));
            for item in plan.items.iter_mut().filter(|item| loses(item)) {
                *item = Item::Constant(EffectKind::RemoteChange, "database");
            }
        }
    }

    /// Returns true if a variable leads the client of a service to this machine, and no word leads
    /// it elsewhere.
    fn is_emulated(&self, name: &str, rest: &[Field], call: &Call) -> bool {
        let Some((_, variable, flags)) = CLIENTS.iter().find(|(client, ..)| *client == name) else {
            return false;
        };
        let led = rest.iter().any(|field| {
            flags.iter().any(|flag| {
                field
                    .text
                    .strip_prefix(flag)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        });
        let service = rest.iter().find(|field| !field.text.starts_with('-')).map(|field| {
            // `aws s3api` reaches the service of `AWS_ENDPOINT_URL_S3`.
            let service = field.text.trim_end_matches("api").to_ascii_uppercase();
            format!("{variable}_{}", service.replace('-', "_"))
        });
        // The variable of one service takes precedence over that of all.
        let address = service
            .filter(|_| name == "aws")
            .and_then(|own| self.named(call, &own))
            .or_else(|| self.named(call, variable));
        !led && address
            .and_then(|address| places::host(&address))
            .is_some_and(|host| places::is_loopback(&host))
    }

    /// Returns true if a client's statements lose data of such a database only.
    pub(super) fn rehearsed(
        &self,
        texts: &[Field],
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        setting: &Setting,
    ) -> bool {
        if !self.is_here(rest, call, setting) || !texts.iter().chain(rest).all(|field| field.known)
        {
            return false;
        }
        let named = flag_value(rest, &["-d", "-D", "--dbname", "--database", "--db"]);
        let operand =
            plan.operands.first().and_then(|at| rest.get(*at)).map(|field| field.text.as_str());
        let connected = named
            .or(operand)
            .map(|text| database_of(text).unwrap_or(text))
            .is_some_and(is_rehearsal);
        // What a container for tests holds is a rehearsal too, whatever its databases are called.
        let contained = matches!(&setting.place, Place::Container(name, _) if is_rehearsal(name));
        let is_spare = |name: &str| is_rehearsal(name) || contained && !is_earnest(name);
        let statements = || texts.iter().flat_map(|field| sql::strip_flag(&field.text).split(';'));
        let mut grave = statements().filter(|text| sql::change(text) >= Change::Machine).peekable();
        let loses_nothing = |text: &str| match dropped(text) {
            Some(database) => is_spare(database),
            None => connected && stays_in_its_database(text),
        };
        grave.peek().is_some() && grave.all(loses_nothing) && !statements().any(goes_elsewhere)
    }

    /// Returns true if the database is on this machine, according to the command line and its
    /// variables.
    pub(super) fn is_here(&self, rest: &[Field], call: &Call, setting: &Setting) -> bool {
        let elsewhere = matches!(setting.place, Place::Host(_))
            || setting.wrappers.iter().any(|name| ELSEWHERE.contains(&name.as_str()));
        let local = |host: &str| host.starts_with('/') || places::is_loopback(host);
        let host = flag_value(rest, &["-h", "--host", "-H"]);
        let addressed = rest
            .iter()
            .filter(|field| field.text.contains("://") || file_of(value_in(&field.text)).is_some())
            .map(|field| value_in(&field.text).to_owned());
        // The host of a connection string is not read, so it may be any.
        let conninfo = rest
            .iter()
            .any(|field| field.text.contains("host=") && !field.text.starts_with("--host="));
        let variables = ADDRESSES.iter().filter_map(|name| self.named(call, name));
        let all_local = variables.chain(addressed).all(|text| {
            text.is_empty()
                || local(&text)
                || file_of(&text).is_some()
                || places::host(&text).is_some_and(|host| local(&host))
        });
        !elsewhere
            && !conninfo
            && host.is_none_or(local)
            && all_local
            && SERVICES.iter().all(|name| self.named(call, name).is_none())
    }

    /// Returns the environment that a framework is set to run in.
    fn environment(&self, variables: &[&str], rest: &[Field], call: &Call) -> Option<String> {
        let argument = rest.iter().find_map(|field| {
            let (name, value) = field.text.split_once('=')?;
            variables.contains(&name).then(|| value.to_owned())
        });
        let flag = flag_value(rest, &["--env", "--environment", "-e"]).map(str::to_owned);
        argument.or(flag).or_else(|| variables.iter().find_map(|name| self.named(call, name)))
    }

    /// Returns a variable's value, as the call or an earlier part of the line sets it; unknown
    /// parts remain in it.
    pub(super) fn named(&self, call: &Call, name: &str) -> Option<String> {
        let set =
            call.assignments.iter().rev().find(|set| set.name == name).map(|set| set.value.clone());
        set.or_else(|| self.env.get(name).map(|value| value.text))
    }
}

/// Returns true for a name that has one of these words in it, with or without a number.
fn has_word(name: &str, words: &[&str]) -> bool {
    name.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| words.contains(&part.trim_end_matches(|c: char| c.is_ascii_digit())))
}

/// Returns true if the name is for something that others depend on.
pub(super) fn is_earnest(name: &str) -> bool {
    has_word(name, EARNEST)
}

/// Returns true if the name is for tests or development, and nothing in it contradicts that.
fn is_rehearsal(name: &str) -> bool {
    let low = name.to_ascii_lowercase();
    has_word(name, REHEARSALS)
        && !is_earnest(name)
        && low.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Returns true if the words name a database of another machine.
pub(super) fn is_elsewhere(rest: &[Field]) -> bool {
    let far = |host: &str| !host.starts_with('/') && !places::is_loopback(host);
    let host = flag_value(rest, &["-h", "--host"]).map(str::to_owned);
    let address = rest.iter().find(|field| field.text.contains("://"));
    let address = address.and_then(|field| places::host(value_in(&field.text)));
    host.or(address).is_some_and(|host| far(&host))
}

/// Returns true if the words name a database at a machine with a full name or a number: a short
/// name is mostly a container of the project.
pub(super) fn is_far_off(rest: &[Field]) -> bool {
    let host = flag_value(rest, &["-h", "--host"]).map(str::to_owned);
    let address = rest.iter().find(|field| field.text.contains("://"));
    let address = address.and_then(|field| places::host(value_in(&field.text)));
    let own = |host: &str| {
        super::safeguards::is_own_host(host)
            || [".local", ".localhost", ".internal", ".test", ".lan"]
                .iter()
                .any(|end| host.ends_with(end))
    };
    host.or(address).is_some_and(|host| host.contains('.') && !host.starts_with('/') && !own(&host))
}

/// Returns the database that one of the words names by its address.
fn addressed(rest: &[Field]) -> Option<&str> {
    rest.iter().find_map(|field| {
        let text = value_in(&field.text);
        (text.contains("://") || file_of(text).is_some()).then(|| database_of(text)).flatten()
    })
}

/// Returns the address in `-url=ADDRESS`, or the word itself.
fn value_in(text: &str) -> &str {
    let flag = text.split_once('=').filter(|(flag, _)| flag.starts_with('-'));
    flag.map_or(text, |(_, value)| value)
}

/// Returns the name of a database that is a file of the project or in memory: `file:./test.db`,
/// `sqlite:///test.db`, `jdbc:h2:mem:test`. An absolute path is somebody's.
fn file_of(address: &str) -> Option<&str> {
    let address = address.strip_prefix("jdbc:").unwrap_or(address);
    let rest = ["file:", "sqlite:", "sqlite3:", "h2:mem:", "h2:file:", "hsqldb:mem:"]
        .iter()
        .find_map(|start| address.strip_prefix(start))?;
    let path = rest.split(['?', ';']).next().unwrap_or(rest);
    // `sqlite://PATH` and `sqlite:///PATH` are from the folder, `sqlite:////PATH` is not.
    let path = path.strip_prefix("///").or_else(|| path.strip_prefix("//")).unwrap_or(path);
    let outside = path.starts_with(['/', '~']) || path.contains("..") || path.contains('$');
    let scratch = path.starts_with("/tmp/");
    let name = path.rsplit('/').next().unwrap_or(path).trim_matches(':');
    (!outside || scratch).then_some(if name == "memory" { "tmp" } else { name })
}

/// Returns the database in an address: `postgres://HOST/DATABASE?OPTIONS`.
fn database_of(address: &str) -> Option<&str> {
    if let Some(name) = file_of(address) {
        return Some(name);
    }
    let (_, rest) = address.split_once("://")?;
    let (_, path) = rest.split_once('/')?;
    path.split(['?', '/']).next()
}

/// Returns the database that a statement drops as a whole.
pub(super) fn dropped(statement: &str) -> Option<&str> {
    let mut words = statement.split_ascii_whitespace();
    let orders = words.next()?.eq_ignore_ascii_case("drop")
        && words.next()?.eq_ignore_ascii_case("database");
    let mut rest = words
        .filter(|word| !["if", "exists"].iter().any(|filler| word.eq_ignore_ascii_case(filler)));
    orders.then(|| rest.next()).flatten().map(|name| name.trim_matches(['"', '`', '\'']))
}

/// Returns true for a statement about tables of the database that the client is connected to, and
/// no other.
fn stays_in_its_database(statement: &str) -> bool {
    // In the language of MongoDB's shell this means the database that it is connected to.
    let low = statement.to_ascii_lowercase().replace("db.dropdatabase()", "");
    sql::change(statement) != Change::Machine
        && !low.contains("getsiblingdb")
        // A dot may name a table of another database.
        && !["database", "schema", "keyspace", ".", "--", "/*", "#"]
            .iter()
            .any(|sign| low.contains(sign))
}

/// Returns true if it goes to another database before the next statement.
pub(super) fn goes_elsewhere(statement: &str) -> bool {
    let low = statement.trim_start().to_ascii_lowercase();
    ["\\c", "use ", "connect "].iter().any(|order| low.starts_with(order))
        || low.contains("\n\\c")
        || low.contains("\nuse ")
}

/// Returns the value of the first of these flags: a word of its own, after `=`, or after the
/// letter.
pub(super) fn flag_value<'f>(rest: &'f [Field], flags: &[&str]) -> Option<&'f str> {
    rest.iter().enumerate().find_map(|(at, field)| {
        let text = field.text.as_str();
        flags.iter().find_map(|flag| match text.strip_prefix(flag)? {
            "" => rest.get(at + 1).map(|value| value.text.as_str()),
            attached if flag.starts_with("--") => attached.strip_prefix('='),
            attached => Some(attached.trim_start_matches('=')),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_rehearsal;

    #[test]
    fn names_of_test_databases() {
        for name in
            ["app_test", "test", "app-development", "test1", "APP_TEST", "ci.app", "app_test_2"]
        {
            assert!(is_rehearsal(name), "{name}");
        }
        for name in [
            "app",
            "prod",
            "app_production",
            "test_prod",
            "contest",
            "latest",
            "",
            "test'; drop",
            "staging_test",
        ] {
            assert!(!is_rehearsal(name), "{name}");
        }
    }
}
