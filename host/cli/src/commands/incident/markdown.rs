//! An incident as complete Markdown, for a ticket or a mail.

use crate::paint;
use portcullis_core::incident::Incident;
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_page::incident::lines::{
    describe_status, list_actions, list_impact, list_moments, split_literal,
};
use portcullis_review::incidents::IncidentStatus;
use std::fmt::Write;

/// The most bytes of one line.
const MOST: usize = 2000;

/// Formats the whole document.
pub fn render_markdown(
    incident: &Incident,
    standing: IncidentStatus,
    decisions: &[Record],
) -> String {
    let (report, issue) = (&incident.report, &incident.state.issue);
    let mut text = format!("# Incident {}\n\n{}\n\n", incident.id, plain(&report.summary));
    let started = format!("{} UTC", paint::time(incident.state.started));
    let facts = [
        ("Time", format!("{} UTC", paint::time(incident.at))),
        (
            "Session",
            format!(
                "`{}` of {}, begun {started}; {}",
                incident.session,
                incident.client,
                describe_status(standing)
            ),
        ),
        (
            "Issue",
            format!(
                "{} ({}, confidence {}, impact {})",
                issue.name, issue.severity, issue.confidence, issue.impact
            ),
        ),
        ("Began at step", issue.first_step.to_string()),
    ];
    for (name, value) in facts {
        let _ = writeln!(text, "- {name}: {}", plain(&value));
    }
    section(&mut text, "Root cause", report.root_cause.lines());
    section(&mut text, "Contributing factors", report.contributing_factors.iter());
    section(&mut text, "Impact", list_impact(incident).iter());
    section(&mut text, "Recommended now", report.recommendations.immediate.iter());
    section(
        &mut text,
        "Recommended to prevent a recurrence",
        report.recommendations.preventive.iter(),
    );
    section(
        &mut text,
        "Recommended in the configuration",
        report.recommendations.configuration.iter(),
    );
    section(&mut text, "Timeline", list_moments(incident).iter());
    let detections = incident.detections.iter().map(|named| &named.finding);
    let detected = detections.map(|one| {
        format!(
            "{} ({}, confidence {}): {}",
            one.pattern, one.severity, one.confidence, one.summary
        )
    });
    section(&mut text, "Detections", detected.collect::<Vec<_>>().iter());
    section(
        &mut text,
        "What the person asked for",
        incident.state.goals.iter().map(|goal| goal.text.clone()).collect::<Vec<_>>().iter(),
    );
    section(&mut text, "The newest actions", list_actions(incident).iter());
    let decided = decisions
        .iter()
        .map(|record| format!("{} UTC  {}", paint::time(record.at), record.summary));
    section(&mut text, "What a person did", decided.collect::<Vec<_>>().iter());
    let ways = incident.recovery.iter().map(|way| match &way.not_now {
        Some(why) => format!("`{}` (`{}`): not possible, {why}", way.command, way.option),
        None => format!("`{}` (`{}`): {}", way.command, way.option, way.what),
    });
    section(&mut text, "Next steps", ways.collect::<Vec<_>>().iter());
    if !incident.whole {
        text.push_str("\nNot all of the session's records were there to look at.\n");
    }
    text
}

fn section(text: &mut String, heading: &str, lines: impl Iterator<Item = impl AsRef<str>>) {
    let lines: Vec<String> = lines.map(|line| format!("- {}\n", plain(line.as_ref()))).collect();
    if !lines.is_empty() {
        let _ = write!(text, "\n## {heading}\n\n{}", lines.concat());
    }
}

/// Returns one line of text in which only what stands between two backticks is code; any other
/// markup that an agent wrote is escaped.
fn plain(text: &str) -> String {
    let line = one_line(text, MOST);
    if let Some((label, names)) = split_literal(&line).filter(|(_, names)| !names.contains('`')) {
        return format!("{}: `{names}`", escape(label));
    }
    let parts: Vec<&str> = line.split('`').collect();
    let mut plain = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index % 2 == 0 {
            plain.push_str(&escape(part));
        // A backtick without a partner, or around nothing, is text.
        } else if index + 1 == parts.len() || part.trim().is_empty() {
            plain.push_str(&format!("\\`{}", escape(part)));
            plain.push_str(if index + 1 == parts.len() { "" } else { "\\`" });
        } else {
            // Nothing in it can end the code: it holds no backtick.
            plain.push_str(&format!("`{part}`"));
        }
    }
    plain
}

fn escape(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '&') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn commands_can_be_copied_and_markup_is_text() {
        for (text, expected) in [
            ("run `portcullis explain toolu_mock_1`", "run `portcullis explain toolu_mock_1`"),
            ("<b> *x* [a](b) _c_", "\\<b\\> \\*x\\* \\[a\\](b) \\_c\\_"),
            ("one ` and <b>", "one \\` and \\<b\\>"),
            ("`a` `<img>` `", "`a` `<img>` \\`"),
            ("``", "\\`\\`"),
            ("Commands: cat a_b", "Commands: `cat a_b`"),
            ("Commands: cat `a_b", "Commands: cat \\`a\\_b"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
