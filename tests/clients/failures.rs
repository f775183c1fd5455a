//! What each client does when our hook fails: `host/docs/failing-hooks.md`, generated from the cases,
//! so that a row says what its case expects.

use crate::case::{Case, Failure};
use crate::client::{CLIENTS, ClientKind};
use anyhow::{Result, ensure};
use portcullis_tests::pages;
use portcullis_tests::programs::list_cases;
use std::fmt::Write;

/// One case of a failing hook.
struct Row {
    failure: Failure,
    /// `None` if the case of another client with the same plugin stands for it.
    case: Option<Case>,
}

/// What follows from a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The call does not run.
    Closed,
    /// It runs, and a record says that nobody reviewed it.
    Recorded,
    /// It runs, and no record says so.
    Open,
}

impl Outcome {
    fn of(case: &Case) -> Self {
        let ran = case.expect.files.values().any(Option::is_none);
        let recorded = case.expect.journal.iter().flatten().any(|word| word == "unreviewed");
        match (ran, recorded) {
            (false, _) => Self::Closed,
            (true, true) => Self::Recorded,
            (true, false) => Self::Open,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Recorded => "**recorded**",
            Self::Open => "**open**",
        }
    }
}

/// Checks that each client has a case for every failure, and that the page matches the cases.
pub(crate) fn check_page() -> Result<()> {
    let tables: Vec<(&ClientKind, Vec<Row>)> =
        CLIENTS.iter().map(|client| Ok((*client, rows(client)?))).collect::<Result<_>>()?;
    pages::check_page("failing-hooks.md", "tests/clients/cases", &write_page(&tables)?)
}

/// Returns the client's cases of failing hooks, in the order of the failures.
fn rows(client: &ClientKind) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (_, file) in list_cases(&format!("clients/cases/{}", client.name))? {
        let case = Case::read_unfilled(&file)?;
        rows.extend(case.fails.map(|failure| Row { failure, case: Some(case) }));
    }
    Failure::ALL
        .iter()
        .map(|failure| {
            let found = rows.iter().position(|row| row.failure == *failure);
            let Some(found) = found else {
                let name = client.name;
                ensure!(client.same_plugin.is_some(), "{name} has no case of {failure:?}");
                return Ok(Row { failure: *failure, case: None });
            };
            let row = rows.swap_remove(found);
            let because = row.case.as_ref().map_or("", |case| &case.because);
            ensure!(!because.is_empty(), "{}: {failure:?} has no reason", client.name);
            Ok(row)
        })
        .collect()
}

/// Returns the cell of a case that another client's stands for.
fn stands_for(client: &ClientKind) -> String {
    client.same_plugin.map_or_else(String::new, |other| format!("as {}", other.display_name))
}

fn write_page(tables: &[(&ClientKind, Vec<Row>)]) -> Result<String> {
    let mut text = String::from(
        "# When a hook fails\n\n\
         Written from the cases in `tests/clients/cases` by `PORTCULLIS_BLESS=1 cargo test --release --workspace --test clients -- page`; do not edit it here.\n\
         Each cell was produced with the real client and a scripted model, which calls `find ~/elsewhere -delete`, and is produced again in each test run. \
         Claude Code has [a page of its own](fail-open.md).\n\n\
         - **closed**: the call does not run.\n\
         - **recorded**: it runs without a review, and a record of kind `unreviewed` says so afterwards.\n\
         - **open**: it runs, and no record says so.\n\n\
         Two clients can load our same plugin. Then the cases of one stand for both where the table says so.\n\n",
    );
    let names: Vec<&str> = tables.iter().map(|(client, _)| client.display_name).collect();
    writeln!(text, "| our hook | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()))?;
    for (index, failure) in Failure::ALL.iter().enumerate() {
        let cells = tables.iter().filter_map(|(client, rows)| {
            let row = rows.get(index)?;
            let played = row.case.as_ref().map(|case| Outcome::of(case).name().to_owned());
            Some(played.unwrap_or_else(|| stands_for(client)))
        });
        let cells: Vec<String> = cells.collect();
        writeln!(text, "| {} | {} |", failure.description(), cells.join(" | "))?;
    }
    for (client, rows) in tables {
        write!(text, "\n## {} {}\n\n", client.display_name, client.version)?;
        text.push_str(
            "| our hook | the call | because of | `doctor` reports it |\n|---|---|---|---|\n",
        );
        for Row { failure, case } in rows {
            let Some(case) = case else { continue };
            let doctor = match case.expect.problem {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not asked in this test",
            };
            let outcome = Outcome::of(case).name();
            let (failure, because) = (failure.description(), &case.because);
            writeln!(text, "| {failure} | {outcome} | {because} | {doctor} |")?;
        }
    }
    Ok(text)
}
