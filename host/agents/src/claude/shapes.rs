//! The shapes of a valid settings file, as data: measured with 2.1.329 by asking the client
//! (`get_settings`) about files with one wrong value each. A test asks it again.
//!
//! Keys that are not listed here may have any value, as in the client itself.

use std::fmt;

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Text.
    Text,
    /// Text that is a URL.
    Url,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A number above 0.
    Seconds,
    /// A whole number above 0.
    Count,
    /// A number from 0 to 1.
    Share,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// An array of one shape.
    List(&'static Shape),
    /// An array whose elements the client checks one by one.
    AnyList,
    /// An object whose values have one shape.
    Record(&'static Shape),
    /// An object with these fields.
    Object(&'static [Field]),
    /// One of two shapes.
    Either(&'static Shape, &'static Shape),
    /// The shape, or null.
    OrNull(&'static Shape),
}

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// True if it is required.
    pub required: bool,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a string"),
            Self::Url => f.write_str("a URL"),
            Self::Flag => f.write_str("true or false"),
            Self::Number => f.write_str("a number"),
            Self::Seconds => f.write_str("a number above 0"),
            Self::Count => f.write_str("a whole number above 0"),
            Self::Share => f.write_str("a number from 0 to 1"),
            Self::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                f.write_str(&words.join(" or "))
            }
            Self::List(shape) => write!(f, "an array, each element {shape}"),
            Self::AnyList => f.write_str("an array"),
            Self::Record(shape) => write!(f, "an object, each value {shape}"),
            Self::Object(_) => f.write_str("an object"),
            Self::Either(one, other) => write!(f, "{one} or {other}"),
            Self::OrNull(shape) => write!(f, "{shape}"),
        }
    }
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const ON_FAILURE: Shape = Shape::OneOf(&["continue", "block"]);
const FLAG_OR_NULL: Shape = Shape::OrNull(&Shape::Flag);
const TEXT_OR_TEXTS: Shape = Shape::Either(&Shape::Text, &TEXTS);
const OBJECT: Shape = Shape::Object(&[]);
const OBJECTS: Shape = Shape::List(&OBJECT);

/// A hook handler's fields, by its `type`.
pub(super) const HANDLERS: &[(&str, &[Field])] = &[
    (
        "command",
        &[
            required("command", Shape::Text),
            field("args", TEXTS),
            field("async", Shape::Flag),
            field("asyncRewake", Shape::Flag),
            field("shell", Shape::OneOf(&["bash", "powershell"])),
            field("onFailure", ON_FAILURE),
        ],
    ),
    (
        "http",
        &[
            required("url", Shape::Url),
            field("headers", Shape::Record(&Shape::Text)),
            field("allowedEnvVars", TEXTS),
            field("onFailure", ON_FAILURE),
        ],
    ),
    (
        "mcp_tool",
        &[
            required("server", Shape::Text),
            required("tool", Shape::Text),
            field("input", OBJECT),
            field("onFailure", ON_FAILURE),
        ],
    ),
    (
        "prompt",
        &[
            required("prompt", Shape::Text),
            field("model", Shape::Text),
            field("continueOnBlock", Shape::Flag),
        ],
    ),
    ("agent", &[required("prompt", Shape::Text), field("model", Shape::Text)]),
];

/// Fields of handlers of every type.
pub(super) const HANDLER: &[Field] = &[
    field("timeout", Shape::Seconds),
    field("if", Shape::Text),
    field("statusMessage", Shape::Text),
    field("once", Shape::Flag),
];

/// Events whose entries the client reads. It ignores entries under any other name.
pub(super) const EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionDenied",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "SessionEnd",
    "PermissionRequest",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "WorktreeCreate",
    "WorktreeRemove",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// The keys of a settings file, except `hooks`.
pub(super) const SETTINGS: &[Field] = &[
    field("$schema", Shape::Text),
    field("agent", Shape::Text),
    field("allowManagedHooksOnly", FLAG_OR_NULL),
    field("allowManagedMcpServersOnly", FLAG_OR_NULL),
    field("allowManagedPermissionRulesOnly", FLAG_OR_NULL),
    field("allowedHttpHookUrls", TEXTS),
    field("alwaysThinkingEnabled", Shape::Flag),
    field("apiKeyHelper", Shape::Text),
    field(
        "attribution",
        Shape::Either(
            &Shape::Flag,
            &Shape::Object(&[field("commit", Shape::Text), field("pr", Shape::Text)]),
        ),
    ),
    field("autoCompactEnabled", Shape::Flag),
    field("autoMemoryDirectory", Shape::Text),
    field("autoMemoryEnabled", Shape::Flag),
    field("autoMode", OBJECT),
    field("autoUpdatesChannel", Shape::OneOf(&["latest", "stable", "rc"])),
    field("availableModels", TEXTS),
    field("awsAuthRefresh", Shape::Text),
    field("awsCredentialExport", Shape::Text),
    field("blockedMarketplaces", Shape::OrNull(&OBJECTS)),
    field("channelsEnabled", FLAG_OR_NULL),
    field("claudeMdExcludes", TEXTS),
    field("cleanupPeriodDays", Shape::Count),
    field("companyAnnouncements", TEXTS),
    field("defaultShell", Shape::OneOf(&["bash", "powershell"])),
    field("disableAllHooks", Shape::Flag),
    field("disableAutoMode", Shape::OrNull(&Shape::OneOf(&["disable"]))),
    field("disabledMcpjsonServers", TEXT_OR_TEXTS),
    field("enableAllProjectMcpServers", FLAG_OR_NULL),
    field("enabledMcpjsonServers", TEXT_OR_TEXTS),
    field("enabledPlugins", Shape::Record(&Shape::Either(&Shape::Flag, &TEXTS))),
    field("env", OBJECT),
    field("fastMode", Shape::Flag),
    field("fastModePerSessionOptIn", FLAG_OR_NULL),
    field("feedbackSurveyRate", Shape::Share),
    field("fileSuggestion", COMMAND),
    field("forceLoginOrgUUID", TEXT_OR_TEXTS),
    field("gcpAuthRefresh", Shape::Text),
    field("httpHookAllowedEnvVars", TEXTS),
    field("includeCoAuthoredBy", Shape::Flag),
    field("includeGitInstructions", Shape::Flag),
    field("language", Shape::Text),
    field("minimumVersion", Shape::Text),
    field("model", Shape::Text),
    field("modelOverrides", Shape::Record(&Shape::Text)),
    field("otelHeadersHelper", Shape::Text),
    field("outputStyle", Shape::Text),
    field("permissions", PERMISSIONS),
    field("plansDirectory", Shape::Text),
    field("pluginConfigs", Shape::Record(&OBJECT)),
    field("pluginTrustMessage", Shape::Text),
    field("prefersReducedMotion", Shape::Flag),
    field("promptSuggestionEnabled", Shape::Flag),
    field("remote", OBJECT),
    field("requiredMinimumVersion", Shape::Text),
    field("respectGitignore", Shape::Flag),
    field("sandbox", SANDBOX),
    field("showClearContextOnPlanAccept", Shape::Flag),
    field("showThinkingSummaries", Shape::Flag),
    field("skipDangerousModePermissionPrompt", FLAG_OR_NULL),
    field("skipWebFetchPreflight", FLAG_OR_NULL),
    field("spinnerTipsEnabled", Shape::Flag),
    field("spinnerVerbs", Shape::Object(&[required("mode", Shape::OneOf(&["append", "replace"]))])),
    field("sshConfigs", OBJECTS),
    field("statusLine", COMMAND),
    field("strictKnownMarketplaces", Shape::OrNull(&OBJECTS)),
    field("syntaxHighlightingDisabled", Shape::Flag),
    field("terminalTitleFromRename", Shape::Flag),
    field("tui", Shape::OneOf(&["default", "fullscreen"])),
    field("verbose", Shape::Flag),
    field("voiceEnabled", Shape::Flag),
    field("worktree", Shape::Object(&[field("symlinkDirectories", TEXTS)])),
];

const COMMAND: Shape = Shape::Object(&[
    required("type", Shape::OneOf(&["command"])),
    required("command", Shape::Text),
    field("padding", Shape::Number),
]);

const PERMISSIONS: Shape = Shape::Object(&[
    field("allow", Shape::AnyList),
    field("deny", Shape::AnyList),
    field("ask", Shape::AnyList),
    field(
        "defaultMode",
        Shape::OneOf(&["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"]),
    ),
    field("disableBypassPermissionsMode", Shape::OneOf(&["disable"])),
    field("additionalDirectories", TEXTS),
]);

const SANDBOX: Shape = Shape::Object(&[
    field("enabled", Shape::Flag),
    field("network", OBJECT),
    field("excludedCommands", TEXTS),
]);
