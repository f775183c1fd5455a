//! Loops without end, and programs that print without end: what they use up.

use super::environment::UNKNOWN;
use super::{Setting, Walker};
use crate::places;
use crate::syntax::{Body, Part, Pipeline, Script, Stage, Word};
use crate::types::{Command, Direction, EffectKind};

/// Programs that print without end.
const SPRINGS: &[&str] = &["yes"];
/// Files without end.
const SOURCES: &[&str] = &["/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"];
/// Programs that pass on all that they read.
const PASSES: &[&str] = &[
    "base64", "bzip2", "cat", "gzip", "hexdump", "lz4", "nl", "od", "paste", "pigz", "pv", "rev",
    "tee", "tr", "xxd", "xz", "zstd",
];
/// Programs that do little, and end at once.
const QUICK: &[&str] = &[
    ":", "[", "cat", "cp", "date", "echo", "export", "expr", "false", "let", "mkdir", "mktemp",
    "printf", "seq", "test", "touch", "true", "uuidgen", "yes",
];
/// Programs that do nothing, and end at once.
const IDLES: &[&str] = &[":", "true", "false", "let", "expr", "[", "test"];
/// The size from which a file fills a disk, in gigabytes.
const LARGE: f64 = 100.0;
/// Programs that make large files.
const FILLS: &[&str] = &["dd", "fallocate", "mkfile", "truncate"];
/// Clients whose every call is a request.
const CLIENTS: &[&str] =
    &["curl", "dig", "grpcurl", "http", "https", "nc", "ncat", "nslookup", "wget", "wrk", "xh"];
/// Programs that leave a loop.
const LEAVES: &[&str] = &["break", "exec", "exit", "return"];

impl Walker<'_> {
    /// Walks a loop, and notes what it uses up if it goes round without end.
    pub(super) fn repeat(
        &mut self,
        subject: &[Word],
        (condition, until): (Option<&Script>, bool),
        body: &Script,
        setting: &Setting,
    ) -> super::feed::Source {
        use super::feed::Source;
        for word in subject {
            self.single(word, setting);
        }
        let first = self.out.commands.len();
        let head = condition.map(|condition| self.script(condition, setting).source);
        let inner = self.out.commands.len();
        let source = self.script(body, setting).source;
        let endless = match condition {
            Some(condition) => is_constant(condition, until) || !until && makes_another(condition),
            None => subject.iter().any(|word| text_of(word).is_some_and(has_no_end)),
        };
        let commands = self.out.commands.get(first..).unwrap_or_default();
        let left = commands
            .iter()
            .skip(inner - first)
            .any(|command| LEAVES.contains(&command.program.as_str()));
        let bounded = setting.wrappers.iter().any(|name| name == "timeout");
        if !left && !bounded {
            // A condition that asks another machine is a request in every round.
            let asks = commands.iter().take(inner - first).any(is_far_request);
            let pauses = pauses(commands);
            let at = u32::try_from(inner).ok().filter(|_| inner < self.out.commands.len());
            let spins = commands.iter().all(|command| IDLES.contains(&command.program.as_str()));
            let target = if endless && spins {
                Some("processor".to_owned())
            } else if endless && !pauses && starts_beside(body) {
                Some("processes".to_owned())
            } else if endless
                && (fills(commands, pauses) || !pauses && condition.is_some_and(makes_another))
            {
                Some("disk".to_owned())
            } else if (endless || asks) && !pauses {
                commands.iter().find_map(far_host)
            } else {
                None
            };
            if let Some(target) = target {
                self.out.form("endless-use", at);
                self.plain(EffectKind::ResourceUse, &target, true, at, setting);
            }
        }
        Source::worst(head.into_iter().chain([source]))
    }

    /// Notes requests that `watch` makes several times a second.
    pub(super) fn watched(
        &mut self,
        name: &str,
        words: &[String],
        first: usize,
        setting: &Setting,
    ) {
        if name != "watch" {
            return;
        }
        let interval = words.iter().enumerate().find_map(|(at, word)| {
            let next = || words.get(at + 1).map(String::as_str);
            if matches!(word.as_str(), "-n" | "--interval") {
                return next();
            }
            word.strip_prefix("--interval=").or(word.strip_prefix("-n"))
        });
        let fast = interval
            .and_then(|text| text.trim_start_matches('=').parse::<f32>().ok())
            .is_some_and(|seconds| seconds < 1.0);
        let commands = self.out.commands.get(first..).unwrap_or_default();
        let host = commands.iter().find_map(far_host).filter(|_| fast);
        if let Some(host) = host {
            let at = u32::try_from(first).ok();
            self.out.form("endless-use", at);
            self.plain(EffectKind::ResourceUse, &host, true, at, setting);
        }
    }

    /// Notes files that are filled without end.
    pub(super) fn note_floods(&mut self) {
        let commands = &self.out.commands;
        let found = commands.iter().position(|command| {
            let written = command.redirections.iter().any(|to| {
                to.descriptor == 1
                    && matches!(to.direction, Direction::Output | Direction::Append)
                    && is_file(&to.target.text)
            });
            let teed = command.program == "tee"
                && command
                    .words
                    .iter()
                    .any(|word| is_file(&word.text) && !word.text.starts_with('-'));
            let copied = command.program == "dd" && copies_without_end(command);
            copied
                || keeps_without_end(command, commands)
                || is_huge(command)
                || (written || teed) && is_endless(command, commands, 0)
        });
        if let Some(at) = found {
            let memory = commands.get(at).is_some_and(|one| keeps_without_end(one, commands));
            let at = u32::try_from(at).ok();
            self.out.form("endless-use", at);
            let target = if memory { "memory" } else { "disk" };
            self.plain(EffectKind::ResourceUse, target, true, at, &Setting::default());
        }
    }
}

/// Returns true for a file on a disk.
fn is_file(text: &str) -> bool {
    !text.starts_with("/dev/") && !text.starts_with("/proc/") && !text.is_empty()
}

/// Returns true if a command prints without end, or passes on what does.
fn is_endless(command: &Command, all: &[Command], depth: usize) -> bool {
    if depth > 16
        || command.wrappers.iter().any(|name| matches!(name.as_str(), "timeout" | "gtimeout"))
    {
        return false;
    }
    if SPRINGS.contains(&command.program.as_str()) {
        return !command
            .words
            .iter()
            .any(|word| matches!(word.text.as_str(), "--help" | "--version"));
    }
    if command.program == "dd" {
        return reads_without_end(command);
    }
    if !PASSES.contains(&command.program.as_str()) {
        return false;
    }
    let reads = command.words.iter().any(|word| SOURCES.contains(&word.text.as_str()))
        || command.redirections.iter().any(|from| {
            from.direction == Direction::Input && SOURCES.contains(&from.target.text.as_str())
        });
    let before = command.input_from.and_then(|at| all.get(usize::try_from(at).ok()?));
    reads || before.is_some_and(|before| is_endless(before, all, depth + 1))
}

/// Returns true for a program that keeps all that it reads until the end, which never comes.
fn keeps_without_end(command: &Command, all: &[Command]) -> bool {
    const KEEP: &[&str] = &["shuf", "sort", "sponge", "tac", "tail"];
    if !KEEP.contains(&command.program.as_str())
        || command.wrappers.iter().any(|name| matches!(name.as_str(), "timeout" | "gtimeout"))
    {
        return false;
    }
    let reads = command.words.iter().any(|word| SOURCES.contains(&word.text.as_str()))
        || command.redirections.iter().any(|from| {
            from.direction == Direction::Input && SOURCES.contains(&from.target.text.as_str())
        });
    let before = command.input_from.and_then(|at| all.get(usize::try_from(at).ok()?));
    reads || before.is_some_and(|before| is_endless(before, all, 0))
}

/// Returns true for a file that takes more than most disks have left.
fn is_huge(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let after = |flag: &str| {
        let at = words.iter().position(|word| word.starts_with(flag))?;
        let rest = words.get(at)?.strip_prefix(flag)?.trim_start_matches('=');
        gigabytes(if rest.is_empty() { words.get(at + 1)? } else { rest })
    };
    let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
    let size = match command.program.as_str() {
        "fallocate" => after("--length").or_else(|| after("-l")),
        "mkfile" => words.iter().find_map(|word| gigabytes(word)),
        "dd" if value("of=").is_some_and(is_file) => {
            // dd's own size of a block.
            let block = value("bs=").map_or(Some(512e-9), gigabytes);
            let count = value("count=").and_then(|text| text.parse::<f64>().ok());
            block.zip(count).map(|(block, count)| block * count)
        }
        _ => None,
    };
    size.is_some_and(|size| size >= LARGE)
}

/// Returns a size with or without a unit (`5T`, `10GiB`, `4096`) in gigabytes.
fn gigabytes(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let factor = match unit.to_ascii_lowercase().chars().next() {
        None | Some('b' | 'c') => 1e-9,
        Some('k') => 1e-6,
        Some('m') => 1e-3,
        Some('g') => 1.0,
        Some('t') => 1e3,
        Some('p' | 'e' | 'z') => 1e6,
        Some(_) => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

fn reads_without_end(command: &Command) -> bool {
    let value = |key: &str| command.words.iter().find_map(|word| word.text.strip_prefix(key));
    value("if=").is_some_and(|file| SOURCES.contains(&file)) && value("count=").is_none()
}

fn copies_without_end(command: &Command) -> bool {
    let to = command.words.iter().find_map(|word| word.text.strip_prefix("of="));
    let bounded = command.wrappers.iter().any(|name| name == "timeout");
    !bounded && to.is_some_and(is_file) && reads_without_end(command)
}

/// Returns true if a loop's condition never changes.
fn is_constant(condition: &Script, until: bool) -> bool {
    let [Pipeline { stages, background: false, .. }] = condition.as_slice() else { return false };
    let [Stage { body, .. }] = stages.as_slice() else { return false };
    let words: Vec<&str> = match body {
        Body::Simple { words, assignments } if assignments.is_empty() => {
            words.iter().filter_map(Word::bare).collect()
        }
        Body::Test(words) => words.iter().filter_map(text_of).map(str::trim).collect(),
        _ => return false,
    };
    let holds = match words.as_slice() {
        ["true" | ":" | "1"] | ["[" | "test", "1" | "true"] | ["[", "1" | "true", "]"] => true,
        ["false" | "0"] => false,
        _ => return false,
    };
    holds != until
}

/// Returns true for a condition that makes one more file or folder each time: it holds until the
/// disk is full.
fn makes_another(condition: &Script) -> bool {
    let [Pipeline { stages, background: false, .. }] = condition.as_slice() else { return false };
    let [Stage { body: Body::Simple { words, .. }, .. }] = stages.as_slice() else { return false };
    let Some((program, rest)) = words.split_first() else { return false };
    let program = program.bare().unwrap_or_default();
    match program {
        "mktemp" => true,
        "mkdir" | "touch" | "cp" | "fallocate" | "truncate" => {
            // A name with a variable in it is another one in each round.
            rest.iter().any(|word| word.bare().is_none())
        }
        _ => false,
    }
}

/// Returns the text of a word of arithmetic, if it is nothing but text.
fn text_of(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Text { text, .. }] => Some(text),
        _ => None,
    }
}

/// Returns true for the head of a loop that counts to nothing: `;;`.
fn has_no_end(head: &str) -> bool {
    let mut parts = head.split(';');
    parts.nth(1).is_some_and(|condition| matches!(condition.trim(), "" | "1"))
}

/// Returns true for a command that starts another one and does not wait for it.
fn starts_detached(body: &Body) -> bool {
    let Body::Simple { words, .. } = body else { return false };
    let mut words = words.iter().filter_map(Word::bare);
    let program = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let has = |named: &[&str]| words.iter().any(|word| named.contains(word));
    match program {
        "docker" | "podman" | "nerdctl" => {
            has(&["run"]) && has(&["-d", "-di", "-dit", "-dt", "--detach"])
        }
        "systemd-run" => !has(&["--wait", "--pty", "-P", "-t"]),
        "setsid" | "daemonize" => true,
        "tmux" => has(&["new", "new-session"]) && has(&["-d"]),
        "screen" => has(&["-dm", "-dmS"]),
        _ => false,
    }
}

/// Returns true if a body starts commands that it does not wait for.
fn starts_beside(body: &Script) -> bool {
    body.iter().any(|pipeline| {
        pipeline.background
            || pipeline.stages.iter().any(|stage| starts_detached(&stage.body))
            || pipeline.stages.iter().any(|stage| match &stage.body {
                Body::Group(script) | Body::Subshell(script) => starts_beside(script),
                Body::Branches { arms, .. } => arms.iter().any(starts_beside),
                _ => false,
            })
    })
}

/// Returns true if something in a loop takes its time: a pause of a second, or a program that
/// waits.
fn pauses(commands: &[Command]) -> bool {
    commands.iter().any(|command| match command.program.as_str() {
        "sleep" | "gsleep" => {
            let text = command.words.first().map_or("", |word| word.text.as_str());
            let long = text.ends_with(['m', 'h', 'd']) || text.contains(UNKNOWN);
            let seconds = text.trim_end_matches('s').parse::<f32>();
            long || !seconds.is_ok_and(|seconds| seconds < 1.0)
        }
        "wait" | "read" | "inotifywait" | "fswatch" | "select" | "flock" => true,
        _ => false,
    }) && !sleeps_beside(commands)
}

/// Returns true if the only pause is what the loop starts, and does not wait for.
fn sleeps_beside(commands: &[Command]) -> bool {
    matches!(commands, [.., last] if last.program == "sleep")
        && commands.len() <= 2
        && commands.iter().all(|command| matches!(command.program.as_str(), "sleep" | "true" | ":"))
}

/// Returns true if each round makes a file longer, or another one.
fn fills(commands: &[Command], pauses: bool) -> bool {
    let large = |command: &Command| FILLS.contains(&command.program.as_str());
    if commands.iter().any(|command| large(command) && !overwrites(command)) {
        return true;
    }
    let quick = commands.iter().all(|command| QUICK.contains(&command.program.as_str()));
    let grows = |command: &Command| {
        command.redirections.iter().any(|to| {
            to.direction == Direction::Append && is_file(&to.target.text)
                || to.direction == Direction::Output && to.target.text.contains(UNKNOWN)
        }) || matches!(command.program.as_str(), "cp" | "mkdir" | "mktemp" | "touch")
            && command.words.iter().any(|word| word.text.contains(UNKNOWN))
    };
    !pauses && quick && commands.iter().any(grows)
}

/// Returns true if each round writes to the same file.
fn overwrites(command: &Command) -> bool {
    command.program == "dd"
        && command.words.iter().all(|word| word.known || !word.text.starts_with("of="))
        && !copies_without_end(command)
}

fn is_far_request(command: &Command) -> bool {
    far_host(command).is_some()
}

/// Returns the host of another machine that a client asks.
fn far_host(command: &Command) -> Option<String> {
    if !CLIENTS.contains(&command.program.as_str()) {
        return None;
    }
    command.words.iter().filter(|word| !word.text.starts_with('-')).find_map(|word| {
        let named = word.text.contains("://") || word.text.contains('.');
        places::host(&word.text)
            .filter(|host| named && host.contains('.') && !super::safeguards::is_own_host(host))
    })
}
