//! Colour and layout for people. Everything that comes from agents, plugins or files is escaped before
//! it gets here.

use anstyle::{AnsiColor, Effects, Style};
use portcullis_core::score::Verdict;
use std::fmt::Display;
use std::io::Write;

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

/// Prints to standard output, with colour where that is a terminal. A reader that went away ends the
/// program quietly.
pub fn print(text: &str) {
    let mut stdout = anstream::stdout().lock();
    if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Milliseconds since 1970 as a time in UTC.
pub fn time(ms: u64) -> String {
    i64::try_from(ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
