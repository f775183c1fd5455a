//! The people of the hub, for operators: invitations, roles, sign-outs, and who may not sign in.

use super::frame::{Frame, Place};
use super::parts::show_time;
use super::visit::{PageHandle, PageState, SignedIn, answer_failure, answer_refusal};
use crate::audit::{Act, NewEntry};
use crate::failure::Failure;
use crate::people::{
    MOST_NAME, PersonSummary, Visitor, add_person, change_admission, change_role, end_all_sessions,
    has_other_operator, is_name, is_operator, list_people, make_link, remove_person,
};
use axum::extract::{Form, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use deadpool_postgres::Transaction;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::protocol::RefusalKind;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::parts::{add_hidden, add_notice, begin_form};
use serde::Deserialize;
use std::time::Duration;

/// The time in which an invitation has to be used.
const LINK_LIFE: Duration = Duration::from_secs(60 * 60);

/// The query of the page.
#[derive(Deserialize)]
pub struct PeopleQuery {
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// The form about one person.
#[derive(Deserialize)]
pub struct PersonForm {
    token: String,
    name: String,
    change: Change,
    #[serde(default)]
    role: String,
}

/// The button of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Change {
    Invite,
    Link,
    Role,
    SignOut,
    Disable,
    Enable,
    Remove,
}

/// The result of a form.
enum Changed {
    /// It is done.
    Done,
    /// It is done, and this link signs the person in.
    Link(String),
}

/// Shows the page.
pub async fn show_people(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<PeopleQuery>,
) -> Response {
    if visitor.role < Role::Operator {
        let said = "Only an operator sees and changes the people of the hub.";
        return answer_refusal(StatusCode::FORBIDDEN, "Not for you", said);
    }
    let mut top = Html::new();
    if query.said == "done" {
        add_notice(&mut top, true, "It is done. A role counts from the next request on.");
    }
    show_whole(&state, &visitor, top).await
}

async fn show_whole(state: &PageState, visitor: &Visitor, top: Html) -> Response {
    let found = list_people(&state.hub.database).await;
    state.answer(visitor, found.map(|people| compose(&people, visitor, top))).await
}

fn compose(people: &[PersonSummary], visitor: &Visitor, top: Html) -> Frame {
    let mut main = top;
    main.put_template("<section><h2>Invite somebody</h2>", &[]);
    begin_form(&mut main, "/people", &visitor.form_token);
    main.put_template(
        "<label>Name, such as an address of mail<input name=\"name\" required maxlength=\"{}\" \
         autocomplete=\"off\" spellcheck=\"false\"></label>",
        &[&MOST_NAME],
    );
    add_roles(&mut main, "viewer");
    main.put_template(
        "<button class=\"main\" name=\"change\" value=\"invite\">Invite</button></form></section>",
        &[],
    );
    people.iter().for_each(|person| add_person_section(&mut main, person, visitor));
    Frame { title: "People".into(), place: Place::People, live: None, main }
}

fn add_roles(main: &mut Html, chosen: &str) {
    main.put_template("<label>Role<select name=\"role\">", &[]);
    for role in Role::ALL {
        let template = match role.as_str() == chosen {
            true => "<option selected>{}</option>",
            false => "<option>{}</option>",
        };
        main.put_template(template, &[&role.as_str()]);
    }
    main.put_template("</select></label>", &[]);
}

fn add_person_section(main: &mut Html, person: &PersonSummary, visitor: &Visitor) {
    let name = one_line(&person.person, MOST_NAME);
    let state = if person.is_disabled { ", disabled" } else { "" };
    let seen = match person.seen_at {
        Some(at) => format!("signed in {}", show_time(at)),
        None => "has not signed in yet".to_owned(),
    };
    main.put_template(
        "<section><h2>{}</h2><p class=\"goal\">{}{}; {}, {} signed in; added {} by {}.</p>",
        &[
            &name,
            &person.role,
            &state,
            &seen,
            &count_noun(person.sessions.unsigned_abs(), "browser"),
            &show_time(person.added_at),
            &one_line(&person.added_by, MOST_NAME),
        ],
    );
    begin_form(main, "/people", &visitor.form_token);
    add_hidden(main, "name", &person.person);
    if person.issuer.is_none() {
        add_roles(main, &person.role);
        main.put_template(
            "<button class=\"also\" name=\"change\" value=\"role\">Set role</button>\
             <button class=\"also\" name=\"change\" value=\"link\">New link</button>",
            &[],
        );
    }
    let (admission, word) =
        if person.is_disabled { ("enable", "Enable") } else { ("disable", "Disable") };
    main.put_template(
        "<button class=\"also\" name=\"change\" value=\"sign-out\">Sign out</button>\
         <button class=\"deny\" name=\"change\" value=\"{}\">{}</button><button class=\"deny\" \
         name=\"change\" value=\"remove\">Remove</button></form></section>",
        &[&admission, &word],
    );
}

/// Changes a person.
pub async fn change(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<PersonForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Operator, "/people").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    match change_person(&state, &visitor, &form).await {
        Ok(Changed::Done) => Redirect::to("/people?said=done").into_response(),
        Ok(Changed::Link(code)) => {
            let mut top = Html::new();
            add_notice(&mut top, true, "This link signs one browser in, once, within an hour:");
            // The part after `#` is sent to no server, and stands in no log.
            let link = format!("{}/sign-in#{code}", state.door.origin);
            top.put_template("<p><code class=\"what\" id=\"link\">{}</code></p>", &[&link]);
            show_whole(&state, &visitor, top).await
        }
        Err(failure) if failure.status().is_server_error() => answer_failure(&failure),
        Err(failure) => answer_refusal(failure.status(), "Nothing was changed", failure.reason()),
    }
}

async fn change_person(
    state: &PageState,
    visitor: &Visitor,
    form: &PersonForm,
) -> Result<Changed, Failure> {
    let name = form.name.trim();
    let refuse = |reason: &str| Failure::refuse(RefusalKind::Foreign, reason);
    if name.contains('\0') {
        return Err(refuse("there is no such person"));
    }
    let mut client = state.hub.database.connect().await?;
    let transaction = client.transaction().await?;
    let role = Role::from_name(&form.role);
    // The form may have taken its time: who fills it in is asked again, and stays what they are.
    if !is_operator(&transaction, &visitor.person).await? {
        return Err(refuse("you are an operator no more"));
    }
    let takes_operator = match form.change {
        Change::Remove | Change::Disable => true,
        Change::Role => role != Some(Role::Operator),
        _ => false,
    };
    if takes_operator && !has_other_operator(&transaction, name).await? {
        return Err(refuse("without this person, the hub's pages would have no operator"));
    }
    let missing = || refuse("there is no such person, or nothing to change");
    let (entry, changed) =
        carry_out(&transaction, visitor, form.change, name, role).await?.ok_or_else(missing)?;
    state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
    transaction.commit().await?;
    Ok(changed)
}

/// Carries a change out; returns its entry in the audit, and `None` if there is nothing to change.
async fn carry_out(
    transaction: &Transaction<'_>,
    visitor: &Visitor,
    change: Change,
    name: &str,
    role: Option<Role>,
) -> Result<Option<(NewEntry, Changed)>, Failure> {
    let malformed = |reason: &str| Failure::refuse(RefusalKind::Malformed, reason);
    let no_role = || malformed("there is no such role");
    let entry = |act: Act| NewEntry::of_act(act, name);
    let done = |entry: NewEntry, is_done: bool| is_done.then_some((entry, Changed::Done));
    Ok(match change {
        Change::Invite => {
            if !is_name(name) {
                return Err(malformed("a name has letters, digits and `.`, `_`, `@`, `+`, `-`"));
            }
            let role = role.ok_or_else(no_role)?;
            let code = add_person(transaction, name, role, &visitor.person, LINK_LIFE).await?;
            let entry = entry(Act::AddUser).with_detail("role", role.as_str());
            code.map(|code| (entry, Changed::Link(code)))
        }
        Change::Link => {
            let code = make_link(transaction, name, LINK_LIFE).await?;
            code.map(|code| (entry(Act::MakeLink), Changed::Link(code)))
        }
        Change::Role => {
            let role = role.ok_or_else(no_role)?;
            let before = change_role(transaction, name, role).await?;
            before.map(|before| {
                let entry = entry(Act::ChangeRole).with_detail("from", before);
                (entry.with_detail("to", role.as_str()), Changed::Done)
            })
        }
        Change::SignOut => {
            let ended = end_all_sessions(transaction, name).await?;
            done(entry(Act::EndSessions).with_detail("browsers", ended), true)
        }
        Change::Disable => {
            done(entry(Act::DisableUser), change_admission(transaction, name, true).await?)
        }
        Change::Enable => {
            done(entry(Act::EnableUser), change_admission(transaction, name, false).await?)
        }
        Change::Remove => done(entry(Act::RemoveUser), remove_person(transaction, name).await?),
    })
}
