//! The closing table for people: the reach of each verdict, pattern and intervention, for one setup
//! or for two side by side.

use super::sum::{RowReach, SessionTotals, TotalsRow, part_of};
use crate::paint;
use portcullis_core::text::{count_noun, one_line};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The width of a row's name.
const NAME: usize = 26;

/// Formats the table of one setup.
pub fn format_one(sum: &SessionTotals) -> String {
    let mut text = format!("\n{}\n", paint::bold(heading(sum)));
    if sum.steps > 0 {
        let columns = format!(
            "{:NAME$}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "", "sessions", "share", "steps", "share", "times"
        );
        let _ = writeln!(text, "{}", paint::dim(columns));
    }
    let mut group = "";
    for row in sum.rows() {
        open(&mut text, &mut group, row);
        let RowReach { sessions, steps, times } = sum.row_reach(row);
        let (of_sessions, of_steps) =
            (format_percent(part_of(sessions, sum.sessions)), format_percent(sum.share_of(steps)));
        let _ = writeln!(
            text,
            "{}{sessions:>9}{of_sessions:>9}{steps:>9}{of_steps:>9}{times:>9}",
            name(row)
        );
    }
    faults(&mut text, "faults", sum);
    text
}

/// Formats the tables of two setups with the differences.
pub fn format_both(yours: &SessionTotals, other: &SessionTotals) -> String {
    let mut text = format!("\n{}\n", paint::bold(heading(yours)));
    let over = format!("{:NAME$}{:>16}{:>24}{:>24}", "", "sessions", "steps", "times");
    let columns = ["yours", "other", "", "yours", "other", "", "yours", "other", ""];
    let columns: String = columns.iter().map(|word| format!("{word:>8}")).collect();
    let _ = writeln!(
        text,
        "{}\n{}",
        paint::dim(over.trim_end()),
        paint::dim(format!("{:NAME$}{}", "", columns.trim_end()))
    );
    let mut group = "";
    for row in yours.rows().chain(other.rows()).collect::<BTreeSet<_>>() {
        open(&mut text, &mut group, row);
        let (one, two) = (yours.row_reach(row), other.row_reach(row));
        let pairs = [(one.sessions, two.sessions), (one.steps, two.steps), (one.times, two.times)];
        let cells: String = pairs
            .iter()
            .map(|(one, two)| format!("{one:>8}{two:>8}{:>8}", format_change(*one, *two)))
            .collect();
        let _ = writeln!(text, "{}{}", name(row), cells.trim_end());
    }
    faults(&mut text, "faults with yours", yours);
    faults(&mut text, "faults with the other", other);
    text
}

fn heading(sum: &SessionTotals) -> String {
    let sessions = count_noun(sum.sessions, "session");
    format!(
        "{sessions}, {}: {}, {}",
        count_noun(sum.steps, "step"),
        count_noun(sum.reviews, "review"),
        count_noun(sum.outcomes, "outcome")
    )
}

fn open(text: &mut String, group: &mut &'static str, row: &TotalsRow) {
    if *group != row.group() {
        *group = row.group();
        let _ = writeln!(text, "{group}");
    }
}

/// Returns a row's name, padded before it is coloured.
fn name(row: &TotalsRow) -> String {
    let width = NAME - 2;
    let name = match row {
        TotalsRow::Verdict(verdict) => paint::paint_verdict(*verdict, width),
        TotalsRow::Pattern(name) => format!("{:width$}", one_line(name, width - 1)),
        TotalsRow::Intervention(_) => format!("{:width$}", row.name()),
        TotalsRow::AboveSoftCorrection | TotalsRow::Stopped => {
            paint::dim(format!("{:width$}", row.name()))
        }
    };
    format!("  {name}")
}

/// Formats a change with its sign; empty without one.
pub fn format_change(one: u64, two: u64) -> String {
    match two.cmp(&one) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Greater => format!("+{}", two - one),
        std::cmp::Ordering::Less => format!("-{}", one - two),
    }
}

/// Formats thousandths as a percentage with one decimal.
pub fn format_percent(thousandths: u64) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

fn faults(text: &mut String, heading: &str, sum: &SessionTotals) {
    let faults: Vec<String> = sum
        .faults
        .iter()
        .map(|(fault, count)| format!("{} {count}", one_line(fault, 80)))
        .collect();
    if !faults.is_empty() {
        let _ = writeln!(text, "{}: {}", paint::bad(heading), faults.join(", "));
    }
}
