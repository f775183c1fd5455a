//! The page's tables and sums.

use super::super::sum::{SessionTotals, TotalsRow, part_of};
use super::super::table::{format_change, format_percent};
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_page::figures::session_title;
use portcullis_review::timeline::Timeline;
use std::collections::BTreeSet;

/// The verdicts that are an objection.
const OBJECTIONS: [Verdict; 4] = [Verdict::Warn, Verdict::Modify, Verdict::Ask, Verdict::Block];

/// Adds a session's row to the overview.
pub fn overview_row(html: &mut Html, timeline: &Timeline, anchor: &str, differing: Option<usize>) {
    let (name, about) = session_title(timeline, 160);
    // Skip sections without changes.
    if differing == Some(0) {
        html.put_template("<tr><th scope=\"row\">{}", &[&name]);
    } else {
        html.put_template("<tr><th scope=\"row\"><a href=\"#{}\">{}</a>", &[&anchor, &name]);
    }
    html.put_template("<span class=\"goal\">{}</span>", &[&about]);
    html.put_template("</th><td>{}</td>", &[&timeline.steps().count()]);
    let none_as_dot = |count: usize| if count == 0 { "·".to_owned() } else { count.to_string() };
    for verdict in OBJECTIONS {
        let count = timeline.steps().filter(|step| step.verdict == Some(verdict)).count();
        html.put_template("<td>{}</td>", &[&none_as_dot(count)]);
    }
    let patterns = timeline.entries.iter().map(|entry| entry.detections.len()).sum();
    let answers = timeline.entries.iter().map(|entry| entry.interventions.len()).sum();
    html.put_template("<td>{}</td><td>{}</td>", &[&none_as_dot(patterns), &none_as_dot(answers)]);
    if let Some(differing) = differing {
        html.put_template("<td>{}</td>", &[&none_as_dot(differing)]);
    }
    html.put_template("</tr>", &[]);
}

/// Adds the table of all sessions; `differing` names its last column, if it has one.
pub fn add_overview(html: &mut Html, rows: &Html, differing: &str) {
    html.put_template(
        "<section><h2>Sessions</h2><div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"sessions\"><table class=\"sessions\"><thead><tr><th \
         scope=\"col\">session</th><th scope=\"col\">steps</th>",
        &[],
    );
    OBJECTIONS
        .iter()
        .for_each(|verdict| html.put_template("<th scope=\"col\">{}</th>", &[verdict]));
    html.put_template("<th scope=\"col\">patterns</th><th scope=\"col\">interventions</th>", &[]);
    if !differing.is_empty() {
        html.put_template("<th scope=\"col\">{}</th>", &[&differing]);
    }
    html.put_template("</tr></thead><tbody>", &[]);
    html.add_piece(rows);
    html.put_template("</tbody></table></div></section>", &[]);
}

/// Draws the verdicts as parts of one strip.
pub fn add_strip(html: &mut Html, sum: &SessionTotals, about: &str) {
    let shown = Verdict::ALL
        .iter()
        .map(|verdict| (*verdict, sum.row_reach(&TotalsRow::Verdict(*verdict)).steps))
        .filter(|(_, steps)| *steps > 0);
    let shown: Vec<(Verdict, u64)> = shown.collect();
    let words: Vec<String> = shown
        .iter()
        .map(|(verdict, steps)| format!("{verdict} {}", format_percent(sum.share_of(*steps))))
        .collect();
    let about = format!("{about}: {}", words.join(", "));
    html.put_template("<figure class=\"strip\"><figcaption>{}</figcaption>", &[&about]);
    html.put_template(
        "<svg viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        &[],
    );
    let mut left = 0;
    for (verdict, steps) in shown {
        let wide = part_of(steps, sum.steps);
        html.put_template(
            "<rect class=\"v-{}\" x=\"{}\" y=\"0\" width=\"{}\" height=\"16\"/>",
            &[&verdict, &left, &wide],
        );
        left += wide;
    }
    html.put_template("</svg></figure>", &[]);
}

/// Adds the reach of each verdict, pattern and intervention.
pub fn add_reach(html: &mut Html, sum: &SessionTotals) {
    begin(
        html,
        "<th scope=\"col\">sessions</th><th scope=\"col\">share</th><th \
         scope=\"col\">steps</th><th scope=\"col\">share</th><th scope=\"col\">times</th>",
    );
    let mut group = "";
    for row in sum.rows() {
        open(html, &mut group, row, 6);
        let reach = sum.row_reach(row);
        html.put_template(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            &[
                &one_line(row.name(), 64),
                &reach.sessions,
                &format_percent(part_of(reach.sessions, sum.sessions)),
                &reach.steps,
                &format_percent(sum.share_of(reach.steps)),
                &reach.times,
            ],
        );
    }
    end(html, sum);
}

/// Adds the reach in both setups, with the difference.
pub fn add_comparison(html: &mut Html, yours: &SessionTotals, other: &SessionTotals) {
    begin(
        html,
        "<th scope=\"col\">sessions, yours</th><th scope=\"col\">other</th><th scope=\"col\"><abbr \
         title=\"difference\">±</abbr></th><th scope=\"col\">steps, yours</th><th \
         scope=\"col\">other</th><th scope=\"col\"><abbr title=\"difference\">±</abbr></th>",
    );
    let mut group = "";
    for row in yours.rows().chain(other.rows()).collect::<BTreeSet<_>>() {
        open(html, &mut group, row, 7);
        let (one, two) = (yours.row_reach(row), other.row_reach(row));
        html.put_template("<tr><th scope=\"row\">{}</th>", &[&one_line(row.name(), 64)]);
        for (one, two) in [(one.sessions, two.sessions), (one.steps, two.steps)] {
            html.put_template(
                "<td>{}</td><td>{}</td><td><b>{}</b></td>",
                &[&one, &two, &format_change(one, two)],
            );
        }
        html.put_template("</tr>", &[]);
    }
    end(html, other);
}

fn begin(html: &mut Html, columns: &'static str) {
    html.put_template(
        "<section><h2>How far it reaches</h2><div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"sums\"><table class=\"reach\"><thead><tr><td></td>",
        &[],
    );
    html.put_template(columns, &[]);
    html.put_template("</tr></thead><tbody>", &[]);
}

fn open(html: &mut Html, group: &mut &'static str, row: &TotalsRow, columns: u8) {
    if *group != row.group() {
        *group = row.group();
        html.put_template(
            "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>",
            &[&columns, group],
        );
    }
}

fn end(html: &mut Html, sum: &SessionTotals) {
    html.put_template("</tbody></table></div>", &[]);
    for (fault, count) in &sum.faults {
        html.put_template(
            "<p class=\"chip fault\">fault {}: {}</p>",
            &[&one_line(fault, 200), &count],
        );
    }
    html.put_template("</section>", &[]);
}
