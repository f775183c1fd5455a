//! The answer to a request that was not done, and what the hub's own log says of it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deadpool_postgres::PoolError;
use portcullis_core::text::one_line;
use portcullis_fleet::protocol::{Position, Refusal, RefusalKind};
use std::error::Error;
use tokio_postgres::error::SqlState;

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
    /// True if another statement of the same transaction failed before, and says why.
    is_aftermath: bool,
}

impl Failure {
    /// Creates a refusal.
    pub fn refuse(refused: RefusalKind, reason: impl Into<String>) -> Self {
        let refusal = Refusal { refused, reason: reason.into(), head: None };
        Self { refusal, log: None, is_aftermath: false }
    }

    /// Creates the refusal of a batch that raised an incident; `head` is where the hub is.
    pub fn of_incident(reason: String, head: Option<Position>) -> Self {
        let refusal = Refusal { refused: RefusalKind::Incident, reason, head };
        Self { refusal, log: None, is_aftermath: false }
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

    /// Returns the failure that says why, of statements that were sent together.
    pub fn find_cause(failures: Vec<Self>) -> Option<Self> {
        let mut failures = failures;
        let cause = failures.iter().position(|failure| !failure.is_aftermath).unwrap_or(0);
        (cause < failures.len()).then(|| failures.swap_remove(cause))
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
        let cause = error.source().map(ToString::to_string);
        let shown = match error.as_db_error().map(|found| found.message().to_owned()).or(cause) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        let is_aftermath = error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION);
        if is_temporary(&error) {
            let busy = Self::busy("the database does not answer");
            return Self { log: Some(format!("database: {shown}")), ..busy };
        }
        Self { is_aftermath, ..Self::internal(format!("database: {shown}")) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_failure_that_came_first() {
        let of = |reason: &str, is_aftermath| Failure { is_aftermath, ..Failure::busy(reason) };
        for (failures, cause) in [
            (vec![of("a", true), of("b", false), of("c", true)], Some("b")),
            (vec![of("a", true), of("b", true)], Some("a")),
            (vec![of("a", false)], Some("a")),
            (vec![], None),
        ] {
            let found = Failure::find_cause(failures);
            assert_eq!(found.as_ref().map(Failure::reason), cause);
        }
    }
}
