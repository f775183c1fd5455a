//! The client as data for the core: its programs, its files, its tools, and the ways past its
//! hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{
    BackgroundMark, BackgroundValue, ClientProfile, HookBypasses, ToolMeaning,
};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "qwen",
    display_name: "Qwen Code",
    programs: &["qwen", "qwen-code"],
    packages: &["@qwen-code/qwen-code"],
    package_folders: &["/qwen-code/"],
    marks: &["QWEN_CODE", "QWEN_CODE_SESSION_ID"],
    start_up_files: &[".qwen/settings.json", ".qwen/.env"],
    credential_files: &[".qwen/oauth_creds.json", ".qwen/mcp-oauth-tokens.json"],
    tools: TOOLS,
    background: &[BackgroundMark {
        tool: "",
        parameter: "is_background",
        value: BackgroundValue::True,
    }],
    drops_early_notes: true,
    hooked: Some(&BYPASSES),
};

/// A deferred tool comes with its own name, not with that of `tool_call`. `exec` runs code and is
/// read like a tool that is not known.
const TOOLS: &[(&str, ToolMeaning)] = &[
    ("run_shell_command", ToolMeaning::Shell),
    ("monitor", ToolMeaning::Shell),
    ("read_file", ToolMeaning::File("file_path", Access::Read)),
    ("zoom_image", ToolMeaning::File("file_path", Access::Read)),
    ("write_file", ToolMeaning::File("file_path", Access::Create)),
    ("edit", ToolMeaning::File("file_path", Access::Modify)),
    ("notebook_edit", ToolMeaning::File("notebook_path", Access::Modify)),
    ("list_directory", ToolMeaning::Search),
    ("glob", ToolMeaning::Search),
    ("grep_search", ToolMeaning::Search),
    ("web_fetch", ToolMeaning::Fetch("url")),
    ("web_search", ToolMeaning::WebSearch),
    ("agent", ToolMeaning::Message("subagent_type", "prompt")),
    ("send_message", ToolMeaning::Message("to", "message")),
    ("ask_user_question", ToolMeaning::Message("", "questions")),
    ("todo_write", ToolMeaning::Internal),
    ("skill", ToolMeaning::Internal),
    ("tool_search", ToolMeaning::Internal),
    ("list_agents", ToolMeaning::Internal),
    ("task_create", ToolMeaning::Internal),
    ("task_update", ToolMeaning::Internal),
    ("task_list", ToolMeaning::Internal),
    ("task_stop", ToolMeaning::Internal),
    ("enter_plan_mode", ToolMeaning::Internal),
    ("exit_plan_mode", ToolMeaning::Internal),
    ("structured_output", ToolMeaning::Internal),
    ("report_findings", ToolMeaning::Internal),
    ("get_goal", ToolMeaning::Internal),
    ("update_goal", ToolMeaning::Internal),
    ("propose_goal", ToolMeaning::Internal),
    ("lsp", ToolMeaning::Internal),
    ("read_mcp_resource", ToolMeaning::Internal),
];

const BYPASSES: HookBypasses = HookBypasses {
    options: &["--bare", "--safe-mode"],
    changing_commands: &[
        ("hooks", &[]),
        ("extensions", &["list"]),
        ("mcp", &["list"]),
        ("update", &[]),
        ("serve", &[]),
    ],
    settings_variables: &[
        "QWEN_HOME",
        "QWEN_CODE_SYSTEM_SETTINGS_PATH",
        "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
        "QWEN_CODE_TRUSTED_FOLDERS_PATH",
    ],
    variable_prefix: "QWEN_",
    switches: &["HOME", "SETTINGS", "DEFAULTS", "TRUST", "SAFE_MODE", "BARE", "HOOK"],
};
