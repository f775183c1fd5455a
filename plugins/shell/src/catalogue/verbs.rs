//! What a subcommand does, by the word it is made of: `list`, `create-user`, `apps:destroy`.
//!
//! For programs with hundreds of subcommands that are named alike. A word that is in neither list
//! changes something.

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Look,
    Change,
    Destroy,
}

const LOOK: &[&str] = &[
    "about",
    "activity",
    "analyze",
    "avail",
    "cat",
    "check",
    "commands",
    "completion",
    "config",
    "configs",
    "count",
    "current",
    "depends",
    "deps",
    "desc",
    "describe",
    "details",
    "df",
    "diagnose",
    "diagnostics",
    "diff",
    "docs",
    "doctor",
    "du",
    "env",
    "environments",
    "estimate",
    "events",
    "exists",
    "explain",
    "fetch",
    "filter",
    "find",
    "get",
    "graph",
    "head",
    "health",
    "help",
    "history",
    "hookhelp",
    "home",
    "images",
    "info",
    "inspect",
    "is",
    "leaves",
    "license",
    "licenses",
    "list",
    "listremotes",
    "log",
    "logs",
    "lookup",
    "ls",
    "lsd",
    "lsf",
    "lsjson",
    "lsl",
    "manifest",
    "md5sum",
    "me",
    "metrics",
    "monitor",
    "observe",
    "open",
    "output",
    "outputs",
    "peek",
    "ping",
    "plan",
    "policy",
    "port",
    "presign",
    "preview",
    "print",
    "projects",
    "provides",
    "ps",
    "query",
    "rdepends",
    "read",
    "repolist",
    "report",
    "search",
    "searchdesc",
    "show",
    "showvminfo",
    "size",
    "stat",
    "stats",
    "status",
    "sts",
    "suggest",
    "synth",
    "tail",
    "test",
    "top",
    "trace",
    "tree",
    "uses",
    "validate",
    "verify",
    "version",
    "view",
    "wait",
    "watch",
    "whatprovides",
    "which",
    "whoami",
    "why",
];

const DESTROY: &[&str] = &[
    "abandon",
    "archive",
    "autoremove",
    "cancel",
    "clean",
    "cleanup",
    "clear",
    "close",
    "deactivate",
    "decommission",
    "del",
    "delete",
    "deletefile",
    "deprovision",
    "deregister",
    "destroy",
    "detach",
    "disable",
    "drain",
    "drop",
    "erase",
    "evict",
    "expire",
    "expunge",
    "flush",
    "flushall",
    "force",
    "forget",
    "kill",
    "luksErase",
    "luksFormat",
    "nuke",
    "obliterate",
    "prune",
    "purge",
    "rb",
    "rebase",
    "reinitialize",
    "reject",
    "release",
    "remove",
    "reset",
    "revoke",
    "rm",
    "rmdir",
    "rmdirs",
    "rmi",
    "rollback",
    "shred",
    "shutdown",
    "stop",
    "suspend",
    "terminate",
    "truncate",
    "undeploy",
    "undefine",
    "uninstall",
    "unlink",
    "unpublish",
    "unregister",
    "unregistervm",
    "unset",
    "untag",
    "void",
    "wipe",
    "wipefs",
    "zap",
];

/// What the first word that says so says.
pub(super) fn does<'w>(words: impl Iterator<Item = &'w str>) -> Does {
    let mut any = false;
    for word in words.take(8) {
        if matches!(word, "-v" | "-V" | "-h") {
            continue;
        }
        any = true;
        let word = word.trim_start_matches('-');
        for part in word.split(['-', ':', '_', '.', '=']).take(4) {
            if DESTROY.contains(&part) {
                return Does::Destroy;
            }
            if LOOK.contains(&part) {
                return Does::Look;
            }
        }
    }
    if any { Does::Change } else { Does::Look }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_tells_what_is_done() {
        let table = [
            ("apps:destroy", Does::Destroy),
            ("delete-bucket", Does::Destroy),
            ("ec2 describe-instances", Does::Look),
            ("kv key list", Does::Look),
            ("compute instances create", Does::Change),
            ("--delete --topic x", Does::Destroy),
            ("list_queues", Does::Look),
            ("", Does::Look),
            ("-v", Does::Look),
        ];
        for (words, expected) in table {
            assert_eq!(does(words.split_whitespace()), expected, "`{words}`");
        }
    }
}
