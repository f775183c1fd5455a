//! Tools of servers (MCP) that reach a database: a call with a text of statements, or one whose name
//! and effects say what it does.

use crate::connections::Judge;
use crate::findings::Finding;
use crate::judgement::{self, Subject};
use crate::lexer::Language;
use crate::review::{self, Mode};
use crate::settings::Config;
use crate::statements::{Deed, Outcome};
use portcullis_plugin::types::{Action, EffectKind, Evidence, ToolCall};

/// Returns true if a call reaches a database.
pub fn concern(call: &ToolCall, action: &Action) -> bool {
    let facts = &action.facts;
    facts.effects.iter().any(|effect| effect.target == "database") || language(call).is_some()
}

/// Returns the language that the names of a server and its tool tell; none if neither names a
/// database.
fn language(call: &ToolCall) -> Option<Language> {
    let server = call.server.as_deref().unwrap_or_default();
    let parts = |name| str::split(name, |c: char| !c.is_ascii_alphanumeric());
    parts(server).chain(parts(&call.name)).find_map(|part| {
        Some(match part.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" | "pg" | "supabase" | "neon" | "redshift" | "timescale"
            | "cockroach" | "cockroachdb" | "alloydb" => Language::Postgres,
            "mysql" | "mariadb" | "planetscale" | "tidb" => Language::Mysql,
            "mssql" | "sqlserver" => Language::SqlServer,
            "mongodb" | "mongo" => Language::Script,
            "sqlite" | "duckdb" | "sql" | "database" | "db" | "snowflake" | "bigquery"
            | "clickhouse" | "oracle" | "dbhub" | "redis" | "cassandra" | "spanner" | "turso"
            | "athena" | "databricks" => Language::Standard,
            _ => return None,
        })
    })
}

/// Judges a call.
pub fn judge(call: &ToolCall, action: &Action, config: &Config) -> Vec<Finding> {
    let language = language(call);
    let mut judge = Judge::new(&config.patterns, false);
    let server = call.server.as_deref().unwrap_or_default();
    judge.see_database(server);
    let (mut worst, mut loose, mut read) = (Outcome::reads(), 0, false);
    for parameter in &call.arguments {
        let name = parameter.name.to_ascii_lowercase().replace('-', "_");
        if is_statements(&name) {
            read = true;
            let review = review_any(&parameter.value, language);
            review.databases.iter().for_each(|name| judge.see_database(name));
            loose += review.loose;
            if review.worst.deed > worst.deed {
                worst = review.worst;
            }
        } else if is_host(&name) {
            judge.see_address_or_host(&parameter.value);
        } else if is_database(&name) {
            judge.see_database(&parameter.value);
        } else {
            judge.see_mention(&parameter.value);
        }
    }
    if !read {
        worst = of_effects(action);
    }
    let subject = Subject {
        name: call.name.clone(),
        outcome: worst,
        loose,
        reach: judge.reach(),
        evidence: Evidence::new("tool", action.tool.clone()),
    };
    judgement::judge(&subject, config)
}

/// Reviews a text in a language; where that is not known, in those that differ most, and keeps the
/// graver result.
fn review_any(text: &str, language: Option<Language>) -> review::Review {
    let in_language = |language| review::review(text, Mode { language, one_transaction: false });
    match language {
        Some(language) if language != Language::Standard => in_language(language),
        _ => {
            let (first, second) = (in_language(Language::Postgres), in_language(Language::Mysql));
            if second.worst.deed > first.worst.deed { second } else { first }
        }
    }
}

/// Returns what the effects and forms of a call without statements amount to.
fn of_effects(action: &Action) -> Outcome {
    let facts = &action.facts;
    let grave = ["delete-all-rows", "drop-data", "drop-own-data", "destroy-remote"];
    let is_grave = facts.forms.iter().any(|form| grave.contains(&form.id.as_str()));
    let changes = facts
        .effects
        .iter()
        .any(|effect| matches!(effect.kind, EffectKind::RemoteChange | EffectKind::RemoteDelete));
    if is_grave {
        Outcome::new(Deed::Drops, "destroys or empties something")
    } else if changes {
        Outcome::new(Deed::Changes, "")
    } else {
        Outcome::reads()
    }
}

fn is_statements(name: &str) -> bool {
    matches!(
        name,
        "sql"
            | "query"
            | "queries"
            | "statement"
            | "statements"
            | "sql_query"
            | "sqlquery"
            | "script"
            | "command"
            | "code"
            | "migration"
            | "sql_text"
            | "q"
    )
}

fn is_host(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "hostname"
            | "server"
            | "url"
            | "uri"
            | "dsn"
            | "connection_string"
            | "connectionstring"
            | "database_url"
    )
}

fn is_database(name: &str) -> bool {
    matches!(
        name,
        "database"
            | "db"
            | "dbname"
            | "database_name"
            | "connection"
            | "connection_name"
            | "environment"
            | "env"
            | "branch"
            | "branch_id"
            | "project"
            | "project_id"
            | "dataset"
            | "instance"
            | "cluster"
            | "source"
            | "profile"
    )
}
