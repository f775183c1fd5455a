//! Words in the names of foreign tools and of their parameters, by what they tell.

/// Words in a tool's name that mean that it runs command lines.
pub(super) const SHELLS: &[&str] =
    &["shell", "bash", "exec", "execute", "terminal", "console", "run", "cmd", "powershell"];
/// Words in a tool's name that mean that it runs code.
pub(super) const RUNS: &[&str] = &[
    "eval",
    "evaluate",
    "interpreter",
    "ipython",
    "jupyter",
    "kernel",
    "notebook",
    "python",
    "repl",
    "sandbox",
];
/// Words in a tool's name that mean that it inspects code without running it.
pub(super) const STUDIES: &[&str] = &[
    "analyze",
    "check",
    "explain",
    "format",
    "highlight",
    "lint",
    "parse",
    "review",
    "search",
    "validate",
];
/// Parameters that name something outside this machine: with them, a path is not a local one.
pub(super) const REMOTE: &[&str] =
    &["owner", "repo", "repository", "bucket", "project", "project_id", "branch"];
/// Names of parameters that name a kind of thing.
pub(super) const KINDS: &[&str] =
    &["kind", "resource", "resourcetype", "type", "objecttype", "entitytype"];
/// Branches that others build on.
pub(super) const SHARED: &[&str] =
    &["main", "master", "trunk", "production", "prod", "release", "stable"];
/// Names of parameters that hold a path.
pub(super) const PATHS: &[&str] = &[
    "path",
    "file",
    "file_path",
    "filepath",
    "filename",
    "file_name",
    "source",
    "src",
    "source_path",
    "destination",
    "dest",
    "destination_path",
    "target_path",
    "directory",
    "dir",
    "folder",
    "old_path",
    "new_path",
    "attachment",
    "uri",
    "paths",
    "files",
    "filenames",
    "file_names",
    "file_paths",
    "filepaths",
    "attachments",
    "absolute_path",
    "local_path",
    "relative_path",
    "input_path",
    "output_path",
    "image_path",
    "uris",
];
/// Names of parameters that hold text for people, without signs between words.
pub(super) const PROSE: &[&str] =
    &["body", "comment", "commitmessage", "description", "notes", "subject", "summary", "title"];
/// Names of parameters that hold statements for a database, without signs between words.
pub(super) const SQL: &[&str] = &[
    "cql",
    "cypher",
    "cypherquery",
    "ddl",
    "querysql",
    "querytext",
    "rawsql",
    "sql",
    "sqlcommand",
    "sqlquery",
    "sqls",
    "sqlscript",
    "sqlstatement",
    "sqlstatements",
    "sqltext",
    "statements",
];
/// Names of parameters that hold a query.
pub(super) const QUERIES: &[&str] = &["query", "queries", "sql", "statement", "pipeline"];
/// Words in a tool's name that mean that it talks to a database.
pub(super) const DATABASES: &[&str] = &[
    "sql",
    "query",
    "database",
    "db",
    "postgres",
    "mysql",
    "sqlite",
    "supabase",
    "neon",
    "clickhouse",
    "bigquery",
    "snowflake",
    "redshift",
    "mariadb",
    "migration",
    "athena",
    "cassandra",
    "cockroachdb",
    "cypher",
    "d1",
    "databricks",
    "dbhub",
    "duckdb",
    "libsql",
    "mongo",
    "mongodb",
    "motherduck",
    "mssql",
    "neo4j",
    "oracle",
    "pg",
    "planetscale",
    "postgresql",
    "presto",
    "spanner",
    "sqlserver",
    "surrealdb",
    "timescale",
    "trino",
    "turso",
];
/// Programs whose servers take their words without their name.
pub(super) const PROGRAMS: &[&str] = &[
    "ansible",
    "apt",
    "aws",
    "az",
    "brew",
    "cargo",
    "docker",
    "flyctl",
    "gcloud",
    "gem",
    "gh",
    "git",
    "helm",
    "heroku",
    "kubectl",
    "npm",
    "pip",
    "pnpm",
    "podman",
    "pulumi",
    "redis",
    "systemctl",
    "terraform",
    "terragrunt",
    "tofu",
    "uv",
    "vault",
    "wrangler",
    "yarn",
];
/// Words in a tool's name that mean that it only shows facts about a file.
pub(super) const METADATA: &[&str] = &["exists", "info", "metadata", "size", "stat"];
/// Words in a tool's name that mean that it puts code where it runs, and the code that it puts.
pub(super) const INSTALLS: &[&str] = &["add", "install", "load", "sideload"];
pub(super) const INSTALLED: &[&str] = &[
    "addon",
    "app",
    "chart",
    "dependency",
    "extension",
    "extensions",
    "hook",
    "module",
    "package",
    "packages",
    "plugin",
    "plugins",
    "server",
    "skill",
    "tap",
    "template",
    "theme",
];
/// Words in a tool's name that mean that it makes requests.
pub(super) const REQUESTS: &[&str] =
    &["api", "call", "curl", "fetch", "http", "post", "put", "request", "webhook"];
/// Parameters of a movement of money.
pub(super) const AMOUNTS: &[&str] = &["amount", "amountcents", "amountminor"];
/// Parameters that name who gets it.
pub(super) const PAYEES: &[&str] = &[
    "beneficiary",
    "currency",
    "destinationaccount",
    "iban",
    "payee",
    "recipientaccount",
    "toaccount",
    "toaddress",
    "wallet",
    "walletaddress",
];
/// Parameters that name the environment that a tool acts on.
pub(super) const STAGES: &[&str] = &[
    "branch",
    "cluster",
    "context",
    "env",
    "environment",
    "namespace",
    "project",
    "stage",
    "target",
];
/// Names of parameters that hold content sent with a request.
pub(super) const BODIES: &[&str] = &["body", "data", "payload", "form", "json", "content"];
/// Words in a tool's name that mean that something is sent to a recipient.
pub(super) const SENDS: &[&str] = &[
    "send", "email", "mail", "upload", "post", "publish", "notify", "share", "submit", "message",
    "reply", "forward",
];
/// Words in a tool's name that mean that a path is only read.
pub(super) const READS: &[&str] = &[
    "read", "get", "list", "view", "search", "find", "stat", "show", "open", "cat", "load",
    "fetch", "download",
];
pub(super) const WRITES: &[&str] = &[
    "write", "save", "append", "edit", "update", "patch", "modify", "put", "create", "move",
    "rename", "copy", "replace",
];
pub(super) const DELETES: &[&str] = &["delete", "remove", "rm", "unlink", "trash", "erase"];
/// Words that a command follows in a sentence that instructs a shell.
pub(super) const ORDERS: &[&str] = &["run", "execute", "exec", "type", "enter", "invoke"];
/// Words in names of environment variables whose values a template would reveal.
pub(super) const SECRETS: &[&str] = &["key", "token", "secret", "password", "passwd", "credential"];
