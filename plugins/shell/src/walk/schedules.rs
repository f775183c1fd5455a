//! Jobs in files that something starts later: tables of jobs, units, property lists. Their lines
//! are read as the commands that they are, so that their effects count with the schedule.

use super::expand::Field;
use super::feed::Feed;
use super::scripts::Manner;
use super::simple::Call;
use super::{Setting, Walker};
use crate::autoruns::{Format, list_parts};
use crate::catalogue::Plan;
use crate::places;
use crate::syntax::Span;
use crate::types::Direction;
use std::rc::Rc;

/// Subcommands of `systemctl` and `launchctl` that start a unit, now or later.
const STARTS: &[&str] = &[
    "bootstrap",
    "enable",
    "kickstart",
    "link",
    "load",
    "reenable",
    "reload-or-restart",
    "restart",
    "start",
    "submit",
];
/// The folder of a person's own units.
const UNITS: &str = ".config/systemd/user";

impl Walker<'_> {
    /// Reads the jobs that a command schedules.
    pub(super) fn scheduled(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let operands: Vec<Field> =
            plan.operands.iter().filter_map(|at| rest.get(*at)).cloned().collect();
        match name {
            "crontab" => self.cron_table(rest, &operands, call, command, setting),
            "systemctl" | "launchctl" => {
                let starts = |field: &Field| STARTS.contains(&field.text.as_str());
                if rest.iter().any(starts) {
                    for field in operands.iter().filter(|field| !starts(field)).take(8) {
                        self.unit(name, field, rest, command, setting);
                    }
                }
            }
            _ => self.at_time(name, rest, call, command, setting),
        }
    }

    fn cron_table(
        &mut self,
        rest: &[Field],
        operands: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if rest.iter().any(|field| matches!(field.text.as_str(), "-l" | "-r" | "-e")) {
            return;
        }
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let named = operands.last().filter(|field| field.text != "-");
        let named = named.cloned().or_else(|| read_from(call, span));
        if let Some(file) = named {
            return self.jobs_in(&file, Format::Crontab(false), command, setting);
        }
        self.unseen(call.input.source, command, setting);
        let Some(text) = call.input.text.clone() else { return };
        let (parts, _) = list_parts(Format::Crontab(false), &text);
        for part in parts {
            let quiet = Setting { input: Feed::default(), ..setting.clone() };
            self.nested(&Field::plain(&part.text, span), "crontab", &quiet);
        }
    }

    /// Reads what `at` runs: the file of a flag, or its input.
    fn at_time(
        &mut self,
        name: &str,
        rest: &[Field],
        call: &Call,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let span = rest.first().map_or_else(Span::default, |field| field.span);
        let flag = rest.iter().position(|field| field.text == "-f");
        let file = flag.and_then(|at| rest.get(at + 1)).cloned();
        let quiet = Setting { input: Feed::default(), ..setting.clone() };
        if let Some(text) = call.input.text.as_deref().filter(|_| file.is_none()) {
            self.nested(&Field::plain(text, span), name, &quiet);
        } else if let Some(file) = file.or_else(|| read_from(call, span)) {
            let (path, _) = places::resolve(&file.text, &self.env.folder);
            self.run_script(&file, &path, None, Manner::Interpreted, &[], command, &quiet);
        } else {
            self.unseen(call.input.source, command, setting);
        }
    }

    /// Reads a unit of systemd or a property list: a file that is named, or one of the person's
    /// own.
    fn unit(
        &mut self,
        name: &str,
        field: &Field,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        if name == "launchctl" {
            if field.text.ends_with(".plist") {
                self.jobs_in(field, Format::PropertyList, command, setting);
            }
            return;
        }
        let stem = field.text.strip_suffix(".timer").unwrap_or(&field.text);
        let file =
            if stem.ends_with(".service") { stem.to_owned() } else { format!("{stem}.service") };
        let own = rest.iter().any(|field| field.text == "--user") && !self.home.is_empty();
        let text = match (file.contains('/'), own) {
            (true, _) => file,
            (false, true) => format!("{}/{UNITS}/{file}", self.home),
            (false, false) => return,
        };
        self.jobs_in(&Field { text, ..field.clone() }, Format::Unit, command, setting);
    }

    /// Reads the commands of a file, each in a shell of its own.
    fn jobs_in(&mut self, file: &Field, format: Format, command: Option<u32>, setting: &Setting) {
        let (path, _) = places::resolve(&file.text, &self.env.folder);
        let Some(text) = self.open_script(&path, false, command, setting) else { return };
        let (parts, more) = list_parts(format, &text);
        if more {
            self.out.limit("more jobs than are read");
        }
        let lines: Vec<String> = parts.into_iter().map(|part| part.text).collect();
        let whole: Rc<str> = text;
        let quiet = Setting { input: Feed::default(), ..setting.clone() };
        self.run_lines((&path, &whole), "job", &lines, None, file.span, command, &quiet);
    }
}

/// Returns the file that a command reads as its input.
fn read_from(call: &Call, span: Span) -> Option<Field> {
    let input = call.redirections.iter().rev().find(|redirection| redirection.descriptor == 0)?;
    let reads = input.direction == Direction::Input && input.target.known;
    reads.then(|| Field::plain(&input.target.text, span))
}
