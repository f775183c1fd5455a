//! Actions that wait for a person, with the form of the answer, and those that were answered.

use super::parts::{add_hidden, add_notice, add_proof_fields, begin_form, format_time};
use super::{Frame, Place};
use crate::access::Visitor;
use crate::people::Approvers;
use crate::site::Reading;
use anyhow::Result;
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_review::answers::{AnswerResult, read_asked};
use portcullis_review::questions::AskedAction;
use portcullis_served::Role;
use portcullis_served::asked::add_asked_action;
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
    approvers: &Approvers,
    query: &ApprovalsQuery,
) -> Result<Frame> {
    let mut main = Html::new();
    add_result(&mut main, &query.said);
    if approvers.is_empty() && visitor.role >= Role::Approver {
        add_notice(
            &mut main,
            false,
            &format!(
                "This page can deny, and allows nothing yet: set up the proof that a person answers \
                 with `{}` in a terminal.",
                reading.commands.spell("approvals proof")
            ),
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
        add_waiting(&mut main, row, visitor, approvers, now)?;
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

/// Returns the word of a result in the address of the page that says it.
pub(crate) const fn name_result(result: AnswerResult) -> &'static str {
    match result {
        AnswerResult::Allowed => "allowed",
        AnswerResult::Denied => "denied",
        AnswerResult::NeedsAnother => "noted",
        AnswerResult::NeedsName => "nameless",
        AnswerResult::SamePerson => "same",
        AnswerResult::TooLate => "late",
    }
}

/// Says what became of the last answer.
fn add_result(main: &mut Html, said: &str) {
    let (is_good, text) = match said {
        "allowed" => (true, "Allowed: it runs now."),
        "denied" => (true, "Denied: the agent is told."),
        "noted" => (true, "Noted: another person has to allow it, too."),
        "nameless" => (false, "Not allowed: two people have to, each with a proof of their own."),
        "same" => (false, "Not allowed: you have allowed it already, and somebody else has to."),
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
    approvers: &Approvers,
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
            &super::encode_value(&asked.session),
            &one_line(&asked.session, 40),
            &seconds,
        ],
    );
    add_asked_action(main, &asked);
    if visitor.role >= Role::Approver {
        add_form(main, row, &asked, visitor, approvers);
    } else {
        main.put_template("<p>You are a viewer: an approver answers.</p>", &[]);
    }
    main.put_template("</section>", &[]);
    Ok(())
}

fn add_form(
    main: &mut Html,
    row: &ApprovalRecord,
    asked: &AskedAction,
    visitor: &Visitor,
    approvers: &Approvers,
) {
    if asked.people > 1 {
        let names: Vec<&str> = asked.consents.iter().map(|who| who.name.as_str()).collect();
        let so_far = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
        main.put_template(
            "<p>{} people have to allow it. So far: {}.</p>",
            &[&asked.people, &one_line(&so_far, 200)],
        );
    }
    begin_form(main, "/approvals/answer", visitor);
    add_hidden(main, "id", &row.asked.id);
    add_hidden(main, "digest", &row.asked.digest);
    main.put_template(
        "<label>A word to the agent (optional)<input name=\"words\" maxlength=\"500\" \
         autocomplete=\"off\"></label>",
        &[],
    );
    add_proof_fields(main, approvers, "/approvals/passkey");
    if !approvers.is_empty() {
        main.put_template(
            "<button class=\"main\" name=\"answer\" value=\"allow\">Allow once</button>",
            &[],
        );
        if asked.people < 2 {
            main.put_template(
                "<button class=\"also\" name=\"answer\" value=\"allow-in-session\">Allow for this \
                 session</button>",
                &[],
            );
        }
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
