//! From what a command does and where to a finding.

use crate::connections::{Connection, Reach};
use crate::findings::Finding;
use crate::settings::{Answer, Config};
use crate::statements::{Deed, Outcome};
use portcullis_plugin::types::Evidence;

/// What is judged.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The program, tool or task.
    pub name: String,
    /// The gravest thing that it does.
    pub outcome: Outcome,
    /// Changes of rows outside of a transaction.
    pub loose: usize,
    /// Which database it reaches.
    pub reach: Reach,
    /// The command or call.
    pub evidence: Evidence,
}

/// Returns the findings about a subject.
pub fn judge(subject: &Subject, config: &Config) -> Vec<Finding> {
    let connection = subject.reach.connection;
    let deed = subject.outcome.deed;
    let answer = answer(deed, connection, config);
    let place = subject.reach.describe();
    let words = &subject.outcome.words;
    let name = &subject.name;
    let rule = match deed {
        Deed::ReachesMachine => "database_server",
        Deed::Unread => "database_unread",
        _ if connection == Connection::Production => "database_production",
        _ => "database_destroys",
    };
    let reason = match deed {
        Deed::Changes => format!("`{name}` changes something {place}"),
        Deed::ReachesMachine | Deed::Unread => format!("`{name}` {words}, {place}"),
        _ => format!("`{name}` {words} {place}"),
    };
    let finding = Finding {
        rule,
        answer,
        reason,
        instead: instead(deed).to_owned(),
        evidence: subject.evidence.clone(),
    };
    let mut findings = vec![finding];
    if subject.loose >= config.loose_from && connection > Connection::Local {
        findings.push(Finding {
            rule: "database_loose",
            answer: config.loose,
            reason: format!(
                "`{name}` makes {} changes that no transaction holds together, {place}: if one \
                 fails, those before it stay",
                subject.loose
            ),
            instead: "put them between BEGIN and COMMIT".to_owned(),
            evidence: subject.evidence.clone(),
        });
    }
    findings
}

fn answer(deed: Deed, connection: Connection, config: &Config) -> Answer {
    let destroys = match connection {
        Connection::Production => config.production_destroys,
        Connection::Remote => config.remote_destroys,
        Connection::Unknown => config.unknown_destroys,
        Connection::Local => config.local_destroys,
        Connection::Test => Answer::Pass,
    };
    let changes = match connection {
        Connection::Production => config.production_changes,
        Connection::Remote => config.remote_changes,
        Connection::Unknown | Connection::Local | Connection::Test => Answer::Pass,
    };
    let production = connection == Connection::Production;
    match deed {
        Deed::Reads => Answer::Pass,
        Deed::Changes => changes,
        Deed::Unread if production => config.unread,
        Deed::Unread => Answer::Pass,
        // A migration drops columns every day; production is another matter.
        Deed::DropsColumn if production => destroys,
        Deed::DropsColumn => changes,
        Deed::Empties | Deed::Drops | Deed::GivesRights => destroys,
        Deed::ReachesMachine if production => config.server.max(destroys),
        Deed::ReachesMachine => config.server,
    }
}

const fn instead(deed: Deed) -> &'static str {
    match deed {
        Deed::Empties => {
            "bound it: a WHERE that selects the rows meant, after a SELECT count(*) with the same \
             condition"
        }
        Deed::Drops | Deed::DropsColumn => {
            "let a person run it with a backup at hand, or use a copy of the data"
        }
        Deed::GivesRights => "grant the one right that is needed to the one role that needs it",
        Deed::ReachesMachine => {
            "let the client read and write files: \\copy, LOAD DATA LOCAL, a redirection"
        }
        Deed::Unread => {
            "write the statements into the command, so that they can be read before they run"
        }
        Deed::Changes | Deed::Reads => {
            "show the statements and let a person decide, or use a copy of the data"
        }
    }
}
