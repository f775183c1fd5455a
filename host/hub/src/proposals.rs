//! Proposals: a change of the configuration that a marked review suggests, tried on stored reviews.
//!
//! A trial decides each stored review again without the objections that the change would remove, by the
//! function that decides on machines. The action is not examined again, so what a plugin might say
//! besides is not known. Nothing that is proposed takes effect: an operator has to put it into a
//! configuration, and into the orders where these restrict the same key.

use crate::database::Database;
use crate::failure::Failure;
use crate::records::Cursor;
use crate::scans::await_turn;
use deadpool_postgres::Transaction;
use portcullis_core::counterfactual::{FindingChange, decide_again, recorded_findings};
use portcullis_core::record::Record;
use portcullis_core::review::Objection;
use portcullis_core::score::Verdict;
use serde::Serialize;
use tokio_postgres::Row;

/// The rule whose trusted hosts are a list.
const NETWORK_RULE: &str = "warn_external_network";
/// The newest reviews with an objection that are tried.
const MOST: i64 = 5000;
/// The most bytes of a document that is read.
const MOST_BYTES: i32 = 128 << 10;
/// The reviews that are read at once, and the bytes of documents after which no more are.
const AT_ONCE: i32 = 100;
const MOST_READ: usize = 64 << 20;
/// The days back.
const DAYS: i32 = 30;
/// The most rows that are shown.
const MOST_ROWS: usize = 50;
/// The most bytes of a rule's or a host's name.
const MOST_NAME: usize = 200;

/// A change of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "value")]
pub enum Proposal {
    /// A rule does not apply.
    DisableRule(String),
    /// A host, with everything below it, needs no warning.
    TrustHost(String),
}

/// The effect of a proposal on one review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is about something else.
    None,
    /// The record does not say what was decided on.
    Unknown,
    /// It would have had the same verdict, for other reasons.
    Same,
    /// It would have had this verdict, which is milder and not `allow`.
    Milder(Verdict),
    /// It would have been allowed.
    Passes,
}

/// A review that a proposal changes.
#[derive(Clone, Debug)]
pub struct ChangedReview {
    /// The machine.
    pub machine: String,
    /// The machine's own name.
    pub name: String,
    /// The time of storage, in milliseconds since 1970.
    pub stored_at: i64,
    /// The action in one line.
    pub summary: String,
    /// The verdict as it was.
    pub before: Verdict,
    /// The verdict that it would have had.
    pub after: Verdict,
    /// Its place.
    pub place: Cursor,
}

/// The effect of a proposal on the stored reviews.
#[derive(Clone, Debug, Default)]
pub struct ProposalTrial {
    /// The reviews with an objection that were read.
    pub tried: i64,
    /// Those that would have been allowed.
    pub passing: i64,
    /// Those with a milder verdict.
    pub milder: i64,
    /// Those that the proposal is about, and that stay as they are.
    pub same: i64,
    /// Those whose record does not say enough.
    pub unknown: i64,
    /// Some of those that change, the newest first.
    pub rows: Vec<ChangedReview>,
}

/// A proposal as it is kept.
#[derive(Debug, Serialize)]
pub struct KeptProposal {
    /// Its number.
    pub proposal: i64,
    /// The change.
    #[serde(flatten)]
    pub change: Proposal,
    /// The lines of a configuration that make it.
    pub configuration: String,
    /// The reason.
    pub reason: String,
    /// The person who made it.
    pub made_by: String,
    /// The time, in milliseconds since 1970.
    pub made_at: i64,
    /// The stored reviews that were tried, and what would have become of them.
    pub tried: i64,
    /// Those that would have been allowed.
    pub passing: i64,
    /// Those with a milder verdict.
    pub milder: i64,
    /// Those whose record does not say enough.
    pub unknown: i64,
}

impl Proposal {
    /// Returns the proposal of that kind; none if the value cannot be one.
    pub fn parse(kind: &str, value: &str) -> Option<Self> {
        let is_name = |also: &str| {
            (1..=MOST_NAME).contains(&value.len())
                && value
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || also.contains(letter))
        };
        match kind {
            "disable-rule" if is_name("_-.") => Some(Self::DisableRule(value.to_owned())),
            "trust-host" if is_name(".-") => Some(Self::TrustHost(value.to_ascii_lowercase())),
            _ => None,
        }
    }

    /// Returns its kind and its value.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::DisableRule(rule) => ("disable-rule", rule),
            Self::TrustHost(host) => ("trust-host", host),
        }
    }

    /// Returns the lines of a configuration that make the change.
    pub fn to_configuration(&self) -> String {
        match self {
            Self::DisableRule(rule) => format!("rules.disabled = [\"{rule}\"]"),
            Self::TrustHost(host) => {
                format!("rules.{NETWORK_RULE}.trusted_hosts = [\"{host}\"]")
            }
        }
    }

    /// Returns the proposals that the objections to a review suggest, the narrowest first.
    pub fn of_review(record: &Record) -> Vec<Self> {
        let mut all = Vec::new();
        let findings = record.findings.iter().flat_map(|findings| &findings.objections);
        for objection in findings.filter(|objection| !objection.is_own()) {
            if objection.rule == NETWORK_RULE {
                let hosts = record.action.iter().flat_map(|action| &action.facts.hosts);
                all.extend(hosts.filter_map(|host| Self::parse("trust-host", host)));
            }
            all.extend(Self::parse("disable-rule", &objection.rule));
        }
        let mut unique = Vec::new();
        for one in all {
            if !unique.contains(&one) {
                unique.push(one);
            }
        }
        unique
    }

    /// Returns true if it would remove an objection to this record.
    fn removes(&self, objection: &Objection, record: &Record) -> bool {
        if objection.is_own() {
            return false;
        }
        match self {
            Self::DisableRule(rule) => objection.rule == *rule,
            Self::TrustHost(trusted) => {
                let hosts = record.action.as_ref().map(|action| action.facts.hosts.as_slice());
                let is_below = |host: &String| {
                    let host = host.to_ascii_lowercase();
                    host.strip_suffix(trusted.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                };
                objection.rule == NETWORK_RULE
                    && hosts.is_some_and(|hosts| !hosts.is_empty() && hosts.iter().all(is_below))
            }
        }
    }

    /// Returns the effect on a stored review.
    pub fn effect_on(&self, record: &Record) -> Effect {
        let Some(before) = record.verdict() else { return Effect::None };
        let objections = record.findings.iter().flat_map(|findings| &findings.objections);
        let removed = objections.filter(|objection| self.removes(objection, record));
        let changes: Vec<FindingChange> = removed
            .map(|objection| FindingChange::WithoutRule {
                source: objection.source.clone(),
                rule: objection.rule.clone(),
            })
            .collect();
        if changes.is_empty() {
            return Effect::None;
        }
        let Some((findings, decision)) = recorded_findings(record) else { return Effect::Unknown };
        match decide_again(&findings, decision, &changes) {
            Verdict::Allow => Effect::Passes,
            after if after < before => Effect::Milder(after),
            _ => Effect::Same,
        }
    }
}

impl ProposalTrial {
    /// Adds a stored review; `document` is its record, unless that is too large.
    fn add_review(&mut self, proposal: &Proposal, row: &Row, document: Option<&str>) {
        self.tried += 1;
        let record = document.and_then(|text| serde_json::from_str::<Record>(text).ok());
        // One that cannot be read may be about it.
        let effect = record.as_ref().map_or(Effect::Unknown, |record| proposal.effect_on(record));
        let after = match effect {
            Effect::None => return,
            Effect::Unknown => {
                self.unknown += 1;
                return;
            }
            Effect::Same => {
                self.same += 1;
                return;
            }
            Effect::Milder(after) => {
                self.milder += 1;
                after
            }
            Effect::Passes => {
                self.passing += 1;
                Verdict::Allow
            }
        };
        let Some(record) = record.filter(|_| self.rows.len() < MOST_ROWS) else { return };
        let Some(before) = record.verdict() else { return };
        let (machine, stored_at): (String, i64) = (row.get(0), row.get(2));
        self.rows.push(ChangedReview {
            place: Cursor::of_place(stored_at, &machine, row.get(3), row.get(4)),
            machine,
            name: row.get(1),
            stored_at: stored_at / 1000,
            summary: record.summary,
            before,
            after,
        });
    }
}

/// Tries a proposal on the newest stored reviews that have an objection.
pub async fn try_proposal(
    database: &Database,
    proposal: &Proposal,
) -> Result<ProposalTrial, Failure> {
    let _turn = await_turn().await?;
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let reviews = transaction
        .bind(
            "SELECT r.machine, m.name, (extract(epoch FROM r.stored_at) * 1000000)::bigint, \
             r.journal, r.sequence, \
             CASE WHEN octet_length(r.document) <= $2 THEN r.document END \
             FROM records r JOIN machines m ON m.machine = r.machine WHERE r.kind = 'review' \
             AND r.verdict IS NOT NULL AND r.verdict <> 'allow' \
             AND r.stored_at > now() - make_interval(days => $3) \
             ORDER BY r.stored_at DESC, r.machine DESC, r.journal DESC, r.sequence DESC LIMIT $1",
            &[&MOST, &MOST_BYTES, &DAYS],
        )
        .await?;
    let mut trial = ProposalTrial::default();
    let mut bytes = 0;
    // Machines choose the size of documents, so few are held at once.
    while bytes < MOST_READ {
        let rows = transaction.query_portal(&reviews, AT_ONCE).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let document: Option<&str> = row.get(5);
            bytes += document.map_or(0, str::len);
            trial.add_review(proposal, row, document);
        }
    }
    Ok(trial)
}

/// Keeps a proposal with the result of its trial; returns its number, and `None` if the same is
/// proposed already.
pub async fn insert_proposal(
    transaction: &Transaction<'_>,
    proposal: &Proposal,
    trial: &ProposalTrial,
    reason: &str,
    by: &str,
) -> Result<Option<i64>, Failure> {
    let (kind, value) = proposal.parts();
    let row = transaction
        .query_opt(
            "INSERT INTO rule_proposals (kind, value, reason, made_by, tried, passing, milder, \
             unknown) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING \
             RETURNING proposal",
            &[
                &kind,
                &value,
                &reason,
                &by,
                &trial.tried,
                &trial.passing,
                &trial.milder,
                &trial.unknown,
            ],
        )
        .await?;
    Ok(row.map(|row| row.get(0)))
}

/// Takes a proposal back; returns false if there is none of that number.
pub async fn withdraw_proposal(
    transaction: &Transaction<'_>,
    proposal: i64,
    by: &str,
) -> Result<bool, Failure> {
    let update = "UPDATE rule_proposals SET withdrawn_at = now(), withdrawn_by = $2 \
                  WHERE proposal = $1 AND withdrawn_at IS NULL";
    Ok(transaction.execute(update, &[&proposal, &by]).await? > 0)
}

/// Returns the proposals that nobody has taken back, the newest first.
pub async fn list_proposals(database: &Database) -> Result<Vec<KeptProposal>, Failure> {
    let client = database.connect().await?;
    let rows = client
        .query(
            "SELECT proposal, kind, value, reason, made_by, \
             (extract(epoch FROM made_at) * 1000)::bigint, tried, passing, milder, unknown \
             FROM rule_proposals WHERE withdrawn_at IS NULL ORDER BY proposal DESC LIMIT 200",
            &[],
        )
        .await?;
    let kept = |row: &Row| {
        let change = Proposal::parse(row.get(1), row.get(2))?;
        Some(KeptProposal {
            proposal: row.get(0),
            configuration: change.to_configuration(),
            change,
            reason: row.get(3),
            made_by: row.get(4),
            made_at: row.get(5),
            tried: row.get(6),
            passing: row.get(7),
            milder: row.get(8),
            unknown: row.get(9),
        })
    };
    Ok(rows.iter().filter_map(kept).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_names_what_a_configuration_can_hold() {
        for (kind, value, lines) in [
            ("disable-rule", "no_force", Some("rules.disabled = [\"no_force\"]")),
            (
                "trust-host",
                "Example.org",
                Some("rules.warn_external_network.trusted_hosts = [\"example.org\"]"),
            ),
            ("disable-rule", "a\"]\nmode = \"observe\"", None),
            ("trust-host", "*", None),
            ("trust-host", "", None),
            ("other", "a", None),
        ] {
            let found = Proposal::parse(kind, value).map(|one| one.to_configuration());
            assert_eq!(found.as_deref(), lines, "{kind} {value}");
        }
    }
}
