//! One HTML page that shows everything: risk over time, findings and interventions, and each step.

pub mod file;
mod tables;

use super::compare::{Pair, SetupDifference};
use super::sum::{SessionTotals, TotalsRow};
use portcullis_core::policy::RiskThresholds;
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::figures::{add_figures, add_legend, session_title, start_time};
use portcullis_page::{Html, chart, steps};
use portcullis_review::timeline::Timeline;
use portcullis_review::timeline::words;

/// The number of sessions up to which all are shown expanded.
const OPEN: usize = 3;

/// A page to which sessions are added.
#[derive(Default)]
pub struct ReplayPage {
    sessions: Vec<Section>,
    taken: usize,
}

/// A session's part of the page.
struct Section {
    anchor: String,
    /// The time of its first event, by which sessions are sorted.
    at: u64,
    /// Its row of the overview.
    row: Html,
    /// True if its steps are shown.
    shown: bool,
    /// The name, goal, figures and drawings.
    head: Html,
    steps: Html,
}

impl ReplayPage {
    /// Adds a session to the page.
    pub fn add_session(&mut self, timeline: &Timeline, levels: &RiskThresholds) {
        let mut section = self.begin(timeline, None);
        chart_of(&mut section, timeline, levels, "Risk of each step");
        section.steps = steps::list_steps(timeline, &section.anchor);
        section.shown = true;
        self.sessions.push(section);
    }

    /// Adds a session that was replayed with two setups; one without changes is only counted.
    pub fn add_comparison(
        &mut self,
        [yours, other]: [&Timeline; 2],
        differences: &[SetupDifference<'_>],
        [ours, theirs]: &[RiskThresholds; 2],
    ) {
        let mut section = self.begin(yours, Some(differences.len()));
        if !differences.is_empty() {
            chart_of(&mut section, yours, ours, "With your own set-up");
            chart_of(&mut section, other, theirs, "With the other one");
            section.steps = differing(yours, differences, &section.anchor);
            section.shown = true;
        }
        self.sessions.push(section);
    }

    fn begin(&mut self, timeline: &Timeline, differing: Option<usize>) -> Section {
        self.taken += 1;
        let anchor = format!("s{}", self.taken);
        let mut row = Html::new();
        tables::overview_row(&mut row, timeline, &anchor, differing);
        let (title, about) = session_title(timeline, 1000);
        let mut head =
            Html::from_template("<h2>{}</h2><p class=\"goal\">{}</p>", &[&title, &about]);
        add_figures(&mut head, timeline, differing);
        let at = start_time(timeline);
        Section { anchor, at, row, shown: false, head, steps: Html::new() }
    }

    /// Formats the page for one setup.
    pub fn to_html(&self, sum: &SessionTotals) -> String {
        let above = sum.row_reach(&TotalsRow::AboveSoftCorrection).steps;
        let stopped = match sum.row_reach(&TotalsRow::Stopped).sessions {
            0 => "no session was stopped".to_owned(),
            1 => "1 session was stopped".to_owned(),
            several => format!("{several} sessions were stopped"),
        };
        let objections: Vec<String> = [
            (Verdict::Block, "blocked"),
            (Verdict::Ask, "asked about"),
            (Verdict::Modify, "modified"),
            (Verdict::Warn, "warned about"),
        ]
        .into_iter()
        .map(|(verdict, word)| (sum.row_reach(&TotalsRow::Verdict(verdict)).steps, word))
        .filter(|(steps, _)| *steps > 0)
        .map(|(steps, word)| format!("{steps} {word}"))
        .collect();
        let objections = match objections.as_slice() {
            [] => "no objection".to_owned(),
            some => some.join(", "),
        };
        let mut lead = Html::from_template(
            "<p class=\"lead\">{}, {}: {}. Interventions beyond guidance at {}; {}.</p>",
            &[
                &count_noun(sum.sessions, "session"),
                &count_noun(sum.steps, "step"),
                &objections,
                &count_noun(above, "step"),
                &stopped,
            ],
        );
        tables::add_strip(&mut lead, sum, "verdicts of all steps");
        let mut table = Html::new();
        tables::add_reach(&mut table, sum);
        self.whole("Replay", &lead, &table, "")
    }

    /// Formats the page for two setups.
    pub fn of_both(&self, pair: &Pair) -> String {
        let mut lead = Html::from_template(
            "<p class=\"lead\">{}, {}. With the other set-up {} would change.</p>",
            &[
                &count_noun(pair.yours.sessions, "session"),
                &count_noun(pair.yours.steps, "step"),
                &count_noun(pair.differing, "step"),
            ],
        );
        tables::add_strip(&mut lead, &pair.yours, "verdicts with your own set-up");
        tables::add_strip(&mut lead, &pair.other, "verdicts with the other one");
        let mut table = Html::new();
        tables::add_comparison(&mut table, &pair.yours, &pair.other);
        self.whole("Comparison of two set-ups", &lead, &table, "would change")
    }

    fn whole(&self, title: &str, lead: &Html, table: &Html, differing: &str) -> String {
        let mut main = Html::new();
        let mut sessions: Vec<&Section> = self.sessions.iter().collect();
        sessions.sort_by_key(|section| section.at);
        if self.taken > 1 {
            let mut rows = Html::new();
            sessions.iter().for_each(|section| rows.add_piece(&section.row));
            tables::add_overview(&mut main, &rows, differing);
        }
        add_legend(&mut main);
        sessions.retain(|section| section.shown);
        let open = sessions.len() <= OPEN;
        for section in sessions {
            main.put_template("<section id=\"{}\">", &[&section.anchor]);
            main.add_piece(&section.head);
            main.put_template(
                if open {
                    "<details class=\"session\" open>"
                } else {
                    "<details class=\"session\">"
                },
                &[],
            );
            main.put_template("<summary>steps</summary>", &[]);
            main.add_piece(&section.steps);
            main.put_template("</details></section>", &[]);
        }
        main.add_piece(table);
        portcullis_page::render_page(file::BEGINNING, title, lead, &main)
    }
}

fn chart_of(section: &mut Section, timeline: &Timeline, levels: &RiskThresholds, caption: &str) {
    let chart = chart::draw_chart(timeline, levels, &section.anchor);
    if !chart.as_str().is_empty() {
        let figure = "<figure><figcaption>{}</figcaption><div class=\"scroll\" tabindex=\"0\" \
             role=\"region\" aria-label=\"{}\">";
        section.head.put_template(figure, &[&caption, &caption]);
        section.head.add_piece(&chart);
        section.head.put_template("</div></figure>", &[]);
    }
}

/// Formats the steps that differ, both sides of each.
fn differing(timeline: &Timeline, differences: &[SetupDifference<'_>], anchor: &str) -> Html {
    let mut html = Html::from_template("<ol class=\"steps both\">", &[]);
    for difference in differences {
        let Some(entry) = difference.entry() else { continue };
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        html.put_template(
            "<li class=\"step\" id=\"{}-{}\"><p class=\"head\"><span class=\"n\">{}</span>",
            &[&anchor, &entry.place, &step],
        );
        html.put_template(
            "<code class=\"what\">{}</code></p>",
            &[&one_line(&timeline.shorten_paths(&entry.summary), 400)],
        );
        for (name, entry) in [("yours", difference.yours), ("other", difference.other)] {
            html.put_template("<details class=\"side\"><summary><b>{}</b>", &[&name]);
            if let Some(entry) = entry {
                steps::add_badge(&mut html, entry);
                html.put_template(
                    "<span class=\"risk\">{}</span>",
                    &[&entry.risk.map(|risk| risk.to_string()).unwrap_or_default()],
                );
                steps::add_chips(&mut html, entry, &entry.standing);
                let why = entry
                    .decision
                    .as_ref()
                    .map(|decision| timeline.shorten_paths(&decision.primary_reason))
                    .unwrap_or_default();
                html.put_template("<span class=\"why\">", &[]);
                html.put_prose(&one_line(&words::on_one_line(&why), 400));
                html.put_template("</span></summary><div class=\"more\">", &[]);
                steps::add_details(&mut html, timeline, entry);
            } else {
                html.put_template(
                    "<span class=\"why\">nothing</span></summary><div class=\"more\">",
                    &[],
                );
            }
            html.put_template("</div></details>", &[]);
        }
        html.put_template("</li>", &[]);
    }
    html.put_template("</ol>", &[]);
    html
}
