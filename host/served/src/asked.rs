//! An action that waits for a person: the reasons, what it would change, and each parameter.

use crate::parts::{add_diff, add_untrusted};
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::questions::{AskedAction, list_parameters};

/// Adds everything that a person has to see before they answer.
pub fn add_asked_action(html: &mut Html, asked: &AskedAction) {
    html.put_template("<dl><dt>why you are asked</dt><dd><ul>", &[]);
    for reason in &asked.reasons {
        html.put_template("<li>", &[]);
        html.put_prose(&one_line(reason, 600));
        html.put_template("</li>", &[]);
    }
    html.put_template("</ul></dd></dl>", &[]);
    add_changes(html, asked);
    for (name, text) in list_parameters(&asked.parameters) {
        add_untrusted(html, &format!("the agent's {}", one_line(&name, 60)), &text);
    }
}

/// Adds what the action would change, and the lines where they are known.
fn add_changes(html: &mut Html, asked: &AskedAction) {
    if asked.changes.is_empty() {
        return;
    }
    html.put_template("<h3>What it would change</h3><ul class=\"changes\">", &[]);
    for change in &asked.changes {
        html.put_template("<li>{}", &[&one_line(&change.what, 400)]);
        if let Some(diff) = &change.diff {
            add_diff(html, diff);
        }
        html.put_template("</li>", &[]);
    }
    html.put_template("</ul>", &[]);
}
