//! Colour and layout for people. All text from agents, plugins or files is escaped before it gets
//! here.

use crate::wrap;
use anstyle::{AnsiColor, Effects, Style};
use portcullis_core::score::Verdict;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

const fn style(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(color)))
}

fn painted(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Formats a failure.
pub fn bad(text: impl Display) -> String {
    painted(style(AnsiColor::Red).effects(Effects::BOLD), text)
}

/// Formats a success.
pub fn good(text: impl Display) -> String {
    painted(style(AnsiColor::Green), text)
}

/// Formats a warning.
pub fn warn(text: impl Display) -> String {
    painted(style(AnsiColor::Yellow), text)
}

/// Formats a heading.
pub fn bold(text: impl Display) -> String {
    painted(Style::new().effects(Effects::BOLD), text)
}

/// Formats unimportant text.
pub fn dim(text: impl Display) -> String {
    painted(Style::new().effects(Effects::DIMMED), text)
}

/// Formats a verdict, padded to `width` before it is coloured.
pub fn paint_verdict(verdict: Verdict, width: usize) -> String {
    let text = format!("{:width$}", verdict.as_str());
    match verdict {
        Verdict::Allow => good(text),
        Verdict::Warn => warn(text),
        Verdict::Modify => painted(style(AnsiColor::Cyan), text),
        Verdict::Ask => painted(style(AnsiColor::Magenta).effects(Effects::BOLD), text),
        Verdict::Block => bad(text),
    }
}

/// Prints a list or sentences to standard output. On a terminal, lines are broken between words and
/// continued at `indent`; a pipe or a file gets them whole, one line each.
pub fn print_wrapped(text: &str, indent: usize) {
    print_text(&wrap::fit_text(text, terminal_width(io::stdout()), indent));
}

/// Prints sentences or a list's line to standard error, like `print_wrapped`.
pub fn report_wrapped(text: &str, indent: usize) {
    // If nobody reads it any more, the work goes on.
    let text = wrap::fit_text(text, terminal_width(io::stderr()), indent);
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Prints to standard output, with colour on a terminal. If writing fails, the rest is dropped, so
/// that a command still cleans up and ends with its own exit code; see `lost_output`.
pub fn print_text(text: &str) {
    if is_closed() {
        return;
    }
    let mut stdout = anstream::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        let _first = BROKEN.set(error);
    }
}

static BROKEN: OnceLock<io::Error> = OnceLock::new();

/// Returns true if nobody reads the output any more, so that long work can end.
pub fn is_closed() -> bool {
    BROKEN.get().is_some()
}

/// Returns why output was lost; `None` if its reader closed it.
pub fn lost_output() -> Option<&'static io::Error> {
    BROKEN.get().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

/// Returns the columns of a terminal; `None` for a file or a pipe.
pub fn terminal_width(stream: impl AsFd) -> Option<usize> {
    terminal_size::terminal_size_of(stream).map(|(width, _)| usize::from(width.0))
}

/// Returns the columns of the terminal, within the range that tables need; the usual number without
/// a terminal.
pub fn table_width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| terminal_width(io::stdout()).map_or(100, |width| width.clamp(80, 120)))
}

/// Returns the columns for sentences: those of the terminal, as long as they are readable;
/// `elsewhere` without a terminal.
pub fn prose_width(elsewhere: usize) -> usize {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    let found = WIDTH.get_or_init(|| terminal_width(io::stdout()));
    found.map_or(elsewhere, |width| width.clamp(40, 100))
}

pub use portcullis_config::clock::format_utc as time;
