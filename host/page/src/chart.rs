//! The chart of a session: the risk of each step with its decision, and below it, on separate
//! lanes, the restraints in force, the findings and the interventions.
//!
//! Colour never carries meaning alone: verdicts have shapes, severities and interventions letters.
//! Many steps share a bar, which shows the worst of them.

mod lanes;

pub use lanes::{kind_letter, severity_letter};

use crate::Html;
use lanes::{restraint, spread_marks};
use portcullis_core::policy::RiskThresholds;
use portcullis_core::score::{Score, Verdict};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::timeline::{Timeline, TimelineEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// The left and right edges of the plot; the whole chart is 960 wide.
const LEFT: f64 = 148.0;
const RIGHT: f64 = 948.0;
/// The vertical positions of the highest and the lowest risk.
const TOP: f64 = 18.0;
const BOTTOM: f64 = 158.0;
/// The height of a lane.
const LANE: f64 = 24.0;
/// The most bars in a chart.
const BARS: usize = 400;
/// The most numbers below the chart.
const TICKS: usize = 12;

/// Draws the chart of a session; `anchor` is the prefix of its steps' names on the page.
pub fn draw_chart(timeline: &Timeline, levels: &RiskThresholds, anchor: &str) -> Html {
    let steps: Vec<&TimelineEntry> = timeline.steps().collect();
    let mut html = Html::new();
    if steps.is_empty() {
        return html;
    }
    let patterns: BTreeSet<&str> = steps
        .iter()
        .flat_map(|step| &step.detections)
        .map(|found| found.pattern.as_str())
        .collect();
    let chart = Chart { timeline, places: places(&steps), steps, anchor };
    let lanes = patterns.len() + usize::from(chart.restrained()) + usize::from(chart.answered());
    let height = BOTTOM + LANE * lanes as f64 + 24.0;
    html.put_template(
        "<svg viewBox=\"0 0 960 {}\" role=\"group\" aria-label=\"Risk of {}, with what was decided, \
         found and done. The list below says the same in words.\">",
        &[&height, &count_noun(chart.steps.len() as u64, "step")],
    );
    chart.scale(&mut html, levels, height);
    let mut lane = BOTTOM;
    if chart.restrained() {
        lane = chart.restraints(&mut html, lane);
    }
    for pattern in patterns {
        lane = chart.pattern(&mut html, lane, pattern);
    }
    if chart.answered() {
        lane = chart.answers(&mut html, lane);
    }
    chart.bars(&mut html);
    chart.numbers(&mut html, lane);
    html.put_template("</svg>", &[]);
    html
}

/// Returns the position of each agent's steps among all steps.
fn places<'a>(steps: &[&'a TimelineEntry]) -> BTreeMap<(Option<&'a str>, u64), usize> {
    let named = |(index, entry): (usize, &&'a TimelineEntry)| {
        Some(((entry.agent.as_deref(), entry.step?), index))
    };
    steps.iter().enumerate().filter_map(named).collect()
}

struct Chart<'a> {
    timeline: &'a Timeline,
    steps: Vec<&'a TimelineEntry>,
    places: BTreeMap<(Option<&'a str>, u64), usize>,
    anchor: &'a str,
}

impl Chart<'_> {
    fn restrained(&self) -> bool {
        self.steps.iter().any(|step| restraint(step).is_some())
    }

    fn answered(&self) -> bool {
        self.steps.iter().any(|step| step.kinds().next().is_some())
    }

    /// Returns the horizontal centre of a step.
    fn x(&self, index: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * (index as f64 + 0.5) / self.steps.len() as f64
    }

    /// Draws the levels of risk from the policy.
    fn scale(&self, html: &mut Html, levels: &RiskThresholds, height: f64) {
        html.put_template("<g class=\"scale\">", &[]);
        for (name, score) in [
            ("critical", levels.critical),
            ("high", levels.high),
            ("medium", levels.medium),
            ("", Score::ZERO),
        ] {
            let y = y(score);
            html.put_template(
                "<path d=\"M148 {}H948\"/><text x=\"140\" y=\"{}\">{} {}</text>",
                &[&tenths(y), &tenths(y + 3.5), &name, &score],
            );
        }
        html.put_template("<path d=\"M148 18V{}\"/></g>", &[&tenths(height - 22.0)]);
    }

    /// Draws one bar per step or group of steps, and a mark for each objection.
    fn bars(&self, html: &mut Html) {
        let share = self.steps.len().div_ceil(BARS);
        let wide = ((RIGHT - LEFT) / self.steps.len() as f64 * share as f64 * 0.72).min(16.0);
        for (index, steps) in self.steps.chunks(share).enumerate() {
            let Some(worst) = steps.iter().max_by_key(|step| (step.verdict, step.risk)) else {
                continue;
            };
            let (risk, verdict) = (
                steps.iter().filter_map(|step| step.risk).max().unwrap_or_default(),
                worst.verdict,
            );
            let middle = (self.x(index * share) + self.x(index * share + steps.len() - 1)) / 2.0;
            let (top, left) = (y(risk).min(BOTTOM - 1.5), middle - wide / 2.0);
            html.put_template(
                "<rect class=\"v-{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
                &[&verdict_name(worst), &tenths(left), &tenths(top), &tenths(wide), &tenths(BOTTOM - top), &self.describe_steps(steps, verdict)],
            );
        }
        let objections =
            self.steps.iter().enumerate().filter(|(_, step)| step.verdict > Some(Verdict::Allow));
        for (x, step) in
            spread_marks(objections.map(|(index, step)| (self.x(index), *step)), |step| {
                (step.verdict, step.risk)
            })
        {
            let above = (y(step.risk.unwrap_or_default()) - 8.0).max(8.0);
            self.linked(html, step, |html| {
                let place = format!("translate({} {})", tenths(x), tenths(above));
                let title = format!(
                    "step {}: {} {}",
                    number(step),
                    verdict_name(step),
                    step.risk.unwrap_or_default()
                );
                html.put_template(
                    "<path class=\"v-{} mark\" transform=\"{}\" d=\"{}\"><title>{}</title></path>",
                    &[&verdict_name(step), &place, &dot_class(step.verdict), &title],
                );
            });
        }
    }

    fn describe_steps(&self, steps: &[&TimelineEntry], verdict: Option<Verdict>) -> String {
        match steps {
            [step] => format!(
                "step {}: {} {}\n{}",
                number(step),
                verdict_name(step),
                step.risk.unwrap_or_default(),
                self.timeline.shorten_paths(&step.summary)
            ),
            [first, .., last] => {
                let worst = verdict.map_or("not reviewed", Verdict::as_str);
                format!("steps {} to {}: at most {worst}", number(first), number(last))
            }
            [] => String::new(),
        }
    }

    /// Draws the numbers of some steps.
    fn numbers(&self, html: &mut Html, lane: f64) {
        html.put_template("<g class=\"ticks\">", &[]);
        let every = nice(self.steps.len().div_ceil(TICKS));
        let mut last = f64::MIN;
        for (index, step) in self.steps.iter().enumerate() {
            let x = self.x(index);
            if step.step.is_some_and(|step| step % every == 0) && x - last > 30.0 {
                last = x;
                html.put_template(
                    "<text x=\"{}\" y=\"{}\">{}</text>",
                    &[&tenths(x), &tenths(lane + 16.0), &number(step)],
                );
            }
        }
        html.put_template(
            "<text class=\"name\" x=\"140\" y=\"{}\">step</text></g>",
            &[&tenths(lane + 16.0)],
        );
    }

    /// Draws a mark that links to the step in the list.
    fn linked(&self, html: &mut Html, step: &TimelineEntry, mark: impl FnOnce(&mut Html)) {
        html.put_template("<a href=\"#{}-{}\" tabindex=\"-1\">", &[&self.anchor, &step.place]);
        mark(html);
        html.put_template("</a>", &[]);
    }
}

/// Returns the shape of a verdict's mark, around the origin.
pub const fn dot_class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Warn) => "M0-5 5.5 4.5H-5.5Z",
        Some(Verdict::Modify) => "M0-6 6 0 0 6-6 0Z",
        Some(Verdict::Ask) => "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",
        Some(Verdict::Block) => "M-4.5-4.5h9v9h-9Z",
        Some(Verdict::Allow) | None => "M-2-2h4v4h-4Z",
    }
}

/// Returns the name of a verdict's class and word.
pub fn verdict_name(entry: &TimelineEntry) -> &'static str {
    entry.verdict.map_or("unreviewed", Verdict::as_str)
}

fn number(entry: &TimelineEntry) -> String {
    let agent = entry
        .agent
        .as_deref()
        .map(|agent| format!(" of {}", one_line(agent, 24)))
        .unwrap_or_default();
    format!("{}{agent}", entry.step.unwrap_or_default())
}

fn y(score: Score) -> f64 {
    BOTTOM - (BOTTOM - TOP) * f64::from(score.get()) / 1000.0
}

fn tenths(number: f64) -> impl Display {
    format!("{number:.1}")
}

/// Returns the next round number.
fn nice(number: usize) -> u64 {
    let steps = (0..6).flat_map(|power| [1, 2, 5].map(|one| one * 10_u64.pow(power)));
    let number = number as u64;
    steps.into_iter().find(|step| *step >= number).unwrap_or(number)
}
