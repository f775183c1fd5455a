//! The results of a vetting as text: its material, each plugin's cost, and its objections.

use super::material::File;
use super::results::{Label, Results, Sessions, format_percent};
use crate::paint;
use portcullis_core::text::{count_noun, one_line};

impl Results {
    /// Formats all results.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.add_material(&mut text);
        self.add_plugins(&mut text);
        self.add_corpus(&mut text);
        if let Some(Sessions { sessions, steps, differing, stricter, milder }) = self.sessions {
            text.push_str(&format!(
                "\n{}, {}: {differing} would change with the bundle, {stricter} stricter, {milder} milder\n",
                count_noun(sessions, "session"),
                count_noun(steps, "step")
            ));
        }
        for problem in &self.problems {
            text.push_str(&format!("{} {problem}\n", paint::bad("objection:")));
        }
        text
    }

    fn add_material(&self, text: &mut String) {
        text.push_str(&format!("{}\n", paint::bold("vetted on")));
        for File { kind, name, digest, holds, plugin } in &self.material {
            let of = plugin.as_ref().map(|plugin| format!(" of {plugin}")).unwrap_or_default();
            let what = count_noun(
                *holds as u64,
                match *kind {
                    "corpus" => "action",
                    "cases" => "case",
                    other => other,
                },
            );
            text.push_str(&format!("  {name}: {what}{of}  {}\n", paint::dim(digest)));
        }
        text.push_str(&format!("  {}\n", paint::dim("no plugin was granted anything")));
    }

    fn add_plugins(&self, text: &mut String) {
        let head = format!(
            "{:<26}{:>9}{:>8}{:>12}{:>12}{:>10}{:>9}",
            "plugin", "calls", "faults", "fuel", "most", "memory", "time"
        );
        text.push_str(&format!("\n{}\n", paint::dim(head)));
        for row in &self.plugins {
            let faults: u64 = row.faults.values().sum();
            let memory = format!("{} KiB", row.memory_most.div_ceil(1024));
            let time = format!("{} us", row.time_us_median);
            text.push_str(&format!(
                "{}{:>9}{faults:>8}{:>12}{:>12}{memory:>10}{time:>9}\n",
                paint::bold(format!("{:<26}", one_line(&row.name, 25))),
                row.calls,
                row.fuel.median,
                row.fuel.most
            ));
            if let Some(cases) = &row.cases {
                text.push_str(&format!(
                    "  {}, {} as expected\n",
                    count_noun(cases.played, "case"),
                    cases.played - cases.failed
                ));
            }
        }
        for part in &self.components {
            let asks =
                if part.asks.is_empty() { "nothing".to_owned() } else { part.asks.join(", ") };
            text.push_str(&format!(
                "  {}\n",
                paint::dim(format!(
                    "{}: asks for {asks}, {} bytes, {}",
                    part.plugins.join(", "),
                    part.size,
                    part.digest
                ))
            ));
        }
        text.push_str(&format!(
            "  {}\n",
            paint::dim("fuel and time are medians of a call; time is this machine's")
        ));
    }

    fn add_corpus(&self, text: &mut String) {
        if self.corpus.is_empty() {
            return;
        }
        let cell = |part: u64, all: u64| format!("{part} ({})", format_percent(part, all));
        let heads: String = self.corpus.keys().map(|label| format!("{label:>18}")).collect();
        text.push_str(&format!("\n{}\n", paint::dim(format!("{:<26}{heads}", "objects to"))));
        let row = |title: String, count: &dyn Fn(&str, &Label) -> String| {
            let cells: String = self
                .corpus
                .iter()
                .map(|(label, counts)| format!("{:>18}", count(label, counts)))
                .collect();
            format!("{title}{cells}\n")
        };
        text.push_str(&row(format!("{:<26}", "actions"), &|_, label| label.actions.to_string()));
        text.push_str(&row(format!("{:<26}", "without the bundle"), &|_, label| {
            cell(label.without, label.actions)
        }));
        text.push_str(&row(format!("{:<26}", "with it"), &|_, label| {
            cell(label.with, label.actions)
        }));
        for plugin in &self.plugins {
            let title = paint::bold(format!("{:<26}", one_line(&plugin.name, 25)));
            text.push_str(&row(title, &|name, label| {
                cell(plugin.objected.get(name).copied().unwrap_or_default(), label.actions)
            }));
        }
        let unreadable: u64 = self.corpus.values().map(|label| label.unreadable).sum();
        if unreadable > 0 {
            text.push_str(&format!(
                "{}\n",
                paint::warn(format!(
                    "{}: no action that can be reviewed, so not counted",
                    count_noun(unreadable, "row")
                ))
            ));
        }
    }
}
