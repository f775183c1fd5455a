//! Names that a command line makes for other places, and then goes through: links, copies that are
//! links, and folders mounted at a second place. An effect on such a name is an effect on what it
//! leads to. Links on the disk are the business of the host, which can look there.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::feed::Feed;
use super::{Setting, Walker};
use crate::catalogue::Plan;
use crate::places;
use crate::types::EffectKind;

/// Programs that remove a link when given one.
const UNLINKING: &[&str] = &["grm", "grmdir", "gunlink", "rm", "rmdir", "unlink"];

/// Programs that move one.
const MOVING: &[&str] = &["mv", "gmv"];

/// The maximum number of names of one command line that are followed.
const LINKS: usize = 48;
/// The maximum number of places that one path leads to.
const LED: usize = 24;
/// The limit on both.
const MORE: &str = "more links than are followed";

/// A name, and the place that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub at: String,
    /// It holds [`UNKNOWN`] if the place is known only when the line runs.
    pub to: String,
    /// Removing the name leaves the place.
    pub removable: bool,
    /// It holds for later command lines too, and does not show on the disk.
    pub lasting: bool,
}

impl Link {
    /// Returns the place that a path leads to through the name.
    fn lead(&self, path: &str, removes: bool) -> Option<String> {
        let rest = self.rest_of(path)?;
        if rest.is_empty() && removes && self.removable {
            return None;
        }
        let to = if self.to.contains(UNKNOWN) { "" } else { self.to.trim_end_matches('/') };
        Some(match (to, rest) {
            ("", _) if self.to.contains(UNKNOWN) => UNKNOWN.to_string(),
            ("", "") => "/".to_owned(),
            (to, rest) => format!("{to}{rest}"),
        })
    }

    /// Returns the part of a path below the name, which a pattern may name too.
    fn rest_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        if let Some(rest) = path.strip_prefix(self.at.as_str()) {
            return Some(rest).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        }
        if !places::is_glob(path) {
            return None;
        }
        let depth = self.at.matches('/').count();
        let end = path.match_indices('/').nth(depth).map_or(path.len(), |(at, _)| at);
        let (start, rest) = path.split_at_checked(end)?;
        // A pattern that deletes a link itself leaves its target.
        (!rest.is_empty() && super::parameters::fits(&self.at, start)).then_some(rest)
    }
}

impl Walker<'_> {
    /// Notes links made by `ln`, and by `cp` if it links in place of copying.
    pub(super) fn note_links(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        let flag = |letters: &[char], long: &[&str]| has_flag(rest, plan, letters, long);
        let symbolic = flag(&['s'], &["--symbolic", "--symbolic-link"]);
        if name == "cp" && !symbolic && !flag(&['l'], &["--link"]) {
            return;
        }
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let named = target_folder(rest, plan);
        let here = Field::plain(".", crate::syntax::Span::default());
        let only_itself = flag(&['T'], &["--no-target-directory"]);
        let (target, sources) = match (&named, operands.split_last()) {
            (Some(folder), Some(_)) => (folder, operands.as_slice()),
            (None, Some((only, []))) => (&here, std::slice::from_ref(only)),
            (None, Some((last, sources))) => (*last, sources),
            (_, None) => return,
        };
        let text = target.text.as_str();
        let folder = named.is_some() || is_folder(text);
        // With `-r` the text of a link is worked out from the current folder.
        let relative = flag(&['r'], &["--relative"]);
        for source in sources {
            let file = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            let inside =
                Field { text: format!("{}/{file}", text.trim_end_matches('/')), ..target.clone() };
            let way = if relative { Way::Relative } else { Way::of(symbolic) };
            if !folder || only_itself && named.is_none() {
                self.lead(target, source, way, command, setting);
            }
            if folder || !only_itself {
                self.lead(&inside, source, way, command, setting);
            }
        }
    }

    /// Notes a link at a path, which code makes.
    pub(super) fn note_link(
        &mut self,
        at: &Field,
        to: &Field,
        symbolic: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        self.lead(at, to, Way::of(symbolic), command, setting);
    }

    /// Notes folders that a call mounts at a second place: `mount --bind A B`.
    pub(super) fn note_mounts(
        &mut self,
        name: &str,
        rest: &[Field],
        plan: &Plan,
        command: Option<u32>,
        setting: &Setting,
    ) {
        const LONG: &[&str] = &["--bind", "--rbind", "--move"];
        let option = |field: &Field| {
            let text = field.text.as_str();
            let options = text.strip_prefix("--options=").or_else(|| text.strip_prefix("-o"));
            options.unwrap_or(text).split(',').any(|option| matches!(option, "bind" | "rbind"))
        };
        let binds = name == "bindfs"
            || has_flag(rest, plan, &['B', 'R', 'M'], LONG)
            || rest.iter().any(option);
        if !binds {
            return;
        }
        let value = |flag: &str| super::rehearsals::flag_value(rest, &[flag]);
        let operands: Vec<&Field> = plan.operands.iter().filter_map(|at| rest.get(*at)).collect();
        let given = |flag: &str| value(flag).map(|text| Field::plain(text, <_>::default()));
        let (from, to) = match operands.as_slice() {
            [.., from, to] => (Some((*from).clone()), Some((*to).clone())),
            [one] if value("--source").is_some() => (given("--source"), Some((*one).clone())),
            [one] => (Some((*one).clone()), given("--target")),
            [] => (given("--source"), given("--target")),
        };
        if let (Some(from), Some(to)) = (from, to) {
            self.lead(&to, &from, Way::Mounted, command, setting);
        }
    }

    /// Notes the folders that a sandbox sees at other places: `bwrap --bind A B`.
    pub(super) fn note_binds(&mut self, rest: &[Field], command: Option<u32>, setting: &Setting) {
        for three in rest.windows(3) {
            if let [flag, from, to] = three
                && matches!(
                    flag.text.as_str(),
                    "--bind" | "--bind-try" | "--dev-bind" | "--dev-bind-try" | "--symlink"
                )
            {
                self.lead(to, from, Way::Bound, command, setting);
            }
        }
    }

    /// Notes that links get other names, or that a copy of them is made.
    fn pass_on_links(&mut self, from: &str, names: &[String]) {
        let moved: Vec<Link> = self
            .links
            .iter()
            .filter_map(|link| {
                let rest = link.at.strip_prefix(from)?;
                let inside = rest.is_empty() || rest.starts_with('/');
                let all = names.iter().filter(|_| inside).map(|name| format!("{name}{rest}"));
                Some(all.map(|at| Link { at, ..link.clone() }).collect::<Vec<_>>())
            })
            .flatten()
            .collect();
        moved.into_iter().for_each(|link| self.add_link(link));
    }

    /// Notes the other names that links get with their folders.
    pub(super) fn rename_links(&mut self, sources: &[&Field], target: Option<(&Field, bool)>) {
        let Some((target, named)) = target else { return };
        let (to, known) = places::resolve(&target.text, &self.env.folder);
        for source in sources.iter().filter(|_| known) {
            let (from, _) = places::resolve(&source.text, &self.env.folder);
            let name = from.rsplit('/').next().unwrap_or("");
            let inside = format!("{}/{name}", to.trim_end_matches('/'));
            let itself = (!named && !is_folder(&target.text)).then(|| to.clone());
            let names: Vec<String> = itself.into_iter().chain([inside]).collect();
            self.pass_on_links(&from, &names);
        }
    }

    fn lead(&mut self, at: &Field, to: &Field, way: Way, command: Option<u32>, setting: &Setting) {
        let (at, known) = places::resolve(&at.text, &self.env.folder);
        if !known || at.contains(UNKNOWN) {
            // The name itself is known only when it runs: any later path may go through it.
            return;
        }
        // A symbolic link's text starts at the link, any other at the current folder.
        let from = match way {
            Way::Symbolic => at.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned(),
            Way::Relative | Way::Hard | Way::Mounted | Way::Bound => self.env.folder.clone(),
        };
        let (place, certain) = places::resolve(&to.text, &from);
        let known = certain && to.known && !place.contains(UNKNOWN);
        let place = if known { place } else { UNKNOWN.to_string() };
        if way == Way::Hard && known {
            self.note_second_name(&place, &at, command, setting);
        }
        let content = self.content_of(&place).filter(|content| content.source.is_unseen());
        if let Some(content) = content.filter(|_| place != at) {
            self.files.insert(at.clone(), content);
        }
        if place != at {
            let mounted = matches!(way, Way::Mounted | Way::Bound);
            self.add_link(Link {
                at,
                to: place,
                removable: !mounted,
                lasting: way == Way::Mounted,
            });
        }
    }

    /// Notes a second name of a file: no later look at it shows where the first one is.
    fn note_second_name(&mut self, file: &str, at: &str, command: Option<u32>, setting: &Setting) {
        if places::is_secret(file, self.home) || self.is_tainted(file) {
            self.tainted.insert(at.to_owned());
        }
        let changed = EffectKind::FileModify;
        let (mut kinds, _) = places::consequences(&changed, file, false, self.home);
        kinds.extend((!kinds.is_empty()).then_some(changed));
        for kind in kinds {
            self.push(kind, file.to_owned(), false, false, command, setting);
        }
    }

    fn add_link(&mut self, link: Link) {
        if self.links.contains(&link) {
            return;
        }
        if self.links.len() < LINKS {
            self.links.push(link);
        } else {
            self.out.limit(MORE);
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
            if let Some(link) = self.links.iter().rev().find(|link| link.at == here) {
                path.clone_from(&link.to);
            }
        }
        Some(path)
    }

    /// Returns true if the path goes through a link that this command line makes, and does not
    /// remove that link itself.
    pub(super) fn is_led(&self, path: &str) -> bool {
        self.links.iter().any(|link| {
            path.strip_prefix(link.at.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Returns the places that a path leads to through the links of this command line, one link
    /// after the other. `removes` is true if a link at its end is only removed.
    pub(super) fn places_behind(&mut self, path: &str, removes: bool) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut at = 0;
        let mut next = Some(path.to_owned());
        while let Some(here) = next {
            self.step(self.links.len());
            let led: Vec<String> =
                self.links.iter().filter_map(|link| link.lead(&here, removes)).collect();
            for place in led.into_iter().filter(|place| place != path) {
                if found.contains(&place) {
                    continue;
                }
                if found.len() >= LED {
                    self.out.limit(MORE);
                    return found;
                }
                found.push(place);
            }
            next = found.get(at).cloned();
            at += 1;
        }
        found
    }

    /// Returns the last place that a path leads to, as `realpath` prints it.
    pub(super) fn last_place(&self, path: &str, whole: bool) -> Option<String> {
        let mut here = path.to_owned();
        let mut led = false;
        for _ in 0..LED {
            let Some(place) = self.links.iter().rev().find_map(|link| link.lead(&here, false))
            else {
                break;
            };
            led = true;
            here = place;
            if !whole {
                break;
            }
        }
        led.then_some(here)
    }

    /// Returns the output of `readlink` and `realpath` for a link of this command line.
    pub(super) fn leads_on(
        &self,
        name: &str,
        file: Option<&Field>,
        rest: &[Field],
    ) -> Option<Feed> {
        let (path, certain) = places::resolve(&file?.text, &self.env.folder);
        let flags = rest.iter().filter(|field| field.text.starts_with('-'));
        let whole = name == "realpath" || flags.count() > 0;
        let place = self.last_place(&path, whole).filter(|_| certain)?;
        let known = !place.contains(UNKNOWN);
        Some(if known { Feed::of_text(&place) } else { Feed::default() })
    }

    /// Returns the folder that `pwd` prints: with `-P`, that behind the links of this command line.
    pub(super) fn folder_shown(&self, rest: &[Field]) -> String {
        let physical = self.env.physical
            || rest.iter().any(|field| field.text.starts_with('-') && field.text.contains('P'));
        let folder = &self.env.folder;
        let behind = self.last_place(folder, true).filter(|_| physical);
        behind.unwrap_or_else(|| folder.clone())
    }

    /// Notes an effect on a path once more, for the places behind the links of this command line.
    pub(super) fn through_links(
        &mut self,
        kind: &EffectKind,
        path: &str,
        recursive: bool,
        certain: bool,
        command: Option<u32>,
        setting: &Setting,
    ) {
        // Removing a link leaves its target, unless a slash says that the folder is meant.
        let program = self.program_of(command).unwrap_or_default();
        let unlinks = *kind == EffectKind::FileDelete && UNLINKING.contains(&program);
        // So does moving it; the folder that something is moved to is another matter.
        let moves = *kind == EffectKind::FileModify && recursive && MOVING.contains(&program);
        let removes = !self.enters && (unlinks || moves);
        for place in self.places_behind(path, removes) {
            if !place.contains(UNKNOWN) {
                self.on_place(
                    kind.clone(),
                    place.clone(),
                    place,
                    recursive,
                    certain,
                    command,
                    setting,
                );
                continue;
            }
            if *kind == EffectKind::FileDelete {
                self.out.gap("what is deleted is known only when it runs");
            }
            self.push(kind.clone(), String::new(), recursive, false, command, setting);
        }
    }
}

/// The way in which a name leads to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Symbolic,
    /// Symbolic, with a target that is given from the current folder.
    Relative,
    Hard,
    Mounted,
    /// Mounted for the processes of a sandbox alone.
    Bound,
}

impl Way {
    const fn of(symbolic: bool) -> Self {
        if symbolic { Self::Symbolic } else { Self::Hard }
    }
}

/// Returns the folder that a call names by an option: `-t DIR`, `-st DIR`, `-tDIR`,
/// `--target-directory=DIR`.
pub(super) fn target_folder(rest: &[Field], plan: &Plan) -> Option<Field> {
    plan.flags.iter().find_map(|at| {
        let field = rest.get(*at)?;
        let text = field.text.as_str();
        if let Some(folder) = text.strip_prefix("--target-directory=") {
            return Some(Field { text: folder.to_owned(), ..field.clone() });
        }
        if text == "--target-directory" {
            return rest.get(at + 1).cloned();
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        let (before, folder) = letters.split_once('t')?;
        // The text behind these letters is their value.
        if before.contains(['S', 'g', 'm', 'o']) {
            return None;
        }
        match folder {
            "" => rest.get(at + 1).cloned(),
            folder => Some(Field { text: folder.to_owned(), ..field.clone() }),
        }
    })
}

/// Returns true for a name that only a folder can have.
fn is_folder(text: &str) -> bool {
    matches!(text, "." | "..") || ["/", "/.", "/.."].iter().any(|end| text.ends_with(end))
}

/// Returns true for one of these letters among the flags of a call, or one of these long flags.
pub(super) fn has_flag(rest: &[Field], plan: &Plan, letters: &[char], long: &[&str]) -> bool {
    plan.flags.iter().filter_map(|at| rest.get(*at)).any(|field| {
        let text = field.text.as_str();
        let cluster = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let cluster = cluster.map(|text| text.split(['t', 'S']).next().unwrap_or(text));
        long.contains(&text) || cluster.is_some_and(|text| text.contains(letters))
    })
}
