//! What the tables cannot say of git: refs to push, paths to check out, settings that run programs.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::types::EffectKind;

impl Walker<'_> {
    /// What git's tables cannot say: refs, paths after `--`, settings that name programs.
    pub(super) fn git(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting<'_>) {
        let words: Vec<&str> = plan.subcommand.iter().filter_map(|at| rest.get(*at)).map(|field| field.text.as_str()).collect();
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let dashes = rest.iter().position(|field| field.text == "--");
        self.git_settings(rest, setting);
        match words.first().copied() {
            Some("push") => {
                for field in operands.iter().skip(1) {
                    if field.text.starts_with('+') {
                        self.out.form("force-push", command);
                        self.plain(EffectKind::RemoteChange, "", false, command, setting);
                    } else if field.text.starts_with(':') {
                        self.out.form("delete-remote-branch", command);
                        self.plain(EffectKind::RemoteChange, "", false, command, setting);
                    }
                }
            }
            Some("checkout") => {
                let discards = dashes.is_some() || operands.iter().any(|field| field.text == ".");
                let from = dashes.map_or(0, |at| at + 1);
                if discards {
                    self.out.form("discard-changes", command);
                    for field in rest.iter().skip(from).filter(|field| !field.text.starts_with('-') && field.text != "checkout") {
                        self.file(EffectKind::FileModify, field, field.text == ".", command, setting);
                    }
                }
            }
            Some("config") => {
                let key = operands.first().map_or("", |field| field.text.as_str()).to_ascii_lowercase();
                let runs = ["core.hookspath", "core.sshcommand", "core.pager", "core.editor", "core.fsmonitor", "credential.helper"]
                    .contains(&key.as_str())
                    || key.ends_with(".textconv");
                let is_command = operands.get(1).is_some_and(|field| field.text.starts_with('!'));
                if operands.len() > 1 && (runs && key != "core.editor" && key != "core.pager" || is_command) {
                    self.plain(EffectKind::Persistence, &key, true, command, setting);
                }
            }
            _ => {}
        }
    }

    /// Settings for one call (`-c core.pager=...`) that name a program to run.
    fn git_settings(&mut self, rest: &[Field], setting: &Setting<'_>) {
        for pair in rest.windows(2) {
            let [flag, value] = pair else { continue };
            let Some((key, text)) = value.text.split_once('=').filter(|_| flag.text == "-c" || flag.text == "--config-env") else {
                continue;
            };
            let key = key.to_ascii_lowercase();
            let runs = ["pager", "editor", "sshcommand", "fsmonitor", "external", "helper", "textconv", "hookspath", "askpass", "command"]
                .iter()
                .any(|end| key.ends_with(end));
            let text = text.strip_prefix('!').or_else(|| runs.then_some(text)).unwrap_or("");
            if !matches!(text, "" | "cat" | "true" | "false" | "less" | ":" | "vim" | "vi" | "nano") {
                self.nested(&Field { text: text.to_owned(), ..value.clone() }, "git -c", setting);
            }
        }
    }
}
