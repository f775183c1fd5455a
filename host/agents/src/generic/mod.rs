//! The form in which any agent loop passes its events, for agents whose client has no adapter: one
//! JSON object for an event, one for its answer.
//!
//! `schema.json` documents both. A change that an existing loop would notice gets another version;
//! an event of an unknown version is refused.

mod answer;
mod event;

pub use answer::{Answer, answer_reply, answer_unreadable};
pub use event::parse_event;

use portcullis_core::action::Access;
use portcullis_core::client::{ClientProfile, ToolMeaning};

/// The loop's name in records, as that of its client.
pub const NAME: &str = "generic";

/// The version of events and answers.
pub const VERSION: u64 = 1;

/// The JSON Schema (2020-12) of an event and of its answer.
pub const SCHEMA: &str = include_str!("schema.json");

/// The most bytes of one event.
pub const MAX_EVENT: usize = crate::payload::MAX_INPUT;

/// The loop as a client. A loop can use any tool: one that is not listed here is read by the names
/// of its parameters, like a tool of a server.
pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: NAME,
    display_name: "another agent",
    programs: &[],
    packages: &[],
    package_folders: &[],
    marks: &[],
    start_up_files: &[],
    credential_files: &[],
    tools: TOOLS,
    background: &[],
    hooked: None,
    drops_early_notes: false,
};

const TOOLS: &[(&str, ToolMeaning)] = &[
    ("shell", ToolMeaning::Shell),
    ("read_file", ToolMeaning::File("path", Access::Read)),
    ("write_file", ToolMeaning::File("path", Access::Create)),
    ("edit_file", ToolMeaning::File("path", Access::Modify)),
    ("delete_file", ToolMeaning::File("path", Access::Delete)),
    ("search_files", ToolMeaning::Search),
    ("fetch", ToolMeaning::Fetch("url")),
    ("web_search", ToolMeaning::WebSearch),
    ("send_message", ToolMeaning::Message("to", "text")),
];
