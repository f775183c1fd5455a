//! Binds loopback, routes requests, and ends.

use crate::answer::{AnswerForm, Answered, give_answer};
use crate::collector::MetricsToken;
use crate::enrollment::{BeginForm, FinishForm, begin_enrollment, finish_enrollment};
use crate::gate::{COOKIE, guard_request};
use crate::health::ServiceHealth;
use crate::limited_listener::{ConnectionOwner, LimitedListener};
use crate::pages;
use crate::people::check_name;
use crate::respond::{
    MaybeSignedIn, Shared, admit_proved_form, ask_passkey, send_json, send_page, show,
};
use crate::rooms;
use crate::shared::{SharedPage, SignedIn};
use crate::site::Site;
use crate::watcher::{OpenPage, watch_journals};
use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Extension, Form, Query, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::middleware::from_fn_with_state;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use portcullis_config::paths::Paths;
use portcullis_credentials::UseOutcome;
use portcullis_review::page_address::PAGE_HOST;
use portcullis_served::Role;
use portcullis_served::answers::{send_script, send_style, with_cookie};
use portcullis_served::door::read_cookie;
use serde::Deserialize;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};

/// The largest form, in bytes.
const MOST_FORM: usize = 16 << 10;
/// The time after which a browser that has gone is noticed: until then it counts as somebody who is
/// there.
const PULSE: Duration = Duration::from_secs(2);
/// The most pages at once; further ones wait.
const THREADS: usize = 4;

/// A page that is bound and not served yet.
pub struct Page {
    listener: TcpListener,
    shared: Arc<SharedPage>,
    ends: watch::Sender<bool>,
}

/// Makes links to a page, and ends it.
#[derive(Clone)]
pub struct PageHandle {
    shared: Arc<SharedPage>,
    ends: watch::Sender<bool>,
}

impl Page {
    /// Binds the page of a home to a port of loopback; 0 takes any. Whoever shows the token may
    /// collect metrics without a cookie.
    ///
    /// # Errors
    /// Fails if the port is taken.
    pub fn bind(places: Paths, port: u16, token: Option<MetricsToken>) -> Result<Self> {
        let (listener, host) = bind_port(port)?;
        Ok(Self::of(listener, SharedPage::of_home(host, places, token)))
    }

    /// Binds the page of a service behind a boundary to a port of loopback, or takes one that is
    /// `bound` to it already. It shows what `find_places` finds for a user to whoever has a link for
    /// that user.
    ///
    /// # Errors
    /// Fails if the port is taken, or the one that is bound is another.
    pub fn bind_boundary(
        find_places: impl Fn(u32) -> Paths + Send + Sync + 'static,
        port: u16,
        bound: Option<TcpListener>,
    ) -> Result<Self> {
        let (listener, host) = match bound {
            None => bind_port(port)?,
            Some(listener) => take_port(listener, port)?,
        };
        Ok(Self::of(listener, SharedPage::of_users(host, Box::new(find_places))))
    }

    fn of(listener: TcpListener, shared: SharedPage) -> Self {
        Self { listener, shared: Arc::new(shared), ends: watch::Sender::new(false) }
    }

    /// Returns a handle, which stays valid.
    #[must_use]
    pub fn handle(&self) -> PageHandle {
        PageHandle { shared: Arc::clone(&self.shared), ends: self.ends.clone() }
    }

    /// Serves until the handle ends it.
    ///
    /// # Errors
    /// Fails if the system gives no threads or takes the port away.
    pub fn run(self) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(THREADS)
            .thread_name("portcullis-page")
            .enable_all()
            .build()
            .context("cannot start the threads of the page")?;
        let Self { listener, shared, ends } = self;
        runtime
            .block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                tokio::spawn(watch_journals(Arc::clone(&shared)));
                let mut ended = ends.subscribe();
                let until = async move {
                    let _closed = ended.wait_for(|ended| *ended).await;
                };
                let listener = LimitedListener::new(listener);
                let routes = routes(shared, &ends);
                let routes = routes.into_make_service_with_connect_info::<ConnectionOwner>();
                axum::serve(listener, routes).with_graceful_shutdown(until).await
            })
            .context("the page cannot be served")
    }
}

impl PageHandle {
    /// Returns the page's address, without a link's code.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.shared.door.origin
    }

    /// Makes a link that signs one browser in, once, within a minute: to the home of the page, or
    /// behind a boundary to what the service keeps of a user.
    ///
    /// # Errors
    /// Fails if the page has no such home, or the system gives no random bytes.
    pub fn make_link(&self, user: Option<u32>, role: Role) -> Result<String> {
        let code = self.shared.access.make_link(self.shared.find_site(user)?, role)?;
        // What follows `#` is sent to no server, and stands in no log.
        Ok(format!("{}/sign-in#{code}", self.shared.door.origin))
    }

    /// Makes a link with which a person sets up a passkey, once, within a minute: for the home of the
    /// page, or behind a boundary for what the service keeps of a user.
    ///
    /// # Errors
    /// Fails if the name is not one, the page has no such home, or the system gives no random bytes.
    pub fn make_enrollment(&self, user: Option<u32>, name: &str) -> Result<String> {
        check_name(name)?;
        let code = self.shared.access.make_enrollment(self.shared.find_site(user)?, name)?;
        Ok(format!("{}/enroll#{code}", self.shared.door.origin))
    }

    /// Sets what `/health` says of the service. Until then, it has not started.
    pub fn report_health(&self, look: impl Fn() -> ServiceHealth + Send + Sync + 'static) {
        self.shared.health.set_look(look);
    }

    /// Ends the page. Open pages lose their connection.
    pub fn stop(&self) {
        self.ends.send_replace(true);
    }
}

/// Binds a port of loopback; returns the page's host too.
fn bind_port(port: u16) -> Result<(TcpListener, String)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    let listener = bound.with_context(|| format!("cannot listen on {address}"))?;
    let port = listener.local_addr().context("the port is unknown")?.port();
    Ok((listener, format!("{PAGE_HOST}:{port}")))
}

/// Checks that what somebody else has bound is a port of loopback.
fn take_port(listener: TcpListener, port: u16) -> Result<(TcpListener, String)> {
    let bound = listener.local_addr().context("the port is unknown")?;
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    ensure!(bound == wanted, "the port that is bound already is {bound}, not {wanted}");
    listener.set_nonblocking(true).context("the port cannot be used")?;
    Ok((listener, format!("{PAGE_HOST}:{port}")))
}

fn routes(shared: Arc<SharedPage>, ends: &watch::Sender<bool>) -> Router {
    Router::new()
        .route("/", get(show_sessions))
        .route("/session", get(show_session))
        .route("/approvals", get(show_approvals))
        .route("/approvals/answer", post(answer_approval))
        .route("/approvals/passkey", post(ask_passkey::<AnswerForm>))
        .route("/enroll", get(show_enroll))
        .route("/enroll/begin", post(begin_enroll))
        .route("/enroll/finish", post(finish_enroll))
        .route("/incidents", get(show_incidents))
        .merge(rooms::routes())
        .route("/plugins", get(show_plugins))
        .route("/users", get(show_users))
        .route("/search", get(show_search))
        .route("/sign-in", get(show_sign_in).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/live", get(send_changes))
        // A browser asks for it by itself.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route("/style.css", get(async || send_style()))
        .route("/page.js", get(async || send_script()))
        .fallback(async || (StatusCode::NOT_FOUND, "there is no such page\n"))
        .layer(Extension(ends.subscribe()))
        .layer(DefaultBodyLimit::max(MOST_FORM))
        .layer(from_fn_with_state(Arc::clone(&shared), guard_request))
        .with_state(shared)
}

async fn show_sessions(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |_, reading, _| pages::sessions::compose(reading)).await
}

#[derive(Deserialize)]
struct SessionQuery {
    id: String,
}

async fn show_session(signed_in: MaybeSignedIn, Query(query): Query<SessionQuery>) -> Response {
    show(signed_in, move |_, reading, _| pages::session::compose(reading, &query.id)).await
}

async fn show_approvals(
    signed_in: MaybeSignedIn,
    Query(query): Query<pages::approvals::ApprovalsQuery>,
) -> Response {
    show(signed_in, move |site, reading, visitor| {
        pages::approvals::compose(reading, visitor, &site.approvers()?, &query)
    })
    .await
}

async fn show_incidents(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |_, reading, _| pages::incidents::compose(reading)).await
}

async fn show_plugins(signed_in: MaybeSignedIn) -> Response {
    show(signed_in, |_, reading, _| pages::plugins::compose(reading)).await
}

/// Shows the sessions of all users to an operator.
async fn show_users(State(shared): Shared, signed_in: MaybeSignedIn) -> Response {
    let is_refused = signed_in
        .as_ref()
        .is_some_and(|Extension(SignedIn { visitor, .. })| visitor.role < Role::Operator);
    if is_refused {
        return (StatusCode::FORBIDDEN, "only an operator sees all users\n").into_response();
    }
    let Some(sites) = shared.list_users() else {
        return (StatusCode::NOT_FOUND, "this page is for one user\n").into_response();
    };
    show(signed_in, move |_, _, _| pages::users::compose(&sites)).await
}

async fn show_search(
    signed_in: MaybeSignedIn,
    Query(query): Query<pages::search::SearchQuery>,
) -> Response {
    show(signed_in, move |_, reading, _| pages::search::compose(reading, &query)).await
}

async fn answer_approval(signed_in: MaybeSignedIn, Form(form): Form<AnswerForm>) -> Response {
    let site = match admit_proved_form(signed_in, &form) {
        Ok(site) => site,
        Err(refused) => return *refused,
    };
    let answered = tokio::task::spawn_blocking(move || give_answer(&site, &form)).await;
    let said = match answered {
        Ok(Ok(Answered::Settled(result))) => pages::approvals::name_result(result),
        Ok(Ok(Answered::NotProved)) => "unproved",
        Ok(Ok(Answered::Closed)) => "closed",
        Ok(Err(error)) => {
            return send_page(StatusCode::CONFLICT, &pages::error_page(&error));
        }
        Err(_) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended the answer\n")
                .into_response();
        }
    };
    Redirect::to(&format!("/approvals?said={said}")).into_response()
}

async fn show_enroll(Query(query): Query<pages::enroll::EnrollQuery>) -> Response {
    send_page(StatusCode::OK, &pages::enroll::whole_page(&query))
}

async fn begin_enroll(State(shared): Shared, Form(form): Form<BeginForm>) -> Response {
    match begin_enrollment(&shared, &form) {
        Ok(Some(options)) => send_json(options),
        Ok(None) => {
            let answer = (StatusCode::FORBIDDEN, "this code does not count\n").into_response();
            refuse_guess(&shared, answer).await
        }
        Err(error) => send_page(StatusCode::CONFLICT, &pages::error_page(&error)),
    }
}

async fn finish_enroll(State(shared): Shared, Form(form): Form<FinishForm>) -> Response {
    let kept = tokio::task::spawn_blocking(move || finish_enrollment(&shared, &form)).await;
    match kept {
        Ok(Ok(_)) => Redirect::to("/enroll?said=done").into_response(),
        Ok(Err(error)) => send_page(StatusCode::CONFLICT, &pages::error_page(&error)),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "a defect ended this\n").into_response(),
    }
}

async fn show_sign_in(Query(query): Query<pages::sign_in::SignInQuery>) -> Response {
    send_page(StatusCode::OK, &pages::sign_in::whole_page(&query))
}

#[derive(Deserialize)]
struct SignInForm {
    code: String,
}

/// Counts a code that was wrong. A right one counts all the same: nobody can guess it, and whoever
/// tries must not keep others out.
async fn refuse_guess(shared: &SharedPage, answer: Response) -> Response {
    if shared.guesses.are_too_many() {
        return (StatusCode::TOO_MANY_REQUESTS, "too many codes were wrong: wait a minute\n")
            .into_response();
    }
    shared.guesses.note_failure();
    // A code that nobody made belongs to no user, so behind a boundary there is no journal for it.
    if let Some(site) = shared.own_site() {
        let _unrecorded = record_sign_in(Arc::clone(site), UseOutcome::Refused).await;
    }
    answer
}

async fn record_sign_in(site: Arc<Site>, outcome: UseOutcome) -> Result<()> {
    tokio::task::spawn_blocking(move || site.record_sign_in(outcome)).await?
}

async fn sign_in(
    State(shared): Shared,
    ConnectInfo(owner): ConnectInfo<ConnectionOwner>,
    Form(form): Form<SignInForm>,
) -> Response {
    match shared.access.redeem(form.code.trim(), owner) {
        Ok(Some(cookie)) => {
            // A browser is let in only with a record of it.
            if let Some(guest) = shared.find_guest(&cookie, owner)
                && let Err(error) = record_sign_in(guest.site, UseOutcome::Used).await
            {
                shared.access.end_session(&cookie, owner);
                return send_page(StatusCode::INTERNAL_SERVER_ERROR, &pages::error_page(&error));
            }
            let cookie = format!("{COOKIE}={cookie}; HttpOnly; SameSite=Strict; Path=/");
            with_cookie(Redirect::to("/").into_response(), &cookie)
        }
        Ok(None) => {
            let answer = Redirect::to("/sign-in?said=unknown").into_response();
            refuse_guess(&shared, answer).await
        }
        Err(error) => send_page(StatusCode::INTERNAL_SERVER_ERROR, &pages::error_page(&error)),
    }
}

#[derive(Deserialize)]
struct SignOutForm {
    token: String,
}

async fn sign_out(
    State(shared): Shared,
    ConnectInfo(owner): ConnectInfo<ConnectionOwner>,
    signed_in: MaybeSignedIn,
    headers: HeaderMap,
    Form(form): Form<SignOutForm>,
) -> Response {
    let is_ours =
        signed_in.is_some_and(|Extension(signed_in)| signed_in.visitor.form_token == form.token);
    if let Some(cookie) = read_cookie(&headers, COOKIE).filter(|_| is_ours) {
        shared.access.end_session(cookie, owner);
    }
    let ended = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    with_cookie(Redirect::to("/sign-in?said=out").into_response(), &ended)
}

/// The journals that an open page follows.
#[derive(Deserialize)]
struct LiveQuery {
    /// `all` for those of all users.
    #[serde(default)]
    users: String,
}

/// Sends an event for each change of the journal, until the browser or the service ends.
async fn send_changes(
    State(shared): Shared,
    signed_in: MaybeSignedIn,
    Query(query): Query<LiveQuery>,
    Extension(ends): Extension<watch::Receiver<bool>>,
) -> Response {
    let Some(Extension(SignedIn { visitor, site })) = signed_in else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let sees_all = query.users == "all" && visitor.role >= Role::Operator;
    let sites = sees_all.then(|| shared.list_users()).flatten();
    let sites = sites.unwrap_or_else(|| vec![Arc::clone(&site)]);
    let open = OpenPage::open(site, visitor.role);
    Sse::new(changes(&sites, ends, open))
        .keep_alive(KeepAlive::new().interval(PULSE))
        .into_response()
}

fn changes(
    sites: &[Arc<Site>],
    ends: watch::Receiver<bool>,
    open: OpenPage,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let none: Pin<Box<dyn Stream<Item = u64> + Send>> = Box::pin(tokio_stream::empty());
    let newest = sites.iter().fold(none, |merged, site| {
        Box::pin(merged.merge(WatchStream::from_changes(site.changes.subscribe())))
    });
    let newest = newest.map(Some);
    let ended = WatchStream::from_changes(ends).map(|_| None);
    newest.merge(ended).take_while(Option::is_some).filter_map(|newest| newest).map(
        move |position| {
            // The page counts as open as long as this stream is.
            let _open = &open;
            // An event without data is none for a browser.
            Ok(Event::default().event("changed").data(position.to_string()))
        },
    )
}
