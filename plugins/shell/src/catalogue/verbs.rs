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

#[rustfmt::skip]
const LOOK: &[&str] = &[
    "about", "activity", "analyze", "avail", "browse", "cat", "check", "clone", "commands", "compare", "completion", "config",
    "configs", "convert", "count", "current", "depends", "deps", "desc", "describe", "details", "df", "diagnose", "diagnostic",
    "diagnostics", "diff", "docs", "doctor", "download", "du", "dump", "env", "environments", "estimate", "evaluate", "events",
    "exists", "explain", "fetch", "filter", "find", "get", "graph", "hash", "head", "health", "healthcheck", "help", "history",
    "home", "images", "info", "inspect", "is", "leaves", "license", "licenses", "lint", "list", "listen",
    "listremotes", "log", "logs", "lookup", "ls", "lsd", "lsf", "lsjson", "lsl", "manifest", "md5sum", "me", "metrics",
    "monitor", "observe", "open", "output", "outputs", "peek", "ping", "plan", "policy", "port", "presign", "preview", "print",
    "projects", "provides", "ps", "query", "quota", "rdepends", "read", "receive", "repolist", "report", "search", "searchdesc",
    "show", "showvminfo", "size", "snapshots", "ssh", "stat", "stats", "status", "sts", "sub", "suggest", "synth", "tail",
    "test", "top", "trace", "tree", "url", "usage", "uses", "validate", "verify", "version", "view", "wait", "watch", "whatis",
    "whatprovides", "which", "whoami", "why", 
];

#[rustfmt::skip]
const DESTROY: &[&str] = &[
    "abandon", "autoremove", "cancel", "clean", "cleanup", "clear", "deactivate", "decommission", "del", "delete", "deletefile",
    "deprovision", "deregister", "destroy", "detach", "disable", "drain", "drop", "erase", "evict", "expire", "expunge", "flush",
    "flushall", "forget", "kill", "luksErase", "luksFormat", "nuke", "obliterate", "prune", "purge", "rb", "reinitialize",
    "reject", "remove", "reset", "revoke", "rm", "rmdir", "rmdirs", "rmi", "rollback", "shred", "stop", "suspend", "terminate",
    "truncate", "undefine", "undeploy", "uninstall", "unlink", "unpublish", "unregister", "unregistervm", "unset", "untag",
    "void", "wipe", "wipefs", "zap",
];

/// What the first word that says so says.
pub(super) fn does<'w>(words: impl Iterator<Item = &'w str>) -> Does {
    let mut any = false;
    for word in words.take(8) {
        if matches!(word, "-v" | "-V" | "-h") || word.contains("::") || word.contains('/') {
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
