//! The plugins that are held after failures, and all of them as the newest records show them: how
//! often each was asked, what it cost, how often it failed, and what those in shadow mode would have
//! changed.

use super::parts::{add_notice, add_scrolled, format_time, read_record};
use super::{Frame, Place};
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::breakers::{HeldPlugin, held_plugins};
use portcullis_store::Filter;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The newest records that are counted.
const COUNTED: u64 = 2000;

/// What the records show of one plugin.
#[derive(Default)]
struct PluginFigures {
    version: String,
    asked: u64,
    fuel: u64,
    most_fuel: u64,
    faults: u64,
    /// The times that it was only watched, and those in which it would have changed the verdict.
    shadow: (u64, u64),
}

/// Composes the page.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(reading: &Reading) -> Result<Frame> {
    let mut figures: BTreeMap<String, PluginFigures> = BTreeMap::new();
    let filter = Filter { newest_first: true, limit: Some(COUNTED), ..Filter::default() };
    let mut failed = None;
    reading.store.query_records(&filter, |stored| match read_record(&stored) {
        Ok(record) => {
            count(&mut figures, &record);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let mut main = Html::new();
    // Failures that were changed from outside do not hide what the records show.
    match reading.store.breakers() {
        Ok(known) => add_held(&mut main, &held_plugins(&known, now_ms())),
        Err(error) => {
            let what = format!("It is not known which plugins are held: {error}.");
            add_notice(&mut main, false, &what);
        }
    }
    if figures.is_empty() {
        main.put_template("<p class=\"lead\">No plugin was asked yet.</p>", &[]);
    } else {
        main.put_template("<p class=\"lead\">In the newest {} records.</p>", &[&COUNTED]);
        add_table(&mut main, &figures);
    }
    Ok(Frame { title: "Plugins".into(), place: Place::Plugins, is_live: false, main })
}

fn count(figures: &mut BTreeMap<String, PluginFigures>, record: &Record) {
    for plugin in &record.plugins {
        let known = figures.entry(plugin.name.clone()).or_default();
        if known.version.is_empty() {
            known.version.clone_from(&plugin.version);
        }
        known.asked += 1;
        known.fuel += plugin.fuel;
        known.most_fuel = known.most_fuel.max(plugin.fuel);
    }
    for shadow in &record.shadow {
        let known = figures.entry(shadow.plugin.name.clone()).or_default();
        known.shadow.0 += 1;
        known.shadow.1 += u64::from(shadow.actual != shadow.would);
    }
    for fault in &record.faults {
        if let Some(known) = figures.get_mut(&fault.source) {
            known.faults += 1;
        }
    }
}

/// Adds the plugins that are not run, each with the reason. Like the metrics, it also lists one whose
/// file has been replaced and not asked since.
fn add_held(main: &mut Html, held: &[HeldPlugin]) {
    if held.is_empty() {
        return;
    }
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">plugin</th><th scope=\"col\">state</th>\
         <th scope=\"col\">reason</th></tr></thead><tbody>",
        &[],
    );
    for plugin in held {
        let state = match plugin.waits {
            ReleaseCondition::Until(time) => format!("held until {}", format_time(time)),
            ReleaseCondition::ForAPerson => "in quarantine".to_owned(),
        };
        let reason = plugin.breaker.explain_hold(&plugin.name, plugin.waits);
        table.put_template(
            "<tr><th scope=\"row\">{}</th><td><span class=\"badge v-ask\">{}</span></td><td>{}</td></tr>",
            &[&one_line(&plugin.name, 64), &state, &one_line(&reason, 600)],
        );
    }
    table.put_template("</tbody></table>", &[]);
    main.put_template(
        "<section><h2>Not run</h2><p>A person is asked about each action meanwhile.</p>",
        &[],
    );
    add_scrolled(main, "plugins that are not run", &table);
    main.put_template("</section>", &[]);
}

fn add_table(main: &mut Html, figures: &BTreeMap<String, PluginFigures>) {
    main.put_template(
        "<section><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"plugins\"><table \
         class=\"list\"><thead><tr><th scope=\"col\">plugin</th><th scope=\"col\">asked</th><th \
         scope=\"col\">mean fuel</th><th scope=\"col\" class=\"wide\">share</th><th \
         scope=\"col\">most fuel</th><th scope=\"col\">failed</th><th scope=\"col\">shadow: would \
         change</th></tr></thead><tbody>",
        &[],
    );
    let mean = |known: &PluginFigures| known.fuel / known.asked.max(1);
    let most = figures.values().map(mean).max().unwrap_or(0).max(1);
    for (name, known) in figures {
        let shadow = match known.shadow {
            (0, _) => "·".to_owned(),
            (watched, changed) => format!("{changed} of {watched}"),
        };
        main.put_template(
            "<tr><th scope=\"row\">{} <span class=\"goal\">{}</span></th><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"wide\"><svg viewBox=\"0 0 100 8\" width=\"100\" \
             height=\"8\" aria-hidden=\"true\"><rect class=\"v-modify\" width=\"{}\" height=\"8\"/></svg>\
             </td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             </tr>",
            &[
                &one_line(name, 64),
                &one_line(&known.version, 24),
                &known.asked,
                &mean(known),
                &(mean(known) * 100 / most),
                &known.most_fuel,
                &known.faults,
                &shadow,
            ],
        );
    }
    main.put_template("</tbody></table></div></section>", &[]);
}
