//! One HTML page that shows everything: risk over time, findings and interventions, and each step.

mod chart;
pub mod file;
mod steps;
mod tables;

use super::compare::{Pair, SetupDifference};
use super::sum::{SessionTotals, TotalsRow};
use crate::page::{self, Html};
use portcullis_core::policy::RiskThresholds;
use portcullis_core::score::Verdict;
use portcullis_core::text::{counted, one_line};
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
    pub fn session(&mut self, timeline: &Timeline, levels: &RiskThresholds) {
        let mut section = self.begin(timeline, None);
        chart_of(&mut section, timeline, levels, "Risk of each step");
        section.steps = steps::list(timeline, &section.anchor);
        section.shown = true;
        self.sessions.push(section);
    }

    /// Adds a session that was replayed with two setups; one without changes is only counted.
    pub fn compared(
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
        let (title, about) = tables::title(timeline, 1000);
        let mut head = Html::of("<h2>{}</h2><p class=\"goal\">{}</p>", &[&title, &about]);
        tables::figures(&mut head, timeline, differing);
        let at = tables::begun(timeline);
        Section { anchor, at, row, shown: false, head, steps: Html::new() }
    }

    /// Formats the page for one setup.
    pub fn of(&self, sum: &SessionTotals) -> String {
        let above = sum.reach(&TotalsRow::AboveSoftCorrection).steps;
        let stopped = match sum.reach(&TotalsRow::Stopped).sessions {
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
        .map(|(verdict, word)| (sum.reach(&TotalsRow::Verdict(verdict)).steps, word))
        .filter(|(steps, _)| *steps > 0)
        .map(|(steps, word)| format!("{steps} {word}"))
        .collect();
        let objections = match objections.as_slice() {
            [] => "no objection".to_owned(),
            some => some.join(", "),
        };
        let mut lead = Html::of(
            "<p class=\"lead\">{}, {}: {}. Interventions beyond guidance at {}; {}.</p>",
            &[
                &counted(sum.sessions, "session"),
                &counted(sum.steps, "step"),
                &objections,
                &counted(above, "step"),
                &stopped,
            ],
        );
        tables::strip(&mut lead, sum, "verdicts of all steps");
        let mut table = Html::new();
        tables::add_reach(&mut table, sum);
        self.whole("Replay", &lead, &table, "")
    }

    /// Formats the page for two setups.
    pub fn of_both(&self, pair: &Pair) -> String {
        let mut lead = Html::of(
            "<p class=\"lead\">{}, {}. With the other set-up {} would change.</p>",
            &[
                &counted(pair.yours.sessions, "session"),
                &counted(pair.yours.steps, "step"),
                &counted(pair.differing, "step"),
            ],
        );
        tables::strip(&mut lead, &pair.yours, "verdicts with your own set-up");
        tables::strip(&mut lead, &pair.other, "verdicts with the other one");
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
            sessions.iter().for_each(|section| rows.add(&section.row));
            tables::overview(&mut main, &rows, differing);
        }
        tables::legend(&mut main);
        sessions.retain(|section| section.shown);
        let open = sessions.len() <= OPEN;
        for section in sessions {
            main.put("<section id=\"{}\">", &[&section.anchor]);
            main.add(&section.head);
            main.put(
                if open {
                    "<details class=\"session\" open>"
                } else {
                    "<details class=\"session\">"
                },
                &[],
            );
            main.put("<summary>steps</summary>", &[]);
            main.add(&section.steps);
            main.put("</details></section>", &[]);
        }
        main.add(table);
        page::whole(file::BEGINNING, title, lead, &main)
    }
}

fn chart_of(section: &mut Section, timeline: &Timeline, levels: &RiskThresholds, caption: &str) {
    let chart = chart::draw(timeline, levels, &section.anchor);
    if !chart.as_str().is_empty() {
        let figure = "<figure><figcaption>{}</figcaption><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">";
        section.head.put(figure, &[&caption, &caption]);
        section.head.add(&chart);
        section.head.put("</div></figure>", &[]);
    }
}

/// Formats the steps that differ, both sides of each.
fn differing(timeline: &Timeline, differences: &[SetupDifference<'_>], anchor: &str) -> Html {
    let mut html = Html::of("<ol class=\"steps both\">", &[]);
    for difference in differences {
        let Some(entry) = difference.entry() else { continue };
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        html.put(
            "<li class=\"step\" id=\"{}-{}\"><p class=\"head\"><span class=\"n\">{}</span>",
            &[&anchor, &entry.place, &step],
        );
        html.put(
            "<code class=\"what\">{}</code></p>",
            &[&one_line(&timeline.near(&entry.summary), 400)],
        );
        for (name, entry) in [("yours", difference.yours), ("other", difference.other)] {
            html.put("<details class=\"side\"><summary><b>{}</b>", &[&name]);
            if let Some(entry) = entry {
                steps::badge(&mut html, entry);
                html.put(
                    "<span class=\"risk\">{}</span>",
                    &[&entry.risk.map(|risk| risk.to_string()).unwrap_or_default()],
                );
                steps::chips(&mut html, entry, &entry.standing);
                let why = entry
                    .decision
                    .as_ref()
                    .map(|decision| timeline.near(&decision.primary_reason))
                    .unwrap_or_default();
                html.put("<span class=\"why\">", &[]);
                html.prose(&one_line(&words::on_one_line(&why), 400));
                html.put("</span></summary><div class=\"more\">", &[]);
                steps::more(&mut html, timeline, entry);
            } else {
                html.put("<span class=\"why\">nothing</span></summary><div class=\"more\">", &[]);
            }
            html.put("</div></details>", &[]);
        }
        html.put("</li>", &[]);
    }
    html.put("</ol>", &[]);
    html
}
