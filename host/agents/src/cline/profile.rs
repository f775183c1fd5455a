//! The client as data for the core: its programs, its files, its tools, and the ways past its
//! hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{ClientProfile, HookBypasses, ToolMeaning};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "cline",
    display_name: "Cline CLI",
    programs: &["cline"],
    packages: &["node_modules/cline/", "@cline/cli"],
    package_folders: &["/cli-linux-x64/bin/cline", "/cline-hub/"],
    marks: &["CLINE_BUILD_ENV", "CLINE_CONNECTOR_CLI_LAUNCH"],
    start_up_files: &[
        ".cline/data/settings/cline_mcp_settings.json",
        "Documents/Cline/Hooks/PreToolUse",
        "Documents/Cline/Hooks/PostToolUse",
    ],
    credential_files: &[".cline/data/settings/providers.json", ".cline/data/secrets.json"],
    tools: TOOLS,
    background: &[],
    drops_early_notes: false,
    hooked: Some(&BYPASSES),
};

/// The tools, with the parameters under the names that the adapter gives them. Those of a server
/// are named `SERVER__TOOL`, so that nothing tells them from other unknown ones.
const TOOLS: &[(&str, ToolMeaning)] = &[
    ("run_commands", ToolMeaning::Shell),
    // The reader of commands reads a patch too.
    ("apply_patch", ToolMeaning::Shell),
    ("read_files", ToolMeaning::File("file_paths", Access::Read)),
    ("editor", ToolMeaning::File("path", Access::Modify)),
    ("search_codebase", ToolMeaning::Search),
    ("fetch_web_content", ToolMeaning::Fetch("url")),
    ("spawn_agent", ToolMeaning::Message("systemPrompt", "task")),
    ("team_spawn_teammate", ToolMeaning::Message("agentId", "rolePrompt")),
    ("team_run_task", ToolMeaning::Message("agentId", "task")),
    ("team_send_message", ToolMeaning::Message("toAgentId", "body")),
    ("team_broadcast", ToolMeaning::Message("subject", "body")),
    ("ask_question", ToolMeaning::Message("", "question")),
    ("team_task", ToolMeaning::Internal),
    ("team_status", ToolMeaning::Internal),
    ("team_shutdown_teammate", ToolMeaning::Internal),
    ("team_cancel_run", ToolMeaning::Internal),
    ("team_list_runs", ToolMeaning::Internal),
    ("team_await_runs", ToolMeaning::Internal),
    ("team_read_mailbox", ToolMeaning::Internal),
    ("team_mission_log", ToolMeaning::Internal),
    ("team_cleanup", ToolMeaning::Internal),
    ("team_create_outcome", ToolMeaning::Internal),
    ("team_attach_outcome_fragment", ToolMeaning::Internal),
    ("team_review_outcome_fragment", ToolMeaning::Internal),
    ("team_finalize_outcome", ToolMeaning::Internal),
    ("team_list_outcomes", ToolMeaning::Internal),
    ("skills", ToolMeaning::Internal),
    ("submit_and_exit", ToolMeaning::Internal),
];

const BYPASSES: HookBypasses = HookBypasses {
    options: &["--config", "--data-dir", "--hooks-dir"],
    changing_commands: &[
        ("config", &[]),
        ("plugin", &["list"]),
        ("skill", &["list"]),
        ("mcp", &["list"]),
        ("hub", &["status"]),
        ("connect", &[]),
        ("schedule", &["list"]),
        ("update", &[]),
    ],
    settings_variables: &["CLINE_DIR", "CLINE_DATA_DIR"],
    variable_prefix: "CLINE_",
    switches: &["DIR", "HOOK", "SETTINGS", "SANDBOX", "APPROVAL", "HUB"],
};
