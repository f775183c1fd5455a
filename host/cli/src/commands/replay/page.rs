//! One page of HTML that shows everything: risk over time, what was found and done, each step.

mod chart;
pub mod file;
mod steps;
mod tables;

use super::compare::{Difference, Pair};
use super::sum::{Row, Sum};
use super::table::percent;
use crate::page::{self, Html};
use crate::timeline::Timeline;
use crate::timeline::words::{self, counted};
use portcullis_core::policy::RiskThresholds;
use portcullis_core::text::one_line;

/// Up to so many sessions are shown open.
const OPEN: usize = 3;

/// A page that grows by sessions.
#[derive(Default)]
pub struct Page {
    overview: Html,
    sessions: Vec<Section>,
    taken: usize,
}

/// A session's part of the page.
struct Section {
    anchor: String,
    /// Name, goal, figures, drawings.
    head: Html,
    steps: Html,
}

impl Page {
    /// Puts a session on the page.
    pub fn session(&mut self, timeline: &Timeline, levels: &RiskThresholds) {
        let mut section = self.begin(timeline, None);
        chart_of(&mut section, timeline, levels, "Risk of each step");
        section.steps = steps::list(timeline, &section.anchor);
        self.sessions.push(section);
    }

    /// Puts a session on the page that two set-ups played; where nothing would change it is only counted.
    pub fn compared(&mut self, [yours, other]: [&Timeline; 2], differences: &[Difference<'_>], [ours, theirs]: &[RiskThresholds; 2]) {
        let mut section = self.begin(yours, Some(differences.len()));
        if !differences.is_empty() {
            chart_of(&mut section, yours, ours, "With your own set-up");
            chart_of(&mut section, other, theirs, "With the other one");
            section.steps = differing(yours, differences, &section.anchor);
            self.sessions.push(section);
        }
    }

    fn begin(&mut self, timeline: &Timeline, differing: Option<usize>) -> Section {
        self.taken += 1;
        let anchor = format!("s{}", self.taken);
        tables::overview_row(&mut self.overview, timeline, &anchor, differing);
        let mut head = Html::of("<h2>{}</h2>", &[&one_line(&timeline.name, 200)]);
        if let Some(goal) = timeline.goal() {
            head.put("<p class=\"goal\">{}</p>", &[&one_line(&words::flat(goal), 1000)]);
        }
        tables::figures(&mut head, timeline, differing);
        Section { anchor, head, steps: Html::new() }
    }

    /// The page about one set-up.
    pub fn of(&self, sum: &Sum) -> String {
        let above = sum.reach(&Row::AboveSoftCorrection).steps;
        let stopped = match sum.reach(&Row::Stopped).sessions {
            0 => "no session was stopped".to_owned(),
            1 => "1 session was stopped".to_owned(),
            several => format!("{several} sessions were stopped"),
        };
        let sessions = counted(sum.sessions, "session");
        let mut lead = Html::of(
            "<p class=\"lead\">{}, {}. {} of the steps led to more than a hint; {}.</p>",
            &[&sessions, &counted(sum.steps, "step"), &percent(sum.share(above)), &stopped],
        );
        tables::strip(&mut lead, sum, "verdicts of all steps");
        let mut table = Html::new();
        tables::reach(&mut table, sum);
        self.whole("Replay", &lead, &table, "")
    }

    /// The page about two.
    pub fn of_both(&self, pair: &Pair) -> String {
        let mut lead = Html::of(
            "<p class=\"lead\">{}, {}. With the other set-up {} would change.</p>",
            &[&counted(pair.yours.sessions, "session"), &counted(pair.yours.steps, "step"), &counted(pair.differing, "step")],
        );
        tables::strip(&mut lead, &pair.yours, "verdicts with your own set-up");
        tables::strip(&mut lead, &pair.other, "verdicts with the other one");
        let mut table = Html::new();
        tables::beside(&mut table, &pair.yours, &pair.other);
        self.whole("Comparison of two set-ups", &lead, &table, "would change")
    }

    fn whole(&self, title: &str, lead: &Html, table: &Html, differing: &str) -> String {
        let mut main = Html::new();
        if self.taken > 1 {
            tables::overview(&mut main, &self.overview, differing);
        }
        tables::legend(&mut main);
        for section in &self.sessions {
            main.put("<section id=\"{}\">", &[&section.anchor]);
            main.add(&section.head);
            let open = self.sessions.len() <= OPEN;
            main.put(if open { "<details class=\"session\" open>" } else { "<details class=\"session\">" }, &[]);
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

/// The steps that differ, both sides of each.
fn differing(timeline: &Timeline, differences: &[Difference<'_>], anchor: &str) -> Html {
    let mut html = Html::of("<ol class=\"steps both\">", &[]);
    for difference in differences {
        let Some(entry) = difference.entry() else { continue };
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        html.put("<li class=\"step\" id=\"{}-{}\"><p class=\"head\"><span class=\"n\">{}</span>", &[&anchor, &entry.place, &step]);
        html.put("<code class=\"what\">{}</code></p>", &[&one_line(&timeline.near(&entry.summary), 400)]);
        for (name, entry) in [("yours", difference.yours), ("other", difference.other)] {
            html.put("<details class=\"side\"><summary><b>{}</b>", &[&name]);
            if let Some(entry) = entry {
                steps::badge(&mut html, entry);
                html.put("<span class=\"risk\">{}</span>", &[&entry.risk.map(|risk| risk.to_string()).unwrap_or_default()]);
                steps::chips(&mut html, entry, &entry.standing);
                let why = entry.decision.as_ref().map(|decision| timeline.near(&decision.primary_reason)).unwrap_or_default();
                html.put("<span class=\"why\">{}</span></summary><div class=\"more\">", &[&one_line(&words::flat(&why), 400)]);
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
