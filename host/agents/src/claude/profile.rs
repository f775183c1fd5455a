//! The client as data for the core: its programs, its files, and the ways past its hooks.

use portcullis_core::client::{BackgroundMark, BackgroundValue, ClientProfile, HookBypasses};

pub(crate) const PROFILE: ClientProfile = ClientProfile {
    name: "claude",
    display_name: "Claude Code",
    programs: &["claude", "claude.exe", "claude-code"],
    // The native installer names the program by its version.
    packages: &["@anthropic-ai/claude-code", "/claude/versions/"],
    package_folders: &["/claude-code/"],
    marks: &["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"],
    start_up_files: &[".claude/settings.json", ".claude.json"],
    credential_files: &[".claude/.credentials.json"],
    tools: super::tools::TOOLS,
    background: &[BackgroundMark {
        tool: "",
        parameter: "run_in_background",
        value: BackgroundValue::True,
    }],
    drops_early_notes: false,
    hooked: Some(&BYPASSES),
};

const BYPASSES: HookBypasses = HookBypasses {
    options: &[
        "--bare",
        "--safe-mode",
        "--restricted",
        "--setting-sources",
        "--settings",
        "--plugin-dir",
        "--plugin-url",
        "--managed-settings",
    ],
    changing_commands: &[
        ("plugin", &["list", "validate", "details"]),
        ("plugins", &["list", "validate", "details"]),
        ("config", &["get", "list", "ls"]),
        ("install", &[]),
        ("import", &[]),
    ],
    settings_variables: &["CLAUDE_CONFIG_DIR"],
    variable_prefix: "CLAUDE_",
    switches: &[
        "SIMPLE",
        "SAFE_MODE",
        "RESTRICT",
        "HOOK",
        "SETTING",
        "MANAGED",
        "PERSONAL_CONFIG",
        "CONFIG_DIR",
    ],
};
