//! Lists of tools: which page belongs to a server's first list, and a page without held tools.

use crate::definition::ListedTool;
use crate::message::RpcMessage;
use crate::pin_store::ToolState;
use crate::reply::to_line;
use serde_json::{Map, Value};

/// The server's first list, page by page: only its tools are agreed without a person.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FirstList {
    /// No page was read yet.
    Begins,
    /// The next page is the one after this cursor.
    Continues(String),
    /// All pages were read, or the server was known before.
    Ended,
}

impl FirstList {
    /// Returns true if the page after `cursor` belongs to it, and goes on behind that page.
    pub(crate) fn advance(&mut self, cursor: Option<&str>, next: Option<&str>) -> bool {
        let belongs = match (&*self, cursor) {
            (Self::Begins, None) => true,
            (Self::Continues(expected), Some(cursor)) => expected == cursor,
            _ => false,
        };
        // A list that is begun again does not agree to more than the first one did.
        *self = match next.filter(|_| belongs) {
            Some(next) => Self::Continues(next.to_owned()),
            None => Self::Ended,
        };
        belongs
    }
}

/// Returns the tools of a page; `None` if the answer is not a list.
pub(crate) fn tools_of(message: &RpcMessage) -> Option<Vec<ListedTool>> {
    let tools = message.object.get("result")?.get("tools")?.as_array()?;
    let listed = |tool: &Value| ListedTool {
        name: tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        value: tool.clone(),
    };
    Some(tools.iter().map(listed).collect())
}

/// Returns the cursor of the next page.
pub(crate) fn next_cursor(message: &RpcMessage) -> Option<&str> {
    message.object.get("result")?.get("nextCursor")?.as_str()
}

/// Returns a page without its held tools.
pub(crate) fn without_held(message: &RpcMessage, states: &[ToolState]) -> Vec<u8> {
    let keep: Vec<_> = states.iter().map(|state| *state == ToolState::Agreed).collect();
    without_tools(message, &keep)
}

/// Returns a page with those of its tools for which `keep` is true.
pub(crate) fn without_tools(message: &RpcMessage, keep: &[bool]) -> Vec<u8> {
    if keep.iter().all(|keep| *keep) {
        return message.bytes.clone();
    }
    let mut object: Map<String, Value> = message.object.clone();
    let result = object.get_mut("result").and_then(Value::as_object_mut);
    if let Some(result) = result {
        if let Some(Value::Array(tools)) = result.get_mut("tools") {
            let mut keep = keep.iter();
            tools.retain(|_| keep.next() == Some(&true));
        }
        // Others may have agreed to other tools.
        if result.contains_key("cacheScope") {
            result.insert("cacheScope".into(), "private".into());
        }
    }
    to_line(&Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_list_agrees() {
        let mut list = FirstList::Begins;
        assert!(list.advance(None, Some("2")));
        assert!(list.advance(Some("2"), Some("3")));
        assert!(list.advance(Some("3"), None));
        assert!(!list.advance(None, None));
        let mut jumped = FirstList::Begins;
        assert!(jumped.advance(None, Some("2")));
        assert!(!jumped.advance(Some("9"), Some("2")));
        assert!(!jumped.advance(Some("2"), None));
        let mut again = FirstList::Begins;
        assert!(again.advance(None, Some("2")));
        assert!(!again.advance(None, Some("2")));
        assert!(!again.advance(Some("2"), None));
        assert!(!FirstList::Begins.advance(Some("2"), None));
        assert!(!FirstList::Ended.advance(None, None));
    }
}
