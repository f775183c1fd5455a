//! The client as data for the core: its programs, its files, its tools, and the ways past its
//! hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{ClientProfile, HookBypasses, ToolMeaning};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "cursor",
    display_name: "Cursor",
    programs: &["cursor-agent"],
    packages: &[],
    package_folders: &["/cursor-agent/versions/"],
    marks: &["CURSOR_AGENT"],
    start_up_files: &[".cursor/mcp.json"],
    credential_files: &[],
    tools: TOOLS,
    background: &[],
    drops_early_notes: true,
    hooked: Some(&BYPASSES),
};

const TOOLS: &[(&str, ToolMeaning)] = &[
    ("Shell", ToolMeaning::Shell),
    ("Read", ToolMeaning::File("file_path", Access::Read)),
    ("Write", ToolMeaning::File("file_path", Access::Create)),
    ("StrReplace", ToolMeaning::File("file_path", Access::Modify)),
    ("Delete", ToolMeaning::File("file_path", Access::Delete)),
    ("Grep", ToolMeaning::Search),
    ("Glob", ToolMeaning::Search),
    ("Task", ToolMeaning::Message("subagent_type", "prompt")),
];

const BYPASSES: HookBypasses = HookBypasses {
    options: &[],
    changing_commands: &[("mcp", &["list", "list-tools"]), ("update", &[]), ("install", &[])],
    settings_variables: &[],
    variable_prefix: "CURSOR_",
    switches: &["HOOK", "CONFIG"],
};
