//! Colour and layout for people. Everything that comes from agents, plugins or files is escaped before
//! it gets here.

use anstyle::{AnsiColor, Effects, Style};
use portcullis_core::score::Verdict;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;

const fn style(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(color)))
}

fn painted(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Something went wrong.
pub fn bad(text: impl Display) -> String {
    painted(style(AnsiColor::Red).effects(Effects::BOLD), text)
}

/// Something is well.
pub fn good(text: impl Display) -> String {
    painted(style(AnsiColor::Green), text)
}

/// Something to look at.
pub fn warn(text: impl Display) -> String {
    painted(style(AnsiColor::Yellow), text)
}

/// A heading.
pub fn bold(text: impl Display) -> String {
    painted(Style::new().effects(Effects::BOLD), text)
}

/// What can be skipped.
pub fn dim(text: impl Display) -> String {
    painted(Style::new().effects(Effects::DIMMED), text)
}

/// A verdict, padded to `width` before it is coloured.
pub fn verdict(verdict: Verdict, width: usize) -> String {
    let text = format!("{:width$}", verdict.as_str());
    match verdict {
        Verdict::Allow => good(text),
        Verdict::Warn => warn(text),
        Verdict::Modify => painted(style(AnsiColor::Cyan), text),
        Verdict::Ask => painted(style(AnsiColor::Magenta).effects(Effects::BOLD), text),
        Verdict::Block => bad(text),
    }
}

/// Prints to standard output, with colour where that is a terminal. Where it cannot be written the rest
/// is dropped, so that a command still cleans up and ends with its own exit code; see `lost`.
pub fn print(text: &str) {
    if closed() {
        return;
    }
    let mut stdout = anstream::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        let _first = BROKEN.set(error);
    }
}

static BROKEN: OnceLock<io::Error> = OnceLock::new();

/// Nobody gets what is printed from now on: long work can end.
pub fn closed() -> bool {
    BROKEN.get().is_some()
}

/// Why output was lost; none when its reader had seen enough.
pub fn lost() -> Option<&'static io::Error> {
    BROKEN.get().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Columns of the terminal, within what is pleasant to read; where there is none, what most have.
pub fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    let found = || terminal_size::terminal_size_of(io::stdout()).map_or(100, |(width, _)| usize::from(width.0).clamp(80, 120));
    *WIDTH.get_or_init(found)
}

/// Milliseconds since 1970 as a time in UTC.
pub fn time(ms: u64) -> String {
    i64::try_from(ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
