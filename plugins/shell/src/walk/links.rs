//! Links that a command line makes and then goes through: an effect on such a link is an effect on
//! its target. Existing links are the business of the host, which can look at the disk.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::types::EffectKind;

/// Programs that remove a link when given one.
const UNLINKING: &[&str] = &["rm", "rmdir", "unlink"];

/// The maximum number of links of one command line that are followed.
const LINKS: usize = 16;

impl Walker<'_> {
    /// Notes links made by `ln`, and by `cp` if it links in place of copying.
    pub(super) fn note_links(&mut self, name: &str, rest: &[Field], plan: &Plan) {
        let flag = |letter: char, long: &[&str]| {
            plan.flags.iter().filter_map(|at| rest.get(*at)).any(|field| {
                let text = field.text.as_str();
                long.contains(&text)
                    || (text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
            })
        };
        let symbolic = flag('s', &["--symbolic", "--symbolic-link"]);
        if name == "cp" && !symbolic && !flag('l', &["--link"]) {
            return;
        }
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let named = rest
            .iter()
            .position(|field| field.text == "-t" || field.text == "--target-directory")
            .and_then(|at| rest.get(at + 1));
        let here = Field::plain(".", crate::syntax::Span::default());
        let (target, sources) = match (named, operands.split_last()) {
            (Some(folder), Some(_)) => (folder, operands.as_slice()),
            (None, Some((only, []))) => (&here, std::slice::from_ref(only)),
            (None, Some((last, sources))) => (*last, sources),
            (_, None) => return,
        };
        let (at, known) = places::resolve(&target.text, &self.env.folder);
        for source in sources.iter().filter(|_| known) {
            // A symbolic link's text starts at the link, a hard link's at the current folder.
            let from = if symbolic {
                at.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()
            } else {
                self.env.folder.clone()
            };
            let (to, certain) = places::resolve(&source.text, &from);
            let file = to.rsplit('/').next().unwrap_or("").to_owned();
            // The target may be the link itself, or a folder to put it in.
            for link in [at.clone(), format!("{}/{file}", at.trim_end_matches('/'))] {
                if certain && link != to && self.links.len() < LINKS {
                    self.links.push((link, to.clone()));
                }
            }
        }
    }

    /// Resolves a path with `..` after a name as the system does from the shell's folder: the links
    /// of this command line are followed one by one. Links on the disk are left to those who can
    /// look there.
    pub(super) fn as_the_system_goes(&self, text: &str) -> Option<String> {
        let (whole, _) = places::reach(text, self.env.reached());
        if !places::climbs(&whole) {
            return None;
        }
        let mut path = String::new();
        for part in whole.split('/').filter(|part| !part.is_empty()).take(256) {
            path.push('/');
            path.push_str(part);
            if part == ".." {
                continue;
            }
            let here = places::normalise(&path);
            if let Some((_, to)) = self.links.iter().find(|(link, _)| *link == here) {
                path.clone_from(to);
            }
        }
        Some(path)
    }

    /// Returns true if the path goes through a link that this command line makes, and does not
    /// remove that link itself.
    pub(super) fn is_led(&self, path: &str) -> bool {
        self.links.iter().any(|(link, _)| {
            path.strip_prefix(link.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Notes an effect on a path once more, for the target of a link of this command line.
    pub(super) fn through_links(
        &mut self,
        kind: &EffectKind,
        path: &str,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // Removing a link leaves its target.
        let unlinks = *kind == EffectKind::FileDelete
            && self.program_of(command).is_some_and(|program| UNLINKING.contains(&program));
        let led: Vec<String> = self
            .links
            .iter()
            .filter_map(|(link, to)| {
                let rest = path.strip_prefix(link.as_str())?;
                (rest.is_empty() && !unlinks || rest.starts_with('/'))
                    .then(|| format!("{to}{rest}"))
            })
            .filter(|led| led != path)
            .collect();
        for led in led {
            let (kinds, _) = places::consequences(kind, &led, recursive, self.home);
            let secret = *kind == EffectKind::FileRead && !self.metadata;
            if secret && (kinds.contains(&EffectKind::SecretRead) || self.is_tainted(&led)) {
                self.note_secret(command);
                self.push(EffectKind::SecretRead, led.clone(), false, certain, command, setting);
            }
            self.push(kind.clone(), led, recursive, certain, command, setting);
        }
    }
}
