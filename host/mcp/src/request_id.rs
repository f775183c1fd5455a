//! The id of a request, which its answer repeats.

use serde_json::Value;

/// The largest whole number that every reader of JSON reads exactly.
const MAX_EXACT: i64 = (1 << 53) - 1;

/// A request's id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A text.
    Text(String),
    /// A whole number, at most 2^53 - 1 from zero.
    Number(i64),
}

impl RequestId {
    /// Reads an id; returns `None` for any value that is none.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => number
                .as_i64()
                .filter(|number| (-MAX_EXACT..=MAX_EXACT).contains(number))
                .map(Self::Number),
            _ => None,
        }
    }

    /// Returns it as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
        }
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}
