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
    background: &[],
    drops_early_notes: false,
    hooked: None,
};

pub(super) const CONTINUE: ClientProfile = ClientProfile {
    name: "continue",
    display_name: "Continue",
    start_up_files: &[".continue/config.json"],
    ..NONE
};
