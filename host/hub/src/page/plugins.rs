//! Plugins over the fleet, as the newest records of the day show them: how often each was asked, its
//! fuel, its faults, and what one in shadow mode would have changed.

use super::frame::{Frame, Place};
use super::visit::{PageHandle, SignedIn};
use crate::plugins::{PluginFigures, PluginSample, sample_plugins};
use axum::extract::State;
use axum::response::Response;
use portcullis_core::text::{count_noun, one_line};
use portcullis_page::Html;
use portcullis_served::parts::add_scrolled;

/// Shows the page.
pub async fn show_plugins(State(state): PageHandle, SignedIn(visitor): SignedIn) -> Response {
    let sample = sample_plugins(&state.hub.database).await;
    state.answer(&visitor, sample.map(|sample| compose(&sample))).await
}

fn compose(sample: &PluginSample) -> Frame {
    let mut main = Html::new();
    if sample.plugins.is_empty() {
        main.put_template(
            "<p class=\"lead\" role=\"status\">No record of the last day names a plugin. Machines \
             name them in records with their whole document.</p>",
            &[],
        );
    } else {
        main.put_template(
            "<p class=\"lead\">In the newest {} of the last day, of {}.</p>",
            &[
                &count_noun(sample.reviews, "review"),
                &count_noun(sample.machines as u64, "machine"),
            ],
        );
        main.put_template("<section>", &[]);
        add_scrolled(&mut main, "plugins", &list_rows(sample));
        main.put_template("</section>", &[]);
    }
    if sample.unknown > 0 {
        main.put_template(
            "<p class=\"goal\">{} more came without their whole document, and name no plugin.</p>",
            &[&sample.unknown],
        );
    }
    Frame { title: "Plugins".into(), place: Place::Plugins, live: None, main }
}

fn list_rows(sample: &PluginSample) -> Html {
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">plugin</th><th scope=\"col\">asked</th>\
         <th scope=\"col\">mean fuel</th><th scope=\"col\" class=\"wide\">share</th><th scope=\"col\" \
         class=\"wide\">most fuel</th><th scope=\"col\">failed</th><th scope=\"col\" \
         class=\"wide\">shadow: would change</th></tr></thead><tbody>",
        &[],
    );
    let most = sample.plugins.iter().map(|(_, figures)| figures.mean_fuel()).max();
    let most = most.unwrap_or(0).max(1);
    for ((name, version), figures) in &sample.plugins {
        add_row(&mut table, (name, version), figures, most);
    }
    table.put_template("</tbody></table>", &[]);
    table
}

fn add_row(table: &mut Html, (name, version): (&str, &str), figures: &PluginFigures, most: u64) {
    let failed = match figures.faulty_machines.len() {
        0 => "0".to_owned(),
        machines => format!("{} on {}", figures.faults, count_noun(machines as u64, "machine")),
    };
    let shadow = match figures.shadow {
        (0, _) => "·".to_owned(),
        (watched, changed) => format!("{changed} of {watched}"),
    };
    let mean = figures.mean_fuel();
    table.put_template(
        "<tr><th scope=\"row\">{}<span class=\"goal\">{}, {}</span></th><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"wide\"><svg viewBox=\"0 0 100 8\" width=\"100\" \
         height=\"8\" aria-hidden=\"true\"><rect class=\"v-modify\" width=\"{}\" height=\"8\"/></svg></td>\
         <td class=\"number wide\">{}</td><td class=\"number\">{}</td><td class=\"number wide\">{}</td></tr>",
        &[
            &one_line(name, 64),
            &one_line(version, 24),
            &count_noun(figures.machines.len() as u64, "machine"),
            &figures.asked,
            &mean,
            &(mean.saturating_mul(100) / most),
            &figures.most_fuel,
            &failed,
            &shadow,
        ],
    );
}
