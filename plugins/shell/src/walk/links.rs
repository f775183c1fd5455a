//! Links that a command line makes and then goes through: what is done to such a link is done to what it
//! leads to. Links that are there already are the host's business, who can look at the disk.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::types::EffectKind;

/// Most links of one command line that are followed.
const LINKS: usize = 16;

impl Walker<'_> {
    /// `ln`, and `cp` where it links in place of copying.
    pub(super) fn note_links(&mut self, name: &str, rest: &[Field], plan: &Plan) {
        let flag = |letter: char, long: &[&str]| {
            plan.flags.iter().filter_map(|at| rest.get(*at)).any(|field| {
                let text = field.text.as_str();
                long.contains(&text) || (text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
            })
        };
        let symbolic = flag('s', &["--symbolic", "--symbolic-link"]);
        if name == "cp" && !symbolic && !flag('l', &["--link"]) {
            return;
        }
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let named = rest.iter().position(|field| field.text == "-t" || field.text == "--target-directory").and_then(|at| rest.get(at + 1));
        let here = Field::plain(".", crate::syntax::Span::default());
        let (target, sources) = match (named, operands.split_last()) {
            (Some(folder), Some(_)) => (folder, operands.as_slice()),
            (None, Some((only, []))) => (&here, std::slice::from_ref(only)),
            (None, Some((last, sources))) => (*last, sources),
            (_, None) => return,
        };
        let (at, known) = places::resolve(&target.text, &self.env.folder);
        for source in sources.iter().filter(|_| known) {
            let from = if symbolic { at.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned() } else { self.env.folder.clone() };
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

    /// The path with the links of this command line followed one by one, before `..` goes up from there.
    pub(super) fn as_the_system_goes(&self, text: &str) -> String {
        let whole = if text.starts_with('/') { text.to_owned() } else { format!("{}/{text}", self.env.folder) };
        let mut path = String::new();
        for part in whole.split('/').filter(|part| !part.is_empty() && *part != ".").take(256) {
            if part == ".." {
                path.truncate(path.rfind('/').unwrap_or(0));
                continue;
            }
            path.push('/');
            path.push_str(part);
            if let Some((_, to)) = self.links.iter().find(|(link, _)| *link == path) {
                path.clone_from(to);
            }
        }
        path
    }

    /// Notes what is done to a path once more, for where a link of this command line leads.
    pub(super) fn through_links(
        &mut self,
        kind: &EffectKind,
        path: &str,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let led: Vec<String> = self
            .links
            .iter()
            .filter_map(|(link, to)| {
                let rest = path.strip_prefix(link.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
            })
            .filter(|led| led != path)
            .collect();
        for led in led {
            self.push(kind.clone(), led, recursive, certain, command, setting);
        }
    }
}
