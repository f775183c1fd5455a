//! The parts that all forms of an incident share, as lines of text: pages, exports, the terminal.

use portcullis_config::amount;
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::incident::{ActionProgress, Incident};
use portcullis_core::limits;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::incidents::IncidentStatus;
use portcullis_terminal::paint;

/// The number of the newest actions, moments and paths on the page; an export has them all.
pub const SHOWN: usize = 12;

/// Describes the state of the session, for a sentence.
pub const fn describe_status(standing: IncidentStatus) -> &'static str {
    use portcullis_core::session::ResumeConditions;
    match standing {
        IncidentStatus::Stopped => "it is stopped",
        IncidentStatus::Decided(ResumeConditions::Limited) => {
            "it goes on under half its limits and without dangerous actions"
        }
        IncidentStatus::Decided(ResumeConditions::RolledBack) => {
            "its files were put back and it goes on"
        }
        IncidentStatus::Decided(ResumeConditions::Supervised) => {
            "it goes on, and a person approves each change"
        }
        IncidentStatus::Decided(ResumeConditions::Aborted) => "it was ended permanently",
        IncidentStatus::Decided(ResumeConditions::Lifted) => "it goes on as configured",
        IncidentStatus::Past => "it is past",
    }
}

/// Labels of lines that hold nothing but commands, paths or hosts.
const LITERAL: [&str; 8] = [
    "Commands",
    "Paths",
    "Hosts",
    "made",
    "changed",
    "deleted",
    "moved into a quarantine",
    "other machines",
];

/// Splits a line that holds nothing but commands, paths or hosts after its label.
pub fn split_literal(line: &str) -> Option<(&str, &str)> {
    line.split_once(": ").filter(|(label, _)| LITERAL.contains(label))
}

/// Describes the cost of the incident, one line each.
pub fn list_impact(incident: &Incident) -> Vec<String> {
    let impact = &incident.report.impact;
    let (used, files) = (&impact.used, &impact.files);
    let mut lines = vec![format!(
        "{} in {}: {} written or deleted, {} and {} of results, {} failed, {} refused",
        count_noun(used.steps, "step"),
        amount::format_span(impact.duration_ms),
        count_noun(used.files, "file"),
        amount::format_size(used.bytes),
        count_noun(used.tokens, "token"),
        used.failed,
        impact.refused
    )];
    let named = [
        ("made", &files.made),
        ("changed", &files.changed),
        ("deleted", &files.deleted),
        ("moved into a quarantine", &files.quarantined),
        ("other machines", &impact.hosts),
    ];
    lines.extend(named.iter().filter(|(_, paths)| !paths.is_empty()).map(|(what, paths)| {
        let more = paths.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "{what}: {}{more}",
            paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ")
        )
    }));
    lines.extend(
        impact
            .seen_to_change
            .map(|changed| format!("checkpoints saw changes of {}", count_noun(changed, "path"))),
    );
    let limits = impact.limits.iter().filter(|limit| limit.used > 0);
    lines.extend(limits.map(|limit| {
        let (used, most) = (in_units(limit, limit.used), in_units(limit, limit.maximum));
        format!("{}: {used} of {most} used", quantity(&limit.quantity))
    }));
    lines
}

/// Formats an amount of a limit with its unit.
fn in_units(limit: &Limit, count: u64) -> String {
    match limit.quantity {
        Quantity::Time if count < 1000 => format!("{count} ms"),
        Quantity::Time => format!("{}.{} s", count / 1000, count % 1000 / 100),
        Quantity::Memory => amount::format_size(count),
        _ => limits::find_row(&limit.quantity)
            .map_or_else(|| count.to_string(), |row| row.unit.format_amount(count)),
    }
}

fn quantity(quantity: &Quantity) -> String {
    one_line(&limits::name_of(quantity).replace('-', " "), 64)
}

/// Describes the events that led to it, one line each, oldest first.
pub fn list_moments(incident: &Incident) -> Vec<String> {
    let line = |moment: &portcullis_core::incident::IncidentEvent| {
        let step = moment.step.map(|step| format!("step {step}: ")).unwrap_or_default();
        format!("{}  {step}{}", clock(moment.at), moment.what)
    };
    incident.report.timeline.iter().map(line).collect()
}

/// Describes the newest actions, one line each, oldest first.
pub fn list_actions(incident: &Incident) -> Vec<String> {
    let line = |action: &portcullis_core::incident::PastAction| {
        let verdict = action.verdict.map_or("unreviewed", |verdict| verdict.as_str());
        // The verdict says so already.
        let progress = if action.progress == ActionProgress::Refused {
            String::new()
        } else {
            format!(" {}", action.progress)
        };
        format!("{}  {verdict}{progress}  {}", clock(action.at), action.what)
    };
    incident.actions.iter().map(line).collect()
}

fn clock(at: u64) -> String {
    let time = paint::time(at);
    time.split(' ').next_back().unwrap_or_default().to_owned()
}
