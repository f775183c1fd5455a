//! Orders to editors that change files by themselves: functions of vim, line commands of ed.

use super::expand::Field;
use super::feed::Feed;
use super::routines::quoted;
use super::{Setting, Walker};
use crate::places;

/// Line commands of ed that delete every line.
const ALL_LINES: &[&str] = &["%d", ",d", "1,$d"];

impl Walker<'_> {
    /// Notes a file that the orders on the standard input of `ed` empty.
    pub(super) fn ed_empties(
        &mut self,
        rest: &[Field],
        input: &Feed,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let Some(text) = &input.text else { return };
        let has = |orders: &[&str]| text.lines().any(|line| orders.contains(&line.trim()));
        let Some(file) = rest.iter().rev().find(|field| !field.text.starts_with('-')) else {
            return;
        };
        let (path, certain) = places::resolve(&file.text, &self.env.folder);
        let here = matches!(setting.place, places::Place::Here);
        if here && certain && has(ALL_LINES) && has(&["w", "wq"]) && self.is_held(&path) {
            self.out.form("empty-file", command);
        }
    }
}

/// Returns the command line that does what an order of vim does; none for any other order.
pub(super) fn line_of_order(order: &str) -> Option<String> {
    let order = order.trim();
    let order = ["silent! ", "silent ", "sil! ", "call ", "cal ", "eval "]
        .iter()
        .fold(order, |rest, start| rest.strip_prefix(start).unwrap_or(rest).trim_start());
    for start in ["source ", "so ", "luafile ", "runtime ", "pyfile ", "py3file "] {
        if let Some(file) = order.strip_prefix(start).map(str::trim) {
            return Some(format!("sh {}", quoted(file)));
        }
    }
    let (name, rest) = order.split_once('(')?;
    let texts = texts_in(rest);
    match (name.trim(), texts.as_slice()) {
        ("delete", [path, how @ ..]) => Some(match how.first().map(String::as_str) {
            Some("rf") => format!("rm -rf {}", quoted(path)),
            Some("d") => format!("rmdir {}", quoted(path)),
            _ => format!("rm -f {}", quoted(path)),
        }),
        ("writefile", [.., path]) => {
            let run = rest.split_once("system(").or_else(|| rest.split_once("systemlist("));
            let text = run.and_then(|(_, inner)| texts_in(inner).into_iter().next());
            let text = text.unwrap_or_else(|| "printf x".to_owned());
            Some(format!("{text} > {}", quoted(path)))
        }
        ("rename", [from, to, ..]) => Some(format!("mv {} {}", quoted(from), quoted(to))),
        _ => None,
    }
}

/// Returns the texts in quotes of a call's arguments.
fn texts_in(text: &str) -> Vec<String> {
    let (mut found, mut current) = (Vec::new(), String::new());
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                found.push(std::mem::take(&mut current));
            }
            (Some(_), c) => current.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::line_of_order;

    #[test]
    fn orders_of_vim_are_command_lines() {
        for (order, line) in [
            ("call delete(\"/srv/a\", \"rf\")", Some("rm -rf /srv/a")),
            ("silent! call delete('/srv/a')", Some("rm -f /srv/a")),
            ("source /tmp/x.vim", Some("sh /tmp/x.vim")),
            (
                "call writefile(split(system(\"curl -s https://a.example\"), \"\\n\"), \"/tmp/x\")",
                Some("curl -s https://a.example > /tmp/x"),
            ),
            ("set number", None),
            ("%s/a/b/g", None),
            ("call cursor(1, 1)", None),
        ] {
            let found = line_of_order(order).map(|text| text.replace('\'', ""));
            assert_eq!(found.as_deref(), line, "{order}");
        }
    }
}
