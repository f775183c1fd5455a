//! Git behaviour that the catalogue cannot express: settings that run programs.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::types::EffectKind;

impl Walker<'_> {
    /// Follows settings that name programs.
    pub(super) fn git(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let words: Vec<&str> = plan
            .subcommand
            .iter()
            .filter_map(|at| rest.get(*at))
            .map(|field| field.text.as_str())
            .collect();
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        for field in operands.iter().filter(|field| field.text.starts_with("ext::")) {
            self.nested(
                &Field { text: field.text.replacen("ext::", "", 1), ..(*field).clone() },
                "git",
                setting,
            );
        }
        if let Some(value) = operands.get(1).filter(|_| words.first() == Some(&"config")) {
            let key = operands.first().map_or("", |field| field.text.as_str());
            self.configured("git", key, value, command, setting);
        }
        self.push_to_address(&words, rest, plan, command, setting);
        if words.first() == Some(&"config") {
            if rest.iter().any(|field| field.text == "--global") && operands.len() > 1 {
                // Most settings start nothing, so the file is named without the consequences of
                // changing it by hand.
                self.push(
                    EffectKind::FileModify,
                    format!("{}/.gitconfig", self.home),
                    false,
                    false,
                    command,
                    setting,
                );
            }
            let key = operands.first().map_or("", |field| field.text.as_str()).to_ascii_lowercase();
            let runs = [
                "core.hookspath",
                "core.sshcommand",
                "core.pager",
                "core.editor",
                "core.fsmonitor",
                "credential.helper",
            ]
            .contains(&key.as_str())
                || key.ends_with(".textconv");
            let is_command = operands.get(1).is_some_and(|field| field.text.starts_with('!'));
            if operands.len() > 1
                && (runs && key != "core.editor" && key != "core.pager" || is_command)
            {
                self.plain(EffectKind::Persistence, &key, true, command, setting);
            }
        }
    }
}
