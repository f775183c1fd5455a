//! The page of feedback: judgements of reviews by rule, and the changes that people propose, each
//! tried on stored reviews. Nothing here takes effect by itself.

use super::frame::{Frame, Place};
use super::parts::{add_machine, show_time};
use super::visit::{PageHandle, SignedIn, answer_failure, answer_refusal};
use crate::audit::{Act, NewEntry};
use crate::failure::Failure;
use crate::feedback::{ReviewMark, RuleMarks, count_marks, list_marks, mark_finding};
use crate::people::Visitor;
use crate::proposals::{
    KeptProposal, Proposal, ProposalTrial, insert_proposal, list_proposals, try_proposal,
    withdraw_proposal,
};
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::protocol::RefusalKind;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::parts::{add_hidden, add_notice, add_scrolled, begin_form};
use serde::Deserialize;

/// The most bytes of a person's reason.
const MOST_REASON: usize = 500;

/// The query of the page.
#[derive(Deserialize)]
pub struct FeedbackQuery {
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// The query of a proposal.
#[derive(Deserialize)]
pub struct ProposalQuery {
    kind: String,
    value: String,
}

/// The form that proposes, or takes a proposal back.
#[derive(Deserialize)]
pub struct ProposalForm {
    token: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    reason: String,
    /// The proposal to take back.
    withdraw: Option<i64>,
}

/// The form about a finding of the fleet.
#[derive(Deserialize)]
pub struct FindingForm {
    token: String,
    kind: String,
    value: String,
    #[serde(default)]
    reason: String,
    /// True to list it again.
    #[serde(default)]
    again: bool,
}

/// Shows the page.
pub async fn show_feedback(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<FeedbackQuery>,
) -> Response {
    let database = &state.hub.database;
    let composed = async {
        let (proposals, rules) = (list_proposals(database).await?, count_marks(database).await?);
        let marks = list_marks(database, None).await?;
        Ok::<_, Failure>(compose(&proposals, &rules, &marks, &visitor, &query))
    };
    let composed = composed.await;
    state.answer(&visitor, composed).await
}

fn compose(
    proposals: &[KeptProposal],
    rules: &[RuleMarks],
    marks: &[ReviewMark],
    visitor: &Visitor,
    query: &FeedbackQuery,
) -> Frame {
    let mut main = Html::new();
    match query.said.as_str() {
        "proposed" => add_notice(
            &mut main,
            true,
            "It is proposed. It takes effect when an operator puts it into the configuration.",
        ),
        "known" => add_notice(&mut main, false, "The same is proposed already."),
        "reason" => add_notice(&mut main, false, "A reason is missing."),
        "withdrawn" => add_notice(&mut main, true, "It is taken back."),
        _ => {}
    }
    main.put_template(
        "<p class=\"lead\">What people said of reviews. Search leads to each review, where they say \
         it. It changes no verdict.</p>",
        &[],
    );
    proposals.iter().for_each(|proposal| add_kept(&mut main, proposal, visitor));
    if !rules.is_empty() {
        add_rules(&mut main, rules);
    }
    if marks.is_empty() {
        main.put_template("<p role=\"status\">Nobody has said anything yet.</p>", &[]);
    } else {
        add_marks(&mut main, marks);
    }
    Frame { title: "Feedback".into(), place: Place::Feedback, live: None, main }
}

fn add_kept(main: &mut Html, kept: &KeptProposal, visitor: &Visitor) {
    main.put_template(
        "<section><h2>Proposal {}</h2><p><code class=\"what\">{}</code></p><p>{} {}: <q>{}</q></p>\
         <p class=\"goal\">Of {}, {} would have been allowed, {} judged milder; {} could not be \
         tried.</p>",
        &[
            &kept.proposal,
            &kept.configuration,
            &one_line(&kept.made_by, 128),
            &show_time(kept.made_at),
            &one_line(&kept.reason, MOST_REASON),
            &count_noun(kept.tried.unsigned_abs(), "stored review"),
            &kept.passing,
            &kept.milder,
            &kept.unknown,
        ],
    );
    if visitor.role >= Role::Approver {
        begin_form(main, "/proposal", &visitor.form_token);
        add_hidden(main, "withdraw", &kept.proposal.to_string());
        main.put_template("<button class=\"deny\">Take back</button></form>", &[]);
    }
    main.put_template("</section>", &[]);
}

fn add_rules(main: &mut Html, rules: &[RuleMarks]) {
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">called wrong</th>\
         <th scope=\"col\">called right</th></tr></thead><tbody>",
        &[],
    );
    for rule in rules {
        table.put_template(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            &[&one_line(&rule.rule, 64), &rule.false_positive, &rule.right],
        );
    }
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section><h2>By rule</h2>", &[]);
    add_scrolled(main, "rules", &table);
    main.put_template("</section>", &[]);
}

fn add_marks(main: &mut Html, marks: &[ReviewMark]) {
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">time</th><th scope=\"col\">review</th>\
         <th scope=\"col\">said</th><th scope=\"col\" class=\"wide\">machine</th></tr></thead><tbody>",
        &[],
    );
    for mark in marks {
        table.put_template(
            "<tr><td>{}</td><th scope=\"row\">{}<span class=\"goal\">{}, {}; {}</span></th>\
             <td>{}<span class=\"goal\">{}, {}</span></td><td class=\"wide\">",
            &[
                &show_time(mark.marked_at),
                &one_line(&mark.summary, 240),
                &one_line(&mark.verdict, 32),
                &one_line(&mark.record, 40),
                &one_line(&mark.rules.join(", "), 200),
                &mark.word.replace('-', " "),
                &one_line(&mark.marked_by, 128),
                &one_line(&mark.reason, MOST_REASON),
            ],
        );
        add_machine(&mut table, &mark.machine, &mark.name);
        table.put_template("</td></tr>", &[]);
    }
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section><h2>Newest</h2>", &[]);
    add_scrolled(main, "newest marks", &table);
    main.put_template("</section>", &[]);
}

fn no_proposal() -> Failure {
    Failure::refuse(RefusalKind::Malformed, "this cannot be proposed")
}

/// Shows the effect that a proposal would have had.
pub async fn show_proposal(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<ProposalQuery>,
) -> Response {
    let composed = async {
        let proposal = Proposal::parse(&query.kind, &query.value).ok_or_else(no_proposal)?;
        let trial = try_proposal(&state.hub.database, &proposal).await?;
        Ok::<_, Failure>(compose_trial(&proposal, &trial, &visitor))
    };
    let composed = composed.await;
    state.answer(&visitor, composed).await
}

fn compose_trial(proposal: &Proposal, trial: &ProposalTrial, visitor: &Visitor) -> Frame {
    let mut main = Html::from_template(
        "<p class=\"lead\"><code class=\"what\">{}</code></p><section><dl><dt>tried on</dt><dd>{} \
         with an objection, of the last 30 days</dd><dt>would have been allowed</dt><dd>{}</dd>\
         <dt>judged milder</dt><dd>{}</dd><dt>as they are, for other reasons</dt><dd>{}</dd>\
         <dt>cannot be tried</dt><dd>{}, whose records do not say enough</dd></dl></section>",
        &[
            &proposal.to_configuration(),
            &count_noun(trial.tried.unsigned_abs(), "stored review"),
            &trial.passing,
            &trial.milder,
            &trial.same,
            &trial.unknown,
        ],
    );
    if !trial.rows.is_empty() {
        add_changed(&mut main, trial);
    }
    main.put_template(
        "<p>The objections of the rule are taken away and the verdict is decided again; the action \
         is not examined again. The change takes effect when an operator puts it into the \
         configuration of machines, and into the orders where these name the same key.</p>",
        &[],
    );
    if visitor.role >= Role::Approver {
        let (kind, value) = proposal.parts();
        begin_form(&mut main, "/proposal", &visitor.form_token);
        add_hidden(&mut main, "kind", kind);
        add_hidden(&mut main, "value", value);
        main.put_template(
            "<label class=\"long\">Reason, for the operator<input name=\"reason\" required \
             maxlength=\"{}\" autocomplete=\"off\"></label><button class=\"main\">Propose</button></form>",
            &[&MOST_REASON],
        );
    }
    Frame { title: "What if".into(), place: Place::Feedback, live: None, main }
}

fn add_changed(main: &mut Html, trial: &ProposalTrial) {
    let mut table = Html::from_template(
        "<table class=\"list\"><thead><tr><th scope=\"col\">received</th><th scope=\"col\">review</th>\
         <th scope=\"col\">verdict</th><th scope=\"col\">machine</th></tr></thead><tbody>",
        &[],
    );
    for row in &trial.rows {
        table.put_template(
            "<tr><td>{}</td><th scope=\"row\"><a href=\"/record?place={}\">{}</a></th><td>{}, then {}</td>\
             <td>",
            &[
                &show_time(row.stored_at),
                &row.place.to_word(),
                &one_line(&row.summary, 240),
                &row.before.as_str(),
                &row.after.as_str(),
            ],
        );
        add_machine(&mut table, &row.machine, &row.name);
        table.put_template("</td></tr>", &[]);
    }
    table.put_template("</tbody></table>", &[]);
    main.put_template("<section><h2>The newest that would change</h2>", &[]);
    add_scrolled(main, "reviews that would change", &table);
    main.put_template("</section>", &[]);
}

/// Proposes a change, with the result of its trial at this moment, or takes a proposal back.
pub async fn propose(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<ProposalForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Approver, "/proposal").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let reason = one_line(form.reason.trim(), MOST_REASON);
    if reason.is_empty() && form.withdraw.is_none() {
        return Redirect::to("/feedback?said=reason").into_response();
    }
    let database = &state.hub.database;
    let proposing = async {
        // The trial has a connection of its own: nobody may hold one and wait for another.
        let proposal = match form.withdraw {
            Some(_) => None,
            None => {
                let proposal = Proposal::parse(&form.kind, &form.value).ok_or_else(no_proposal)?;
                let trial = try_proposal(database, &proposal).await?;
                Some((proposal, trial))
            }
        };
        let mut client = database.connect().await?;
        let (entry, said, transaction);
        if let Some(number) = form.withdraw {
            transaction = client.transaction().await?;
            if !withdraw_proposal(&transaction, number, &visitor.person).await? {
                return Err(Failure::refuse(RefusalKind::NotFound, "there is no such proposal"));
            }
            entry = NewEntry::of_act(Act::WithdrawProposal, &number.to_string());
            said = "withdrawn";
        } else {
            let (proposal, trial) = proposal.ok_or_else(no_proposal)?;
            transaction = client.transaction().await?;
            let person = &visitor.person;
            let number = insert_proposal(&transaction, &proposal, &trial, &reason, person).await?;
            let Some(number) = number else { return Ok("known") };
            entry = NewEntry::of_act(Act::ProposeRule, &number.to_string())
                .with_detail("configuration", proposal.to_configuration())
                .with_detail("reason", reason.as_str())
                .with_detail("passing", trial.passing);
            said = "proposed";
        }
        state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
        transaction.commit().await?;
        Ok::<_, Failure>(said)
    };
    match proposing.await {
        Ok(said) => Redirect::to(&format!("/feedback?said={said}")).into_response(),
        Err(failure) if failure.status().is_server_error() => answer_failure(&failure),
        Err(failure) => answer_refusal(failure.status(), "Nothing was changed", failure.reason()),
    }
}

/// Marks a finding of the fleet as harmless, or lists it again.
pub async fn mark_one_finding(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<FindingForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Approver, "/findings").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let reason = one_line(form.reason.trim(), MOST_REASON);
    if reason.is_empty() && !form.again {
        return Redirect::to("/findings?said=reason").into_response();
    }
    let marking = async {
        let (kind, value) = (form.kind.replace('\0', ""), form.value.replace('\0', ""));
        let mut client = state.hub.database.connect().await?;
        let transaction = client.transaction().await?;
        let said = Some(reason.as_str()).filter(|_| !form.again);
        let finding = (kind.as_str(), value.as_str());
        if mark_finding(&transaction, finding, said, &visitor.person).await? {
            let act = if form.again { Act::UnmarkFinding } else { Act::MarkFinding };
            let entry = NewEntry::of_act(act, &format!("{kind} {value}"));
            let entry = entry.with_detail("reason", reason.as_str());
            state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
        }
        Ok::<_, Failure>(transaction.commit().await?)
    };
    match marking.await {
        Ok(()) => Redirect::to("/findings?said=marked").into_response(),
        Err(failure) => answer_failure(&failure),
    }
}
