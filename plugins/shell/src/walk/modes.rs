//! Permissions: files that everyone may write from now on, programs that run as their owner, and
//! whole trees.

use super::environment::Value;
use super::expand::Field;
use super::languages::language_of;
use super::links::has_flag;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places::{self, Place};
use crate::types::EffectKind;

/// Modes in code by which everyone may write.
const OPEN: &[&str] =
    &["0o777", "0o666", "0777", "0666", "\"777\"", "'777'", "0x1ff", "S_IRWXO", "S_IWOTH"];

/// The permission by which everyone may write, and those by which a program runs as its owner or
/// with its group.
const WRITABLE: u32 = 0o002;
const AS_OWNER: u32 = 0o6000;
/// The longest mode in words that is read.
const LONGEST: usize = 256;
/// The name under which the shell's state holds that new files are open to everyone. No variable of
/// a shell can have it.
const OPEN_MASK: &str = " umask";

impl Walker<'_> {
    /// Notes a file or a folder that is made with other permissions: `install -m 4755`.
    pub(super) fn sets_mode(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let given = plan.flags.iter().find_map(|at| {
            let text = rest.get(*at)?.text.as_str();
            if text == "--mode" {
                return rest.get(at + 1).cloned();
            }
            let long = text.strip_prefix("--mode=");
            let cluster = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let short = cluster.and_then(|letters| letters.split_once('m'));
            // The text behind these letters is their value.
            let short = short.filter(|(before, _)| !before.contains(['S', 'g', 'o', 't']));
            match long.or(short.map(|(_, value)| value)) {
                Some("") => rest.get(at + 1).cloned(),
                Some(value) => Some(Field { text: value.to_owned(), ..rest.get(*at)?.clone() }),
                None => None,
            }
        });
        let Some(mode) = given else { return };
        let folder = super::links::target_folder(rest, plan);
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let all = self.program_of(command).is_some_and(|name| name.ends_with("mkdir"))
            || has_flag(rest, plan, &['d'], &["--directory"]);
        let made = match (&folder, operands.split_last()) {
            (Some(folder), _) => vec![folder],
            (None, Some(_)) if all => operands,
            (None, Some((last, _))) => vec![*last],
            (None, None) => Vec::new(),
        };
        self.note_permissions(bits_of(&mode), &made, command, setting);
    }

    pub(super) fn chmod(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let dashes = rest.iter().position(|field| field.text == "--").unwrap_or(rest.len());
        let copied = rest.iter().take(dashes).any(|field| field.text.starts_with("--reference"));
        let taken = rest.iter().take(dashes).position(|field| takes_away(&field.text));
        let first = plan.operands.first().copied();
        let operands = |from: usize| -> Vec<&Field> {
            plan.operands.iter().skip(from).filter_map(|at| rest.get(*at)).collect()
        };
        if copied {
            // The mode is that of another file.
            self.note_permissions(None, &operands(0), command, setting);
        } else if let Some(taken) = taken {
            // A mode that takes permissions away looks like a flag; then the first word is a file.
            if let Some(file) = first.and_then(|at| rest.get(at)) {
                self.file(EffectKind::FileModify, file, plan.recursive, command, setting);
            }
            let bits = rest.get(taken).map(bits_of).unwrap_or_default();
            self.note_permissions(bits, &operands(0), command, setting);
        } else if let Some(mode) = first.and_then(|at| rest.get(at)) {
            // The access lists of macOS: `+a "everyone allow write"`.
            let listed = mode.text.contains(['+', '=']) && mode.text.contains("a ");
            let listed =
                listed || matches!(mode.text.as_str(), "+a" | "+ai" | "=a" | "+a#" | "=a#");
            let bits = if listed { None } else { bits_of(mode) };
            self.note_permissions(bits, &operands(1), command, setting);
        }
        self.whole_tree(rest, plan, command);
    }

    /// Follows `setfacl`: rights of others than the owner.
    pub(super) fn access_list(
        &mut self,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let from_file = ["-M", "--modify-file", "--set-file", "--restore"];
        let read =
            rest.iter().any(|field| from_file.iter().any(|flag| field.text.starts_with(flag)));
        let value = super::rehearsals::flag_value(rest, &["-m", "--modify", "--set"]);
        let opens = |entry: &str| {
            let entry = entry.trim();
            let entry =
                entry.strip_prefix("d:").or(entry.strip_prefix("default:")).unwrap_or(entry);
            let mut parts = entry.split(':');
            let (who, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let rights = parts.next().unwrap_or(name);
            let writes = rights.contains('w')
                || rights.parse::<u32>().is_ok_and(|bits| bits & WRITABLE > 0)
                || rights.contains(super::environment::UNKNOWN);
            // The mask only limits what others have.
            writes
                && (who.starts_with('o') || !name.is_empty() && parts.next().is_none())
                && !who.starts_with('m')
        };
        let gives = read || value.is_some_and(|entries| entries.split(',').any(opens));
        if gives {
            if rest.iter().any(|field| field.text.starts_with("--restore")) {
                self.out.gap("permissions that are known only when it runs");
            }
            let files: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
            self.opens_to_all(&files, command, setting);
        }
    }

    /// Follows `umask`: what the shell makes from now on may be open to everyone.
    pub(super) fn mask_of_new_files(&mut self, rest: &[Field]) {
        let Some(mask) = rest.iter().find(|field| !matches!(field.text.as_str(), "-S" | "-p"))
        else {
            return;
        };
        let text = mask.text.as_str();
        let open = if !mask.known {
            true
        } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
            u32::from_str_radix(text, 8).is_ok_and(|mask| mask & WRITABLE == 0)
        } else {
            // In words it names what is allowed.
            bits_of(mask).is_none_or(|allowed| allowed & WRITABLE > 0)
        };
        let value = if open { Value::known("open") } else { Value::known("") };
        self.env.set(OPEN_MASK, value);
    }

    /// Notes a file outside the project and scratch that everyone may write since it was made
    /// without a mask.
    pub(super) fn note_unmasked(&mut self, path: &str, command: Option<u32>, setting: &Setting) {
        let open = self.env.get(OPEN_MASK).is_some_and(|mask| mask.text == "open");
        if open && setting.place == Place::Here && self.is_held(path) {
            self.out.form("chmod-777", command);
            self.plain(EffectKind::Privilege, path, true, command, setting);
        }
    }

    /// Notes what files get that permissions are given to; none if the permissions are known only
    /// when it runs.
    pub(super) fn note_permissions(
        &mut self,
        bits: Option<u32>,
        files: &[&Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        match bits {
            Some(bits) => {
                if bits & WRITABLE > 0 {
                    self.out.form("chmod-777", command);
                    self.opens_to_all(files, command, setting);
                }
                if bits & AS_OWNER > 0 {
                    self.out.form("setuid", command);
                    self.plain(EffectKind::Privilege, "", false, command, setting);
                }
            }
            // In the project the files are the person's own: at the worst others get the rights of
            // the person there.
            None => self.opens_to_all(files, command, setting),
        }
    }

    /// Does the same for code, in which a file of the project that everyone may write is no news.
    pub(super) fn note_permissions_in_code(
        &mut self,
        bits: Option<u32>,
        files: &[&Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let held = files.iter().any(|field| {
            let (path, certain) = places::resolve(&field.text, &self.env.folder);
            !certain || self.is_held(&path)
        });
        let bits = bits.map(|bits| if held { bits } else { bits & !WRITABLE });
        self.note_permissions(bits, files, command, setting);
    }

    /// Notes a home, a folder of the system or anything else outside the project and scratch that
    /// everyone may write to from now on.
    fn opens_to_all(&mut self, files: &[&Field], command: Option<u32>, setting: &Setting) {
        let opened = files.iter().find_map(|field| {
            let (path, certain) = places::resolve(&field.text, &self.env.folder);
            let behind = self.last_place(&path, true).unwrap_or(path);
            (certain && self.is_held(&behind)).then_some(behind)
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

/// Returns true for a mode that takes permissions away: `-w`, `-x,u+s`, `-4000`. The letters of
/// flags are others.
fn takes_away(text: &str) -> bool {
    let mode = |c: char| c.is_digit(8) || "rwxXstugoa+=,-".contains(c);
    text.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.chars().all(mode))
        && !text.starts_with("--")
}

/// Returns the permissions that a mode gives at the most; none if they are known only when it runs.
pub(super) fn bits_of(mode: &Field) -> Option<u32> {
    let text = mode.text.trim();
    if !mode.known || text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let mut bits = 0;
    for part in text.split(',') {
        bits |= given_by(part)?;
    }
    Some(bits)
}

/// Returns the permissions that one part of a mode gives: `4755`, `u+s`, `go=rw`, `o=u`.
fn given_by(part: &str) -> Option<u32> {
    let digits = part.trim_start_matches(['+', '=', '-']);
    if !digits.is_empty() && digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        let bits = u32::from_str_radix(digits, 8).ok()?;
        return Some(if part.starts_with('-') { 0 } else { bits });
    }
    let start = part.find(['+', '-', '='])?;
    let who = part.get(..start)?;
    if !who.chars().all(|c| "ugoa".contains(c)) {
        return None;
    }
    // Without a name the mask counts: it leaves the owner's rights alone as a rule.
    let (others, owners) =
        (who.contains(['o', 'a']), who.is_empty() || who.contains(['u', 'g', 'a']));
    let (mut bits, mut adds) = (0, true);
    for c in part.get(start..)?.chars() {
        match c {
            '+' | '=' => adds = true,
            '-' => adds = false,
            's' if adds && owners => bits |= AS_OWNER,
            'w' if adds && others => bits |= WRITABLE,
            // They get what the owner or the group has.
            'u' | 'g' if adds && others => bits |= WRITABLE,
            'r' | 'w' | 'x' | 'X' | 's' | 't' | 'u' | 'g' | 'o' => {}
            _ => return None,
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(mode: &str) -> Option<u32> {
        bits_of(&Field { known: true, ..Field::plain(mode, <_>::default()) })
    }

    #[test]
    fn each_notation_gives_what_it_says() {
        for prefix in ["", "0", "00", "+", "="] {
            for (mode, expected) in [
                ("4755", 0o4000),
                ("2755", 0o2000),
                ("6755", 0o6000),
                ("777", 0o002),
                ("1777", 0o002),
                ("666", 0o002),
                ("755", 0),
                ("1755", 0),
                ("644", 0),
            ] {
                let found = bits(&format!("{prefix}{mode}"));
                assert_eq!(found.map(|bits| bits & 0o6002), Some(expected), "{prefix}{mode}");
            }
        }
        for who in ["u", "g", "ug", "a", "", "ugo", "ua"] {
            for mode in ["+s", "=s", "+rxs", "=rwxs", "-w+s", "+x,u+s"] {
                let found = bits(&format!("{who}{mode}"));
                assert!(found.is_some_and(|bits| bits & AS_OWNER > 0), "{who}{mode}");
            }
        }
        for who in ["o", "a", "uo", "go", "ugo", "oa"] {
            for mode in ["+w", "=w", "=rw", "+rwx", "=u", "-x+w", "=rwX", "=,o+w"] {
                let found = bits(&format!("{who}{mode}"));
                assert!(found.is_some_and(|bits| bits & WRITABLE > 0), "{who}{mode}");
            }
        }
        for mode in [
            "+x",
            "u+x",
            "a+x",
            "go-w",
            "o-w",
            "u-s",
            "a-s",
            "-s",
            "ug-s",
            "o+s",
            "g+w",
            "u+w",
            "+w",
            "a=rx",
            "go=",
            "o=",
            "u=rwX,go=rX",
            "+t",
            "o+rx",
            "a-w",
            "-4000",
            "-x",
            "g=u",
            "ug=rw",
        ] {
            assert_eq!(bits(mode).map(|bits| bits & 0o6002), Some(0), "{mode}");
        }
        for mode in ["", "x+y", "\u{fffd}", "u+q", "0o755", "rwx", "999"] {
            assert_eq!(bits(mode), None, "{mode}");
        }
    }

    #[test]
    fn flags_are_no_modes() {
        for flag in ["-R", "-v", "-f", "-c", "-Rv", "-vR", "-H", "--recursive", "-", "--"] {
            assert!(!takes_away(flag), "{flag}");
        }
        for mode in ["-x", "-w", "-rwx", "-4000", "-s", "-x,u+s", "-w+s"] {
            assert!(takes_away(mode), "{mode}");
        }
    }
}
