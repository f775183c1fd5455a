//! Permissions: files that everyone may write from now on, programs that run as their owner, and
//! whole trees.

use super::expand::Field;
use super::interpreters::language_of;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::types::EffectKind;

/// Modes in code by which everyone may write.
const OPEN: &[&str] =
    &["0o777", "0o666", "0777", "0666", "\"777\"", "'777'", "0x1ff", "S_IRWXO", "S_IWOTH"];

impl Walker<'_> {
    /// Notes a file or a folder that is made with the rights of its owner: `install -m 4755`.
    pub(super) fn sets_mode(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        let values = rest.iter().enumerate().filter_map(|(at, field)| {
            let text = field.text.as_str();
            if matches!(text, "-m" | "--mode") {
                return rest.get(at + 1).map(|field| field.text.as_str());
            }
            text.strip_prefix("--mode=").or_else(|| text.strip_prefix("-m"))
        });
        let sets = |mode: &str| {
            let octal = mode.trim_start_matches('0');
            let digits = octal.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
            if digits {
                octal.len() == 4 && octal.starts_with(['2', '4', '6'])
            } else {
                mode.split(',').any(|part| part.contains(['+', '=']) && part.ends_with('s'))
            }
        };
        if values.into_iter().any(sets) {
            self.out.form("setuid", command);
            self.plain(EffectKind::Privilege, "", false, command, setting);
        }
    }

    pub(super) fn chmod(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let Some(mode) = rest.iter().find(|field| {
            !field.text.starts_with("--")
                && field.text != "-R"
                && field.text != "-v"
                && field.text != "-f"
        }) else {
            return;
        };
        if mode.text.starts_with('-') && mode.text.len() > 1 {
            // A mode that removes permissions looks like a flag; then the first word is a file.
            if let Some(file) = plan.operands.first().and_then(|at| rest.get(*at)) {
                self.file(EffectKind::FileModify, file, plan.recursive, command, setting);
            }
        }
        let text = mode.text.as_str();
        let octal = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let last = text.chars().next_back().unwrap_or('0');
        if (octal && matches!(last, '2' | '3' | '6' | '7'))
            || (!octal
                && text.contains('w')
                && (text.starts_with(['o', 'a']) || text.starts_with("ugo"))
                && text.contains(['+', '=']))
        {
            self.out.form("chmod-777", command);
            self.opens_to_all(rest, plan, command, setting);
        }
        let gives = |part: &str| {
            part.find(['+', '='])
                .and_then(|at| part.get(at..))
                .is_some_and(|bits| bits.contains('s'))
        };
        let sets = if octal {
            text.len() == 4 && text.starts_with(['2', '4', '6', '7'])
        } else {
            text.split(',').any(gives)
        };
        if sets {
            self.out.form("setuid", command);
            self.plain(EffectKind::Privilege, "", false, command, setting);
        }
        self.whole_tree(rest, plan, command);
    }

    /// Notes a home, a folder of the system or anything else outside the project and scratch that
    /// everyone may write to from now on.
    fn opens_to_all(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let opened = plan.operands.iter().filter_map(|at| rest.get(*at)).find_map(|field| {
            let (path, certain) = places::resolve(&field.text, &self.env.folder);
            (certain && self.is_held(&path)).then_some(path)
        });
        if let Some(path) = opened {
            self.plain(EffectKind::Privilege, &path, true, command, setting);
        }
    }

    pub(super) fn whole_tree(&mut self, rest: &[Field], plan: &Plan, command: Option<u32>) {
        let top = plan.operands.iter().filter_map(|at| rest.get(*at)).any(|field| {
            let (path, _) = places::resolve(&field.text, &self.env.folder);
            let (_, forms) = places::consequences(&EffectKind::FileDelete, &path, true, self.home);
            !forms.is_empty() && field.text.starts_with(['/', '~'])
        });
        if plan.recursive && top {
            self.out.form("recursive-permissions", command);
        }
    }

    /// Notes what code opens to everyone, outside the project and scratch.
    pub(super) fn note_opened(&mut self) {
        let opens =
            |text: &str| text.contains("chmod") && OPEN.iter().any(|mode| text.contains(mode));
        let found = self.out.effects.iter().find_map(|effect| {
            let at = effect.command?;
            let command = self.out.commands.get(usize::try_from(at).ok()?)?;
            let written = effect.kind == EffectKind::FileModify && self.is_held(&effect.target);
            let coded = language_of(&command.program).is_some()
                && command.words.iter().any(|word| opens(&word.text));
            (written && coded).then(|| (at, effect.target.clone()))
        });
        if let Some((command, target)) = found {
            self.out.form("chmod-777", Some(command));
            let (kind, setting) = (EffectKind::Privilege, Setting::default());
            self.plain(kind, &target, true, Some(command), &setting);
        }
    }
}
