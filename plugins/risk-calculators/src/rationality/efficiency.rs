//! Known cheaper ways, with the words that describe them.

use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, Command, Context, EffectKind};

/// Programs that read a file by themselves.
const READERS: &[&str] = &[
    "awk", "cut", "egrep", "fgrep", "grep", "head", "jq", "less", "more", "rg", "sed", "sort",
    "tail", "tr", "uniq", "wc",
];

/// The number of seconds from which on waiting is not worth its time.
const LONG_SLEEP: u64 = 60;

/// Returns a cheaper way to the same end, if one is known.
pub(super) fn cheaper_way(action: &Action, context: &Context) -> Option<&'static str> {
    let searches_all = place::lasting(&action.facts).any(|effect| {
        let recursive = effect.kind == EffectKind::FileRead && effect.recursive;
        recursive
            && (place::is_root(&effect.target) || place::is_home(&effect.target, context.home()))
    });
    if searches_all {
        return Some("search below the project instead of the whole disk or home");
    }
    let commands = &action.shell()?.commands;
    if commands.iter().enumerate().any(|(index, command)| pours(index, command, commands)) {
        return Some("let the program read the file itself instead of feeding it with `cat`");
    }
    commands
        .iter()
        .any(sleeps_long)
        .then_some("wait for the event itself, or run it in the background, instead of sleeping")
}

/// Returns true for `cat` of one file into a program that could open it.
fn pours(index: usize, command: &Command, commands: &[Command]) -> bool {
    let plain =
        command.program == "cat" && command.input_from.is_none() && command.redirections.is_empty();
    let one = command.words.len() == 1
        && command.operands().all(|word| word.text != "-" && !word.text.contains(['*', '?', '[']));
    let fed = |reader: &Command| {
        reader.input_from.and_then(|from| usize::try_from(from).ok()) == Some(index)
    };
    plain
        && one
        && commands.iter().any(|reader| fed(reader) && READERS.contains(&reader.program.as_str()))
}

fn sleeps_long(command: &Command) -> bool {
    command.program == "sleep"
        && command
            .operands()
            .filter_map(|word| seconds(&word.text))
            .fold(0_u64, u64::saturating_add)
            >= LONG_SLEEP
}

/// Parses `90`, `1.5`, `2m`, `1h`, `1d` into whole seconds.
fn seconds(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(['s', 'm', 'h', 'd']);
    let unit = match text.strip_prefix(number)? {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let whole: u64 = number.split('.').next()?.parse().ok()?;
    Some(whole.saturating_mul(unit))
}
