//! Disposable databases: on this machine, and named for tests or development, by their own name or
//! by the environment that a framework runs in. Dropping one changes something, and loses nothing.

use super::expand::Field;
use super::simple::Call;
use super::sql::{self, Change};
use super::{Setting, Walker, databases};
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
    ("dropdb", &[]),
    ("mysqladmin", &[]),
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
        let loses =
            |item: &Item| matches!(item, Item::Constant(EffectKind::RemoteDelete, "database"));
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
            _ => match self.named(call, "DATABASE_URL") {
                Some(address) => database_of(&address).is_some_and(is_rehearsal),
                None => self
                    .environment(variables, rest, call)
                    .is_some_and(|environment| is_rehearsal(&environment)),
            },
        };
        if rehearsed {
            for item in plan.items.iter_mut().filter(|item| loses(item)) {
                *item = Item::Constant(EffectKind::RemoteChange, "database");
            }
            plan.items.retain(|item| *item != Item::Form("drop-data"));
        }
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
        let statements =
            || texts.iter().flat_map(|field| databases::strip_flag(&field.text).split(';'));
        let mut grave = statements().filter(|text| sql::change(text) >= Change::Machine).peekable();
        let loses_nothing = |text: &str| match dropped(text) {
            Some(database) => is_rehearsal(database),
            None => connected && stays_in_its_database(text),
        };
        grave.peek().is_some() && grave.all(loses_nothing) && !statements().any(goes_elsewhere)
    }

    /// Returns true if the database is on this machine, according to the command line and its
    /// variables.
    fn is_here(&self, rest: &[Field], call: &Call, setting: &Setting) -> bool {
        let elsewhere = matches!(setting.place, Place::Host(_))
            || setting.wrappers.iter().any(|name| ELSEWHERE.contains(&name.as_str()));
        let local = |host: &str| host.starts_with('/') || places::is_loopback(host);
        let host = flag_value(rest, &["-h", "--host", "-H"]);
        let addressed =
            rest.iter().filter(|field| field.text.contains("://")).map(|field| field.text.clone());
        let conninfo = rest
            .iter()
            .any(|field| field.text.contains("host=") && !field.text.starts_with("--host="));
        let variables = ADDRESSES.iter().filter_map(|name| self.named(call, name));
        let all_local = variables.chain(addressed).all(|text| {
            text.is_empty() || local(&text) || places::host(&text).is_some_and(|host| local(&host))
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
    fn named(&self, call: &Call, name: &str) -> Option<String> {
        let set =
            call.assignments.iter().rev().find(|set| set.name == name).map(|set| set.value.clone());
        set.or_else(|| self.env.get(name).map(|value| value.text))
    }
}

/// Returns true if the name is for tests or development, and nothing in it contradicts that.
fn is_rehearsal(name: &str) -> bool {
    let low = name.to_ascii_lowercase();
    let has = |words: &[&str]| {
        low.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|part| words.contains(&part.trim_end_matches(|c: char| c.is_ascii_digit())))
    };
    has(REHEARSALS)
        && !has(EARNEST)
        && low.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Returns the database in an address: `postgres://HOST/DATABASE?OPTIONS`.
fn database_of(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let (_, path) = rest.split_once('/')?;
    path.split(['?', '/']).next()
}

/// Returns the database that a statement drops as a whole.
fn dropped(statement: &str) -> Option<&str> {
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
    let low = statement.to_ascii_lowercase();
    sql::change(statement) != Change::Machine
        && !["database", "schema", "keyspace", ".", "--", "/*", "#"]
            .iter()
            .any(|sign| low.contains(sign))
}

/// Returns true if it goes to another database before the next statement.
fn goes_elsewhere(statement: &str) -> bool {
    let low = statement.trim_start().to_ascii_lowercase();
    ["\\c", "use ", "connect "].iter().any(|order| low.starts_with(order))
        || low.contains("\n\\c")
        || low.contains("\nuse ")
}

/// Returns the value of the first of these flags: a word of its own, after `=`, or after the
/// letter.
fn flag_value<'f>(rest: &'f [Field], flags: &[&str]) -> Option<&'f str> {
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
