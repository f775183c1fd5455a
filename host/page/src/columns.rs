//! Counts as columns, side by side: each column is a stack of parts.
//!
//! A table beside it has to say the same: colour and height alone carry meaning here.

use crate::Html;
use std::fmt::Display;

/// The left and right edges of the plot; the whole drawing is 640 wide.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 632.0;
/// The vertical positions of the highest and the lowest value.
const TOP: f64 = 16.0;
const BOTTOM: f64 = 176.0;
/// The most labels below the columns.
const MOST_LABELS: usize = 7;
/// The widest column.
const WIDEST: f64 = 40.0;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name below it.
    pub label: String,
    /// The parts from the bottom up.
    pub parts: Vec<ColumnPart>,
}

/// A part of a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPart {
    /// The class that colours it.
    pub class: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its height.
    pub count: u64,
}

impl Column {
    fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.count).sum()
    }
}

/// Draws columns; `about` says what they show, for readers who do not see them.
#[must_use]
pub fn draw_columns(about: &str, columns: &[Column]) -> Html {
    let most = columns.iter().map(Column::total).max().unwrap_or(0).max(1);
    let mut html = Html::from_template(
        "<svg class=\"columns\" viewBox=\"0 0 640 204\" role=\"img\" aria-label=\"{}. The table says the same.\">",
        &[&about],
    );
    html.put_template("<g class=\"scale\">", &[]);
    for value in marks(most) {
        let y = height_of(value, most);
        html.put_template(
            "<path d=\"M70 {}H632\"/><text x=\"62\" y=\"{}\">{}</text>",
            &[&tenths(y), &tenths(y + 3.5), &value],
        );
    }
    html.put_template("</g>", &[]);
    let share = (RIGHT - LEFT) / columns.len().max(1) as f64;
    let wide = (share * 0.72).min(WIDEST);
    let every = columns.len().div_ceil(MOST_LABELS).max(1);
    for (index, column) in columns.iter().enumerate() {
        let middle = LEFT + share * (index as f64 + 0.5);
        let mut below = 0;
        for part in column.parts.iter().filter(|part| part.count > 0) {
            let (bottom, top) = (height_of(below, most), height_of(below + part.count, most));
            below += part.count;
            html.put_template(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}: {} \
                 {}</title></rect>",
                &[
                    &part.class,
                    &tenths(middle - wide / 2.0),
                    &tenths(top),
                    &tenths(wide),
                    &tenths(bottom - top),
                    &column.label,
                    &part.count,
                    &part.name,
                ],
            );
        }
        if index % every == 0 {
            html.put_template(
                "<g class=\"ticks\"><text x=\"{}\" y=\"194\">{}</text></g>",
                &[&tenths(middle), &column.label],
            );
        }
    }
    html.put_template("</svg>", &[]);
    html
}

/// Returns the values of the lines: the bottom, the middle and the top, each once.
fn marks(most: u64) -> Vec<u64> {
    let mut marks = vec![0, most / 2, most];
    marks.dedup();
    marks
}

fn height_of(value: u64, most: u64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * value as f64 / most as f64
}

fn tenths(number: f64) -> impl Display {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(label: &str, parts: &[(&'static str, u64)]) -> Column {
        let part = |&(class, count)| ColumnPart { class, name: "of a part", count };
        Column { label: label.to_owned(), parts: parts.iter().map(part).collect() }
    }

    #[test]
    fn parts_stand_on_each_other_and_nothing_leaves_the_plot() {
        let drawn = draw_columns(
            "<x>",
            &[
                column("a", &[("v-allow", 3), ("v-warn", 0), ("v-block", 1)]),
                column("\"b", &[("v-allow", 2)]),
            ],
        );
        let text = drawn.as_str();
        assert!(text.contains("&lt;x&gt;. The table") && text.contains("&quot;b"), "{text}");
        assert!(
            text.contains("y=\"56.0\" width=\"40.0\" height=\"120.0\""),
            "three quarters: {text}"
        );
        assert!(
            text.contains("y=\"16.0\" width=\"40.0\" height=\"40.0\""),
            "on top of them: {text}"
        );
        assert!(!text.contains("v-warn"), "an empty part: {text}");
    }

    #[test]
    fn nothing_and_the_largest_numbers_can_be_drawn() {
        for columns in [vec![], vec![column("a", &[])], vec![column("a", &[("v-ask", u64::MAX)])]] {
            let drawn = draw_columns("none", &columns);
            assert!(!drawn.as_str().contains("NaN") && !drawn.as_str().contains("inf"));
        }
        let many: Vec<Column> =
            (0..90).map(|at| column(&at.to_string(), &[("v-ask", at)])).collect();
        assert!(draw_columns("many", &many).as_str().matches("class=\"ticks\"").count() <= 7);
    }
}
