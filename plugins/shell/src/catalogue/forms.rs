//! Dangerous forms: ways of calling programs that are worth a warning whatever they are called on.

/// Name, what it is in words, what it adds to the risk in thousandths.
const FORMS: &[(&str, &str, u16)] = &[
    ("attack-tool", "runs a tool for attacks on other machines", 200),
    ("chmod-777", "lets everyone write", 100),
    ("clean-untracked", "deletes files that git does not track", 200),
    ("container-escape", "gives a container the rights of the machine", 200),
    ("delete-all-rows", "changes every row of a table", 200),
    ("delete-branch", "deletes a branch that may not be merged", 100),
    ("delete-crontab", "deletes all scheduled jobs", 200),
    ("delete-remote", "deletes something on a remote service", 200),
    ("delete-remote-branch", "deletes a remote branch", 200),
    ("delete-root", "deletes the root folder, the home or a folder of the system", 300),
    ("delete-volumes", "deletes the data of containers", 200),
    ("discard-changes", "discards changes that are not committed", 100),
    ("disk-write", "writes to a disk past its files", 300),
    ("drop-data", "drops tables, databases or all keys", 300),
    ("drop-stash", "discards stashed changes", 100),
    ("firewall-off", "takes the firewall away", 200),
    ("force-push", "overwrites the history of a remote branch", 200),
    ("force-push-with-lease", "overwrites the history of a remote branch that nobody else changed", 100),
    ("fork-bomb", "starts copies of itself without end", 300),
    ("hard-reset", "discards all changes that are not committed", 200),
    ("hidden-command", "runs a text that is encoded, so that nobody can read it", 300),
    ("history-clear", "deletes or stops the shell's history", 100),
    ("history-rewrite", "rewrites commits", 100),
    ("kernel-module", "loads code into the kernel", 200),
    ("kill-everything", "stops every process", 300),
    ("log-clear", "deletes logs", 200),
    ("mirror-delete", "deletes what the source does not have", 100),
    ("no-approval", "applies changes without showing them first", 100),
    ("pipe-to-shell", "runs a text from the network that nobody has seen", 300),
    ("preload", "loads code into another program", 200),
    ("raw-socket", "talks to the network past all programs", 200),
    ("recursive-delete", "deletes a whole folder", 100),
    ("recursive-force-delete", "deletes a whole folder without asking", 200),
    ("recursive-permissions", "changes the permissions of the system or of a whole home", 300),
    ("remote-shell", "gives someone else a shell", 300),
    ("remove-containers", "removes containers or images by force", 100),
    ("remove-installed", "removes or destroys something on the machine", 100),
    ("secret-egress", "reads a secret and reaches the network", 300),
    ("setuid", "makes a program run as its owner", 200),
    ("shred", "deletes so that nothing can be had back", 200),
    ("shutdown", "stops the machine", 300),
    ("skip-checks", "skips the checks of the repository", 100),
    ("skip-tls", "does not check who is at the other end", 100),
    ("state-change", "changes the record of what exists", 200),
    ("stop-service", "stops a service", 100),
    ("tunnel", "opens a way into the machine", 200),
];

/// The form with this name.
pub(crate) fn form(id: &str) -> Option<(&'static str, &'static str, u16)> {
    let at = FORMS.binary_search_by(|(name, ..)| (*name).cmp(id)).ok()?;
    FORMS.get(at).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_sorted_and_within_their_weights() {
        for pair in FORMS.windows(2) {
            assert!(pair[0].0 < pair[1].0, "`{}` must stand before `{}`", pair[1].0, pair[0].0);
        }
        for (name, _, weight) in FORMS {
            assert!((100..=300).contains(weight), "the weight of `{name}` is out of range");
        }
    }
}
