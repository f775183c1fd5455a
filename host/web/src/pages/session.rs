//! One session: its risk over time, and each step.

use super::parts::read_record;
use super::{Frame, Place};
use crate::site::Reading;
use anyhow::Result;
use portcullis_core::text::one_line;
use portcullis_page::figures::{add_figures, add_legend, session_title};
use portcullis_page::{Html, chart, steps};
use portcullis_review::timeline::{ActiveInterventions, Timeline};
use portcullis_store::Filter;
use std::ops::ControlFlow;

/// The newest records that are shown.
const MOST: u64 = 3000;
/// The prefix of the steps' names on the page.
const ANCHOR: &str = "s";

/// Composes the page of a session.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(reading: &Reading, session: &str) -> Result<Frame> {
    let filter = Filter {
        session: Some(session.to_owned()),
        newest_first: true,
        limit: Some(MOST),
        ..Filter::default()
    };
    let mut records = Vec::new();
    reading.store.query_records(&filter, |stored| {
        records.push(read_record(&stored));
        ControlFlow::Continue(())
    })?;
    let is_cut = records.len() as u64 == MOST;
    let mut timeline = Timeline::new(session);
    for (index, record) in records.into_iter().rev().enumerate() {
        let record = record?;
        if timeline.folder.is_none() {
            timeline.folder = record.action.as_ref().map(|action| action.cwd.clone());
        }
        // Each record is committed by itself, and joins its step.
        timeline.add_event(index, &[record], &ActiveInterventions::default());
    }
    let mut main = Html::new();
    if timeline.entries.is_empty() {
        main.put_template("<p class=\"lead\">The journal has no record of this session.</p>", &[]);
        return Ok(frame(one_line(session, 80), main));
    }
    let (title, about) = session_title(&timeline, 200);
    main.put_template("<p class=\"lead\">{}</p>", &[&about]);
    if is_cut {
        main.put_template("<p>Only the newest {} records are shown.</p>", &[&MOST]);
    }
    main.put_template("<section>", &[]);
    add_figures(&mut main, &timeline, None);
    main.put_template(
        "<figure><figcaption>Risk of each step</figcaption><div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"risk of each step\">",
        &[],
    );
    main.add_piece(&chart::draw_chart(&timeline, &reading.levels, ANCHOR));
    main.put_template("</div></figure>", &[]);
    add_legend(&mut main);
    main.add_piece(&steps::list_steps(&timeline, ANCHOR));
    main.put_template("</section>", &[]);
    Ok(frame(title, main))
}

fn frame(title: String, main: Html) -> Frame {
    Frame { title, place: Place::Sessions, is_live: true, main }
}
