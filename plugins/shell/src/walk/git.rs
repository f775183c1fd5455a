//! What the catalogue cannot say of git: settings that run programs.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::types::EffectKind;

impl Walker<'_> {
    /// Settings that name programs.
    pub(super) fn git(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>, setting: &Setting) {
        let words: Vec<&str> = plan.subcommand.iter().filter_map(|at| rest.get(*at)).map(|field| field.text.as_str()).collect();
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        self.git_settings(rest, setting);
        if words.first() == Some(&"config") {
            let key = operands.first().map_or("", |field| field.text.as_str()).to_ascii_lowercase();
            let runs = ["core.hookspath", "core.sshcommand", "core.pager", "core.editor", "core.fsmonitor", "credential.helper"]
                .contains(&key.as_str())
                || key.ends_with(".textconv");
            let is_command = operands.get(1).is_some_and(|field| field.text.starts_with('!'));
            if operands.len() > 1 && (runs && key != "core.editor" && key != "core.pager" || is_command) {
                self.plain(EffectKind::Persistence, &key, true, command, setting);
            }
        }
    }

    /// Settings for one call (`-c core.pager=...`) that name a program to run.
    fn git_settings(&mut self, rest: &[Field], setting: &Setting) {
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
