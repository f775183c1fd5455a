//! Effects that the words of a foreign tool's name imply: `delete_repository`, `mergePullRequest`,
//! `API-revoke-key`.
//!
//! The first verb counts, so a name that begins with a reading verb (`get_delete_log`) only reads.
//! A name states a tool's purpose, never that it does nothing more: an effect that is not known
//! always remains as well.

/// The effect that a name implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbMeaning {
    Unknown,
    Looks,
    /// It removes something small that is created and removed all the time: a draft, a tab, one's
    /// own note.
    Tidies,
    Destroys,
    /// It destroys something that holds many other things: a repository, a database, a bucket.
    DestroysAll,
    /// It makes something available to others at once: a merge, a deployment, a release.
    Publishes,
    /// It overwrites commits that others have pushed.
    Overwrites,
    Spends,
    /// It lets somebody do or see more than before.
    Grants,
    /// It takes something away from those who use it, until somebody starts it again.
    Stops,
}

#[rustfmt::skip]
const LOOKS: &[&str] = &[
    "analyze", "check", "compare", "count", "describe", "diff", "explain", "export", "fetch", "find", "get", "inspect", "is", "list", "lookup",
    "preview", "read", "search", "show", "stat", "status", "summarize", "validate", "view", "watch",
];
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    "add", "append", "assign", "change", "close", "comment", "copy", "create", "draft", "duplicate", "edit", "insert", "label", "make", "mark",
    "modify", "move", "open", "patch", "put", "rename", "reopen", "request", "save", "set", "update", "upsert", "write",
];
#[rustfmt::skip]
const DESTROYS: &[&str] = &[
    "deactivate", "decommission", "del", "delete", "deprovision", "deregister", "destroy", "drop", "dropdb", "erase", "flush", "flushall",
    "flushdb", "nuke", "obliterate", "prune", "purge", "remove", "revoke", "rm", "shutdown", "terminate", "truncate", "uninstall", "unpublish", "wipe",
];
/// Verbs that destroy only if the object holds many other things.
const EMPTIES: &[&str] = &["clean", "clear", "empty", "reset"];
/// Verbs that leave nothing behind, regardless of their object.
const SWEEPS: &[&str] = &["dropdb", "flush", "flushall", "flushdb", "nuke", "truncate", "wipe"];
const PUBLISHES: &[&str] = &["deploy", "merge", "promote", "publish", "release", "rollout", "ship"];
const SPENDS: &[&str] = &[
    "buy", "charge", "donate", "pay", "payout", "purchase", "refund", "sell", "trade", "wire",
    "withdraw",
];
/// Objects that move money when they are made or confirmed.
const DEALS: &[&str] = &[
    "charge",
    "charges",
    "crypto",
    "funds",
    "money",
    "payment",
    "payments",
    "payout",
    "payouts",
    "purchase",
    "refund",
    "refunds",
    "trade",
    "transfer",
    "transfers",
    "withdrawal",
];
/// Verbs that make or confirm such an object.
const DEALING: &[&str] = &[
    "approve", "capture", "confirm", "create", "execute", "initiate", "issue", "make", "place",
    "process", "schedule", "send", "submit",
];
const MONEY: &[&str] =
    &["balance", "coin", "coins", "crypto", "fund", "funds", "money", "payment", "tokens"];
/// Objects that cost what they say when they are sent or exchanged.
const COINS: &[&str] = &[
    "bitcoin",
    "btc",
    "coin",
    "coins",
    "eth",
    "ether",
    "lamports",
    "sats",
    "sol",
    "tokens",
    "transaction",
    "transactions",
    "usdc",
    "usdt",
];
const GRANTS: &[&str] = &["grant", "invite"];
/// Things that others get as soon as they are pushed.
const ARTIFACTS: &[&str] =
    &["artifact", "artifacts", "chart", "image", "images", "package", "packages"];
/// Verbs that take something away from those who use it.
const STOPS: &[&str] = &["archive", "disable", "drain", "evict", "mask", "rollback", "suspend"];
/// The same, where the object is a machine or a service.
const HALTS: &[&str] = &["kill", "reboot", "restart", "stop"];
#[rustfmt::skip]
const MACHINES: &[&str] = &[
    "app", "apps", "cluster", "clusters", "database", "databases", "db", "deployment", "deployments", "droplet", "dyno", "dynos", "instance",
    "instances", "machine", "machines", "node", "nodes", "pod", "pods", "service", "services", "vm", "vms", "workload", "workloads",
];
/// Verbs that give something to somebody, where the object is a right.
const GIVES: &[&str] =
    &["add", "assign", "attach", "change", "create", "make", "put", "set", "update"];
/// Rights that are given with a verb of those, but not where they are only made.
const ATTACHED: &[&str] = &["acl", "iam", "policies", "policy"];
const MEMBERS: &[&str] = &[
    "admin",
    "admins",
    "collaborator",
    "collaborators",
    "member",
    "members",
    "owner",
    "owners",
    "permission",
    "permissions",
    "role",
    "roles",
];
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "account", "accounts", "backup", "backups", "bucket", "buckets", "cluster", "clusters", "collection", "collections", "database", "databases",
    "db", "environment", "everything", "index", "indices", "keyspace", "namespace", "namespaces", "org", "organisation", "organization",
    "dataset", "datasets", "domain", "domains", "project", "projects", "repo", "repos", "repositories", "repository", "schema", "site", "stack", "table", "tables", "tenant", "vault",
    "volume", "volumes", "workspace", "workspaces", "zone",
];
#[rustfmt::skip]
const SMALL: &[&str] = &[
    "bookmark", "bookmarks", "breakpoint", "breakpoints", "cell", "cells", "draft", "drafts", "element", "elements", "entities", "entity", "filter",
    "filters", "highlight", "highlights", "label", "labels", "memories", "memory", "observation", "observations", "reaction",
    "reactions", "relation", "relations", "reminder", "reminders", "shape", "shapes", "star", "tab", "tabs", "task", "tasks",
    "thought", "todo", "todos",
];
/// Words that end the object of a verb.
const AFTER: &[&str] = &["at", "by", "for", "from", "in", "into", "on", "to", "via", "with"];
/// Words that join a second verb.
const JOINS: &[&str] = &["and", "or", "then"];

/// Splits the tool's own name into words in lower case, at signs and where a capital begins a word.
pub(super) fn words(tool: &str) -> Vec<String> {
    let own: Vec<char> = tool.rsplit("__").next().unwrap_or(tool).chars().take(256).collect();
    let mut words = vec![String::new()];
    for (at, letter) in own.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| own.get(before));
        let starts = before.is_some_and(|before| !before.is_ascii_uppercase())
            || own.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if (letter.is_ascii_uppercase() && starts) || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphanumeric()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns true for a kind of thing that holds many others.
pub(super) fn is_whole(kind: &str) -> bool {
    WHOLE.contains(&kind.to_ascii_lowercase().as_str())
}

/// Returns true for a verb that says only that something changes.
pub(super) fn changes(word: &str) -> bool {
    CHANGES.contains(&word)
}

/// Returns the effect that a name of these words implies.
pub(super) fn meaning_of(words: &[String]) -> VerbMeaning {
    let has = |table: &[&str]| words.iter().any(|word| table.contains(&word.as_str()));
    let tables = [
        LOOKS,
        CHANGES,
        DESTROYS,
        EMPTIES,
        PUBLISHES,
        SPENDS,
        GRANTS,
        STOPS,
        HALTS,
        &["attach", "force", "push", "send", "swap", "transfer"],
    ];
    if deals(words) {
        return VerbMeaning::Spends;
    }
    let Some(at) =
        words.iter().position(|word| tables.iter().any(|table| table.contains(&word.as_str())))
    else {
        return VerbMeaning::Unknown;
    };
    let verb = words.get(at).map_or("", String::as_str);
    let second = words
        .iter()
        .skip(at)
        .position(|word| JOINS.contains(&word.as_str()))
        .map(|join| at + join + 1);
    if let Some(rest) = second
        .and_then(|second| words.get(second..))
        .filter(|_| LOOKS.contains(&verb) || CHANGES.contains(&verb))
    {
        let joined = meaning_of(rest);
        if !matches!(joined, VerbMeaning::Unknown | VerbMeaning::Looks) {
            return joined;
        }
    }
    // The verb may follow its object: `repo_delete`.
    let object = match words.get(at + 1..) {
        Some(after) if !after.is_empty() => after,
        _ => words.get(..at).unwrap_or_default(),
    };
    match verb {
        "force" if has(&["push"]) => VerbMeaning::Overwrites,
        "push" if has(&["force"]) => VerbMeaning::Overwrites,
        "push" if object_of(object).is_some_and(|noun| ARTIFACTS.contains(&noun)) => {
            VerbMeaning::Publishes
        }
        "transfer" if has(MONEY) => VerbMeaning::Spends,
        "send" | "swap" if has(COINS) => VerbMeaning::Spends,
        "transfer" => {
            if names_whole(object) {
                VerbMeaning::Destroys
            } else {
                VerbMeaning::Unknown
            }
        }
        _ if GIVES.contains(&verb)
            && (has(MEMBERS)
                || has(&["public", "visibility"])
                || (has(ATTACHED) && verb != "create")
                || joined(words, "access", "key")
                || joined(words, "api", "key")
                || joined(words, "deploy", "key")) =>
        {
            VerbMeaning::Grants
        }
        "create"
            if object
                .last()
                .is_some_and(|noun| matches!(noun.as_str(), "release" | "deployment")) =>
        {
            VerbMeaning::Publishes
        }
        _ if LOOKS.contains(&verb) => VerbMeaning::Looks,
        _ if STOPS.contains(&verb) || HALTS.contains(&verb) => {
            let small = object_of(object).is_none_or(|noun| SMALL.contains(&noun));
            let halts = object_of(object).is_some_and(|noun| MACHINES.contains(&noun));
            let stops = if HALTS.contains(&verb) { halts } else { !small || verb == "rollback" };
            if stops { VerbMeaning::Stops } else { VerbMeaning::Unknown }
        }
        _ if SPENDS.contains(&verb) => VerbMeaning::Spends,
        _ if GRANTS.contains(&verb) => VerbMeaning::Grants,
        _ if PUBLISHES.contains(&verb) => VerbMeaning::Publishes,
        _ if EMPTIES.contains(&verb) => {
            if names_whole(object) {
                VerbMeaning::DestroysAll
            } else {
                VerbMeaning::Unknown
            }
        }
        _ if DESTROYS.contains(&verb) => destroyed(verb, object),
        _ => VerbMeaning::Unknown,
    }
}

/// Returns true if the first word makes or confirms a movement of money.
fn deals(words: &[String]) -> bool {
    let Some((verb, object)) = words.split_first() else { return false };
    DEALING.contains(&verb.as_str()) && object_of(object).is_some_and(|it| DEALS.contains(&it))
}

/// Returns true if the second word follows the first.
fn joined(words: &[String], first: &str, second: &str) -> bool {
    words.windows(2).any(|pair| matches!(pair, [a, b] if a == first && b.starts_with(second)))
}

fn destroyed(verb: &str, object: &[String]) -> VerbMeaning {
    let small = object_of(object).is_some_and(|noun| SMALL.contains(&noun));
    match verb {
        _ if names_whole(object)
            || object.iter().any(|noun| noun == "all" || noun == "everything") && !small =>
        {
            VerbMeaning::DestroysAll
        }
        _ if SWEEPS.contains(&verb) && !small => VerbMeaning::DestroysAll,
        _ if small => VerbMeaning::Tidies,
        _ => VerbMeaning::Destroys,
    }
}

fn names_whole(object: &[String]) -> bool {
    object_of(object).is_some_and(|noun| WHOLE.contains(&noun))
}

/// Returns the verb's object: the last noun before a preposition.
fn object_of(object: &[String]) -> Option<&str> {
    let end = object.iter().position(|word| AFTER.contains(&word.as_str())).unwrap_or(object.len());
    object.get(..end)?.last().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::VerbMeaning::{
        Destroys, DestroysAll, Grants, Looks, Overwrites, Publishes, Spends, Stops, Tidies, Unknown,
    };
    use super::{meaning_of, words};

    #[test]
    fn names_tell_what_is_done() {
        let table = [
            ("mcp__github__delete_repository", DestroysAll),
            ("mcp__github__deleteRepository", DestroysAll),
            ("mcp__github__Delete-Repository", DestroysAll),
            ("mcp__gh__repo_delete", DestroysAll),
            ("mcp__redis__flushall", DestroysAll),
            ("mcp__redis__FLUSHALL", DestroysAll),
            ("mcp__redis__flush_db", DestroysAll),
            ("mcp__db__dropTable", DestroysAll),
            ("mcp__db__truncate_table", DestroysAll),
            ("mcp__s3__empty_bucket", DestroysAll),
            ("mcp__db__resetDatabase", DestroysAll),
            ("mcp__mail__delete_all_messages", DestroysAll),
            ("mcp__notion__API-delete-a-block", Destroys),
            ("mcp__github__delete_file", Destroys),
            ("mcp__okta__revokeAPIKey", Destroys),
            ("mcp__gh__remove_user_from_project", Destroys),
            ("mcp__db__find_and_delete", Destroys),
            ("mcp__cloud__terminate_instance", Destroys),
            ("mcp__memory__delete_entities", Tidies),
            ("mcp__todo__remove_task", Tidies),
            ("mcp__browser__tab_remove", Tidies),
            ("mcp__github__merge_pull_request", Publishes),
            ("mcp__vercel__deployToProduction", Publishes),
            ("mcp__npm__publish", Publishes),
            ("mcp__github__create_release", Publishes),
            ("mcp__git__force_push", Overwrites),
            ("mcp__bank__transfer_funds", Spends),
            ("mcp__shop__refund-order", Spends),
            ("mcp__github__add_collaborator", Grants),
            ("mcp__stripe__create_refund", Spends),
            ("mcp__bank__sendMoney", Spends),
            ("mcp__bank__initiate_transfer", Spends),
            ("mcp__broker__sell_shares", Spends),
            ("mcp__shop__process_refund", Spends),
            ("mcp__aws__attach_policy", Grants),
            ("mcp__aws__create_access_key", Grants),
            ("mcp__drive__set_acl", Grants),
            ("mcp__aws__create_policy", Unknown),
            ("mcp__stripe__list_refunds", Looks),
            ("mcp__stripe__create_payment_link", Unknown),
            ("mcp__mail__send_message", Unknown),
            ("mcp__gmail__sendEmail", Unknown),
            ("mcp__slack__chat_post_message", Unknown),
            ("mcp__slack__post-reply", Unknown),
            ("mcp__drive__share_file", Unknown),
            ("mcp__mail__forward_message", Unknown),
            ("mcp__x__tweet", Unknown),
            ("mcp__tmux__send_keys", Unknown),
            ("mcp__term__send_text", Unknown),
            ("mcp__web__post_request", Unknown),
            ("mcp__web__http_post", Unknown),
            ("mcp__kube__port_forward", Unknown),
            ("mcp__mail__get_message", Looks),
            ("mcp__mail__create_draft", Unknown),
            ("mcp__mail__draft_email", Unknown),
            ("mcp__github__archive_repository", Stops),
            ("mcp__linear__archiveProject", Stops),
            ("mcp__okta__disable_user", Stops),
            ("mcp__aws__stop_instances", Stops),
            ("mcp__kube__restart_deployment", Stops),
            ("mcp__ci__rollback", Stops),
            ("mcp__debug__stop", Unknown),
            ("mcp__debug__disable_breakpoint", Unknown),
            ("mcp__box__kill_process", Unknown),
            ("mcp__todo__archive_task", Unknown),
            ("mcp__mail__list_archived", Looks),
            ("mcp__db__execute_sql", Unknown),
            ("mcp__ci__process_logs", Unknown),
            ("mcp__ci__schedule_delete_job", Destroys),
            ("mcp__gh__confirm_merge", Publishes),
            ("mcp__iam__grant_role", Grants),
            ("mcp__gitlab__create_merge_request", Unknown),
            ("mcp__github__create_issue", Unknown),
            ("mcp__browser__click", Unknown),
            ("mcp__browser__clear_console", Unknown),
            ("mcp__github__get_repository", Looks),
            ("mcp__gitlab__list_merge_requests", Looks),
            ("mcp__audit__get_delete_log", Looks),
            ("mcp__db__describe_table", Looks),
            ("mcp__a__searchDeletedItems", Looks),
            ("", Unknown),
            ("mcp____", Unknown),
        ];
        for (name, expected) in table {
            assert_eq!(meaning_of(&words(name)), expected, "{name}");
        }
    }
}
