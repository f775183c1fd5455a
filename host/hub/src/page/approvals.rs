//! The actions that wait for an approver, with the form that a passkey signs, and the newest answers.

use super::changes::Topic;
use super::frame::{Frame, Place};
use super::parts::{add_machine, show_time};
use super::visit::{PageHandle, SignedIn};
use crate::approvals::messages::{WebhookState, list_webhooks};
use crate::approvals::queue::{GivenAnswer, Queue, QueuedQuestion, list_given, list_queue};
use crate::failure::Failure;
use crate::people::Visitor;
use axum::extract::{Query, State};
use axum::response::Response;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::approvals::FleetQuestion;
use portcullis_page::Html;
use portcullis_review::questions::AskedAction;
use portcullis_served::Role;
use portcullis_served::asked::add_asked_action;
use portcullis_served::parts::{add_hidden, add_notice, add_scrolled, begin_form};
use serde::Deserialize;

/// The query of the page.
#[derive(Deserialize)]
pub struct ApprovalsQuery {
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// Shows the page.
pub async fn show_approvals(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ApprovalsQuery>,
) -> Response {
    let composed = async {
        let client = state.hub.database.connect().await?;
        let queue = list_queue(&client, &visitor.person).await?;
        let given = list_given(&client).await?;
        let webhooks = list_webhooks(&client, &state.hub.webhooks).await?;
        let mut frame = compose(&queue, &given, &visitor, &query);
        add_webhooks(&mut frame.main, &webhooks);
        Ok::<_, Failure>(frame)
    };
    let composed = composed.await;
    state.answer(&visitor, composed).await
}

fn compose(
    queue: &Queue,
    given: &[GivenAnswer],
    visitor: &Visitor,
    query: &ApprovalsQuery,
) -> Frame {
    let mut main = Html::new();
    match query.said.as_str() {
        "allowed" => add_notice(&mut main, true, "Signed: the machine checks it, and lets it run."),
        "denied" => {
            add_notice(&mut main, true, "Signed: the machine checks it, and tells the agent.")
        }
        "unsigned" => add_notice(&mut main, false, "Not answered: no passkey signed this form."),
        _ => {}
    }
    if queue.questions.is_empty() && queue.others == 0 {
        main.put_template(
            "<p class=\"lead\" role=\"status\">Nothing waits on a machine whose orders name \
             approvers.</p>",
            &[],
        );
    }
    if visitor.role >= Role::Approver {
        main.put_template(
            "<p><a href=\"/passkeys\">Your passkeys</a>, with which you answer here.</p>",
            &[],
        );
    }
    let questions = queue.questions.iter();
    questions.for_each(|question| add_question(&mut main, question, visitor));
    if queue.others > 0 {
        main.put_template(
            "<p>{} more: they are shown once those above have an answer. `portcullis fleet approvals \
             list` shows them all.</p>",
            &[&count_noun(u64::try_from(queue.others).unwrap_or(u64::MAX), "question")],
        );
    }
    if !given.is_empty() {
        add_given(&mut main, given);
    }
    Frame { title: "Approvals".into(), place: Place::Approvals, live: Some(Topic::Approvals), main }
}

fn add_question(main: &mut Html, queued: &QueuedQuestion, visitor: &Visitor) {
    let question = FleetQuestion::parse_text(&queued.text).ok();
    let asked =
        question.and_then(|question| serde_json::from_value::<AskedAction>(question.asked).ok());
    let Some(asked) = asked else {
        main.put_template(
            "<section><h2>A question that this version does not understand</h2><p>",
            &[],
        );
        add_machine(main, &queued.machine, &queued.name);
        main.put_template("</p></section>", &[]);
        return;
    };
    main.put_template(
        "<section id=\"q-{}\"><h2>{} wants to use <code>{}</code></h2><p class=\"goal\">on ",
        &[
            &one_line(&queued.question, 64),
            &one_line(&asked.client, 40),
            &one_line(&asked.tool, 80),
        ],
    );
    add_machine(main, &queued.machine, &queued.name);
    main.put_template(
        ", group {}, in <code>{}</code>. {} may answer within {}.</p>",
        &[
            &one_line(&queued.group, 64),
            &one_line(&asked.cwd, 240),
            &one_line(&queued.roles.join(", "), 200),
            &count_noun(queued.left_seconds.unsigned_abs(), "second"),
        ],
    );
    add_asked_action(main, &asked);
    if asked.people > 1 {
        let so_far = match queued.allowed_by.as_slice() {
            [] => "nobody".to_owned(),
            names => one_line(&names.join(", "), 200),
        };
        main.put_template(
            "<p>{} people have to allow it. So far: {}.</p>",
            &[&asked.people, &so_far],
        );
    }
    if queued.has_answered {
        main.put_template("<p>You have answered: the machine gets it.</p>", &[]);
    } else if visitor.role < Role::Approver {
        main.put_template("<p>You are a viewer: an approver answers.</p>", &[]);
    } else if queued.credentials.is_empty() {
        main.put_template(
            "<p>None of your passkeys is one that the orders of this group name for these \
             roles.</p>",
            &[],
        );
    } else {
        add_form(main, queued, visitor);
    }
    main.put_template("</section>", &[]);
}

fn add_form(main: &mut Html, queued: &QueuedQuestion, visitor: &Visitor) {
    begin_form(main, "/approvals/answer", &visitor.form_token);
    add_hidden(main, "machine", &queued.machine);
    add_hidden(main, "question", &queued.question);
    add_hidden(main, "digest", &queued.digest);
    main.put_template(
        "<input type=\"hidden\" name=\"text\"><input type=\"hidden\" name=\"signed\" \
         data-ask=\"/approvals/passkey\" data-each><label>A word to the agent (optional)<input \
         name=\"words\" maxlength=\"500\" autocomplete=\"off\"></label><button class=\"main\" \
         name=\"answer\" value=\"allow\">Allow once</button><button class=\"deny\" name=\"answer\" \
         value=\"deny\">Deny</button></form><noscript><p>A passkey needs JavaScript. Without it, \
         answer from a terminal: <code>portcullis fleet approvals</code>.</p></noscript>",
        &[],
    );
}

fn add_given(main: &mut Html, given: &[GivenAnswer]) {
    main.put_template(
        "<section><h2>Newest answers</h2><p class=\"goal\">As the hub passed them on. The machine's \
         own records say what became of them.</p>",
        &[],
    );
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">time</th><th scope=\"col\">answer</th>\
         <th scope=\"col\">approver</th><th scope=\"col\">machine</th></tr></thead><tbody>",
        &[],
    );
    for one in given {
        table.put_template(
            "<tr><td>{}</td><th scope=\"row\">{}</th><td>{}, with a {}</td><td>",
            &[
                &show_time(one.given_at),
                &if one.allows { "allowed" } else { "denied" },
                &one_line(&one.approver, 64),
                &if one.by_passkey { "passkey" } else { "key" },
            ],
        );
        add_machine(&mut table, &one.machine, &one.name);
        table.put_template("</td></tr>", &[]);
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "newest answers", &table);
    main.put_template("</section>", &[]);
}

fn add_webhooks(main: &mut Html, webhooks: &[WebhookState]) {
    if webhooks.is_empty() {
        return;
    }
    main.put_template(
        "<section><h2>Webhooks</h2><p class=\"goal\">Messages about the questions of the last 30 \
         days. One that fails is tried again while its question waits, at most ten times.</p>",
        &[],
    );
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">webhook</th><th scope=\"col\">sent</th>\
         <th scope=\"col\">waiting</th><th scope=\"col\">given up</th><th scope=\"col\" \
         class=\"wide\">failed attempts</th></tr></thead><tbody>",
        &[],
    );
    for one in webhooks {
        let failure = one.failure.as_deref().unwrap_or_default();
        table.put_template(
            "<tr><th scope=\"row\">{}<span class=\"goal\">{}</span></th><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number wide\">{}</td></tr>",
            &[
                &one.host,
                &one_line(failure, 300),
                &one.sent,
                &one.waiting,
                &one.given_up,
                &one.failed_attempts,
            ],
        );
    }
    table.put_template("</tbody></table>", &[]);
    add_scrolled(main, "webhooks", &table);
    main.put_template("</section>", &[]);
}
