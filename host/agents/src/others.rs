//! Clients without an adapter: what is known of their programs and files, so that an agent is known
//! as one and cannot start them by changing a file that they read.

use portcullis_core::client::ClientProfile;

const NONE: ClientProfile = ClientProfile {
    name: "",
    display_name: "",
    programs: &[],
    packages: &[],
    package_folders: &[],
    marks: &[],
    start_up_files: &[],
    credential_files: &[],
    tools: &[],
    hooked: None,
};

pub(super) const GEMINI: ClientProfile = ClientProfile {
    name: "gemini",
    display_name: "Gemini CLI",
    programs: &["gemini"],
    packages: &["@google/gemini-cli"],
    marks: &["GEMINI_CLI"],
    start_up_files: &[".gemini/settings.json"],
    ..NONE
};

pub(super) const CURSOR: ClientProfile = ClientProfile {
    name: "cursor",
    display_name: "Cursor",
    start_up_files: &[".cursor/mcp.json"],
    ..NONE
};

pub(super) const CONTINUE: ClientProfile = ClientProfile {
    name: "continue",
    display_name: "Continue",
    start_up_files: &[".continue/config.json"],
    ..NONE
};
