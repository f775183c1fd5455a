//! The interpreters and their languages: which programs run a text, and how they are given it.

use super::code_flags::Interpreter;
use super::expand::Field;
use crate::catalogue;

const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "csh", "tcsh", "elvish",
    "hush", "ion", "loksh", "nu", "oksh", "osh", "pdksh", "posh", "yash", "ysh",
];

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { name: "python", language: "python", code: &["-c"], values: &["-W", "-X"] },
    Interpreter {
        name: "node",
        language: "node",
        code: &["-e", "-p", "--eval", "--print", "-pe"],
        values: &["-r", "--require", "--import", "-C", "--loader"],
    },
    Interpreter { name: "perl", language: "perl", code: &["-e", "-E"], values: &["-I"] },
    Interpreter { name: "ruby", language: "ruby", code: &["-e"], values: &["-I", "-r"] },
    Interpreter {
        name: "php",
        language: "php",
        code: &["-r", "--run", "-R", "-B", "-E"],
        values: &["-d", "-c"],
    },
    Interpreter { name: "osascript", language: "osascript", code: &["-e"], values: &["-l"] },
    // Elixir's, and by the same short name what PowerShell runs a text with.
    Interpreter {
        name: "iex",
        language: "elixir",
        code: &["-e", "--eval"],
        values: &["-S", "-r", "-pa", "--name", "--sname"],
    },
    Interpreter {
        name: "elixir",
        language: "elixir",
        code: &["-e", "--eval", "--rpc-eval"],
        values: &["-S", "-r", "-pa", "--name", "--sname"],
    },
    Interpreter { name: "erl", language: "elixir", code: &["-eval", "--eval"], values: &["-s"] },
    Interpreter {
        name: "jshell",
        language: "java",
        code: &[],
        values: &["--class-path", "--startup", "--feedback", "-R", "-C", "--add-modules"],
    },
    Interpreter { name: "R", language: "r", code: &["-e"], values: &["-f", "-g"] },
    Interpreter { name: "kotlin", language: "java", code: &["-e"], values: &["-cp"] },
    Interpreter {
        name: "scala-cli",
        language: "scala",
        code: &["-e", "--execute-script", "--script-snippet", "--execute-scala", "-S"],
        values: &["-cp"],
    },
    Interpreter { name: "lua", language: "lua", code: &["-e"], values: &["-l"] },
    Interpreter { name: "Rscript", language: "r", code: &["-e"], values: &[] },
    Interpreter {
        name: "julia",
        language: "julia",
        code: &["-e", "-E", "--eval"],
        values: &["-L"],
    },
    Interpreter { name: "tclsh", language: "tcl", code: &[], values: &[] },
    Interpreter { name: "wish", language: "tcl", code: &[], values: &[] },
    Interpreter { name: "expect", language: "tcl", code: &["-c"], values: &[] },
    Interpreter { name: "groovy", language: "groovy", code: &["-e"], values: &["-cp"] },
    Interpreter { name: "scala", language: "scala", code: &["-e"], values: &["-cp"] },
    Interpreter { name: "guile", language: "scheme", code: &["-c"], values: &["-L"] },
    Interpreter { name: "racket", language: "scheme", code: &["-e"], values: &["-l"] },
    Interpreter { name: "sbcl", language: "lisp", code: &["--eval"], values: &["--load"] },
    Interpreter { name: "clojure", language: "lisp", code: &["-e", "--eval"], values: &[] },
    Interpreter { name: "clj", language: "lisp", code: &["-e", "--eval"], values: &["-Sdeps"] },
    Interpreter { name: "bb", language: "lisp", code: &["-e", "--eval"], values: &["-cp"] },
    Interpreter { name: "ecl", language: "lisp", code: &["-eval", "--eval"], values: &["-load"] },
    Interpreter { name: "clisp", language: "lisp", code: &["-x"], values: &["-i"] },
    Interpreter { name: "gst", language: "smalltalk", code: &["-e"], values: &[] },
    Interpreter { name: "swift", language: "swift", code: &["-e"], values: &["-I", "-F"] },
    Interpreter { name: "ghc", language: "haskell", code: &["-e"], values: &["-package"] },
    Interpreter { name: "runghc", language: "haskell", code: &["-e"], values: &[] },
    Interpreter { name: "ocaml", language: "ocaml", code: &["-e"], values: &["-I"] },
    Interpreter { name: "gnuplot", language: "gnuplot", code: &["-e"], values: &[] },
    Interpreter { name: "nim", language: "nim", code: &["--eval"], values: &[] },
    Interpreter { name: "crystal", language: "crystal", code: &["eval"], values: &[] },
    Interpreter {
        name: "maxima",
        language: "maxima",
        code: &["-r", "--batch-string"],
        values: &[],
    },
    Interpreter { name: "gap", language: "gap", code: &["-c"], values: &[] },
    Interpreter { name: "m4", language: "m4", code: &[], values: &["-D", "-I", "-U", "--define"] },
    Interpreter { name: "dc", language: "dc", code: &["-e", "--expression"], values: &[] },
    Interpreter { name: "raku", language: "raku", code: &["-e"], values: &["-I"] },
    Interpreter { name: "octave", language: "octave", code: &["--eval"], values: &[] },
    Interpreter {
        name: "pwsh",
        language: "powershell",
        code: &["-c", "-Command", "-command", "-C", "/c", "/Command"],
        values: &[
            "-ExecutionPolicy",
            "-ep",
            "-exec",
            "-ex",
            "-File",
            "-f",
            "-WindowStyle",
            "-w",
            "-Version",
            "-v",
        ],
    },
];

/// Programs that do much besides running code: only with it are they interpreters.
const CODE_ALONE: &[&str] = &[
    "crystal",
    "elixir",
    "erl",
    "gap",
    "ghc",
    "kotlin",
    "maxima",
    "nim",
    "ocaml",
    "R",
    "scala-cli",
    "swift",
];
/// Those whose subcommand comes before their flags: `nim r --eval:CODE`.
const VERBS_FIRST: &[&str] = &["nim"];

/// Returns true for an interpreter whose subcommand comes before its flags.
pub(super) fn has_verb_first(which: &Interpreter) -> bool {
    VERBS_FIRST.contains(&which.name)
}

/// Returns the interpreter that a call starts; none if it does something else.
pub(super) fn interpreter_of(name: &str, rest: &[Field]) -> Option<&'static Interpreter> {
    let canonical = catalogue::name_of(name);
    let which = INTERPRETERS.iter().find(|interpreter| interpreter.name == canonical)?;
    let runs_code = (which.name != "iex" || rest.first().is_some_and(is_elixir))
        && (!CODE_ALONE.contains(&which.name)
            || rest.iter().any(|word| is_code_flag(which, &word.text)))
        && !serves_folder(which.name, rest);
    runs_code.then_some(which)
}

fn is_code_flag(which: &Interpreter, word: &str) -> bool {
    which.code.iter().any(|flag| {
        word.strip_prefix(flag)
            .is_some_and(|rest| rest.is_empty() || flag.len() > 2 && rest.starts_with(['=', ':']))
    })
}

/// Returns true if the program runs the text that it is given.
pub(super) fn runs_text(name: &str) -> bool {
    let known = catalogue::name_of(name);
    SHELLS.contains(&name)
        || INTERPRETERS.iter().any(|interpreter| interpreter.name == known)
        || matches!(name, "eval" | "source" | "." | "awk" | "sed")
}

/// Returns the language of an interpreter; none for a shell, and for any other program.
pub(super) fn language_of(program: &str) -> Option<&'static str> {
    let name = catalogue::name_of(program);
    let known = INTERPRETERS.iter().find(|interpreter| interpreter.name == name);
    known.map(|interpreter| interpreter.language)
}

pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Returns true for the web server that some interpreters have: `php -S ADDRESS`.
fn serves_folder(name: &str, rest: &[Field]) -> bool {
    let has = |flag: &str| rest.iter().any(|field| field.text.starts_with(flag));
    (name == "php" && has("-S")) || (name == "ruby" && has("-run") && has("httpd"))
}

/// Returns true for a flag or a script of Elixir's, not a text for PowerShell.
fn is_elixir(word: &Field) -> bool {
    word.text.starts_with('-') || word.text.ends_with(".exs") || word.text.ends_with(".ex")
}
