//! Fuzzes the shell reader: no panic, bounded work, an answer within its bounds that reports
//! omissions.

use portcullis_shell_reader::types::{Command, Coverage};
use portcullis_shell_reader::{Reading, Surroundings, read_counted};

/// The seeds of inputs.
pub(crate) const SEEDS: &[&[u8]] = &[
    include_bytes!("../seeds/shell/data-flow.sh"),
    include_bytes!("../seeds/shell/everyday.sh"),
    include_bytes!("../seeds/shell/heredocs.sh"),
    include_bytes!("../seeds/shell/hidden.sh"),
    include_bytes!("../seeds/shell/inline.sh"),
    include_bytes!("../seeds/shell/loops.sh"),
    include_bytes!("../seeds/shell/powershell.txt"),
    include_bytes!("../seeds/shell/quoting.sh"),
    include_bytes!("../seeds/shell/services.sh"),
    include_bytes!("../seeds/shell/statements.sql"),
    include_bytes!("../seeds/shell/values.sh"),
    include_bytes!("../seeds/shell/wrappers.sh"),
];

/// The steps that any text may take: four for each byte of the reader's budget of text, since a
/// byte is counted when it is filled in, parsed and walked. And the additional ones for each byte.
const STEPS: u64 = 16_000_000;
const STEPS_A_BYTE: u64 = 64;

/// Checks the requirements for every text.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let surroundings = Surroundings {
        cwd: "/home/dev/project".to_owned(),
        home: "/home/dev".to_owned(),
        files: Vec::new(),
        mounts: Vec::new(),
    };
    let (reading, steps) = read_counted(&text, &surroundings);
    let most = STEPS + STEPS_A_BYTE * u64::try_from(text.len()).unwrap_or(u64::MAX);
    if steps > most {
        return Err(format!("{steps} steps for {} bytes, {most} are allowed", text.len()));
    }
    bounds(&reading)?;
    if (reading.coverage == Coverage::Full) != reading.gaps.is_empty() {
        return Err(format!("coverage and gaps disagree: {:?}", reading.gaps));
    }
    let count = u32::try_from(reading.commands.len()).unwrap_or(u32::MAX);
    let named = reading
        .effects
        .iter()
        .filter_map(|effect| effect.command)
        .chain(reading.forms.iter().filter_map(|form| form.command));
    match named
        .chain(reading.commands.iter().filter_map(|command| command.input_from))
        .find(|number| *number >= count)
    {
        Some(number) => Err(format!("command {number} is named, but there are {count}")),
        None => reading.commands.iter().try_for_each(|command| spans(command, text.len())),
    }
}

fn bounds(reading: &Reading) -> Result<(), String> {
    let table = [
        ("commands", reading.commands.len(), 256),
        ("effects", reading.effects.len(), 256),
        ("forms", reading.forms.len(), 64),
        ("hosts", reading.hosts.len(), 64),
        ("gaps", reading.gaps.len(), 16),
        ("bytes of shape", reading.shape.len(), 4096),
        (
            "bytes of the longest target",
            reading.effects.iter().map(|effect| effect.target.len()).max().unwrap_or(0),
            4096,
        ),
        (
            "bytes of all words",
            reading
                .commands
                .iter()
                .flat_map(|command| &command.words)
                .map(|word| word.text.len())
                .sum(),
            96 * 1024,
        ),
    ];
    match table.iter().find(|(_, found, most)| found > most) {
        Some((what, found, most)) => Err(format!("{found} {what}, {most} are allowed")),
        None => Ok(()),
    }
}

fn spans(command: &Command, length: usize) -> Result<(), String> {
    let end = usize::try_from(command.end).unwrap_or(usize::MAX);
    if command.start <= command.end && end <= length {
        return Ok(());
    }
    Err(format!(
        "`{}` stands at {}..{} of {length} bytes",
        command.program, command.start, command.end
    ))
}
