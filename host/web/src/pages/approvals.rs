//! Actions that wait for a person, with the form of the answer, and those that were answered.

use super::parts::{add_notice, add_untrusted, format_time};
use super::{Frame, Place};
use crate::access::{Role, Visitor};
use crate::answer::read_asked;
use crate::proof::ProofSettings;
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::questions::list_parameters;
use portcullis_store::ApprovalRecord;
use serde::Deserialize;

/// The most ended ones that are shown.
const MOST_ENDED: usize = 50;

#[derive(Deserialize)]
pub(crate) struct ApprovalsQuery {
    #[serde(default)]
    said: String,
}

/// Composes the page.
///
/// # Errors
/// Fails if the journal cannot be read.
pub(crate) fn compose(
    reading: &Reading,
    visitor: &Visitor,
    settings: &ProofSettings,
    query: &ApprovalsQuery,
) -> Result<Frame> {
    let mut main = Html::new();
    add_result(&mut main, &query.said);
    if *settings == ProofSettings::Missing && visitor.role >= Role::Approver {
        add_notice(
            &mut main,
            false,
            "This page can deny, and allows nothing yet: set up the proof that a person answers \
             with `portcullis approvals proof` in a terminal.",
        );
    }
    let now = now_ms();
    let all = reading.store.list_approvals()?;
    let (waiting, ended): (Vec<_>, Vec<_>) =
        all.genuine.iter().partition(|row| row.is_waiting(now));
    if waiting.is_empty() {
        main.put_template(
            "<p class=\"lead\">Nothing waits. While this page is open, actions that need a person's \
             answer wait for it here.</p>",
            &[],
        );
    }
    for row in &waiting {
        add_waiting(&mut main, row, visitor, settings, now)?;
    }
    if !all.forged.is_empty() {
        add_notice(
            &mut main,
            false,
            "Some approvals were changed or added from outside. They never count.",
        );
    }
    if !ended.is_empty() {
        add_ended(&mut main, &ended, now)?;
    }
    Ok(Frame { title: "Approvals".into(), place: Place::Approvals, is_live: true, main })
}

/// Says what became of the last answer.
fn add_result(main: &mut Html, said: &str) {
    let (is_good, text) = match said {
        "allowed" => (true, "Allowed: it runs now, once."),
        "denied" => (true, "Denied: the agent is told."),
        "late" => (false, "Nothing waits for this answer any more."),
        "unproved" => (false, "Not allowed: the code or the password is wrong, or was used."),
        "closed" => (false, "Not allowed: too many were wrong. Wait a minute."),
        _ => return,
    };
    add_notice(main, is_good, text);
}

fn add_waiting(
    main: &mut Html,
    row: &ApprovalRecord,
    visitor: &Visitor,
    settings: &ProofSettings,
    now: u64,
) -> Result<()> {
    let asked = read_asked(row)?;
    let seconds = row.asked.expires_at.saturating_sub(now) / 1000;
    main.put_template(
        "<section><h2>{} wants to use <code>{}</code></h2><p class=\"goal\">in <code>{}</code>, \
         session <a href=\"/session?id={}\">{}</a>. The answer is needed within {} s.</p>",
        &[
            &one_line(&asked.client, 40),
            &one_line(&asked.tool, 80),
            &one_line(&asked.cwd, 240),
            &super::sessions::encode_value(&asked.session),
            &one_line(&asked.session, 40),
            &seconds,
        ],
    );
    main.put_template("<dl><dt>why you are asked</dt><dd><ul>", &[]);
    for reason in &asked.reasons {
        main.put_template("<li>", &[]);
        main.put_prose(&one_line(reason, 600));
        main.put_template("</li>", &[]);
    }
    main.put_template("</ul></dd></dl>", &[]);
    for (name, text) in list_parameters(&asked.parameters) {
        add_untrusted(main, &format!("the agent's {}", one_line(&name, 60)), &text);
    }
    if visitor.role >= Role::Approver {
        add_form(main, row, visitor, settings);
    } else {
        main.put_template("<p>You are a viewer: an approver answers.</p>", &[]);
    }
    main.put_template("</section>", &[]);
    Ok(())
}

fn add_form(main: &mut Html, row: &ApprovalRecord, visitor: &Visitor, settings: &ProofSettings) {
    main.put_template(
        "<form class=\"answer\" method=\"post\" action=\"/approvals/answer\"><input type=\"hidden\" \
         name=\"token\" value=\"{}\"><input type=\"hidden\" name=\"id\" value=\"{}\"><input \
         type=\"hidden\" name=\"digest\" value=\"{}\"><label>A word to the agent (optional)<input \
         name=\"words\" maxlength=\"500\" autocomplete=\"off\"></label>",
        &[&visitor.form_token, &row.asked.id, &row.asked.digest],
    );
    match settings {
        ProofSettings::Code { .. } => main.put_template(
            "<label>Code of your authenticator<input name=\"proof\" inputmode=\"numeric\" \
             autocomplete=\"one-time-code\" maxlength=\"6\"></label>",
            &[],
        ),
        ProofSettings::Password { .. } => main.put_template(
            "<label>Password<input name=\"proof\" type=\"password\" autocomplete=\"off\"></label>",
            &[],
        ),
        ProofSettings::Click | ProofSettings::Missing => {}
    }
    if *settings != ProofSettings::Missing {
        main.put_template(
            "<button class=\"main\" name=\"answer\" value=\"allow\">Allow once</button>",
            &[],
        );
    }
    main.put_template(
        "<button class=\"deny\" name=\"answer\" value=\"deny\">Deny</button></form>",
        &[],
    );
}

fn add_ended(main: &mut Html, ended: &[&ApprovalRecord], now: u64) -> Result<()> {
    main.put_template(
        "<section><h2>Answered and ended</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"ended approvals\"><table class=\"list\"><thead><tr><th scope=\"col\">asked</th>\
         <th scope=\"col\">action</th><th scope=\"col\">state</th><th scope=\"col\" \
         class=\"wide\">words</th></tr></thead><tbody>",
        &[],
    );
    for row in ended.iter().take(MOST_ENDED) {
        let asked = read_asked(row)?;
        main.put_template(
            "<tr><td>{}</td><th scope=\"row\">{}</th><td>{}</td><td class=\"wide\">{}</td></tr>",
            &[
                &format_time(row.asked.asked_at),
                &one_line(&asked.summary, 160),
                &row.state_at(now).as_str(),
                &one_line(&row.reason, 160),
            ],
        );
    }
    main.put_template("</tbody></table></div></section>", &[]);
    Ok(())
}
