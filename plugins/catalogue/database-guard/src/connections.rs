//! Which database a command reaches: production, another machine, this one, or one made for tests.

use crate::names::{Class, Patterns};
use portcullis_plugin::text::cut;

/// What the host writes for a value that only the run can tell.
pub const UNKNOWN: char = '\u{FFFD}';

/// Which database a command reaches, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connection {
    /// One made for tests or development.
    Test,
    /// One of this machine.
    Local,
    /// Nothing says.
    Unknown,
    /// One of another machine.
    Remote,
    /// What customers use.
    Production,
}

/// A connection, and the name that says so.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Which database.
    pub connection: Connection,
    /// The name; empty if nothing says.
    pub name: String,
}

impl Reach {
    /// Returns where that is, as a part of a sentence.
    pub fn describe(&self) -> String {
        match self.connection {
            Connection::Test => "in a database for tests".to_owned(),
            Connection::Local => "in a database of this machine".to_owned(),
            Connection::Unknown => "in a database that the command does not name".to_owned(),
            Connection::Remote => format!("on `{}`, another machine", self.name),
            Connection::Production => format!("in production, which `{}` names", self.name),
        }
    }
}

/// Decides from names which database a command reaches.
pub struct Judge<'p> {
    patterns: &'p Patterns,
    production: Option<String>,
    test: bool,
    remote: Option<String>,
    /// Some value that says where is known only when it runs.
    open: bool,
    /// Something says that it is this machine.
    local: bool,
}

impl<'p> Judge<'p> {
    /// Begins; `local` for a client that connects to this machine by itself.
    pub const fn new(patterns: &'p Patterns, local: bool) -> Self {
        Self { patterns, production: None, test: false, remote: None, open: false, local }
    }

    /// Sees a name on the way: it can make the connection stricter, and never milder.
    pub fn see_mention(&mut self, name: &str) {
        if !name.contains(char::is_whitespace)
            && self.patterns.find(name) == Some(Class::Production)
        {
            self.keep_production(name);
        }
    }

    fn keep_production(&mut self, name: &str) {
        const LONGEST: usize = 80;
        self.production.get_or_insert_with(|| cut(name, LONGEST));
    }

    /// Sees the name of a database or environment.
    pub fn see_database(&mut self, name: &str) {
        self.open |= name.contains([UNKNOWN, '$']);
        match self.patterns.find(name) {
            Some(Class::Production) => self.keep_production(name),
            Some(Class::Test) => self.test = true,
            None => {}
        }
    }

    /// Sees a database that is a file.
    pub fn see_file(&mut self, path: &str) {
        self.test |= matches!(path, "" | ":memory:")
            || ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|start| path.starts_with(start));
        self.local = true;
        self.see_database(path);
    }

    /// Sees a host.
    pub fn see_host(&mut self, host: &str) {
        if host.contains("://") {
            return self.see_address(host);
        }
        self.see_database(host);
        let name = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if host.contains([UNKNOWN, '$']) || name.is_empty() {
            return;
        }
        if is_this_machine(name) {
            self.local = true;
        } else {
            self.remote.get_or_insert_with(|| cut(name, 80));
        }
    }

    /// Sees a host or an address.
    pub fn see_address_or_host(&mut self, text: &str) {
        if text.contains("://") || text.contains('=') {
            self.see_address(text);
        } else {
            self.see_host(text);
        }
    }

    /// Sees a program that leads to another machine.
    pub fn see_way(&mut self, name: &str) {
        self.remote.get_or_insert_with(|| name.to_owned());
    }

    /// Sees an address (`postgres://host/name`), connection parameters (`host=a dbname=b`) or a name.
    pub fn see_address(&mut self, text: &str) {
        let text = text.strip_prefix("jdbc:").unwrap_or(text);
        if let Some((scheme, rest)) = text.split_once("://") {
            if matches!(scheme, "file" | "sqlite" | "sqlite3" | "duckdb") {
                return self.see_file(rest.split('?').next().unwrap_or_default());
            }
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            let host = match host.strip_prefix('[') {
                Some(six) => six.split(']').next().unwrap_or_default(),
                None => host.split(':').next().unwrap_or_default(),
            };
            self.see_mention(user.split(':').next().unwrap_or_default());
            self.see_host(host);
            self.see_database(path.split(['?', ';']).next().unwrap_or_default());
            return;
        }
        if !text.contains('=') {
            return self.see_database(text);
        }
        for pair in text.split([' ', ';', '?', '&']) {
            let Some((key, value)) = pair.split_once('=') else { continue };
            let value = value.trim_matches('\'');
            match key.to_ascii_lowercase().as_str() {
                "host" | "hostaddr" | "server" | "data source" | "address" => self.see_host(value),
                "dbname" | "database" | "initial catalog" => self.see_database(value),
                // The file of services knows the host.
                "service" => {
                    self.see_database(value);
                    self.open = true;
                }
                _ => self.see_mention(value),
            }
        }
    }

    /// Returns what the names amount to.
    pub fn reach(self) -> Reach {
        let of = |connection, name| Reach { connection, name };
        if let Some(name) = self.production {
            return of(Connection::Production, name);
        }
        if self.test && !self.open {
            return of(Connection::Test, String::new());
        }
        match self.remote {
            Some(name) => of(Connection::Remote, name),
            None if self.local && !self.open => of(Connection::Local, String::new()),
            None => of(Connection::Unknown, String::new()),
        }
    }
}

fn is_this_machine(host: &str) -> bool {
    let host = host.strip_prefix("tcp:").unwrap_or(host);
    let name = host.split([',', ':', '\\']).next().unwrap_or_default();
    host.starts_with('/')
        || host == "::1"
        || name.starts_with("127.")
        || matches!(
            name.to_ascii_lowercase().as_str(),
            "localhost" | "0.0.0.0" | "." | "(local)" | "(localdb)" | "host.docker.internal"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_a_database_is() {
        use Connection::{Local, Production, Remote, Test, Unknown};
        let mut patterns = Patterns::default();
        patterns.add(Class::Production, &["prod".to_owned()]);
        patterns.add(Class::Test, &["test".to_owned()]);
        for (address, connection) in [
            ("postgres://u:p@db.prod.example.com:5432/app", Production),
            ("postgres://u@db.example.com/app_prod?sslmode=require", Production),
            ("postgres://db.example.com/app", Remote),
            ("postgres://localhost/app", Local),
            ("postgres://127.0.0.1:5432/app", Local),
            ("postgres://[::1]:5432/app", Local),
            ("postgres:///app", Local),
            ("postgres://localhost/app_test", Test),
            ("postgres://db.example.com/app_test", Test),
            ("postgres://\u{FFFD}/app_test", Unknown),
            ("mongodb+srv://u:p@cluster0.example.net/app", Remote),
            ("host=db.example.com dbname=app", Remote),
            ("host=/run/postgresql dbname=app", Local),
            ("dbname=app_prod", Production),
            ("service=main", Unknown),
            ("sqlite:///tmp/a.db", Test),
            ("jdbc:postgresql://db.prod/app", Production),
            ("app", Local),
            ("\u{FFFD}", Unknown),
        ] {
            let mut judge = Judge::new(&patterns, true);
            judge.see_address(address);
            assert_eq!(judge.reach().connection, connection, "{address}");
        }
    }
}
