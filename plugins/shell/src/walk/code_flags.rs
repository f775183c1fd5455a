//! The words of an interpreter's call that are code.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::Feed;
use super::{Setting, Walker};

/// An interpreter: its language, the flags before code, the flags before another value.
pub(super) struct Interpreter {
    pub name: &'static str,
    pub language: &'static str,
    pub code: &'static [&'static str],
    pub values: &'static [&'static str],
}

impl Walker<'_> {
    /// Follows the code that a project's own program runs: `manage.py shell -c CODE`.
    pub(super) fn django_shell(
        &mut self,
        which: &Interpreter,
        script: Option<usize>,
        rest: &[Field],
        input: &Feed,
        setting: &Setting,
    ) {
        let Some(at) = script.filter(|_| which.language == "python") else { return };
        let is = |at: usize, name: &str| {
            rest.get(at).is_some_and(|word| word.text.rsplit('/').next() == Some(name))
        };
        if !is(at, "manage.py") || !(is(at + 1, "shell") || is(at + 1, "shell_plus")) {
            return;
        }
        let flag = rest.iter().position(|word| matches!(word.text.as_str(), "-c" | "--command"));
        let given = flag.and_then(|flag| rest.get(flag + 1)).cloned();
        let piped = input.text.as_deref().map(|text| Field {
            text: text.to_owned(),
            known: true,
            ..rest.get(at).cloned().unwrap_or_default()
        });
        if let Some(code) = given.or(piped) {
            self.code("python", &code, None, setting);
        }
    }
}

/// Returns the text behind the letter of code in a cluster of Perl's or Ruby's flags: `-lne CODE`,
/// `-neCODE`. None if there is no such letter.
pub(super) fn find_code<'t>(language: &str, letters: &'t str) -> Option<&'t str> {
    // The text behind these letters is their value.
    let valued = match language {
        "perl" => "MmIDxFV",
        "ruby" => "rICEFKxWT",
        _ => return None,
    };
    for (at, c) in letters.char_indices() {
        if c == 'e' || c == 'E' && language == "perl" {
            return letters.get(at + 1..);
        }
        if valued.contains(c) {
            return None;
        }
    }
    None
}

/// Returns code that is in the same word as its flag: `-e'CODE'`, `--eval=CODE`.
pub(super) fn attached_code<'t>(
    which: &Interpreter,
    text: &'t str,
    letters: &'t str,
) -> Option<&'t str> {
    let long = which.code.iter().filter(|flag| flag.starts_with("--"));
    let mut long = long.filter_map(|flag| text.strip_prefix(flag)?.strip_prefix(['=', ':']));
    let short = match which.language {
        "perl" | "ruby" => find_code(which.language, letters),
        "lua" => letters.strip_prefix('e'),
        "php" => letters.strip_prefix('r'),
        _ => None,
    };
    long.next().or(short).filter(|code| !code.is_empty())
}

/// Returns the language of the code: AppleScript's interpreter runs JavaScript too.
pub(super) fn spoken(which: &Interpreter, rest: &[Field]) -> &'static str {
    let script = rest
        .iter()
        .zip(rest.iter().skip(1))
        .any(|(flag, value)| flag.text == "-l" && value.text.eq_ignore_ascii_case("javascript"));
    if which.name == "osascript" && script { "node" } else { which.language }
}

/// Decodes the text in `-EncodedCommand BASE64`, whose flag may be abbreviated.
pub(super) fn encoded(which: &Interpreter, flag: &str, value: &str) -> Option<String> {
    let flag = flag.to_ascii_lowercase();
    let short = flag.strip_prefix('-').filter(|flag| {
        // `-ec` is an alias of PowerShell's, not an abbreviation.
        flag.starts_with('e') && ("encodedcommand".starts_with(flag) || *flag == "ec")
    })?;
    let wide = super::feed::base64_bytes(value)
        .filter(|_| which.language == "powershell" && !short.is_empty())?;
    // PowerShell encodes UTF-16 with the low byte first.
    let units = wide
        .chunks_exact(2)
        .map(|pair| pair.iter().rev().fold(0_u16, |unit, byte| (unit << 8) | u16::from(*byte)));
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(UNKNOWN)).collect())
}
