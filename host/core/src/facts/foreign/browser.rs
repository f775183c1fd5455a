//! Tools that drive a browser: the code that they run in a page, what they type into it, and the
//! buttons that they press.

use super::Name;
use super::controls::meaning_of_element;
use crate::facts::addresses::{holds_secrets, is_this_machine};
use crate::facts::parts::host_of;
use crate::facts::texts;
use crate::facts::verbs::VerbMeaning;

/// Words that name a browser.
const BROWSERS: &[&str] = &[
    "browser",
    "browserbase",
    "chrome",
    "chromium",
    "devtools",
    "firefox",
    "page",
    "playwright",
    "puppeteer",
    "selenium",
    "stagehand",
    "webdriver",
];
/// Parameters with code for a page, besides those of every tool.
const CODE: &[&str] = &["expression", "fn", "function", "js", "pagefunction", "script", "code"];
/// Words of code that reads the person's data from a page.
const OF_PERSON: &[&str] = &[
    "document.cookie",
    "indexedDB",
    "localStorage",
    "sessionStorage",
    "type=password",
    "type=\"password\"",
    "navigator.credentials",
];
/// Ways in which code of a page sends something.
const SENDS: &[&str] = &[
    "fetch(",
    "sendBeacon(",
    "XMLHttpRequest",
    "WebSocket(",
    ".src",
    "location.href",
    "location =",
    "location.assign",
    "axios",
];
/// Tools that type, and the parameters with the text.
const TYPES: &[&str] = &["fill", "form", "input", "insert", "paste", "press", "type"];
const TYPED: &[&str] = &["text", "value", "values", "fields"];
/// Parameters that describe what is pressed.
const PRESSED: &[&str] = &["element", "label", "description", "target", "text", "selector"];

/// The effect of a call in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InPage {
    /// It sends what the page knows of the person to this host.
    SendsOfPerson(String),
    /// It types a secret into it.
    TypesSecret,
    /// It presses a button that does this.
    Presses(VerbMeaning),
}

/// Returns true for a tool that drives a browser.
pub(super) fn is_browser(name: &Name) -> bool {
    name.0.iter().chain(&name.1).any(|word| BROWSERS.contains(&word.as_str()))
}

/// Returns what a call does in a page.
pub(super) fn in_page(name: &Name, parameters: &[(String, String)]) -> Vec<InPage> {
    if !is_browser(name) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (key, text) in parameters {
        let key = texts::plain(key);
        let is = |list: &[&str]| list.contains(&key.as_str());
        if is(CODE) {
            found.extend(sent_by(text).map(InPage::SendsOfPerson));
        }
        if name.says(TYPES) && is(TYPED) && holds_secrets(text) {
            found.push(InPage::TypesSecret);
        }
        if name.says(&["click", "press", "tap", "act"]) && is(PRESSED) && text.len() <= 200 {
            let meaning = meaning_of_element(text);
            // Tests press buttons all day: only what is lost as a whole and what costs a named sum
            // counts.
            let sum =
                text.contains(['$', '€', '£']) || text.bytes().any(|byte| byte.is_ascii_digit());
            if meaning == VerbMeaning::DestroysAll || meaning == VerbMeaning::Spends && sum {
                found.push(InPage::Presses(meaning));
            }
        }
    }
    found
}

/// Returns the host to which code of a page sends what the page knows of a person.
fn sent_by(code: &str) -> Option<String> {
    let has = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    if !has(OF_PERSON) || !has(SENDS) {
        return None;
    }
    let at = code.find("://")?;
    let start = code.get(..at)?.rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    let end =
        code.get(at + 3..)?.find(['"', '\'', '`', ' ', ')']).map_or(code.len(), |end| at + 3 + end);
    let host = host_of(code.get(start..end)?);
    (!host.is_empty() && !is_this_machine(&host)).then_some(host)
}
