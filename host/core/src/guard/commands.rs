//! Commands that bypass the guard without touching its files: starting the client so that its calls
//! are not reviewed, running a portcullis command reserved for a person, and stopping the guard's
//! processes.

use super::GuardInput;
use crate::action::{Command, Direction, EffectKind, Word};
use crate::client::{ClientProfile, HookBypasses};

/// Variables that point any client, or portcullis, to other settings.
const ELSEWHERE: &[&str] = &["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "PORTCULLIS_HOME"];
/// Programs that start another program with another user's rights, or with a different view of the
/// files.
const OTHER_WORLDS: &[&str] = &[
    "sudo", "su", "doas", "runuser", "setpriv", "gosu", "su-exec", "pkexec", "run0", "unshare",
    "bwrap", "chroot", "proot", "firejail", "nsenter",
];
/// Programs that run a package or a script by its name.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "node", "nodejs", "deno", "corepack",
    "volta", "mise", "asdf", "fnm", "nvm", "tsx",
];

/// The portcullis program itself.
const OWN: &str = "portcullis";
/// Its commands that are reserved for a person.
const FOR_A_PERSON: &[&str] = &[
    "allow",
    "trust",
    "pause",
    "uninstall",
    "feedback",
    "install",
    "open",
    "recover",
    "undo",
    "upgrade",
];
/// Commands below another command that are also reserved for a person.
const BELOW_FOR_A_PERSON: &[(&str, &str)] = &[
    ("approvals", "allow"),
    ("approvals", "deny"),
    ("approvals", "proof"),
    ("approvals", "watch"),
    ("bundle", "install"),
    ("bundle", "remove"),
    ("bundle", "revoke"),
    ("bundle", "update"),
    ("credential", "remove"),
    ("credential", "rotate"),
    ("credential", "set"),
    ("encryption", "backup"),
    ("encryption", "move"),
    ("encryption", "off"),
    ("encryption", "on"),
    ("encryption", "reset"),
    ("encryption", "restore"),
    ("encryption", "rotate"),
    ("encryption", "unlock"),
    ("exports", "reset"),
    ("fleet", "approvals"),
    ("fleet", "join"),
    ("fleet", "leave"),
    ("fleet", "sign"),
    ("hub", "export"),
    ("hub", "incidents"),
    ("hub", "orders"),
    ("hub", "revoke"),
    ("hub", "token"),
    ("hub", "user"),
    ("plugin", "release"),
    ("checkpoint", "restore"),
    ("incident", "resume"),
    ("incident", "rollback"),
    ("incident", "supervise"),
    ("incident", "lift"),
    ("incident", "abort"),
    ("mcp", "pins"),
    ("mcp", "wrap"),
    ("mcp", "unwrap"),
    ("privacy", "erase"),
    ("privacy", "export"),
    ("quarantine", "restore"),
    ("quarantine", "purge"),
];
/// Commands two levels below another command that are also reserved for a person.
const DEEPER_FOR_A_PERSON: &[(&str, &str, &str)] = &[("bundle", "index", "update")];
/// Options with which they only read.
const LOOKING: &[&str] = &["--list", "--dry-run", "--help", "-h"];
/// Its command that is reserved for the client.
const FOR_THE_CLIENT: &str = "hook";
/// Its command that only the program itself starts: it reads and changes files as its input says.
const FOR_ITSELF: &str = "hand-files";
/// Its options that take a value.
const OWN_VALUES: &[&str] = &["--config", "--state", "--managed-config", "--of-user", "--color"];

/// Returns the language of a program that runs code from its arguments or its standard input.
pub(super) fn interpreter(program: &str) -> Option<&str> {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let known = [
        "python",
        "pypy",
        "node",
        "nodejs",
        "deno",
        "bun",
        "perl",
        "ruby",
        "php",
        "lua",
        "luajit",
        "tclsh",
        "osascript",
        "powershell",
        "pwsh",
        "R",
        "Rscript",
        "julia",
        "groovy",
        "jshell",
        "ghci",
        "guile",
        "awk",
        "gawk",
        "mawk",
        "nawk",
    ];
    known.contains(&name).then_some(name)
}

/// Returns the reason, if a command bypasses the guard.
pub(super) fn hit(input: &GuardInput<'_>) -> Option<String> {
    input.commands().iter().enumerate().find_map(|(index, command)| {
        own(input, command)
            .or_else(|| started(input, command))
            .or_else(|| stops(input, index, command))
            .or_else(|| inside_a_text(input, index, command))
    })
}

fn for_a_person(verb: &str) -> String {
    format!("`{OWN} {verb}` is for a person: a person has to run this in a terminal of their own")
}

/// Checks a call of the portcullis program, under its name or that of its file.
fn own(input: &GuardInput<'_>, command: &Command) -> Option<String> {
    if !is_own(input, &command.program) {
        return None;
    }
    // Words after `--` are operands, even if they look like options.
    if command
        .words
        .iter()
        .take_while(|word| word.text != "--")
        .any(|word| LOOKING.contains(&word.text.as_str()))
    {
        return None;
    }
    let mut words = command.words.iter();
    let Some(word) = verb(&mut words) else {
        // Without a verb it takes an event from standard input, as `hook` does.
        return is_fed(command).then(|| own_verb(FOR_THE_CLIENT, "")).flatten();
    };
    if !word.known {
        return Some(format!(
            "this calls `{OWN}` with arguments that are known only when it runs: `{}`",
            crate::text::one_line(&word.text, 64)
        ));
    }
    let below = verb(&mut words);
    // A second word that is known only at run time may be one of those reserved for a person.
    let unknown = below
        .filter(|word| !word.known)
        .and_then(|_| BELOW_FOR_A_PERSON.iter().find(|(above, _)| word.text == *above));
    let below =
        unknown.map_or_else(|| below.map_or("", |word| word.text.as_str()), |(_, below)| below);
    let deeper = verb(&mut words);
    DEEPER_FOR_A_PERSON
        .iter()
        .filter(|(above, middle, _)| word.text == *above && below == *middle)
        .find(|(.., last)| deeper.is_some_and(|word| !word.known || word.text == *last))
        .map(|(above, middle, last)| for_a_person(&[*above, middle, last].join(" ")))
        .or_else(|| own_verb(&word.text, below))
}

/// Returns true if a command gets something on standard input.
fn is_fed(command: &Command) -> bool {
    let reads = |direction: Direction| !matches!(direction, Direction::Output | Direction::Append);
    command.input_from.is_some() || command.redirections.iter().any(|to| reads(to.direction))
}

/// Returns the next word that is neither an option nor an option's value.
fn verb<'a>(words: &mut impl Iterator<Item = &'a Word>) -> Option<&'a Word> {
    while let Some(word) = words.next() {
        match word.text.as_str() {
            text if OWN_VALUES.contains(&text) => drop(words.next()),
            text if text.starts_with('-') => {}
            _ => return Some(word),
        }
    }
    None
}

/// Checks a subcommand; `below` is the word after it.
fn own_verb(verb: &str, below: &str) -> Option<String> {
    if verb == FOR_THE_CLIENT {
        return Some(format!(
            "`{OWN} {verb}` is for the client alone: what an agent reports to it would be a false record"
        ));
    }
    if verb == FOR_ITSELF {
        return Some(format!(
            "`{OWN} {verb}` is for the program alone: it changes files that nobody reviews"
        ));
    }
    if BELOW_FOR_A_PERSON.contains(&(verb, below)) {
        return Some(for_a_person(&[verb, below].join(" ")));
    }
    FOR_A_PERSON.contains(&verb).then(|| for_a_person(verb))
}

/// Returns true if a program's name is that of portcullis.
pub(super) fn is_own(input: &GuardInput<'_>, program: &str) -> bool {
    let own = input
        .guarded
        .iter()
        .filter(|guarded| guarded.program)
        .filter_map(|guarded| guarded.path.rsplit('/').next());
    program == OWN || own.into_iter().any(|name| name == program)
}

/// Returns the clients with our hooks, and the ways past these.
fn hooked(
    input: &GuardInput<'_>,
) -> impl Iterator<Item = (&'static ClientProfile, &'static HookBypasses)> {
    input.place.clients.iter().filter_map(|client| Some((*client, client.hooked?)))
}

/// Returns true if the program is a client with our hooks.
pub(super) fn is_client(input: &GuardInput<'_>, program: &str) -> bool {
    hooked(input).any(|(client, _)| client.is_program(program))
}

/// Checks for a client being started so that its actions are not reviewed.
fn started(input: &GuardInput<'_>, command: &Command) -> Option<String> {
    hooked(input).find_map(|(client, bypasses)| starts(input, command, client, bypasses))
}

fn starts(
    input: &GuardInput<'_>,
    command: &Command,
    client: &ClientProfile,
    bypasses: &HookBypasses,
) -> Option<String> {
    let world = command.wrappers.iter().find(|name| OTHER_WORLDS.contains(&name.as_str()));
    let at = if client.is_program(&command.program) {
        0
    } else if world.is_some() || RUNNERS.contains(&command.program.as_str()) {
        command.words.iter().position(|word| client.is_named(&word.text))? + 1
    } else {
        return None;
    };
    let words = command.words.get(at..).unwrap_or_default();
    let option = words.iter().find(|word| {
        bypasses.options.iter().any(|escape| {
            word.text == *escape
                || word.text.strip_prefix(escape).is_some_and(|rest| rest.starts_with('='))
        })
    });
    if let Some(option) = option {
        return Some(unreviewed(&format!(
            "with `{}`",
            crate::text::one_line(option.text.split('=').next().unwrap_or(""), 64)
        )));
    }
    if words
        .iter()
        .any(|word| !word.known && !word.quoted && word.text.starts_with(['\u{fffd}', '-']))
    {
        return Some(unreviewed("with options that are known only when it runs"));
    }
    if let Some(verb) = changing(words, bypasses) {
        return Some(format!(
            "`{} {verb}` changes the client's own settings, plugins or version, and the guard over this session depends on them",
            client.name
        ));
    }
    if let Some(name) = world {
        return Some(unreviewed(&format!("by `{name}`, where other settings may count")));
    }
    if command.wrappers.iter().any(|name| name == "env") && cleared(input.text()) {
        return Some(unreviewed("without its environment"));
    }
    elsewhere(input, bypasses).map(|name| unreviewed(&format!("with `{name}` changed")))
}

fn unreviewed(how: &str) -> String {
    format!(
        "this starts the client {how}, so that nothing would review what it does; without that it may run"
    )
}

/// Returns the subcommand, if it is one that changes the client.
fn changing<'a>(words: &'a [Word], bypasses: &HookBypasses) -> Option<&'a str> {
    let mut plain =
        words.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-'));
    let verb = plain.next()?;
    let (_, looks) = bypasses.changing_commands.iter().find(|(name, _)| *name == verb)?;
    // A first word that follows an option may be that option's value or a prompt.
    let first = words.first().is_some_and(|word| word.text == verb);
    let looking = plain.next().is_some_and(|next| looks.contains(&next))
        || words.iter().any(|word| word.text == "--help");
    (first && !looking).then_some(verb)
}

/// Finds a variable that a command line sets and that points the client to other settings, or past
/// hooks.
fn elsewhere(input: &GuardInput<'_>, bypasses: &HookBypasses) -> Option<String> {
    let assigned = input
        .commands()
        .iter()
        .flat_map(|command| command.assignments.iter().map(|(name, _)| name.clone()));
    let given = input.commands().iter().flat_map(|command| {
        command.words.iter().filter_map(|word| Some(word.text.split_once('=')?.0.to_owned()))
    });
    let written = input.text().match_indices('=').filter_map(|(at, _)| {
        let before = input.text().get(..at)?;
        let start =
            before.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        before.get(start..).map(str::to_owned)
    });
    assigned.chain(given).chain(written).chain(unset(input.text())).find(|name| {
        let switch = name.starts_with(bypasses.variable_prefix)
            && bypasses.switches.iter().any(|part| name.contains(part));
        switch
            || bypasses.settings_variables.contains(&name.as_str())
            || ELSEWHERE.contains(&name.as_str())
    })
}

/// Returns the variables that a command line unsets.
fn unset(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let pairs: Vec<String> = words
        .windows(2)
        .filter_map(|pair| match pair {
            ["-u" | "--unset" | "unset", name] => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    let joined = words.into_iter().filter_map(|word| {
        word.strip_prefix("--unset=").or_else(|| word.strip_prefix("-u")).map(str::to_owned)
    });
    pairs.into_iter().chain(joined.collect::<Vec<_>>())
}

/// Returns true for `env -i` and its other spellings.
fn cleared(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.contains(&"--ignore-environment")
        || words.windows(2).any(|pair| matches!(pair, ["env", "-i" | "-" | "-iu"]))
}

/// Checks for a process of the guard being stopped, by its name or by the result of a search for
/// it.
fn stops(input: &GuardInput<'_>, index: usize, command: &Command) -> Option<String> {
    let stopped =
        || input.effects_of(index).filter(|effect| effect.kind == EffectKind::ProcessStop);
    stopped().next()?;
    let named = command.words.iter().map(|word| word.text.as_str()).any(means_us);
    let searched = stopped().any(|effect| !effect.certain)
        && input.commands().iter().any(|other| {
            matches!(
                other.program.as_str(),
                "pgrep" | "pidof" | "ps" | "grep" | "egrep" | "awk" | "lsof" | "fuser"
            ) && other.words.iter().any(|word| means_us(&word.text))
        });
    (named || searched).then(|| "this stops processes of the guard".to_owned())
}

/// Returns true for a name or a pattern that matches the portcullis program's name.
fn means_us(word: &str) -> bool {
    let pattern = word.trim_matches(|c: char| "^$.*/[]()".contains(c));
    word.contains(OWN) || pattern.len() >= 4 && OWN.contains(pattern)
}

/// Checks text that another program will run (a terminal's, a job's) for one of these commands.
fn inside_a_text(input: &GuardInput<'_>, index: usize, command: &Command) -> Option<String> {
    let opaque = input.effects_of(index).any(|effect| {
        matches!(
            effect.kind,
            EffectKind::ProcessStart | EffectKind::UnseenCode | EffectKind::Persistence
        )
    });
    // Calls of the client and of portcullis are judged by `started` and `own`.
    if !opaque || is_client(input, &command.program) || is_own(input, &command.program) {
        return None;
    }
    command.words.iter().find_map(|word| {
        let names: Vec<&str> = word
            .text
            .split(|c: char| c.is_whitespace() || "\"';|&()[],".contains(c))
            .filter(|name| !name.is_empty())
            .collect();
        names.iter().enumerate().find_map(|(at, name)| {
            let after = names.get(at + 1..).unwrap_or_default();
            let program = name.rsplit('/').next().unwrap_or(name);
            if is_own(input, program) {
                let mut verbs = after.iter().filter(|word| !word.starts_with('-')).copied();
                return own_verb(verbs.next().unwrap_or(""), verbs.next().unwrap_or(""));
            }
            let (_, bypasses) = hooked(input).find(|(client, _)| client.is_program(program))?;
            let escape = after
                .iter()
                .find(|word| bypasses.options.contains(&word.split('=').next().unwrap_or(word)));
            escape.map(|escape| unreviewed(&format!("with `{escape}`")))
        })
    })
}
