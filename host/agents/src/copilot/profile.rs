//! The client as data for the core: its programs, its files, its tools, and the ways past its
//! hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{
    BackgroundMark, BackgroundValue, ClientProfile, HookBypasses, ToolMeaning,
};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "copilot",
    display_name: "Copilot CLI",
    programs: &["copilot"],
    packages: &["@github/copilot"],
    package_folders: &["/copilot-linux-x64/"],
    marks: &["COPILOT_CLI", "COPILOT_CLI_BINARY_VERSION"],
    start_up_files: &[".copilot/config.json", ".copilot/settings.json", ".copilot/mcp-config.json"],
    credential_files: &[".copilot/config.json"],
    tools: TOOLS,
    background: &[
        BackgroundMark { tool: "", parameter: "detach", value: BackgroundValue::True },
        BackgroundMark { tool: "", parameter: "mode", value: BackgroundValue::Word("async") },
    ],
    drops_early_notes: false,
    hooked: Some(&BYPASSES),
};

const TOOLS: &[(&str, ToolMeaning)] = &[
    ("bash", ToolMeaning::Shell),
    ("view", ToolMeaning::File("path", Access::Read)),
    ("create", ToolMeaning::File("path", Access::Create)),
    ("edit", ToolMeaning::File("path", Access::Modify)),
    // The reader of commands reads a patch too.
    ("apply_patch", ToolMeaning::Shell),
    ("glob", ToolMeaning::Search),
    ("grep", ToolMeaning::Search),
    ("rg", ToolMeaning::Search),
    ("web_fetch", ToolMeaning::Fetch("url")),
    ("web_search", ToolMeaning::WebSearch),
    ("task", ToolMeaning::Message("agent_type", "prompt")),
    ("ask_user", ToolMeaning::Message("", "question")),
    ("write_agent", ToolMeaning::Message("agent_id", "message")),
    ("read_bash", ToolMeaning::Internal),
    ("stop_bash", ToolMeaning::Internal),
    ("list_bash", ToolMeaning::Internal),
    ("read_agent", ToolMeaning::Internal),
    ("list_agents", ToolMeaning::Internal),
    ("report_intent", ToolMeaning::Internal),
    ("update_todo", ToolMeaning::Internal),
    ("skill", ToolMeaning::Internal),
    ("exit_plan_mode", ToolMeaning::Internal),
    ("task_complete", ToolMeaning::Internal),
    ("fetch_copilot_cli_documentation", ToolMeaning::Internal),
];

const BYPASSES: HookBypasses = HookBypasses {
    options: &["--plugin-dir", "--config-dir", "--connect", "--extension-sdk-path"],
    changing_commands: &[
        ("plugin", &["list"]),
        ("mcp", &["list", "get"]),
        ("config", &["get", "list"]),
        ("update", &[]),
    ],
    settings_variables: &["COPILOT_HOME"],
    variable_prefix: "COPILOT_",
    switches: &["HOME", "HOOK", "SETTINGS", "CONFIG"],
};
