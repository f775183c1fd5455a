//! Calls of a key-value store: one a line, or the words of the command.

use crate::statements::{Deed, Outcome};

/// Judges one call.
pub fn judge(words: &[&str]) -> Outcome {
    let word = |at: usize| words.get(at).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let changes = |words: &str| Outcome { rows: true, ..Outcome::new(Deed::Changes, words) };
    match (word(0).as_str(), word(1).as_str()) {
        ("flushall", _) => Outcome::new(Deed::Empties, "deletes every key of every database"),
        ("flushdb", _) => Outcome::new(Deed::Empties, "deletes every key"),
        ("config", "set") if matches!(word(2).as_str(), "dir" | "dbfilename") => Outcome::new(
            Deed::ReachesMachine,
            "changes which file the server writes on its machine",
        ),
        ("module", "load" | "loadex") => {
            Outcome::new(Deed::ReachesMachine, "loads a library into the server")
        }
        ("slaveof" | "replicaof", host) if host != "no" => {
            Outcome::new(Deed::Drops, "replaces all data by that of another server")
        }
        ("shutdown" | "debug", _) => Outcome::new(Deed::ReachesMachine, "stops the server"),
        ("script" | "function", "flush") => changes(""),
        ("acl", "setuser" | "deluser") => {
            Outcome::new(Deed::GivesRights, "changes who may do what")
        }
        ("config" | "cluster", "set" | "reset" | "forget" | "failover" | "rewrite") => changes(""),
        // A script names the calls that it makes.
        ("eval", script) if script.contains("flushall") || script.contains("flushdb") => {
            Outcome::new(Deed::Empties, "deletes every key")
        }
        ("eval" | "evalsha" | "fcall", _) => changes(""),
        ("del" | "unlink", "\u{FFFD}") => Outcome {
            rows: true,
            ..Outcome::new(Deed::Unread, "deletes keys that are known only when it runs")
        },
        (call, _) if is_change(call) => changes(""),
        _ => Outcome::reads(),
    }
}

fn is_change(call: &str) -> bool {
    matches!(
        call,
        "append"
            | "copy"
            | "decr"
            | "decrby"
            | "del"
            | "expire"
            | "expireat"
            | "getdel"
            | "getset"
            | "hdel"
            | "hincrby"
            | "hmset"
            | "hset"
            | "hsetnx"
            | "incr"
            | "incrby"
            | "lpop"
            | "lpush"
            | "lrem"
            | "lset"
            | "ltrim"
            | "migrate"
            | "move"
            | "mset"
            | "msetnx"
            | "persist"
            | "pexpire"
            | "psetex"
            | "publish"
            | "rename"
            | "renamenx"
            | "restore"
            | "rpop"
            | "rpush"
            | "sadd"
            | "set"
            | "setex"
            | "setnx"
            | "setrange"
            | "smove"
            | "spop"
            | "srem"
            | "swapdb"
            | "unlink"
            | "xadd"
            | "xdel"
            | "xtrim"
            | "zadd"
            | "zrem"
            | "zremrangebyscore"
    )
}
