//! Both clients as data for the core: programs, files, tools, and the ways past the hooks.

use portcullis_core::action::Access;
use portcullis_core::client::{
    BackgroundMark, BackgroundValue, ClientProfile, HookBypasses, Lasting, ToolMeaning,
};

pub(crate) const OPENCODE: ClientProfile = ClientProfile {
    name: "opencode",
    display_name: "OpenCode",
    programs: &["opencode"],
    packages: &["opencode-ai"],
    package_folders: &["/opencode-linux-", "/opencode-darwin-"],
    marks: &["OPENCODE", "OPENCODE_PID"],
    start_up_files: &[
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
        ".config/opencode/config.json",
        ".config/opencode/plugins/portcullis.js",
    ],
    credential_files: &[".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json"],
    tools: TOOLS,
    background: &[],
    drops_early_notes: false,
    hooked: Some(&HookBypasses {
        settings_variables: &["XDG_CONFIG_HOME"],
        variable_prefix: "OPENCODE_",
        ..BYPASSES
    }),
};

pub(crate) const KILO: ClientProfile = ClientProfile {
    name: "kilo",
    display_name: "Kilo CLI",
    programs: &["kilo", "kilocode"],
    packages: &["@kilocode/cli"],
    package_folders: &[],
    marks: &["KILO", "KILO_PID"],
    start_up_files: &[
        ".config/kilo/kilo.json",
        ".config/kilo/kilo.jsonc",
        ".config/kilo/config.json",
        ".config/kilo/plugins/portcullis.js",
    ],
    credential_files: &[".local/share/kilo/auth.json", ".local/share/kilo/mcp-auth.json"],
    tools: TOOLS,
    background: &[BackgroundMark {
        tool: "background_process",
        parameter: "action",
        value: BackgroundValue::AllBut(LOOKING),
    }],
    drops_early_notes: false,
    hooked: Some(&HookBypasses {
        settings_variables: &["XDG_CONFIG_HOME"],
        variable_prefix: "KILO_",
        ..BYPASSES
    }),
};

/// The actions of Kilo CLI's `background_process` that start no command.
const LOOKING: &[&str] = &["monitor", "list", "status", "logs", "stop"];

/// The tools of both. Those of a server are named `SERVER_TOOL`, so that nothing tells them from
/// other unknown ones.
const TOOLS: &[(&str, ToolMeaning)] = &[
    ("bash", ToolMeaning::Shell),
    ("background_process", ToolMeaning::Shell),
    // The reader of commands reads a patch too.
    ("apply_patch", ToolMeaning::Shell),
    ("read", ToolMeaning::File("filePath", Access::Read)),
    ("write", ToolMeaning::File("filePath", Access::Create)),
    ("edit", ToolMeaning::File("filePath", Access::Modify)),
    ("glob", ToolMeaning::Search),
    ("grep", ToolMeaning::Search),
    ("list", ToolMeaning::Search),
    ("webfetch", ToolMeaning::Fetch("url")),
    ("websearch", ToolMeaning::WebSearch),
    ("task", ToolMeaning::Message("subagent_type", "prompt")),
    ("question", ToolMeaning::Message("", "questions")),
    ("board_post", ToolMeaning::Message("to", "body")),
    ("board_read", ToolMeaning::Internal),
    ("todowrite", ToolMeaning::Internal),
    ("todoread", ToolMeaning::Internal),
    ("skill", ToolMeaning::Internal),
    // Both resume the session that asks; a recurring task does so until somebody ends it.
    ("schedule_wakeup", ToolMeaning::Later("prompt", Lasting::Session)),
    ("cron_create", ToolMeaning::Later("prompt", Lasting::If("cron"))),
    ("cron_list", ToolMeaning::Internal),
    ("cron_delete", ToolMeaning::Internal),
    ("cancel_wakeup", ToolMeaning::Internal),
    ("plan_enter", ToolMeaning::Internal),
    ("plan_exit", ToolMeaning::Internal),
    // A call that the client could not read: nothing runs.
    ("invalid", ToolMeaning::Internal),
];

const BYPASSES: HookBypasses = HookBypasses {
    options: &["--pure"],
    changing_commands: &[
        ("plugin", &[]),
        ("plug", &[]),
        ("upgrade", &[]),
        ("uninstall", &[]),
        ("mcp", &["list", "ls"]),
        ("agent", &["list"]),
        // A server that was started elsewhere has other plugins.
        ("attach", &[]),
    ],
    settings_variables: &[],
    variable_prefix: "",
    switches: &["PURE", "CONFIG", "PERMISSION", "PLUGIN", "TEST_"],
};
