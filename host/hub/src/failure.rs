//! The answer to a request that was not done, and what the hub's own log says of it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deadpool_postgres::PoolError;
use portcullis_core::text::one_line;
use portcullis_fleet::protocol::{Position, Refusal, RefusalKind};

use crate::database::is_temporary;

/// Seconds after which a machine may come again. Each machine adds a random part, or all would
/// come at once.
const RETRY_AFTER: u32 = 5;

/// A request that was not done.
#[derive(Debug)]
pub struct Failure {
    refusal: Refusal,
    /// The words for the hub's log, if its operator should know more than the machine.
    log: Option<String>,
}

impl Failure {
    /// Creates a refusal.
    pub fn refuse(refused: RefusalKind, reason: impl Into<String>) -> Self {
        Self { refusal: Refusal { refused, reason: reason.into(), head: None }, log: None }
    }

    /// Creates the refusal of a batch that raised an incident; `head` is where the hub is.
    pub fn of_incident(reason: String, head: Option<Position>) -> Self {
        Self { refusal: Refusal { refused: RefusalKind::Incident, reason, head }, log: None }
    }

    /// Creates the answer to a request that may come again.
    pub fn busy(reason: &str) -> Self {
        Self::refuse(RefusalKind::Busy, reason)
    }

    /// Creates the answer to a request that met a defect. The machine learns no details.
    pub fn internal(log: impl ToString) -> Self {
        let failure = Self::refuse(RefusalKind::Internal, "the hub has a defect: see its log");
        Self { log: Some(log.to_string()), ..failure }
    }

    /// Returns the words for the hub's log.
    pub fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }

    /// Writes the failure to the hub's log, if its operator should know of it.
    pub fn report(&self) {
        if let Some(log) = self.log() {
            crate::report_line(&one_line(log, 1000));
        }
    }

    /// Returns the reason that the other side is told.
    pub fn reason(&self) -> &str {
        &self.refusal.reason
    }

    /// Returns the status of the answer.
    pub const fn status(&self) -> StatusCode {
        match self.refusal.refused {
            RefusalKind::Malformed => StatusCode::BAD_REQUEST,
            RefusalKind::Unidentified => StatusCode::UNAUTHORIZED,
            RefusalKind::Token
            | RefusalKind::Unknown
            | RefusalKind::Revoked
            | RefusalKind::Foreign => StatusCode::FORBIDDEN,
            RefusalKind::Incident => StatusCode::CONFLICT,
            RefusalKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            RefusalKind::NotFound => StatusCode::NOT_FOUND,
            RefusalKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let shown = match error.as_db_error() {
            Some(found) => format!("{error}: {}", found.message()),
            None => error.to_string(),
        };
        if is_temporary(&error) {
            let busy = Self::busy("the database does not answer");
            return Self { log: Some(format!("database: {shown}")), ..busy };
        }
        Self::internal(format!("database: {shown}"))
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            other => Self {
                log: Some(format!("database: {other}")),
                ..Self::busy("no connection to the database is free")
            },
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        self.report();
        let mut response = json_response(status, &self.refusal);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER));
        }
        response
    }
}

/// Returns an answer in JSON.
pub fn json_response(status: StatusCode, body: &impl serde::Serialize) -> Response {
    // Our own types always become JSON.
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let json = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, json)], bytes).into_response()
}
