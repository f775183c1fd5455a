//! The client as data for the core: its programs, its files, its tools, and the ways past its
//! hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{
    BackgroundMark, BackgroundValue, ClientProfile, HookBypasses, ToolMeaning,
};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "gemini",
    display_name: "Gemini CLI",
    programs: &["gemini"],
    packages: &["@google/gemini-cli"],
    package_folders: &["/gemini-cli/"],
    marks: &["GEMINI_CLI", "GEMINI_SESSION_ID"],
    start_up_files: &[".gemini/settings.json", ".gemini/.env"],
    credential_files: &[".gemini/oauth_creds.json", ".gemini/mcp-oauth-tokens.json"],
    tools: TOOLS,
    background: &[BackgroundMark {
        tool: "",
        parameter: "is_background",
        value: BackgroundValue::True,
    }],
    drops_early_notes: true,
    hooked: Some(&BYPASSES),
};

/// A page's address is in the words of `web_fetch`, and `read_many_files` takes globs: both are
/// read like tools that are not known.
const TOOLS: &[(&str, ToolMeaning)] = &[
    ("run_shell_command", ToolMeaning::Shell),
    ("read_file", ToolMeaning::File("file_path", Access::Read)),
    ("write_file", ToolMeaning::File("file_path", Access::Create)),
    ("replace", ToolMeaning::File("file_path", Access::Modify)),
    ("list_directory", ToolMeaning::Search),
    ("glob", ToolMeaning::Search),
    ("grep_search", ToolMeaning::Search),
    ("google_web_search", ToolMeaning::WebSearch),
    ("invoke_agent", ToolMeaning::Message("agent_name", "prompt")),
    ("ask_user", ToolMeaning::Message("", "questions")),
    ("write_todos", ToolMeaning::Internal),
    ("update_topic", ToolMeaning::Internal),
    ("complete_task", ToolMeaning::Internal),
    ("activate_skill", ToolMeaning::Internal),
    ("enter_plan_mode", ToolMeaning::Internal),
    ("exit_plan_mode", ToolMeaning::Internal),
    ("get_internal_docs", ToolMeaning::Internal),
    ("list_mcp_resources", ToolMeaning::Internal),
    ("read_mcp_resource", ToolMeaning::Internal),
    ("tracker_create_task", ToolMeaning::Internal),
    ("tracker_update_task", ToolMeaning::Internal),
    ("tracker_get_task", ToolMeaning::Internal),
    ("tracker_list_tasks", ToolMeaning::Internal),
    ("tracker_add_dependency", ToolMeaning::Internal),
    ("tracker_visualize", ToolMeaning::Internal),
];

const BYPASSES: HookBypasses = HookBypasses {
    options: &[],
    changing_commands: &[
        ("hooks", &[]),
        ("hook", &[]),
        ("extensions", &["list", "validate"]),
        ("extension", &["list", "validate"]),
        ("mcp", &["list"]),
        ("skills", &["list"]),
        ("skill", &["list"]),
    ],
    settings_variables: &[
        "GEMINI_CLI_HOME",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
        "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
    ],
    variable_prefix: "GEMINI_",
    // An untrusted folder has no hooks at all.
    switches: &["CLI_HOME", "SETTINGS", "DEFAULTS", "TRUST", "RESTRICTED", "HOOK"],
};
