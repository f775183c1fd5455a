//! The rules that ship with the program, by name: for the list of rules, and for checking
//! `rules.disabled` and the names of custom rules. The plugin `rules` implements them.

/// A rule that ships with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// True if it is in the set `essential`.
    pub essential: bool,
    /// The verdicts that it may return, from the mildest.
    pub verdicts: &'static str,
    /// A description of the actions that it objects to.
    pub about: &'static str,
}

/// All of them, in the order in which they are shown.
pub const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "prevent_recursive_deletion",
        essential: true,
        verdicts: "modify, ask, block",
        about: "a deletion of whole folders that nobody could restore",
    },
    Builtin {
        name: "prevent_work_loss",
        essential: true,
        verdicts: "warn, modify, ask",
        about: "throwing away changes, stashes and branches that nothing else holds; emptying a file",
    },
    Builtin {
        name: "prevent_force_push",
        essential: false,
        verdicts: "modify, ask",
        about: "overwriting a remote branch whatever it holds",
    },
    Builtin {
        name: "warn_direct_push",
        essential: false,
        verdicts: "warn, ask",
        about: "pushing to a branch that others build on, past the checks or elsewhere; a \
             deployment or a change of a service that others use; a tool that publishes, pays or \
             gives rights",
    },
    Builtin {
        name: "limit_file_operations",
        essential: false,
        verdicts: "warn, ask",
        about: "more writes and deletions for a prompt than the limit",
    },
    Builtin {
        name: "warn_external_network",
        essential: false,
        verdicts: "warn, ask, block",
        about: "sending data to another machine, or a secret in a text; a cloud's metadata address",
    },
    Builtin {
        name: "warn_credential_read",
        essential: false,
        verdicts: "warn, ask",
        about: "reading a key, token or password, or a store of them outside the project",
    },
    Builtin {
        name: "warn_credential_written",
        essential: false,
        verdicts: "warn",
        about: "writing a key, token or password into a file",
    },
    Builtin {
        name: "warn_planted_instructions",
        essential: false,
        verdicts: "warn",
        about: "a text for a foreign tool that tells its reader to forget its orders",
    },
    Builtin {
        name: "protect_the_system",
        essential: false,
        verdicts: "warn, ask",
        about: "changing files of the system, of start-up, of credentials, or what a repository, \
             its builds or an editor run by themselves; a written line that drops data or leaves a \
             check out later",
    },
    Builtin {
        name: "refuse_unseen_code",
        essential: true,
        verdicts: "ask, block",
        about: "running text that was downloaded, decoded or built",
    },
];
