//! The forms in which test runners and compilers tell of a failure, one line at a time.

use crate::scan::{Scan, ends_line, is_of_word};
use crate::texts::is_blank;

/// What a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureLine<'a> {
    /// The file of an error.
    pub file: Option<&'a str>,
    /// The test's name, or the error's text.
    pub id: &'a str,
    /// Why a test failed.
    pub why: Option<&'a str>,
}

type Form = for<'a> fn(Scan<'a>) -> Option<FailureLine<'a>>;

/// How a line tells of a failed test, each with a line of that form.
const TESTS: &[Form] = &[
    // FAILED tests/test_a.py::test_sum - assert 3 == 5
    |mut line| {
        line.one_of(&["FAILED ", "ERROR "])?;
        let id = line.word()?;
        id.split_at_checked(id.ceil_char_boundary(1)).filter(|(_, id)| id.contains(".py"))?;
        if line.0.is_empty() {
            return test(id);
        }
        line.text(" - ")?;
        let why = line.rest();
        line.end(FailureLine { file: None, id, why: Some(why) })
    },
    // tests/test_a.py::test_sum FAILED
    |mut line| {
        let id = line.word().filter(|id| has_inside(id, "::"))?;
        line.one_of(&[" FAILED", " ERROR"])?;
        line.is_after_word().then_some(test(id)?)
    },
    // FAIL: test_sum (test_a.T)
    |mut line| {
        line.one_of(&["FAIL: ", "ERROR: "])?;
        let whole = line.0;
        line.word()?;
        line.text(" (")?;
        line.some(|character| character != ')')?;
        line.text(")")?;
        test(taken(whole, &line)?)
    },
    // test math::sum ... FAILED
    |mut line| {
        line.text("test ")?;
        let id = line.word()?;
        let fails = " ... FAILED";
        if line.text(fails).is_some() {
            return test(id);
        }
        line.text(" - ")?;
        let (note, _) = line.0.split_once(fails)?;
        (!note.contains(ends_line)).then_some(test(id)?)
    },
    // FAIL [   0.004s] (1/9) crate::binary tests::sum
    |mut line| {
        line.blanks();
        line.text("FAIL [")?;
        line.some(|character| character != ']').unwrap_or_default();
        line.text("] ")?;
        let mut counted = line;
        read_count(&mut counted).and_then(|()| read_pair(counted)).or_else(|| read_pair(line))
    },
    // --- FAIL: TestSum (0.00s)
    |mut line| {
        line.blanks();
        line.text("--- FAIL: ")?;
        test(line.word()?)
    },
    // rspec ./spec/a_spec.rb:4 # adds
    |mut line| {
        line.text("rspec ")?;
        test(line.word()?)
    },
    // ● math › adds two numbers (5 ms)
    |mut line| {
        line.blanks();
        if line.one_of(&["● ", "✕ ", "✗ ", "× ", "✖ "]).is_none() {
            line.text("FAIL")?;
            line.some(|character| character == ' ')?;
        }
        let mut console = line;
        let is_console = console.text("Console").is_some() && console.is_after_word();
        let is_empty = line.0.chars().next().is_none_or(is_blank);
        if is_console || is_empty || line.0.contains(ends_line) {
            return None;
        }
        test(cut_duration(line.0))
    },
    // 1) MathTest::testSum
    |mut line| {
        line.digits()?;
        line.text(") ")?;
        let whole = line.0;
        line.some(|character| is_of_word(character) || character == '\\')?;
        line.text("::")?;
        line.some(is_of_word)?;
        test(taken(whole, &line)?)
    },
    // 1) test adds (MathTest)
    |mut line| {
        line.blanks();
        line.digits()?;
        line.text(") ")?;
        let id = line.0;
        line.text("test ")?;
        let (name, group) = line.0.strip_suffix(')')?.rsplit_once(" (")?;
        let is_whole = !name.is_empty() && !group.is_empty() && !group.contains(is_blank);
        (is_whole && !name.contains(ends_line)).then_some(test(id)?)
    },
    // 3 - sum (Failed)
    |mut line| {
        line.blanks();
        line.digits()?;
        line.text(" - ")?;
        let id = line.word()?;
        line.text(" (")?;
        line.one_of(&["Failed", "Timeout", "SEGFAULT", "Exception"])?;
        test(id)
    },
    // MathTest > adds() FAILED
    |mut line| {
        let id = line.0.strip_suffix(" FAILED")?;
        line = Scan(id);
        line.word()?;
        line.text(" > ")?;
        (!line.rest().is_empty()).then_some(())?;
        line.end(test(id)?)
    },
    // Failed adds [12 ms]
    |mut line| {
        line.blanks();
        line.text("Failed ")?;
        let id = line.word()?;
        line.text(" [")?;
        test(id)
    },
    // not ok 1 - adds
    |mut line| {
        line.text("not ok ")?;
        line.digits()?;
        line.text(" - ")?;
        let id = line.rest();
        line.end(test(id)?).filter(|_| !id.is_empty())
    },
    // [ERROR]   MathTest.sum:12->check:9 expected 5
    |mut line| {
        line.text("[ERROR]")?;
        line.some(|character| character == ' ')?;
        let whole = line.0;
        line.some(is_of_word)?;
        line.text(".")?;
        line.some(is_of_word)?;
        let id = taken(whole, &line)?;
        line.text(":")?;
        line.digits()?;
        if line.text("->").is_some() {
            line.word()?;
        }
        line.text(" ")?;
        Some(FailureLine { file: None, id, why: Some(line.rest()) })
    },
];

/// How a line tells of an error, where no test is named, each with a line of that form.
const ERRORS: &[Form] = &[
    // error[E0308]: mismatched types
    |mut line| {
        let whole = line.0;
        line.text("error")?;
        if line.text("[E").is_some() {
            line.digits()?;
            line.text("]")?;
        }
        line.text(": ")?;
        (!line.rest().is_empty()).then_some(())?;
        test(taken(whole, &line)?)
    },
    // src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.
    |mut line| {
        let file =
            line.some(|character| !is_blank(character) && character != ':' && character != '(')?;
        line.one_of(&[":", "("])?;
        line.digits()?;
        line.one_of(&[":", ","])?;
        line.digits()?;
        let _ = line.text(")");
        line.one_of(&[" - ", ": "])?;
        let _ = line.text("fatal ");
        line.text("error")?;
        let _ = line.text(":");
        line.text(" ")?;
        error(file, line.rest())
    },
    // a.go:3:5: undefined: x
    |mut line| {
        let file = line.some(|character| !is_blank(character) && character != ':')?;
        file.strip_suffix(".go").filter(|name| !name.is_empty())?;
        line.text(":")?;
        line.digits()?;
        line.text(":")?;
        line.digits()?;
        line.text(": ")?;
        error(file, line.rest())
    },
    // ValueError: no such key: 7
    |mut line| {
        let whole = line.0;
        read_type(&mut line)?;
        line.text(": ")?;
        line.0.starts_with(|first| is_of_word(first) || "'\"`[({<".contains(first)).then_some(())?;
        line.rest();
        test(taken(whole, &line)?)
    },
    // java.lang.NullPointerException
    |mut line| {
        let id = read_type(&mut line)?;
        line.end(test(id)?)
    },
];

/// Returns the failed test that a line tells of.
pub fn read_test(line: &str) -> Option<FailureLine<'_>> {
    TESTS.iter().find_map(|form| form(Scan(line)))
}

/// Returns the error that a line tells of.
pub fn read_error(line: &str) -> Option<FailureLine<'_>> {
    ERRORS.iter().find_map(|form| form(Scan(line)))
}

/// Returns true for a line that only says that there were errors.
pub fn sums_up(line: &str) -> bool {
    const WORDS: &[&str] =
        &["could not compile", "aborting", "test failed", "build failed", "process didn't"];
    let Some(rest) = line.strip_prefix("error: ") else { return false };
    let mut targets = Scan(rest);
    let is_count = targets.digits().is_some()
        && targets.one_of(&[" targets failed", " target failed"]).is_some();
    is_count || WORDS.iter().any(|words| rest.starts_with(words))
}

/// Returns true for a line that may tell of a failure.
pub fn may_tell(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let words: &[&str] = match byte {
            b'F' => &["FAIL"],
            b'E' => &["ERROR"],
            b'r' => &["rror", "rspec "],
            b'x' => &["xception"],
            b'a' => &["ailed"],
            b'n' => &["not ok"],
            b')' => &[") "],
            b'.' => &[".go:"],
            0xc3 => &["×"],
            0xe2 => &["✕", "✗", "✖", "●"],
            _ => return false,
        };
        let rest = bytes.get(at..).unwrap_or_default();
        words.iter().any(|word| rest.starts_with(word.as_bytes()))
    })
}

#[allow(clippy::unnecessary_wraps, reason = "the end of each form")]
const fn test(id: &str) -> Option<FailureLine<'_>> {
    Some(FailureLine { file: None, id, why: None })
}

fn error<'a>(file: &'a str, id: &'a str) -> Option<FailureLine<'a>> {
    (!id.is_empty()).then_some(FailureLine { file: Some(file), id, why: None })
}

/// Returns what was taken of a text.
fn taken<'a>(whole: &'a str, left: &Scan<'_>) -> Option<&'a str> {
    whole.get(..whole.len() - left.0.len())
}

/// Returns true if a mark stands in a word, neither at its beginning nor at its end.
fn has_inside(word: &str, mark: &str) -> bool {
    let inside = word.char_indices().nth(1).zip(word.char_indices().next_back());
    inside
        .and_then(|((from, _), (to, _))| word.get(from..to))
        .is_some_and(|word| word.contains(mark))
}

/// Takes `(1/9) `.
fn read_count(line: &mut Scan<'_>) -> Option<()> {
    line.text("(")?;
    line.some(|character| character != ')').unwrap_or_default();
    line.text(") ")
}

/// Reads two words, and nothing else.
fn read_pair(mut line: Scan<'_>) -> Option<FailureLine<'_>> {
    let whole = line.0;
    line.word()?;
    line.text(" ")?;
    line.word()?;
    line.end(test(whole)?)
}

/// Takes the name of an error's type: `a.b.ValueError`.
fn read_type<'a>(line: &mut Scan<'a>) -> Option<&'a str> {
    let name = line.some(|character| is_of_word(character) || character == '.')?;
    let before = name.strip_suffix("Error").or_else(|| name.strip_suffix("Exception"))?;
    (!before.starts_with('.') && !before.contains("..")).then_some(name)
}

/// Cuts ` (5 ms)` or ` 0.3s` off a name, where something is left.
fn cut_duration(name: &str) -> &str {
    let cut = || {
        let rest = name.strip_suffix(')').unwrap_or(name).strip_suffix('s')?;
        let rest = rest.strip_suffix('m').unwrap_or(rest);
        let rest = cut_digits(rest.strip_suffix(' ').unwrap_or(rest))?;
        let rest = rest.strip_suffix('.').map_or(Some(rest), cut_digits)?;
        rest.strip_suffix('(').unwrap_or(rest).strip_suffix(' ').filter(|name| !name.is_empty())
    };
    cut().unwrap_or(name)
}

fn cut_digits(text: &str) -> Option<&str> {
    let rest = text.trim_end_matches(|character: char| character.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}
