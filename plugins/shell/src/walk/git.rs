//! Git behaviour that the catalogue cannot express: settings that run programs.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
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
        let mut operands: Vec<&Field> =
            plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        // `git config set KEY VALUE`, as newer versions write it.
        if words.first() == Some(&"config")
            && operands.len() > 2
            && operands.first().is_some_and(|field| field.text == "set")
        {
            operands.remove(0);
        }
        // `ext::COMMAND` is an address whose command git runs to connect.
        let transports = operands.iter().copied().chain(rest).filter(|field| {
            field.text.starts_with("ext::") || field.text.starts_with("--remote=ext::")
        });
        if transports.count() > 0 {
            self.out.gap("a transport of git that runs a command");
        }
        for field in operands.iter().filter(|field| field.text.starts_with("ext::")) {
            self.nested(
                &Field { text: field.text.replacen("ext::", "", 1), ..(*field).clone() },
                "git",
                setting,
            );
        }
        let before = (self.out.effects.len(), self.out.forms.len(), self.out.gaps.len());
        if let Some(value) = operands.get(1).filter(|_| words.first() == Some(&"config")) {
            let key = operands.first().map_or("", |field| field.text.as_str());
            self.configured("git", key, value, command, setting);
        }
        if matches!(words.first(), Some(&("branch" | "commit" | "switch"))) {
            // They have a `-c` of their own after their names; this one is git's.
            let end = plan.subcommand.first().copied().unwrap_or(0);
            let own = rest.get(..end).unwrap_or_default();
            for pair in own.windows(2) {
                let [flag, value] = pair else { continue };
                if let Some((key, text)) = value.text.split_once('=').filter(|_| flag.text == "-c")
                {
                    let given = Field { text: text.to_owned(), ..value.clone() };
                    self.configured("git", key, &given, command, setting);
                }
            }
        }
        let forced = |field: &Field| {
            let low = field.text.to_ascii_lowercase();
            low.starts_with("remote.") && low.contains(".push=+") && !low.contains('\n')
        };
        if words.first() == Some(&"push") && rest.iter().any(forced) {
            self.out.form("force-push", command);
        }
        self.skip_checks(&words, plan, rest, command);
        self.stage_secrets(&words, &operands, command, setting);
        self.push_to_address(&words, rest, plan, command, setting);
        self.shown_revision(&words, &operands, command, setting);
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
            // An alias starts nothing by itself: one that only looks is no more than its text.
            let looks = key.starts_with("alias.") && self.only_looked_since(before);
            let is_command = operands.get(1).is_some_and(|field| field.text.starts_with('!'));
            let is_command = is_command && !looks;
            if operands.len() > 1
                && (runs && key != "core.editor" && key != "core.pager" || is_command)
            {
                self.plain(EffectKind::Persistence, &key, true, command, setting);
            }
        }
    }

    /// Returns true if everything that was noted after so many effects, forms and gaps only reads.
    fn only_looked_since(&self, (effects, forms, gaps): (usize, usize, usize)) -> bool {
        let added = self.out.effects.get(effects..).unwrap_or_default();
        added.iter().all(|effect| effect.kind == EffectKind::FileRead)
            && self.out.forms.len() == forms
            && self.out.gaps.len() == gaps
    }

    /// Notes a credential that is put into git by its name, and its way to others with a push.
    fn stage_secrets(
        &mut self,
        words: &[&str],
        operands: &[&Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        match words.first() {
            Some(&("add" | "stage" | "commit")) => {
                self.staged |= operands.iter().any(|field| {
                    let (path, _) = places::resolve(&field.text, &self.env.folder);
                    places::is_secret(&path, self.home)
                });
            }
            Some(&"push") if self.staged => {
                self.out.form("secret-egress", command);
                self.plain(EffectKind::Send, "origin", false, command, setting);
            }
            _ => {}
        }
    }

    /// Notes a credential whose text git shows as it was at some time: `git show HEAD~2:.env`.
    fn shown_revision(
        &mut self,
        words: &[&str],
        operands: &[&Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        if !matches!(words, ["annotate" | "archive" | "blame" | "cat-file" | "show"]) {
            return;
        }
        for field in operands {
            let named = field.text.rsplit_once(':').map_or(field.text.as_str(), |(_, path)| path);
            let (path, known) = places::resolve(named, &self.env.folder);
            if places::is_secret(&path, self.home) {
                self.note_secret(command);
                self.push(
                    EffectKind::SecretRead,
                    path,
                    false,
                    known && field.known,
                    command,
                    setting,
                );
            }
        }
    }
}
