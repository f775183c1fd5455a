//! Rewrites where they are hard: each command in half of the frames is either rewritten, and then leaves
//! the same tree, says the same and ends with the same code, or a person is asked. Frames are
//! loops, functions, redirections, other shells, and earlier parts of the line that make, move or
//! link the target.

use super::{NO_SETUP, Pair, command};
use crate::common::reply::Answer;
use crate::common::trial;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;

/// The tests run side by side in so many parts.
const SHARES: usize = 4;
/// The distinct lines that are rewritten and run beside their commands, at least.
const LEAST_REWRITTEN: usize = 30;

/// Commands that lose something, with the folder or file that they name.
const COMMANDS: &[(&str, &str)] = &[
    ("rm -rf work", "work"),
    ("rm -rf work/", "work"),
    ("rm -rf ./work/.", "work"),
    ("rm -rfv work", "work"),
    ("rm -rf link", "link"),
    ("rm -rf link/", "link"),
    ("rm -rf link/*", "link"),
    ("rm -rf 'two words'", "'two words'"),
    ("rm -rf work/deep other", "work"),
    ("rm -rf sub/../work", "work"),
    ("rm -r -f -- ./-odd", "-- -odd"),
    ("git reset --hard", "tracked.txt"),
    ("git checkout -- tracked.txt", "tracked.txt"),
    ("git restore .", "tracked.txt"),
    ("git stash drop", "tracked.txt"),
    ("git branch -D side", "loose.txt"),
];

/// The frames around a command: `{}` is its place, `<t>` its target.
const FRAMES: &[&str] = &[
    "{}",
    "{} && echo done",
    "{} > /dev/null",
    "{} > log.txt",
    "{} 2>> log.txt",
    "{} > work/log.txt",
    "{} < loose.txt",
    "exec 3> log.txt; {} >&3",
    "for i in 1 2; do {}; done",
    "for i in 1; do {}; done; echo end",
    "while read -r line; do {}; done < loose.txt",
    "until {}; do break; done",
    "f() { {}; }; f",
    "eval '{}'",
    "bash -c '{}'",
    "({}; pwd)",
    "mkdir -p <t>/new; {}",
    "mv <t> moved; {}",
    "mv <t> moved && mv moved <t> && {}",
    "cp -r <t> copied; {}; ls copied",
    "rm -f log.txt; {}; test -e <t> || echo gone",
    "ln -s work made; {}; ls -d made",
    "echo a > <t>; {}",
    "cd sub && cd .. && {}",
    "set -e; {}; echo after",
    "trap 'echo bye' EXIT; {}",
    "{}; {}",
    "test -e <t> && {}; echo $?",
    "time {}",
    "{} | tee log.txt",
];

pub fn tests() -> Vec<Trial> {
    let run = |share| {
        let name = format!("rewrites: the same or a question, in every frame, part {}", share + 1);
        trial(name, move || hold(share))
    };
    (0..SHARES).map(run).collect()
}

fn lines() -> Vec<String> {
    let all = COMMANDS.iter().enumerate().flat_map(|(row, (command, target))| {
        FRAMES
            .iter()
            .enumerate()
            // Each command stands in every other frame, and its neighbour in the rest.
            .filter(move |(column, _)| (row + column) % 2 == 0)
            .filter(|(_, frame)| !(frame.contains('\'') && command.contains('\'')))
            .map(move |(_, frame)| frame.replace("{}", command).replace("<t>", target))
    });
    all.collect()
}

fn hold(share: usize) -> Result<()> {
    let pair = Pair::new(&format!("rewrites-frames-{share}"))?;
    let (mut wrong, mut rewritten_count, mut asked_count) = (Vec::new(), 0, 0);
    for line in lines().iter().skip(share).step_by(SHARES) {
        pair.fresh(NO_SETUP)?;
        let reply = pair.answer(line)?;
        match reply.answer {
            Answer::Asked | Answer::Refused => asked_count += 1,
            Answer::Rewritten => {
                rewritten_count += 1;
                let rewritten = command(line, &reply)?;
                let expected = pair.run(line)?;
                pair.fresh(NO_SETUP)?;
                let found = pair.run(&rewritten)?;
                if found != expected {
                    let differs: Vec<_> =
                        expected.iter().zip(&found).filter(|(a, b)| a != b).collect();
                    wrong.push(format!("`{line}` and `{rewritten}`: {differs:#?}"));
                }
            }
            answer => {
                let before = pair.left()?;
                pair.run(line)?;
                // A line that fails before it gets there loses nothing.
                if pair.left()? != before {
                    wrong.push(format!("`{line}`: {answer:?}: {}", reply.said));
                }
            }
        }
    }
    crate::common::tell(&format!("{rewritten_count} rewritten and compared, {asked_count} asked"));
    ensure!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    ensure!(rewritten_count * SHARES >= LEAST_REWRITTEN, "{rewritten_count} are rewritten");
    Ok(())
}
