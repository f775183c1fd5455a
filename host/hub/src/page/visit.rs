//! A visit: who is signed in, how a page is answered, and the checks of a form.

use super::changes::LiveChanges;
use super::frame::{Frame, compose_whole};
use super::provider_client::Provider;
use crate::audit::{Act, AuditLog, NewEntry};
use crate::failure::Failure;
use crate::people::Visitor;
use crate::service::Hub;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use portcullis_fleet::approvals::PasskeyPage;
use portcullis_fleet::protocol::RefusalKind;
use portcullis_served::answers::send_page;
use portcullis_served::door::Door;
use portcullis_served::frame::begin_page;
use portcullis_served::{Failures, Role};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The state that all requests share.
pub struct PageState {
    /// The replica.
    pub hub: Arc<Hub>,
    /// The audit of what people do.
    pub audit: AuditLog,
    /// The only names under which the page answers.
    pub door: Door,
    /// True if cookies are for `https` alone.
    pub is_secure: bool,
    /// Tells pages that are open what has changed.
    pub changes: LiveChanges,
    /// Sign-ins that failed.
    pub guesses: Failures,
    /// The provider by which people sign in, if there is one.
    pub provider: Option<Arc<Provider>>,
}

/// The state as a handler gets it.
pub type PageHandle = State<Arc<PageState>>;

/// A visitor who is signed in; anybody else is led to the page where one signs in.
pub struct SignedIn(pub Visitor);

impl<S: Send + Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Redirect;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Redirect> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        visitor.map(Self).ok_or_else(|| Redirect::to("/sign-in"))
    }
}

impl PageState {
    /// Returns the name of the cookie. With `__Host-` a browser takes it by `https` alone, for this
    /// host alone.
    pub const fn cookie_name(&self) -> &'static str {
        if self.is_secure { "__Host-portcullis-hub" } else { "portcullis-hub" }
    }

    /// Returns the end of a cookie's text.
    pub const fn cookie_attributes(&self) -> &'static str {
        match self.is_secure {
            true => "HttpOnly; SameSite=Strict; Path=/; Secure",
            false => "HttpOnly; SameSite=Strict; Path=/",
        }
    }

    /// Returns the page as passkeys know it; fails if its address is none that can have passkeys.
    pub fn passkey_page(&self) -> Result<PasskeyPage, Failure> {
        PasskeyPage::parse_origin(&self.door.origin)
            .map_err(|why| Failure::refuse(RefusalKind::Foreign, why))
    }

    /// Answers with a page, or with what failed.
    pub async fn answer(&self, visitor: &Visitor, composed: Result<Frame, Failure>) -> Response {
        let whole = match composed {
            Ok(frame) => compose_whole(&self.hub.database, visitor, &frame).await,
            Err(failure) => Err(failure),
        };
        match whole {
            Ok(page) => send_page(StatusCode::OK, &page),
            Err(failure) => answer_failure(&failure),
        }
    }

    /// Checks that a form is one of this page, and that its sender may send it. A refusal is an entry
    /// of the audit.
    pub async fn admit_form(
        &self,
        visitor: &Visitor,
        token: &str,
        least: Role,
        path: &str,
    ) -> Result<(), Box<Response>> {
        let reason = if token != visitor.form_token {
            "this form is not of this page: load it again".to_owned()
        } else if visitor.role < least {
            format!("only an {} may do this", least.as_str())
        } else {
            return Ok(());
        };
        let entry = NewEntry::of_act(Act::RefuseForm, path).with_detail("reason", reason.as_str());
        match self.audit.record_act(&self.hub.database, &visitor.actor(), entry).await {
            Ok(()) => Err((StatusCode::FORBIDDEN, format!("{reason}\n")).into_response().into()),
            Err(failure) => Err(answer_failure(&failure).into()),
        }
    }
}

/// Returns a page that says what failed. What it says of the hub's insides is in the hub's log.
pub fn answer_failure(failure: &Failure) -> Response {
    failure.report();
    let mut page = begin_page("This page failed", false);
    page.put_template(
        "<body class=\"site\"><main><h1>This page failed</h1><p>{}.</p><p><a href=\"/\">Machines</a>\
         </p></main></body></html>\n",
        &[&failure.reason()],
    );
    send_page(failure.status(), &page)
}

/// Returns a page that says why something was not done.
pub fn answer_refusal(status: StatusCode, title: &str, reason: &str) -> Response {
    let mut page = begin_page(title, false);
    page.put_template(
        "<body class=\"site\"><main><h1>{}</h1><p>{}</p><p><a href=\"/\">Machines</a></p></main>\
         </body></html>\n",
        &[&title, &reason],
    );
    send_page(status, &page)
}

/// Returns the options for a passkey, as JSON.
pub fn send_options(options: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], options)
        .into_response()
}

/// Returns milliseconds since 1970.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
