//! The table of attacks.

use crate::bombs::{around, doubling, huge_function, large_data, many_locals, many_types, nested};
use crate::common::site::Site;
use crate::meter::Used;
use crate::{made, played};
use anyhow::Result;

/// An attack, its expected result, and its maximum cost.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// The name of the test, and of the guest's text.
    pub name: &'static str,
    /// The description in the table.
    pub does: &'static str,
    /// The file in the plugins folder.
    pub bytes: Bytes,
    /// The recorded fault, if there is one.
    pub fault: Option<&'static str>,
    /// An alternative fault and its message: how far a compiler gets depends on the machine.
    pub or: Option<(&'static str, &'static str)>,
    /// The verdict: by default a person decides when a third-party plugin has a fault.
    pub verdict: &'static str,
    /// The message to the agent or the person.
    pub says: &'static str,
    /// The most processor time in milliseconds, beyond a benign guest's.
    pub most_ms: u64,
    /// The most memory at the peak in MiB, beyond a benign guest's.
    pub most_mib: u64,
}

/// The source of a guest.
#[derive(Clone, Copy, Debug)]
pub enum Bytes {
    /// `guests/NAME.wat`.
    Text,
    /// A function creates the file.
    Made(fn() -> Result<Vec<u8>>),
    /// A function creates many files, each of which must end in one of several faults or in
    /// nothing.
    Many(fn() -> Result<Vec<Vec<u8>>>),
    /// A function plays the attack, with these texts of `guests/`.
    Played(&'static [&'static str], fn(&Site, &Attack) -> Result<Used>),
}

/// Creates a row about a guest's text.
const fn text(
    name: &'static str,
    does: &'static str,
    fault: &'static str,
    says: &'static str,
) -> Attack {
    Attack {
        name,
        does,
        bytes: Bytes::Text,
        fault: Some(fault),
        or: None,
        verdict: "ask",
        says,
        most_ms: 100,
        most_mib: 16,
    }
}

/// Creates a row about a file that a function creates.
const fn made(
    name: &'static str,
    does: &'static str,
    make: fn() -> Result<Vec<u8>>,
    fault: &'static str,
    says: &'static str,
) -> Attack {
    Attack { bytes: Bytes::Made(make), ..text(name, does, fault, says) }
}

/// Creates a row about a component that is hard to compile: it exceeds a limit, or is compiled and
/// found not to be a plugin.
const fn bomb(name: &'static str, does: &'static str, make: fn() -> Result<Vec<u8>>) -> Attack {
    let or = Some((LOAD, "its types do not match"));
    Attack {
        or,
        most_ms: 60_000,
        most_mib: 2_100,
        ..made(name, does, make, COMPILE, "compiling it takes")
    }
}

/// Creates a row about more than a file and an action.
const fn played(
    name: &'static str,
    does: &'static str,
    guests: &'static [&'static str],
    play: fn(&Site, &Attack) -> Result<Used>,
) -> Attack {
    Attack { bytes: Bytes::Played(guests, play), ..text(name, does, "", "").is_judged("allow") }
}

impl Attack {
    /// Sets the fault.
    const fn ends_in(self, fault: &'static str, says: &'static str) -> Self {
        Self { fault: Some(fault), verdict: "ask", says, ..self }
    }

    /// Allows the cost of using up its fuel.
    const fn spends_fuel(self) -> Self {
        Self { most_ms: 500, ..self }
    }

    /// Allows the cost of using up all of its memory.
    const fn fills_memory(self) -> Self {
        Self { most_ms: 250, most_mib: 80, ..self }
    }

    /// Sets the verdict of an attack without a fault.
    const fn is_judged(self, verdict: &'static str) -> Self {
        Self { fault: None, verdict, ..self }
    }
}

const FUEL: &str = "out-of-fuel";
const MEMORY: &str = "out-of-memory";
const LARGE: &str = "output-too-large";
const BAD: &str = "bad-value";
const DECLINED: &str = "declined";
const TRAP: &str = "trap";
const STACK: &str = "stack-overflow";
const GRANT: &str = "missing-grant";
const LOAD: &str = "load-failed";
const SETTINGS: &str = "bad-settings";
const COMPILE: &str = "compile-limit";

/// All attacks, by target.
pub static ATTACKS: &[Attack] = &[
    // Time.
    text("loops", "loops in the call", FUEL, "50000000 units of fuel").spends_fuel(),
    text("loops-at-start", "loops in the start function", FUEL, "units of fuel").spends_fuel(),
    text(
        "loops-in-realloc",
        "loops when the host asks it to allocate memory",
        FUEL,
        "units of fuel",
    )
    .spends_fuel(),
    text("loops-in-post-return", "loops after its answer", FUEL, "units of fuel").spends_fuel(),
    text("loops-in-prepare", "loops over its settings", FUEL, "units of fuel").spends_fuel(),
    text("fills-for-ever", "fills 64 KiB in a loop", FUEL, "units of fuel").spends_fuel(),
    text("fills-all-memory", "fills 62 MiB in one instruction", FUEL, "units of fuel"),
    text("floods-the-log", "writes log lines in a loop", FUEL, "units of fuel").spends_fuel(),
    text(
        "floods-the-log-by-size",
        "writes log lines of 60,000 escapes in a loop",
        FUEL,
        "units of fuel",
    )
    .spends_fuel(),
    text("asks-for-past-steps", "asks the host for past steps in a loop", FUEL, "units of fuel")
        .spends_fuel(),
    text("floods-stdio", "writes 4 KiB in a loop and never ends the line", FUEL, "units of fuel")
        .spends_fuel(),
    text("sleeps", "asks the host to wake it in 1,000 hours", "", "").is_judged("allow"),
    text("polls-ten-thousand", "waits for 10,000 things at once", MEMORY, "256 handles"),
    Attack {
        or: Some(("not-run", "")),
        most_ms: 4_000,
        ..played("hundred-spin", "100 plugins that all loop", &["loops"], played::hundred_spin)
            .ends_in("timeout", "")
    },
    // Depth.
    text("recurses", "calls itself without end", STACK, "recursed too deep"),
    text(
        "recurses-by-table",
        "two functions call each other through a table",
        STACK,
        "recursed too deep",
    ),
    made(
        "deep-descriptor",
        "a descriptor of 10,000 nested lists",
        made::deep_descriptor,
        LOAD,
        "descriptor",
    ),
    // Space.
    text("grows-memory", "grows one memory and touches all of it", MEMORY, "65536 KiB")
        .fills_memory(),
    text("grows-many-memories", "grows seven memories by turns", MEMORY, "65536 KiB")
        .fills_memory(),
    text("begins-with-4-gib", "begins with a memory of 4 GiB", MEMORY, "65536 KiB"),
    text("has-twenty-memories", "has 21 memories", MEMORY, "memory count too high"),
    text("grows-a-table", "grows a table", MEMORY, "table elements"),
    text(
        "begins-with-a-vast-table",
        "begins with 10,000,000 table elements",
        MEMORY,
        "table elements",
    ),
    text("has-twenty-tables", "has 20 tables", MEMORY, "table count too high"),
    made(
        "thousand-instances",
        "1,000 more core instances",
        made::thousand_instances,
        LOAD,
        "exceeds limit of 1000",
    ),
    made(
        "five-hundred-instances",
        "500 more core instances",
        made::five_hundred_instances,
        MEMORY,
        "instance count too high",
    ),
    text("makes-handles", "makes 200,000 resources of its own", MEMORY, "handle"),
    text("takes-handles", "takes 200,000 handles of the host's", MEMORY, "handle"),
    // Answers.
    text(
        "answers-2-gib-of-empty-texts",
        "answers 268,435,456 empty texts that it does not have",
        BAD,
        "out of bounds",
    ),
    text("answers-many-empty-texts", "answers 4,000,000 empty texts that it has", LARGE, "512 KiB"),
    text("answers-one-text-many-times", "answers one text of 1 MiB 64 times", LARGE, "512 KiB"),
    text(
        "answers-lists-in-lists",
        "answers 16 MiB of lists in lists out of 8 KiB",
        LARGE,
        "512 KiB",
    ),
    text("answers-no-utf-8", "answers bytes that are not text", BAD, "utf-8"),
    text("answers-half-a-character", "answers a surrogate", BAD, "utf-8"),
    text(
        "answers-from-beyond-its-memory",
        "answers a text that ends outside its memory",
        BAD,
        "out of bounds",
    ),
    text(
        "answers-around-the-end-of-memory",
        "answers a text past the last address",
        BAD,
        "out of bounds",
    ),
    text("answers-an-odd-address", "answers from an address that is not aligned", BAD, "pointer"),
    text(
        "answers-a-list-at-an-odd-address",
        "answers a list at an address that is not aligned",
        BAD,
        "pointer",
    ),
    text("answers-outside-its-memory", "answers from outside its memory", BAD, "pointer"),
    text(
        "answers-a-case-that-is-none",
        "answers neither a result nor an error",
        BAD,
        "discriminant",
    ),
    text("answers-into-its-own-answer", "answers a list that overlaps itself", "", "")
        .is_judged("allow"),
    text("prepares-too-much", "prepares 1 MiB and a byte", LARGE, "at most 1048576"),
    text(
        "prepares-from-beyond-its-memory",
        "prepares bytes that it does not have",
        BAD,
        "out of bounds",
    ),
    text(
        "blames-the-settings",
        "says that a setting is wrong, and what a person should run",
        SETTINGS,
        "setting `mode': fine\\n",
    ),
    text("says-nothing-but-escapes", "says that it failed, in 900 escapes", DECLINED, "\\u{1b}"),
    // Doors.
    text("wants-sockets", "imports sockets", GRANT, "open network connections"),
    text("wants-the-web", "imports web requests", GRANT, "web requests"),
    text("wants-another-host", "imports another host's interface", GRANT, "acme:host/secrets"),
    text("looks-for-files", "looks for a folder to open", GRANT, "wasi:filesystem"),
    text("looks-for-variables", "reads the environment", "", "").is_judged("allow"),
    text("calls-back-from-realloc", "calls the host while the host calls it", TRAP, "trapped"),
    text("traps", "gives up", TRAP, "unreachable"),
    text(
        "traps-and-would-loop",
        "gives up, and would loop if it were entered again",
        TRAP,
        "unreachable",
    ),
    made(
        "names-with-escapes",
        "imports a name of escapes and of text from right to left",
        made::names_with_escapes,
        GRANT,
        "\\u{1b}",
    ),
    made("ten-thousand-imports", "10,000 imports", made::ten_thousand_imports, LOAD, "imports"),
    played(
        "leaves-its-folder",
        "leaves a folder that it may read by `..`, by links and through a pipe",
        &["leaves-its-folder"],
        played::leaves_its_folder,
    ),
    Attack {
        most_ms: 1_000,
        ..played(
            "races-for-a-file",
            "reads a file that is swapped for links to another",
            &["races-for-a-file"],
            played::races_for_a_file,
        )
    },
    Attack {
        most_ms: 500,
        ..played(
            "rebinds",
            "sends a request to a granted name that leads to this machine",
            &[],
            played::rebinds,
        )
    },
    Attack {
        most_ms: 500,
        ..played(
            "follows-a-redirect",
            "follows a granted host's redirect to one that is not granted",
            &[],
            played::follows_a_redirect,
        )
    },
    played(
        "asks-the-clock-and-chance",
        "asks the clock and random numbers for another answer each time",
        &["asks-the-clock-and-chance"],
        played::asks_the_clock_and_chance,
    )
    .is_judged("warn"),
    // Lies.
    text("scores-too-high", "scores 65,535 out of 1,000", BAD, "65535"),
    text(
        "rules-that-it-is-allowed",
        "says that a rule allows the action, by a number that no objection has",
        BAD,
        "discriminant",
    ),
    text("rewrites-to-something-worse", "offers to run `rm -rf /` instead", "", "because I say so")
        .is_judged("ask"),
    text(
        "speaks-as-the-host",
        "asks in words that look like the host's own",
        "",
        "the plugin `attack` says: \"fine",
    )
    .is_judged("ask"),
    played("takes-our-name", "calls itself `portcullis`", &[], played::takes_our_name)
        .is_judged("block"),
    text("objects-five-thousand-times", "answers 5,000 rulings", LARGE, "512 KiB"),
    text("detects-five-thousand-times", "answers 5,000 detections", LARGE, "5000 items"),
    // Files.
    made("text", "WebAssembly text in place of a component", made::text, LOAD, "wasm-tools parse"),
    made("core-module", "a core module", made::core_module, LOAD, "wasm-tools component new"),
    made(
        "native-code",
        "machine code in place of a component",
        made::native_code,
        LOAD,
        "not WebAssembly",
    ),
    played(
        "becomes-a-pipe",
        "a good file that is a pipe when it is loaded",
        &[],
        played::becomes_a_pipe,
    )
    .ends_in(LOAD, "not a file"),
    played(
        "is-swapped",
        "a good file that is swapped for one that loops, again and again",
        &["loops"],
        played::is_swapped,
    )
    .ends_in(FUEL, "units of fuel")
    .spends_fuel(),
    played(
        "forged-code",
        "compiled code of another plugin, or with a flipped bit, in its compiled code's place",
        &["loops"],
        played::forged_code,
    ),
    Attack {
        bytes: Bytes::Many(made::cut),
        ..text("cut-short", "a good component, cut at 40 places", LOAD, "")
    },
    Attack {
        bytes: Bytes::Many(made::flipped),
        ..text("flipped", "a good component, one bit flipped at 60 places", LOAD, "")
    },
    // Compiling.
    bomb("one-huge-function", "one function of 1,000,000 multiplications", || {
        Ok(around(&huge_function(1_000_000)))
    }),
    bomb("many-locals", "400 functions of 49,000 locals", || Ok(around(&many_locals(400)))),
    bomb("million-types", "1,000,000 types", || Ok(around(&many_types(1_000_000)))),
    bomb("fifty-megabytes", "50 MiB of data", || Ok(around(&large_data(50 << 20)))),
    bomb("parts-that-double", "24 components in each other, each twice in the next", || {
        Ok(doubling(24))
    }),
    Attack {
        most_mib: 64,
        ..made(
            "too-many-types",
            "1,000,001 types",
            || Ok(around(&many_types(1_000_001))),
            LOAD,
            "it does not compile",
        )
    },
    made(
        "thousand-components",
        "1,000 components in each other",
        || Ok(nested(1_000)),
        LOAD,
        "more than 32 components",
    ),
];
