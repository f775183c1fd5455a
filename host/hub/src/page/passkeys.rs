//! A person's passkeys: the fingerprint of each, and the form that enrols another one.

use super::frame::{Frame, Place};
use super::parts::show_time;
use super::visit::{
    PageHandle, PageState, SignedIn, answer_failure, answer_refusal, now_ms, send_options,
};
use crate::audit::{Act, NewEntry};
use crate::failure::Failure;
use crate::passkeys::{
    KeptPasskey, creation_options, insert_passkey, list_passkeys, proof_options, remove_passkey,
    verify_enrollment,
};
use crate::people::Visitor;
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_core::text::one_line;
use portcullis_page::Html;
use portcullis_served::Role;
use portcullis_served::parts::{add_hidden, add_notice, begin_form};
use serde::Deserialize;

/// The query of the page.
#[derive(Deserialize)]
pub struct PasskeysQuery {
    /// The result of a form.
    #[serde(default)]
    said: String,
}

/// A form that names nothing.
#[derive(Deserialize)]
pub struct BareForm {
    token: String,
}

/// The form with the key that a device made.
#[derive(Deserialize)]
pub struct ProveForm {
    token: String,
    created: String,
}

/// The form with what the new key signed.
#[derive(Deserialize)]
pub struct AddForm {
    token: String,
    text: String,
    signed: String,
}

/// The form that removes a passkey.
#[derive(Deserialize)]
pub struct RemoveForm {
    token: String,
    key: String,
}

/// Shows the page.
pub async fn show_passkeys(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Query(query): Query<PasskeysQuery>,
) -> Response {
    let found = list_own(&state, &visitor).await;
    state.answer(&visitor, found.map(|passkeys| compose(&passkeys, &visitor, &query))).await
}

async fn list_own(state: &PageState, visitor: &Visitor) -> Result<Vec<KeptPasskey>, Failure> {
    list_passkeys(&state.hub.database.connect().await?, &visitor.person).await
}

fn compose(passkeys: &[KeptPasskey], visitor: &Visitor, query: &PasskeysQuery) -> Frame {
    let mut main = Html::new();
    match query.said.as_str() {
        "added" => add_notice(
            &mut main,
            true,
            "The hub has it. It answers nothing before an operator has signed it into orders.",
        ),
        "removed" => add_notice(
            &mut main,
            true,
            "The hub takes no answer by it any more. Machines forget it with newer orders.",
        ),
        "known" => add_notice(&mut main, false, "It is there already, or you have eight."),
        "unsigned" => add_notice(&mut main, false, "No passkey was made."),
        _ => {}
    }
    main.put_template(
        "<p class=\"lead\">A passkey is a key on your device, which asks for your finger, face or \
         PIN. You answer with it when the orders of a group name it. Tell its fingerprint to the \
         operator who signs orders, in another way than by this hub.</p>",
        &[],
    );
    passkeys.iter().for_each(|kept| add_passkey_section(&mut main, kept, visitor));
    if visitor.role >= Role::Approver {
        add_form(&mut main, visitor);
    } else {
        main.put_template("<p>You are a viewer: approvers have passkeys.</p>", &[]);
    }
    Frame { title: "Your passkeys".into(), place: Place::Approvals, live: None, main }
}

fn add_passkey_section(main: &mut Html, kept: &KeptPasskey, visitor: &Visitor) {
    let named = match kept.groups.as_slice() {
        [] => "no orders name it yet".to_owned(),
        groups => format!("the newest orders name it for {}", one_line(&groups.join(", "), 400)),
    };
    let place = match kept.passkey.synced {
        true => "its maker copies it to your other devices",
        false => "it stays on its device",
    };
    main.put_template(
        "<section><h2>Fingerprint</h2><p><code class=\"what\">{}</code></p><p class=\"goal\">Added \
         {}; {}; {}.</p>",
        &[&kept.key, &show_time(kept.added_at), &place, &named],
    );
    begin_form(main, "/passkeys/remove", &visitor.form_token);
    add_hidden(main, "key", &kept.key);
    main.put_template("<button class=\"deny\">Remove</button></form></section>", &[]);
}

fn add_form(main: &mut Html, visitor: &Visitor) {
    main.put_template(
        "<section><h2>Another passkey</h2><p>Your device asks twice: once to make the key, and once \
         to prove that it works.</p>",
        &[],
    );
    main.put_template(
        "<form class=\"answer\" id=\"passkey\" method=\"post\" action=\"/passkeys\" \
         data-begin=\"/passkeys/begin\"><input type=\"hidden\" name=\"token\" value=\"{}\">\
         <input type=\"hidden\" name=\"text\"><input type=\"hidden\" name=\"signed\" \
         data-ask=\"/passkeys/prove\"><button class=\"main\">Make a passkey</button></form>\
         <noscript><p>A passkey needs JavaScript.</p></noscript></section>",
        &[&visitor.form_token],
    );
}

/// Returns the options with which a browser makes a passkey.
pub async fn begin_passkey(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<BareForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Approver, "/passkeys/begin").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let made = async {
        let known = list_own(&state, &visitor).await?;
        Ok::<_, Failure>(creation_options(&state.passkey_page()?, &visitor.person, &known))
    };
    made.await.map_or_else(|failure| refuse(&failure), send_options)
}

/// Returns the options with which the new passkey signs that it is the visitor's.
pub async fn prove_passkey(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<ProveForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Approver, "/passkeys/prove").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let made = state
        .passkey_page()
        .and_then(|page| proof_options(&page, &visitor.person, &form.created, now_ms()));
    made.map_or_else(|failure| refuse(&failure), send_options)
}

/// Keeps a passkey that signed its own enrolment.
pub async fn add_passkey(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<AddForm>,
) -> Response {
    let admitted = state.admit_form(&visitor, &form.token, Role::Approver, "/passkeys").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    if form.signed.is_empty() || form.signed == "none" {
        return Redirect::to("/passkeys?said=unsigned").into_response();
    }
    let adding = async {
        let page = state.passkey_page()?;
        let passkey =
            verify_enrollment(&page, &visitor.person, &form.text, &form.signed, now_ms())?;
        let mut client = state.hub.database.connect().await?;
        let transaction = client.transaction().await?;
        let Some(key) = insert_passkey(&transaction, &visitor.person, &passkey).await? else {
            return Ok(false);
        };
        let entry = NewEntry::of_act(Act::AddPasskey, &visitor.person)
            .with_detail("key", key)
            .with_detail("synced", passkey.synced);
        state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
        transaction.commit().await?;
        Ok::<_, Failure>(true)
    };
    match adding.await {
        Ok(true) => Redirect::to("/passkeys?said=added").into_response(),
        Ok(false) => Redirect::to("/passkeys?said=known").into_response(),
        Err(failure) => refuse(&failure),
    }
}

/// Removes a passkey of the visitor.
pub async fn remove(
    State(state): PageHandle,
    SignedIn(visitor): SignedIn,
    Form(form): Form<RemoveForm>,
) -> Response {
    // Somebody who is a viewer by now may still take back what is theirs.
    let admitted = state.admit_form(&visitor, &form.token, Role::Viewer, "/passkeys/remove").await;
    if let Err(refused) = admitted {
        return *refused;
    }
    let removing = async {
        let key = form.key.replace('\0', "");
        let mut client = state.hub.database.connect().await?;
        let transaction = client.transaction().await?;
        if remove_passkey(&transaction, &visitor.person, &key).await? {
            let entry =
                NewEntry::of_act(Act::RemovePasskey, &visitor.person).with_detail("key", key);
            state.audit.append_entry(&transaction, &visitor.actor(), entry).await?;
        }
        transaction.commit().await?;
        Ok::<_, Failure>(())
    };
    match removing.await {
        Ok(()) => Redirect::to("/passkeys?said=removed").into_response(),
        Err(failure) => refuse(&failure),
    }
}

fn refuse(failure: &Failure) -> Response {
    if failure.status().is_server_error() {
        return answer_failure(failure);
    }
    answer_refusal(failure.status(), "No passkey was kept", failure.reason())
}
