//! The words that subcommands are made of, by meaning.
//!
//! They are in lower case and sorted; a word of the first six lists is in one of them only.

/// Verbs that only look, before any noun.
#[rustfmt::skip]
pub(super) const LOOK: &[&str] = &[
    "about", "analyse", "analyze", "avail", "browse", "can", "cat", "commands", "compare", "completion", "completions", "convert",
    "count", "current", "decode", "decrypt", "depends", "deps", "desc", "describe", "details", "detect", "df", "diagnose", "diff",
    "discover", "doctor", "download", "du", "echo", "estimate", "evaluate", "exists", "explain", "fetch", "filter", "find", "get",
    "has", "healthcheck", "help", "hget", "hgetall", "info", "inspect", "is", "leaves", "lint", "list", "listremotes", "llen",
    "locate", "lookup", "lrange", "ls", "lsd", "lsf", "lsjson", "lsl", "md5sum", "mget", "observe", "peek", "ping", "poll",
    "presign", "preview", "print", "printenv", "provides", "ps", "pull", "rdepends", "read", "receive", "render", "repolist",
    "resolve", "retrieve", "reveal", "scan", "searchdesc", "select", "sha1sum", "show", "showvminfo", "simulate", "smembers",
    "stat", "suggest", "synth", "tail", "top", "ttl", "uses", "validate", "verify", "view", "wait", "whatis", "whatprovides",
    "which", "whoami", "why", "xrange", "zrange",
];

/// Verbs that only look if they are the only word; also names of things that another word acts on.
#[rustfmt::skip]
pub(super) const LOOK_NOUN: &[&str] = &[
    "access", "activities", "activity", "auth", "check", "checks", "client", "config", "configs", "configuration", "context",
    "contexts", "dashboard", "diagnostic", "diagnostics", "docs", "domain", "domains", "dump", "env", "environment",
    "environments", "event", "events", "graph", "hash", "head", "health", "history", "home", "image", "images", "keys", "license",
    "licenses", "listen", "log", "login", "logout", "logs", "manifest", "me", "memory", "metric", "metrics", "monitor", "open",
    "output", "outputs", "plan", "plans", "policies", "policy", "port", "portal", "ports", "projects", "queries", "query",
    "quota", "report", "reports", "repositories", "search", "session", "sessions", "size", "slowlog", "snapshots", "ssh", "state",
    "stats", "status", "sts", "sub", "tags", "template", "test", "tests", "trace", "traces", "tree", "type", "url", "urls",
    "usage", "use", "users", "version", "versions", "watch", "workspace", "workspaces",
];

/// Verbs that make or change something, before any noun.
#[rustfmt::skip]
pub(super) const CHANGE: &[&str] = &[
    "abort", "accept", "activate", "add", "allocate", "allow", "alter", "annotate", "append", "apply", "approve", "assign",
    "associate", "attach", "authorize", "bind", "bootstrap", "close", "configure", "confirm", "copy", "cordon", "cp", "create",
    "decr", "decrease", "dispatch", "edit", "enable", "exec", "execute", "expose", "failover", "generate", "grant", "incr",
    "increase", "init", "initialize", "insert", "install", "invoke", "join", "mb", "migrate", "mkdir", "modify", "move", "mset",
    "mv", "new", "pause", "produce", "promote", "publish", "put", "reboot", "recover", "redeploy", "redrive", "register",
    "reload", "rename", "renew", "reopen", "repair", "replace", "replicate", "rerun", "resize", "restart", "resume", "retire",
    "rotate", "sadd", "save", "seal", "send", "set", "start", "stop", "submit", "subscribe", "swap", "unarchive", "uncordon",
    "undelete", "undo", "unlock", "unpause", "unseal", "untaint", "update", "upgrade", "upload", "upsert", "write", "zadd",
];

/// Verbs that make or change something if they are the only word; also names of things.
#[rustfmt::skip]
pub(super) const CHANGE_NOUN: &[&str] = &[
    "alert", "backup", "backups", "build", "builds", "cache", "change", "charge", "charges", "clone", "comment", "commit",
    "connect", "credit", "debug", "define", "deploy", "deployment", "deployments", "export", "exports", "extend", "fail",
    "follow", "fork", "import", "imports", "invite", "issue", "job", "jobs", "label", "labels", "link", "links", "load", "lock",
    "mail", "make", "merge", "message", "messages", "mirror", "notify", "order", "orders", "patch", "pay", "payment", "payments",
    "post", "provision", "push", "refresh", "refund", "refunds", "release", "releases", "replay", "request", "restore", "retry",
    "rollout", "route", "routes", "run", "runs", "scale", "schedule", "schedules", "share", "shell", "sign", "silence",
    "snapshot", "split", "store", "switch", "sync", "tag", "task", "tasks", "touch", "transfer", "trigger", "trim", "up",
    "webhook", "webhooks", "workflow", "workflows",
];

/// Verbs that destroy their object.
#[rustfmt::skip]
pub(super) const DESTROY: &[&str] = &[
    "autoremove", "clean", "cleanup", "clear", "decommission", "del", "delete", "deletefile", "deletion", "deprovision",
    "destroy", "down", "drop", "empty", "erase", "expunge", "flush", "flushall", "flushdb", "forget", "lukserase", "luksformat",
    "nuke", "obliterate", "prune", "purge", "rb", "reinitialize", "remove", "reset", "rimraf", "rm", "rmdir", "rmdirs", "rmi",
    "shred", "teardown", "terminate", "truncate", "undefine", "undeploy", "uninstall", "unpublish", "wipe", "wipefs", "zap",
];

/// Verbs that end what a thing does, or who may use it; the thing itself stays.
#[rustfmt::skip]
pub(super) const END: &[&str] = &[
    "abandon", "archive", "ban", "cancel", "deactivate", "deregister", "detach", "disable", "disassociate", "discard", "dismiss",
    "drain", "evict", "expire", "kill", "leave", "quarantine", "reject", "revoke", "rollback", "shutdown", "suspend", "unassign",
    "unbind", "unlink", "unregister", "unregistervm", "unset", "unsubscribe", "untag", "void",
];

/// Things that hold many others: to destroy one is to lose all of them.
#[rustfmt::skip]
pub(super) const WHOLE: &[&str] = &[
    "account", "accounts", "bucket", "buckets", "cluster", "clusters", "database", "databases", "db", "dbs", "filesystem",
    "filesystems", "keyring", "keyrings", "keyspace", "keyspaces", "namespace", "namespaces", "ns", "org", "organisation",
    "organization", "organizations", "orgs", "persistentvolume", "persistentvolumeclaim", "persistentvolumeclaims",
    "persistentvolumes", "pg", "project", "projects", "pv", "pvc", "repo", "repos", "repositories", "repository", "schema",
    "stack", "stacks", "subscription", "tenant", "tenants", "vhost", "volume", "volumes", "warehouse", "zone", "zones",
];

/// Things that are secret themselves.
#[rustfmt::skip]
pub(super) const SECRET: &[&str] = &[
    "apikey", "credential", "credentials", "kubeconfig", "passphrase", "password", "passwords", "secret", "secrets", "token",
    "tokens",
];

/// Words that, next to the name of a secret, mean that something else than the secret is looked at.
#[rustfmt::skip]
pub(super) const METADATA: &[&str] = &[
    "config", "count", "description", "engine", "engines", "groups", "id", "ids", "info", "last", "list", "metadata", "names",
    "policies", "policy", "report", "rotation", "scanning", "status", "usage", "used", "version", "versions",
];

/// Ways of looking that show the contents of a thing.
#[rustfmt::skip]
pub(super) const REVEAL: &[&str] = &[
    "access", "cat", "decrypt", "download", "dump", "export", "fetch", "get", "print", "pull", "read", "retrieve", "reveal",
    "show", "view",
];

/// Prefixes that modify a verb.
#[rustfmt::skip]
pub(super) const ADVERBS: &[&str] = &[
    "admin", "async", "batch", "bulk", "do", "force", "global", "mass", "multi", "safe", "schedule",
];

/// Nouns that are used as verbs too, with the name of a thing behind them.
#[rustfmt::skip]
pub(super) const NAMED: &[&str] = &[
    "build", "check", "clone", "connect", "debug", "deploy", "events", "export", "follow", "fork", "history", "import", "listen",
    "log", "logs", "monitor", "open", "port", "push", "query", "release", "restore", "run", "scale", "search", "share", "ssh",
    "status", "switch", "sync", "test", "touch", "trace", "trigger", "use", "watch",
];

/// The meaning of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Look,
    LookNoun,
    Change,
    ChangeNoun,
    Destroy,
    End,
    Unknown,
}

/// Returns the meaning of a word in lower case.
pub(super) fn meaning(word: &str) -> Meaning {
    let lists = [
        (LOOK, Meaning::Look),
        (DESTROY, Meaning::Destroy),
        (END, Meaning::End),
        (CHANGE, Meaning::Change),
        (LOOK_NOUN, Meaning::LookNoun),
        (CHANGE_NOUN, Meaning::ChangeNoun),
    ];
    lists.iter().find(|(list, _)| has(list, word)).map_or(Meaning::Unknown, |(_, meaning)| *meaning)
}

/// Returns true if a sorted list contains a word.
pub(super) fn has(list: &[&str], word: &str) -> bool {
    list.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_no_word_says_two_things() {
        for list in [
            LOOK,
            LOOK_NOUN,
            CHANGE,
            CHANGE_NOUN,
            DESTROY,
            END,
            WHOLE,
            SECRET,
            METADATA,
            REVEAL,
            ADVERBS,
            NAMED,
        ] {
            for pair in list.windows(2) {
                assert!(pair[0] < pair[1], "`{}` must come before `{}`", pair[1], pair[0]);
            }
        }
        let mut all: Vec<&str> = [LOOK, LOOK_NOUN, CHANGE, CHANGE_NOUN, DESTROY, END].concat();
        all.sort_unstable();
        for pair in all.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
