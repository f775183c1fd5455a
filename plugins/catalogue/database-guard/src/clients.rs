//! Clients of databases: where their statements stand, and where they say which database they reach.

use crate::lexer::Language;

/// What the first word of a client that is no option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A database, an address or connection parameters.
    Database,
    /// A file that is the database; further operands are statements.
    File,
    /// Statements.
    Statements,
    /// The words of one call.
    Call,
    /// A host.
    Host,
    /// A file of statements.
    Script,
}

/// One client, or several that take the same options.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The names of its programs.
    pub names: &'static [&'static str],
    /// The language of its statements.
    pub language: Language,
    /// Options whose value is statements.
    pub says: &'static [&'static str],
    /// Options whose value is a file of statements.
    pub reads: &'static [&'static str],
    /// Options whose value is a host or an address.
    pub hosts: &'static [&'static str],
    /// Options whose value is a database.
    pub databases: &'static [&'static str],
    /// Other options that have a value.
    pub others: &'static [&'static str],
    /// What its first word means that is no option.
    pub operand: Operand,
    /// It connects to this machine unless something says otherwise.
    pub local: bool,
}

const NONE: &[&str] = &[];

/// All clients.
const CLIENTS: &[Client] = &[
    Client {
        names: &["psql", "pgcli", "vsql", "gsql", "edb-psql", "ysqlsh"],
        language: Language::Postgres,
        says: &["-c", "--command"],
        reads: &["-f", "--file"],
        hosts: &["-h", "--host"],
        databases: &["-d", "--dbname"],
        others: &[
            "-U",
            "--username",
            "-p",
            "--port",
            "-v",
            "--set",
            "--variable",
            "-o",
            "--output",
            "-P",
            "--pset",
            "-F",
            "-R",
            "-T",
            "-L",
        ],
        operand: Operand::Database,
        local: true,
    },
    Client {
        names: &["cockroach"],
        language: Language::Postgres,
        says: &["-e", "--execute"],
        reads: &["-f", "--file"],
        hosts: &["--host", "--url"],
        databases: &["-d", "--database"],
        others: &["-u", "--user", "-p", "--port", "--certs-dir"],
        operand: Operand::Database,
        local: true,
    },
    Client {
        names: &["usql"],
        language: Language::Standard,
        says: &["-c", "--command"],
        reads: &["-f", "--file"],
        hosts: NONE,
        databases: NONE,
        others: &["-o", "--out", "-v", "--set"],
        operand: Operand::Database,
        local: false,
    },
    Client {
        names: &["mysql", "mariadb", "mycli", "mysqlsh", "tidb", "tiup", "dolt"],
        language: Language::Mysql,
        says: &["-e", "--execute", "-q", "--query", "--init-command"],
        reads: &["-f", "--file"],
        hosts: &["-h", "--host", "--uri", "--login-path"],
        databases: &["-D", "--database"],
        others: &[
            "-u",
            "--user",
            "-P",
            "--port",
            "-S",
            "--socket",
            "--defaults-file",
            "--defaults-extra-file",
        ],
        operand: Operand::Database,
        local: true,
    },
    Client {
        names: &["sqlite3", "sqlite", "litecli", "duckdb"],
        language: Language::Standard,
        says: &["-c", "-s", "-cmd", "--cmd", "-e"],
        reads: &["-init", "--init", "-f"],
        hosts: NONE,
        databases: NONE,
        others: &["-separator", "-nullvalue", "-newline"],
        operand: Operand::File,
        local: true,
    },
    Client {
        names: &["sqlcmd", "osql", "isql", "tsql"],
        language: Language::SqlServer,
        says: &["-Q", "-q", "--query", "--initial-query"],
        reads: &["-i", "--input-file"],
        hosts: &["-S", "--server"],
        databases: &["-d", "-D", "--database-name"],
        others: &["-U", "-P", "-o", "-v", "-s", "-w", "-h", "-t", "-l"],
        operand: Operand::Database,
        local: true,
    },
    Client {
        names: &["clickhouse-client", "clickhouse"],
        language: Language::Standard,
        says: &["-q", "--query"],
        reads: &["--queries-file"],
        hosts: &["-h", "--host"],
        databases: &["-d", "--database"],
        others: &["-u", "--user", "--password", "--port", "-f", "--format"],
        operand: Operand::Database,
        local: true,
    },
    Client {
        names: &["cqlsh", "cypher-shell"],
        language: Language::Standard,
        says: &["-e", "--execute"],
        reads: &["-f", "--file"],
        hosts: &["-a", "--address"],
        databases: &["-k", "--keyspace", "-d", "--database"],
        others: &["-u", "--username", "-p", "--password"],
        operand: Operand::Host,
        local: true,
    },
    Client {
        names: &["snowsql", "snow"],
        language: Language::Standard,
        says: &["-q", "--query"],
        reads: &["-f", "--filename"],
        hosts: &["-a", "--accountname", "-c", "--connection"],
        databases: &["-d", "--dbname", "--database", "-s", "--schemaname"],
        others: &["-u", "--username", "-o", "-w", "--warehouse"],
        operand: Operand::Database,
        local: false,
    },
    Client {
        names: &["bq"],
        language: Language::Standard,
        says: NONE,
        reads: NONE,
        hosts: &["--project_id"],
        databases: &["--dataset_id", "--destination_table"],
        others: &["--location", "-n", "--max_rows", "--format"],
        operand: Operand::Statements,
        local: false,
    },
    Client {
        names: &[
            "trino",
            "presto",
            "hive",
            "beeline",
            "spark-sql",
            "impala-shell",
            "influx",
            "sqlplus",
        ],
        language: Language::Standard,
        says: &["-e", "--execute", "-execute", "-q", "--query"],
        reads: &["-f", "--file", "-i"],
        hosts: &["--server", "-host", "--host", "-u", "--url"],
        databases: &["--catalog", "--schema", "-database", "--database", "-d"],
        others: &["-n", "-p", "--user", "-port", "--port", "-username", "-password"],
        operand: Operand::Database,
        local: false,
    },
    Client {
        names: &["mongosh", "mongo"],
        language: Language::Script,
        says: &["--eval", "-e"],
        reads: &["-f", "--file"],
        hosts: &["--host"],
        databases: NONE,
        others: &["-u", "--username", "-p", "--password", "--port", "--authenticationDatabase"],
        operand: Operand::Database,
        local: true,
    },
    Client {
        names: &["redis-cli", "valkey-cli", "keydb-cli", "iredis"],
        language: Language::Standard,
        says: NONE,
        reads: &["--eval"],
        hosts: &["-h", "-u", "-s"],
        databases: &["-n"],
        others: &["-p", "-a", "--user", "--pass", "-r", "-i", "--pattern"],
        operand: Operand::Call,
        local: true,
    },
    Client {
        names: &["wrangler", "turso", "heroku", "supabase", "neonctl", "fly", "flyctl"],
        language: Language::Standard,
        says: &["--command", "-c"],
        reads: &["--file", "-f"],
        hosts: &["-a", "--app", "--project-ref", "--project-id", "-r", "--remote"],
        databases: &["-d", "--database", "-e", "--env"],
        others: NONE,
        operand: Operand::Database,
        local: false,
    },
    Client {
        names: &["aws", "gcloud"],
        language: Language::Standard,
        says: &["--sql", "--query-string"],
        reads: NONE,
        hosts: &["--resource-arn", "--cluster-identifier", "--instance", "--profile", "--project"],
        databases: &["--database", "--db"],
        others: &["--secret-arn", "--region", "--output"],
        operand: Operand::Script,
        local: false,
    },
];

/// Returns a client by its program.
pub fn client(program: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.names.contains(&program))
}

/// Programs that destroy or load a whole database, and need no statement for it.
pub fn is_tool(program: &str) -> bool {
    matches!(
        program,
        "dropdb"
            | "dropuser"
            | "mysqladmin"
            | "mariadb-admin"
            | "pg_restore"
            | "mongorestore"
            | "createdb"
            | "mysqlimport"
            | "pg_resetwal"
    )
}

/// A part of a client's command line.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// Statements.
    Statements(&'a str),
    /// A file of statements.
    File(&'a str),
    /// Where it connects to.
    Host(&'a str),
    /// The database.
    Database(&'a str),
    /// A word that is no option, and its position among these.
    Operand(usize, &'a str),
    /// The value of any other option.
    Other(&'a str),
    /// An option without a value.
    Flag(&'a str),
}

/// Cuts a client's words into parts.
pub fn parts<'a>(client: &Client, words: &[&'a str]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut operands = 0;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let call = client.operand == Operand::Call && operands > 0;
        if !word.starts_with('-') || word == "-" || word == "--" || call {
            parts.push(Part::Operand(operands, word));
            operands += 1;
            continue;
        }
        let (name, attached) = split(client, word);
        let part: fn(&'a str) -> Part<'a> = match client.kind_of(&name) {
            Some(Kind::Says) => Part::Statements,
            Some(Kind::Reads) => Part::File,
            Some(Kind::Host) => Part::Host,
            Some(Kind::Database) => Part::Database,
            Some(Kind::Other) => Part::Other,
            None => {
                parts.push(Part::Flag(word));
                continue;
            }
        };
        if let Some(value) = attached.or_else(|| words.next()) {
            parts.push(part(value));
        }
    }
    parts
}

/// What the value of an option is.
#[derive(Clone, Copy)]
enum Kind {
    Says,
    Reads,
    Host,
    Database,
    Other,
}

impl Client {
    fn kind_of(&self, option: &str) -> Option<Kind> {
        [
            (self.says, Kind::Says),
            (self.reads, Kind::Reads),
            (self.hosts, Kind::Host),
            (self.databases, Kind::Database),
            (self.others, Kind::Other),
        ]
        .into_iter()
        .find_map(|(options, kind)| options.contains(&option).then_some(kind))
    }
}

/// Returns the option of a word that has a value, with the value that stands in the word: `--host=a`,
/// `-ha`, `-tAc` (whose last letter has one).
fn split<'a>(client: &Client, word: &'a str) -> (String, Option<&'a str>) {
    if let Some((name, value)) = word.split_once('=')
        && client.kind_of(name).is_some()
    {
        return (name.to_owned(), Some(value));
    }
    // `-pPASSWORD`: what follows the letter are no further options.
    let is_password = client.language == Language::Mysql && word.starts_with("-p");
    if word.starts_with("--") || is_password || client.kind_of(word).is_some() {
        return (word.to_owned(), None);
    }
    for (at, letter) in word.char_indices().skip(1) {
        let option = format!("-{letter}");
        if client.kind_of(&option).is_some() {
            let value = word.get(at + letter.len_utf8()..).filter(|value| !value.is_empty());
            return (option, value);
        }
        if !letter.is_ascii_alphanumeric() {
            break;
        }
    }
    (word.to_owned(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(program: &str, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split(' ').collect();
        parts(client(program).unwrap(), &words).iter().map(|part| format!("{part:?}")).collect()
    }

    #[test]
    fn options_are_read_in_every_spelling() {
        for (program, line, parts) in [
            ("psql", "-h a -c X", r#"[Host("a"), Statements("X")]"#),
            ("psql", "--host=a --command=X", r#"[Host("a"), Statements("X")]"#),
            ("psql", "-ha -cX", r#"[Host("a"), Statements("X")]"#),
            ("psql", "-tAc X app", r#"[Statements("X"), Operand(0, "app")]"#),
            ("psql", "-X -U me app", r#"[Flag("-X"), Other("me"), Operand(0, "app")]"#),
            (
                "mysql",
                "-uroot -pP app -e X",
                r#"[Other("root"), Flag("-pP"), Operand(0, "app"), Statements("X")]"#,
            ),
            ("mysql", "-BNe X", r#"[Statements("X")]"#),
            (
                "sqlite3",
                "-cmd X a.db Y",
                r#"[Statements("X"), Operand(0, "a.db"), Operand(1, "Y")]"#,
            ),
            (
                "redis-cli",
                "-h a -n 1 DEL -x",
                r#"[Host("a"), Database("1"), Operand(0, "DEL"), Operand(1, "-x")]"#,
            ),
            ("mongosh", "a/b --eval X", r#"[Operand(0, "a/b"), Statements("X")]"#),
        ] {
            assert_eq!(format!("[{}]", show(program, line).join(", ")), parts, "{program} {line}");
        }
    }
}
