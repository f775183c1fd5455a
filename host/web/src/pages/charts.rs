//! The totals of the journal as charts, each with a table that says the same.

use super::parts::add_scrolled;
use super::{Frame, Place};
use crate::site::{Reading, Site};
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::score::Verdict;
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::Html;
use portcullis_page::columns::{Column, ColumnPart, draw_columns};
use portcullis_review::metrics::{BUCKETS, Metrics, ReviewTimes};
use portcullis_terminal::paint;

/// The days that are shown.
const DAYS: u64 = 30;
/// The milliseconds of a day.
const DAY: u64 = 24 * 60 * 60 * 1000;
/// The most rows of a table.
const MOST: usize = 40;

/// Composes the page.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(site: &Site, reading: &Reading) -> Result<Frame> {
    let main = site.count_metrics(reading, |metrics| {
        let mut main = Html::new();
        if metrics.total() == 0 {
            main.put_template("<p class=\"lead\">Nothing was reviewed yet.</p>", &[]);
            return main;
        }
        let since = metrics.since.map(paint::time).unwrap_or_default();
        main.put_template(
            "<p class=\"lead\">{} since {} UTC. <a href=\"/metrics\">The same for Prometheus</a>.</p>",
            &[&count_noun(metrics.total(), "review"), &since],
        );
        add_days(&mut main, metrics, now_ms() / DAY);
        add_times(&mut main, &metrics.times);
        add_objections(&mut main, metrics);
        add_effectiveness(&mut main, metrics);
        main
    })?;
    Ok(Frame { title: "Metrics".into(), place: Place::Metrics, is_live: false, main })
}

/// Adds the verdicts of the newest days.
fn add_days(main: &mut Html, metrics: &Metrics, today: u64) {
    let days = today.saturating_sub(DAYS - 1)..=today;
    let count = |day: u64, verdict: Verdict| {
        metrics.days.get(&day).and_then(|day| day.get(&verdict)).copied().unwrap_or(0)
    };
    let part = |day: u64, verdict: Verdict| ColumnPart {
        class: class_of(verdict),
        name: verdict.as_str(),
        count: count(day, verdict),
    };
    let columns: Vec<Column> = days
        .clone()
        .map(|day| Column {
            label: name_day(day).get(5..).unwrap_or_default().to_owned(),
            parts: Verdict::ALL.iter().map(|verdict| part(day, *verdict)).collect(),
        })
        .collect();
    begin_figure(main, "Verdicts by day", &draw_columns("Verdicts of each of 30 days", &columns));
    add_legend(main);
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">day (UTC)</th>",
        &[],
    );
    for verdict in Verdict::ALL {
        table.put_template("<th scope=\"col\">{}</th>", &[verdict]);
    }
    table.put_template("</tr></thead><tbody>", &[]);
    for day in days.rev().filter(|day| metrics.days.contains_key(day)) {
        table.put_template("<tr><th scope=\"row\">{}</th>", &[&name_day(day)]);
        for verdict in Verdict::ALL {
            table.put_template("<td class=\"number\">{}</td>", &[&count(day, *verdict)]);
        }
        table.put_template("</tr>", &[]);
    }
    end_figure(main, "verdicts by day", table);
}

/// Explains the colours of the verdicts.
fn add_legend(main: &mut Html) {
    main.put_template("<div class=\"legend\"><ul>", &[]);
    for verdict in Verdict::ALL {
        main.put_template(
            "<li class=\"badge v-{}\"><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect \
             class=\"{}\" width=\"10\" height=\"10\"/></svg>{}</li>",
            &[verdict, &class_of(*verdict), verdict],
        );
    }
    main.put_template("</ul></div>", &[]);
}

/// Adds the times that reviews took.
fn add_times(main: &mut Html, times: &ReviewTimes) {
    if times.count == 0 {
        return;
    }
    let mut below = 0;
    let mut rows: Vec<(String, u64)> = Vec::new();
    for (end, count) in BUCKETS.iter().zip(times.buckets) {
        rows.push((format!("\u{2264} {}", show_time(*end)), count - below));
        below = count;
    }
    rows.push(("more".to_owned(), times.count - below));
    let column = |(label, count): &(String, u64)| Column {
        label: label.clone(),
        parts: vec![ColumnPart { class: "v-modify", name: "reviews", count: *count }],
    };
    let columns: Vec<Column> = rows.iter().map(column).collect();
    begin_figure(
        main,
        "Time of a review",
        &draw_columns("Reviews by the time they took", &columns),
    );
    let within = |share: u64| {
        let wanted = (times.count * share).div_ceil(100);
        let found = BUCKETS.iter().zip(times.buckets).find(|(_, count)| *count >= wanted);
        found.map_or_else(|| "more than 2.5 s".to_owned(), |(end, _)| show_time(*end))
    };
    main.put_template(
        "<p>Half of them within {}, 95 % within {}, 99 % within {}; {} of {} took longer than the \
         target of {} ms.</p>",
        &[&within(50), &within(95), &within(99), &times.over, &times.count, &times.target_ms],
    );
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">time</th><th scope=\"col\">reviews</th></tr>\
         </thead><tbody>",
        &[],
    );
    for (label, count) in &rows {
        table.put_template(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>",
            &[label, count],
        );
    }
    end_figure(main, "time of a review", table);
}

/// Adds the plugins by their objections.
fn add_objections(main: &mut Html, metrics: &Metrics) {
    let mut plugins: Vec<(&String, u64)> =
        metrics.plugins.iter().map(|(plugin, count)| (plugin, *count)).collect();
    plugins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let Some(most) = plugins.first().map(|(_, count)| *count) else { return };
    main.put_template("<section><h2>Objections by plugin</h2>", &[]);
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">plugin</th><th scope=\"col\" \
         class=\"wide\">share</th><th scope=\"col\">objections</th></tr></thead><tbody>",
        &[],
    );
    for (plugin, count) in plugins.iter().take(MOST) {
        table.put_template("<tr><th scope=\"row\">{}</th>", &[&one_line(plugin, 64)]);
        add_bar(&mut table, count * 100 / most.max(1));
        table.put_template("<td class=\"number\">{}</td></tr>", &[count]);
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "objections by plugin", &table);
    main.put_template("</section>", &[]);
}

/// Adds the interventions by how well they worked.
fn add_effectiveness(main: &mut Html, metrics: &Metrics) {
    let known = &metrics.answers.effectiveness;
    if known.is_empty() {
        return;
    }
    main.put_template(
        "<section><h2>Effectiveness of interventions</h2><p class=\"goal\">The share of the next five \
         steps that went by before the issue came back, on average.</p>",
        &[],
    );
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">intervention</th><th scope=\"col\">issue</th>\
         <th scope=\"col\" class=\"wide\">agent</th><th scope=\"col\" class=\"wide\">share</th><th \
         scope=\"col\">mean</th><th scope=\"col\">judged</th></tr></thead><tbody>",
        &[],
    );
    for ((kind, issue, client), one) in known.iter().take(MOST) {
        table.put_template(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"wide\">{}</td>",
            &[&one_line(kind, 64), &one_line(issue, 64), &one_line(client, 64)],
        );
        add_bar(&mut table, (one.mean_score() * 100.0) as u64);
        let mean = format!("{:.2}", one.mean_score());
        table.put_template(
            "<td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            &[&mean, &one.judged],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "effectiveness of interventions", &table);
    main.put_template("</section>", &[]);
}

/// Adds a cell with a bar of that many hundredths.
fn add_bar(table: &mut Html, hundredths: u64) {
    table.put_template(
        "<td class=\"wide\"><svg viewBox=\"0 0 100 8\" width=\"100\" height=\"8\" \
         aria-hidden=\"true\"><rect class=\"v-modify\" width=\"{}\" height=\"8\"/></svg></td>",
        &[&hundredths.min(100)],
    );
}

fn begin_figure(main: &mut Html, heading: &'static str, chart: &Html) {
    main.put_template("<section><h2>{}</h2><div class=\"scroll\">", &[&heading]);
    main.add_piece(chart);
    main.put_template("</div>", &[]);
}

/// Ends a figure with the table that says the same, which opens when asked for.
fn end_figure(main: &mut Html, name: &'static str, mut table: Html) {
    table.put_template("</tbody></table>", &[]);
    main.put_template("<details class=\"table\"><summary>As a table</summary>", &[]);
    add_scrolled(main, name, &table);
    main.put_template("</details></section>", &[]);
}

const fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "v-allow",
        Verdict::Warn => "v-warn",
        Verdict::Modify => "v-modify",
        Verdict::Ask => "v-ask",
        Verdict::Block => "v-block",
    }
}

/// Names a day, counted from 1970: `2026-02-28`.
fn name_day(day: u64) -> String {
    paint::time(day * DAY).split(' ').next().unwrap_or_default().to_owned()
}

fn show_time(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}
