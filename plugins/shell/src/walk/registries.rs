//! Files of settings that say where packages come from: what the command line writes into one
//! counts as the command or the option that sets it.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::{Setting, Walker};
use crate::syntax::Span;

/// The maximum number of lines of such a file that are looked at.
const LINES: usize = 4096;

/// The languages of such files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `key = value`, where a key that contains one of these names an index.
    Keys(&'static [&'static str]),
    Requirements,
    Gemfile,
    Cargo,
    /// The dependencies of a package of Node, and those of a crate.
    Node,
    Crate,
}

fn kind_of(path: &str) -> Option<Kind> {
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    Some(match name {
        ".npmrc" | ".yarnrc" | "bunfig.toml" => Kind::Keys(&["registry"]),
        ".yarnrc.yml" => Kind::Keys(&["npmregistryserver", "yarnpath", "plugins", "path"]),
        "pip.conf" | "pip.ini" | "uv.toml" => Kind::Keys(&["index-url", "find-links", "url"]),
        ".condarc" => Kind::Keys(&["channel_alias"]),
        "Gemfile" => Kind::Gemfile,
        "package.json" => Kind::Node,
        "Cargo.toml" => Kind::Crate,
        "config" | "config.toml" if folder == ".cargo" => Kind::Cargo,
        _ if name.ends_with(".txt") && name.contains("requirements") => Kind::Requirements,
        _ if folder == "requirements" && name.ends_with(".txt") => Kind::Requirements,
        _ => return None,
    })
}

impl Walker<'_> {
    /// Notes sources of packages that a file names and did not name before.
    pub(super) fn written_sources(
        &mut self,
        path: &str,
        before: &str,
        after: &str,
        command: Option<u32>,
    ) {
        let Some(kind) = kind_of(path) else { return };
        let setting = Setting::default();
        let known: Vec<&str> = before.lines().map(str::trim).collect();
        for line in after.lines().map(str::trim).take(LINES) {
            if line.is_empty() || line.starts_with(['#', ';']) || known.contains(&line) {
                continue;
            }
            for (family, text) in sources_of(kind, line) {
                let source = Field::plain(&text, Span::default());
                self.package_source(family, &source, command, &setting);
            }
        }
    }
}

/// Returns the sources that a line names, each with its family.
fn sources_of(kind: Kind, line: &str) -> Vec<(&'static str, String)> {
    let value = |text: &str| text.trim().trim_matches(['"', '\'', ',']).to_owned();
    match kind {
        Kind::Keys(names) => {
            let parted = line.split_once('=').or_else(|| line.split_once(": "));
            let parted = parted.or_else(|| line.split_once(' '));
            let Some((key, given)) = parted else { return Vec::new() };
            let key = key.trim().trim_matches('"').to_ascii_lowercase();
            let given = value(given);
            if matches!(key.trim_start_matches("- "), "yarnpath" | "path" | "spec") {
                // Yarn keeps its own releases in a folder of its own.
                let own = given.starts_with(".yarn/") || given.starts_with("./.yarn/");
                return if own { Vec::new() } else { vec![("any", given)] };
            }
            let named = names.iter().any(|name| key.contains(name));
            if named { vec![("registry", given)] } else { Vec::new() }
        }
        Kind::Requirements => {
            const FLAGS: &[&str] =
                &["--index-url", "--extra-index-url", "--find-links", "-i", "-f"];
            let flag = FLAGS.iter().find_map(|flag| line.strip_prefix(flag));
            match flag.filter(|rest| rest.starts_with(['=', ' '])) {
                Some(rest) => vec![("registry", value(rest.trim_start_matches('=')))],
                None => {
                    let line = line.strip_prefix("-e ").unwrap_or(line);
                    vec![("requirement", value(line.split(" #").next().unwrap_or(line)))]
                }
            }
        }
        Kind::Gemfile => {
            let source =
                line.strip_prefix("source").map(|rest| rest.trim_start_matches(['(', ' ']));
            let quoted = source.filter(|rest| rest.starts_with(['"', '\'']));
            let address = quoted.and_then(|rest| rest.get(1..)?.split(['"', '\'']).next());
            address.map(|text| ("registry", text.to_owned())).into_iter().collect()
        }
        Kind::Node => line.split([',', '{']).filter_map(of_package).collect(),
        Kind::Crate => of_crate(line).into_iter().collect(),
        Kind::Cargo => {
            let Some((key, given)) = line.split_once('=') else { return Vec::new() };
            let key = key.trim();
            let names = ["registry", "index", "git"];
            let given = value(given);
            let address = given.contains("://") || given.contains(UNKNOWN);
            if address && names.iter().any(|name| key == *name || key.ends_with(name)) {
                return vec![("registry", given.trim_start_matches("sparse+").to_owned())];
            }
            Vec::new()
        }
    }
}

/// Returns the address among the members of a package of Node that a dependency is taken from.
fn of_package(member: &str) -> Option<(&'static str, String)> {
    // What a package says of itself.
    const OWN: &[&str] = &[
        "$schema",
        "author",
        "bugs",
        "email",
        "funding",
        "homepage",
        "license",
        "name",
        "registry",
        "repository",
        "resolved",
        "url",
    ];
    const STARTS: &[&str] = &["bitbucket:", "gist:", "git+", "git:", "git@", "github:", "gitlab:"];
    let (key, value) = member.split_once("\":")?;
    let key = key.trim().trim_matches('"');
    let value = value.trim().trim_matches(['"', '}', ' ', '\n']);
    let archive = value.starts_with("http") && {
        let path = value.split(['?', '#']).next().unwrap_or(value);
        [".tgz", ".tar.gz", ".git", ".zip"].iter().any(|end| path.ends_with(end))
    };
    let source = archive || STARTS.iter().any(|start| value.starts_with(start));
    (source && !OWN.contains(&key) && !value.contains(' ')).then(|| ("npm", value.to_owned()))
}

/// Returns the repository that a crate is taken from. One of a known forge at a commit or a tag
/// stays as it was seen.
fn of_crate(line: &str) -> Option<(&'static str, String)> {
    const FORGES: &[&str] =
        &["https://github.com/", "https://gitlab.com/", "https://codeberg.org/"];
    let at = line.find("git = \"").or_else(|| line.find("git=\""))?;
    let before = line.get(..at)?.trim_end();
    if !(before.is_empty() || before.ends_with(['{', ','])) {
        return None;
    }
    let address = line.get(at..)?.split('"').nth(1)?;
    let fixed = ["rev", "tag"].iter().any(|key| line.contains(&format!("{key} =")));
    let seen = fixed && FORGES.iter().any(|forge| address.starts_with(forge));
    (!seen).then(|| ("address", address.to_owned()))
}
