//! The rules, each with its state and origin, and a box to try what they say about an action.

use super::parts::{add_hidden, add_notice, add_scrolled};
use super::{Frame, Place};
use crate::access::Visitor;
use crate::site::{Reading, Site};
use crate::trial::{SHELL, TrialForm, try_action};
use anyhow::Result;
use portcullis_core::record::Record;
use portcullis_core::review::Objection;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::rules::listing::list_rules;

/// The most rows of a table.
const MOST: usize = 500;

/// Composes the page; with a trial, its result comes first.
///
/// # Errors
/// Fails if the configuration is unusable.
pub(crate) fn compose(
    site: &Site,
    reading: &Reading,
    visitor: &Visitor,
    trial: Option<&TrialForm>,
) -> Result<Frame> {
    let mut main = Html::new();
    if site.sees_files() {
        add_form(&mut main, site, visitor, trial);
    }
    if let Some(form) = trial {
        match try_action(site, reading, form) {
            Ok(record) => add_review(&mut main, &record),
            Err(error) => add_notice(&mut main, false, &one_line(&format!("{error:#}"), 600)),
        }
    }
    add_rules(&mut main, site, reading)?;
    Ok(Frame { title: "Rules".into(), place: Place::Rules, is_live: false, main })
}

fn add_form(main: &mut Html, site: &Site, visitor: &Visitor, trial: Option<&TrialForm>) {
    let project = site.places.project.as_ref().map(|project| project.display().to_string());
    let folder = project.unwrap_or_else(|| site.places.person.clone());
    let (tool, action, folder) = match trial {
        Some(form) => (form.tool.as_str(), form.action.as_str(), form.folder.as_str()),
        None => (SHELL, "", folder.as_str()),
    };
    main.put_template(
        "<section><h2>Try an action</h2><p class=\"goal\">It is reviewed alone, as the first one of a \
         session. Nothing runs, and nothing is recorded.</p><form class=\"answer\" method=\"post\" \
         action=\"/rules\">",
        &[],
    );
    add_hidden(main, "token", &visitor.form_token);
    main.put_template(
        "<label>Tool<input name=\"tool\" value=\"{}\" maxlength=\"120\" required autocomplete=\"off\" \
         spellcheck=\"false\"></label><label class=\"long\">Command, or parameters as JSON<textarea \
         name=\"action\" rows=\"3\" required autocomplete=\"off\" spellcheck=\"false\">\n{}</textarea>\
         </label><label class=\"long\">Folder that it would run in<input name=\"folder\" value=\"{}\" \
         required autocomplete=\"off\" spellcheck=\"false\"></label><button \
         class=\"main\">Review it</button></form></section>",
        &[&tool, &action, &folder],
    );
}

fn add_review(main: &mut Html, record: &Record) {
    main.put_template("<section id=\"review\"><h2>", &[]);
    main.put_template("<code>{}</code></h2>", &[&one_line(&record.summary, 400)]);
    let Some(decision) = &record.decision else {
        main.put_template("<p>Nothing judges this action.</p></section>", &[]);
        return;
    };
    main.put_template(
        "<p role=\"status\"><span class=\"badge v-{}\">{}</span> risk {} ({}), rationality {}</p>",
        &[
            &decision.verdict,
            &decision.verdict,
            &decision.risk,
            &decision.risk_level,
            &decision.rationality_level,
        ],
    );
    main.put_template("<ul>", &[]);
    for reason in &decision.reasons {
        main.put_template("<li>", &[]);
        main.put_prose(&one_line(reason, 600));
        main.put_template("</li>", &[]);
    }
    main.put_template("</ul>", &[]);
    let objections: Vec<&Objection> =
        record.findings.iter().flat_map(|findings| &findings.objections).collect();
    if objections.is_empty() {
        main.put_template("<p>No rule objects.</p>", &[]);
    } else {
        add_objections(main, &objections);
    }
    for fault in &record.faults {
        let what = format!("{} failed: {}", fault.source, fault.detail);
        add_notice(main, false, &one_line(&what, 600));
    }
    main.put_template("</section>", &[]);
}

fn add_objections(main: &mut Html, objections: &[&Objection]) {
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">verdict</th><th \
         scope=\"col\" class=\"wide\">severity</th><th scope=\"col\">reason</th></tr></thead><tbody>",
        &[],
    );
    for objection in objections.iter().take(MOST) {
        table.put_template(
            "<tr><th scope=\"row\">{}<span class=\"goal\">{}</span></th><td>{}</td><td \
             class=\"wide\">{}</td><td>{}</td></tr>",
            &[
                &one_line(&objection.rule, 120),
                &one_line(&objection.source, 80),
                &objection.verdict,
                &objection.severity,
                &one_line(&objection.reason, 400),
            ],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "objections", &table);
}

fn add_rules(main: &mut Html, site: &Site, reading: &Reading) -> Result<()> {
    let rules = list_rules(&site.config(&reading.home)?);
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">state</th><th \
         scope=\"col\">verdict</th></tr></thead><tbody>",
        &[],
    );
    for rule in rules.iter().take(MOST) {
        table.put_template(
            "<tr><th scope=\"row\"><b>{}</b><span class=\"goal\">{} ({})</span></th><td \
             class=\"word\">{}</td><td class=\"word\">{}</td></tr>",
            &[
                &one_line(&rule.name, 120),
                &one_line(&rule.about, 300),
                &rule.source,
                &rule.state,
                &one_line(&rule.verdict, 60),
            ],
        );
    }
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section><h2>All rules</h2>", &[]);
    add_scrolled(main, "rules", &table);
    main.put_template("</section>", &[]);
    Ok(())
}
