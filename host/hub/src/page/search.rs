//! Search over the records of all machines.

use super::frame::{Frame, Place};
use super::parts::{add_machine, add_paging, add_session, show_time, summary_of};
use super::visit::{PageHandle, SignedIn};
use crate::database::Database;
use crate::failure::Failure;
use crate::records::{Cursor, FoundRecord, RecordSearch, find_records};
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::record::RecordKind;
use portcullis_core::score::Verdict;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_served::frame::encode_value;
use portcullis_served::parts::{add_notice, add_scrolled};
use serde::Deserialize;
use time::{Date, Duration, Month, OffsetDateTime, Time};

/// The records on one page.
const MOST: u32 = 50;
/// The days that a search looks back if it names no beginning.
const DAYS: i64 = 7;

/// The query of the page. An empty text is no condition.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SearchQuery {
    text: String,
    machine: String,
    session: String,
    kind: String,
    verdict: String,
    tool: String,
    /// The first and the last day, `YYYY-MM-DD`.
    since: String,
    until: String,
    /// The place after which the page begins.
    after: String,
}

/// Shows the page.
pub async fn show_search(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<SearchQuery>,
) -> Response {
    let composed = compose(&state.hub.database, &query).await;
    state.answer(&visitor, composed).await
}

async fn compose(database: &Database, query: &SearchQuery) -> Result<Frame, Failure> {
    let mut main = Html::new();
    add_form(&mut main, query);
    match read_query(query, OffsetDateTime::now_utc()) {
        Err(mistake) => add_notice(&mut main, false, mistake),
        Ok(search) => {
            let found = find_records(database, &search, MOST + 1).await?;
            add_results(&mut main, &found, query);
        }
    }
    Ok(Frame { title: "Search".into(), place: Place::Search, live: None, main })
}

/// Reads the conditions; fails with the words for the person who wrote them.
fn read_query(query: &SearchQuery, now: OffsetDateTime) -> Result<RecordSearch, &'static str> {
    let wrong = "A day is written as YYYY-MM-DD.";
    let microseconds =
        |at: OffsetDateTime| i64::try_from(at.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX);
    let since = match query.since.trim() {
        "" => now.saturating_sub(Duration::days(DAYS)),
        day => parse_day(day).ok_or(wrong)?,
    };
    let until = match query.until.trim() {
        // A record that is being stored has the time at which its transaction began.
        "" => now.saturating_add(Duration::days(1)),
        day => parse_day(day).ok_or(wrong)?.saturating_add(Duration::days(1)),
    };
    let after = match query.after.as_str() {
        "" => None,
        word => Some(Cursor::from_word(word).ok_or("This address is cut off: search again.")?),
    };
    // The database takes no NUL in a text.
    let text = |text: &str| text.trim().replace('\0', "");
    Ok(RecordSearch {
        text: text(&query.text),
        machine: text(&query.machine),
        session: text(&query.session),
        kind: text(&query.kind),
        verdict: text(&query.verdict),
        tool: text(&query.tool),
        since: microseconds(since),
        until: microseconds(until),
        after,
    })
}

/// Returns the beginning of a day.
fn parse_day(text: &str) -> Option<OffsetDateTime> {
    let mut parts = text.split('-');
    let is_year = |year: &&str| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let year = parts.next().filter(is_year)?.parse::<u16>().ok()?;
    let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
    let day = parts.next()?.parse().ok()?;
    if parts.next().is_some() {
        return None;
    }
    let date = Date::from_calendar_date(year.into(), month, day).ok()?;
    Some(date.with_time(Time::MIDNIGHT).assume_utc())
}

fn add_form(main: &mut Html, query: &SearchQuery) {
    main.put_template(
        "<form class=\"search\" method=\"get\" action=\"/search\" role=\"search\"><label>Words<input \
         name=\"text\" value=\"{}\"></label>",
        &[&query.text],
    );
    let verdicts = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    add_choice(main, "Verdict", "verdict", verdicts, &query.verdict);
    let kinds = RecordKind::ALL.iter().map(|kind| kind.as_str());
    add_choice(main, "Kind", "kind", kinds, &query.kind);
    main.put_template(
        "<label>Tool<input name=\"tool\" value=\"{}\"></label><label>Machine's id<input \
         name=\"machine\" value=\"{}\"></label>",
        &[&query.tool, &query.machine],
    );
    main.put_template(
        "<label>Session<input name=\"session\" value=\"{}\"></label><label>From day<input \
         name=\"since\" type=\"date\" value=\"{}\"></label><label>To day<input name=\"until\" \
         type=\"date\" value=\"{}\"></label><button class=\"main\">Search</button></form>",
        &[&query.session, &query.since, &query.until],
    );
    if query.since.trim().is_empty() {
        main.put_template(
            "<p class=\"goal\">Records that the hub received in the last {} days, if no first day is \
             named.</p>",
            &[&DAYS],
        );
    }
}

fn add_choice<'a>(
    main: &mut Html,
    label: &'static str,
    name: &'static str,
    values: impl Iterator<Item = &'a str>,
    chosen: &str,
) {
    main.put_template(
        "<label>{}<select name=\"{}\"><option value=\"\">any</option>",
        &[&label, &name],
    );
    for value in values {
        let template = match value == chosen {
            true => "<option selected>{}</option>",
            false => "<option>{}</option>",
        };
        main.put_template(template, &[&value]);
    }
    main.put_template("</select></label>", &[]);
}

fn add_results(main: &mut Html, found: &[FoundRecord], query: &SearchQuery) {
    if found.is_empty() {
        main.put_template("<p class=\"lead\" role=\"status\">No record has all of that.</p>", &[]);
        return;
    }
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">received</th><th scope=\"col\">record</th>\
         <th scope=\"col\">verdict</th><th scope=\"col\">machine</th><th scope=\"col\" \
         class=\"wide\">session</th></tr></thead><tbody>",
        &[],
    );
    let mut shown = found.iter().take(MOST as usize);
    shown.clone().for_each(|record| add_row(&mut table, record));
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section>", &[]);
    add_scrolled(main, "records", &table);
    main.put_template("</section>", &[]);
    let has_more = found.len() > MOST as usize;
    let last = shown.next_back().filter(|_| has_more).map(|record| record.place.to_word());
    let older = last.map(|word| address_after(query, &word));
    let first = (!query.after.is_empty()).then(|| address_after(query, ""));
    add_paging(main, first.as_deref(), older.as_deref());
}

fn add_row(table: &mut Html, record: &FoundRecord) {
    let summary = summary_of(record.document.as_deref());
    table.put_template("<tr><td>{}</td><th scope=\"row\">", &[&show_time(record.stored_at)]);
    let shown = summary.unwrap_or_else(|| one_line(&record.subject, 64));
    if record.kind == "review" {
        let place = record.place.to_word();
        table.put_template("<a href=\"/record?place={}\">{}</a>", &[&place, &shown]);
    } else {
        table.put_template("{}", &[&shown]);
    }
    table.put_template(
        "<span class=\"goal\">{} {}, {}</span></th><td>{}</td><td>",
        &[
            &one_line(&record.kind, 32),
            &one_line(&record.id, 40),
            &one_line(&record.subject, 64),
            &one_line(record.verdict.as_deref().unwrap_or("·"), 32),
        ],
    );
    add_machine(table, &record.machine, &record.name);
    table.put_template("</td><td class=\"wide\">", &[]);
    // A record of the installation, such as a change of its approvers, has no session.
    if let Some(session) = record.session.as_deref().filter(|session| !session.is_empty()) {
        add_session(table, &record.machine, session);
    }
    table.put_template("</td></tr>", &[]);
}

/// Returns the address of the same search after a place.
fn address_after(query: &SearchQuery, after: &str) -> String {
    let values = [
        ("text", &query.text),
        ("machine", &query.machine),
        ("session", &query.session),
        ("kind", &query.kind),
        ("verdict", &query.verdict),
        ("tool", &query.tool),
        ("since", &query.since),
        ("until", &query.until),
    ];
    let named = values.iter().filter(|(_, value)| !value.is_empty());
    let mut parts: Vec<String> =
        named.map(|(name, value)| format!("{name}={}", encode_value(value))).collect();
    if !after.is_empty() {
        parts.push(format!("after={}", encode_value(after)));
    }
    format!("/search?{}", parts.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_whole_and_exist() {
        for (text, seconds) in [
            ("1970-01-02", Some(86_400)),
            ("2024-02-29", Some(1_709_164_800)),
            ("2023-02-29", None),
            ("2023-13-01", None),
            ("23-01-01", None),
            ("2023-01", None),
            ("2023-01-01-01", None),
            ("+023-01-01", None),
            ("'; --", None),
        ] {
            assert_eq!(parse_day(text).map(OffsetDateTime::unix_timestamp), seconds, "{text}");
        }
    }

    #[test]
    fn a_search_looks_back_for_some_days() {
        let now = OffsetDateTime::from_unix_timestamp(1_000_000).unwrap();
        let search = read_query(&SearchQuery::default(), now).unwrap();
        assert_eq!(search.since, (1_000_000 - DAYS * 86_400) * 1_000_000);
        let query = SearchQuery { until: "1970-01-02".into(), ..SearchQuery::default() };
        assert_eq!(read_query(&query, now).unwrap().until, 2 * 86_400 * 1_000_000);
        let query = SearchQuery { after: "x".into(), ..SearchQuery::default() };
        assert!(read_query(&query, now).is_err());
    }
}
