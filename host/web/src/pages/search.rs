//! Search over the journal.

use super::parts::{format_time, read_record};
use super::{Frame, Place};
use crate::site::Reading;
use anyhow::Result;
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::canary_session::CANARY_SESSION;
use portcullis_store::{Filter, StoredRecord};
use serde::Deserialize;
use std::ops::ControlFlow;

/// The most records that are shown.
const MOST: usize = 100;
/// The newest records that are looked at.
const SEARCHED: u64 = 50_000;

#[derive(Deserialize)]
pub(crate) struct SearchQuery {
    /// Words that each record has to contain, in any case of letters.
    #[serde(default)]
    text: String,
    /// The verdict; empty for any.
    #[serde(default)]
    verdict: String,
}

/// Composes the page.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(reading: &Reading, query: &SearchQuery) -> Result<Frame> {
    let mut main = Html::new();
    add_form(&mut main, query);
    let is_asked = !query.text.trim().is_empty() || !query.verdict.is_empty();
    if is_asked {
        let found = find_records(reading, query)?;
        add_results(&mut main, &found)?;
    }
    Ok(Frame { title: "Search".into(), place: Place::Search, is_live: false, main })
}

fn find_records(reading: &Reading, query: &SearchQuery) -> Result<Vec<StoredRecord>> {
    let words: Vec<String> = query.text.split_whitespace().map(str::to_lowercase).collect();
    let filter = Filter {
        verdict: Some(query.verdict.clone()).filter(|verdict| !verdict.is_empty()),
        except: Some(CANARY_SESSION.to_owned()),
        newest_first: true,
        limit: Some(SEARCHED),
        ..Filter::default()
    };
    let mut found = Vec::new();
    reading.store.query_records(&filter, |stored| {
        let text = stored.record.document.to_lowercase();
        if words.iter().all(|word| text.contains(word)) {
            found.push(stored);
        }
        if found.len() > MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

fn add_form(main: &mut Html, query: &SearchQuery) {
    main.put_template(
        "<form class=\"search\" method=\"get\" action=\"/search\" role=\"search\"><label>Words<input \
         name=\"text\" type=\"search\" value=\"{}\" maxlength=\"200\"></label><label>Verdict<select \
         name=\"verdict\"><option value=\"\">any</option>",
        &[&query.text],
    );
    for verdict in Verdict::ALL {
        let template = match verdict.as_str() == query.verdict {
            true => "<option selected>{}</option>",
            false => "<option>{}</option>",
        };
        main.put_template(template, &[verdict]);
    }
    main.put_template("</select></label><button class=\"main\">Search</button></form>", &[]);
}

fn add_results(main: &mut Html, found: &[StoredRecord]) -> Result<()> {
    if found.is_empty() {
        main.put_template(
            "<p class=\"lead\" role=\"status\">No record has that among the newest {}.</p>",
            &[&SEARCHED],
        );
        return Ok(());
    }
    main.put_template(
        "<section><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"records\"><table \
         class=\"list\"><thead><tr><th scope=\"col\">time</th><th scope=\"col\">record</th><th \
         scope=\"col\">verdict</th><th scope=\"col\" class=\"wide\">session</th></tr></thead><tbody>",
        &[],
    );
    for stored in found.iter().take(MOST) {
        let record = read_record(stored)?;
        main.put_template(
            "<tr><td>{}</td><th scope=\"row\">{}<span class=\"goal\">{} {}</span></th><td>{}</td>\
             <td class=\"wide\">",
            &[
                &format_time(record.at),
                &one_line(&record.summary, 240),
                &record.kind,
                &one_line(&record.id, 40),
                &stored.record.verdict.as_deref().unwrap_or("·"),
            ],
        );
        // A record of the installation, such as a change of its approvers, has no session.
        if !record.session.is_empty() {
            main.put_template(
                "<a href=\"/session?id={}\">{}</a>",
                &[&super::encode_value(&record.session), &one_line(&record.session, 24)],
            );
        }
        main.put_template("</td></tr>", &[]);
    }
    main.put_template("</tbody></table></div></section>", &[]);
    if found.len() > MOST {
        main.put_template("<p>Only the newest {} are shown.</p>", &[&MOST]);
    }
    Ok(())
}
