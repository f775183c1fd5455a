//! The client as data for the core: its programs, its files, its tools, and the ways past its
//! hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{ClientProfile, HookBypasses, ToolMeaning};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "codex",
    display_name: "Codex CLI",
    programs: &["codex"],
    packages: &["@openai/codex"],
    package_folders: &[],
    marks: &["CODEX_SANDBOX", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_PACKAGE_ROOT"],
    start_up_files: &[".codex/config.toml", ".codex/hooks.json"],
    credential_files: &[".codex/auth.json"],
    tools: TOOLS,
    background: &[],
    drops_early_notes: false,
    hooked: Some(&BYPASSES),
};

/// The names that hooks see: the tool for commands is `Bash`, whatever the model calls it.
const TOOLS: &[(&str, ToolMeaning)] = &[
    ("Bash", ToolMeaning::Shell),
    // The reader of commands reads a patch too.
    ("apply_patch", ToolMeaning::Shell),
    ("view_image", ToolMeaning::File("path", Access::Read)),
    ("update_plan", ToolMeaning::Internal),
    ("request_user_input", ToolMeaning::Internal),
    ("get_goal", ToolMeaning::Internal),
    ("create_goal", ToolMeaning::Internal),
    ("update_goal", ToolMeaning::Internal),
    ("web_search", ToolMeaning::WebSearch),
    // Their namespace is a part of their names.
    ("collaborationspawn_agent", ToolMeaning::Message("task_name", "message")),
    ("collaborationsend_message", ToolMeaning::Message("target", "message")),
    ("collaborationfollowup_task", ToolMeaning::Message("target", "message")),
    ("collaborationwait_agent", ToolMeaning::Internal),
    ("collaborationinterrupt_agent", ToolMeaning::Internal),
    ("collaborationlist_agents", ToolMeaning::Internal),
];

const BYPASSES: HookBypasses = HookBypasses {
    // The middle ones are values of `-c`, which changes any setting for one run.
    options: &[
        "--disable",
        "--ignore-user-config",
        "features",
        "features.hooks",
        "-cfeatures",
        "-cfeatures.hooks",
        "-c=features",
        "-c=features.hooks",
        "--config=features",
        "--config=features.hooks",
        "hooks",
        "hooks.state",
        "-chooks",
        "-c=hooks",
        "--config=hooks",
        "--remote",
    ],
    changing_commands: &[
        ("plugin", &["list"]),
        ("features", &["list"]),
        ("mcp", &["list", "get"]),
        ("update", &[]),
        ("app-server", &[]),
        ("exec-server", &[]),
        ("remote-control", &[]),
    ],
    settings_variables: &["CODEX_HOME"],
    variable_prefix: "CODEX_",
    switches: &["HOOK", "HOME", "CONFIG"],
};
