//! The calls that matter in each language, and their effects.

mod others;
mod scripts;

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Every argument is deleted.
    Delete,
    DeleteTree,
    /// The first is deleted, with everything below if an argument says so.
    Remove,
    /// The first is written.
    Write,
    /// The second is written.
    WriteSecond,
    Create,
    Read,
    /// The mode in the second argument decides.
    Open,
    /// Perl's: a handle, a mode and a file, or a text with all of it.
    PerlOpen,
    /// From the first to the second.
    Move,
    Copy,
    Link,
    /// The second is written: the first is a mode or an owner.
    Modes,
    /// A program: a shell's text, or words.
    Shell,
    /// A shell's text in the first argument; the others are something else.
    Text,
    /// A program, and its words with its name once more: `execl("/bin/rm", "rm", ...)`.
    Again,
    /// The object itself is a shell's text.
    OwnText,
    /// The object is a program with its words: `Command::new("rm").arg("x").spawn()`.
    OwnWords,
    /// Runs a text as code of the same language.
    Code,
    /// Runs a file as code.
    RunFile,
    Network,
    Socket,
    Send,
    Erase,
    /// A request whose options name the method.
    Request,
    /// A request whose first argument is the method.
    Method,
    /// Puts a connection where a shell's input is.
    Dup,
    /// The second of signal and process, or the first of process and signal.
    Signal,
    Stop,
    Fork,
    Print,
    Statement,
    OwnDelete,
    OwnDeleteTree,
    OwnWrite,
    OwnRead,
    Environment,
    Folder,
    Privilege,
    Native,
}

use Act::Text;
use others::{C, ELIXIR, GO, JAVA, JULIA, R, RUST};
use scripts::{LUA, PERL, PHP, RUBY};

const AWK: &[(&str, Act)] = &[("system", Text)];

const OSASCRIPT: &[(&str, Act)] = &[("script", Text)];

/// Returns the effect of a call, if it has one.
pub(super) fn find(language: &str, name: &str) -> Option<Act> {
    let table = match language {
        "ruby" => RUBY,
        "perl" => PERL,
        "php" => PHP,
        "lua" => LUA,
        "julia" => JULIA,
        "elixir" => ELIXIR,
        "r" => R,
        "java" | "groovy" | "scala" => JAVA,
        "go" => GO,
        "c" => C,
        "rust" => RUST,
        "awk" => AWK,
        "osascript" => OSASCRIPT,
        _ => return None,
    };
    let kernel = name.strip_prefix("Kernel.").filter(|_| language == "ruby").unwrap_or(name);
    let fits = |known: &str| {
        kernel == known
            || kernel
                .strip_suffix(known)
                .is_some_and(|before| known.starts_with('.') || before.ends_with('.'))
                && (known.contains('.') || language == "java")
    };
    table
        .iter()
        .filter(|(known, _)| fits(known))
        .max_by_key(|(known, _)| known.len())
        .map(|(_, act)| *act)
}
