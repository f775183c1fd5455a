//! Access for other machines: folders that a web server shows, and debuggers that listen to
//! everybody.

use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue::{Item, Plan};
use crate::places;
use crate::types::EffectKind;

/// Programs that show a folder to whoever asks.
const SERVERS: &[&str] = &[
    "busybox",
    "caddy",
    "darkhttpd",
    "http-server",
    "live-server",
    "php",
    "python-module",
    "ruby",
    "serve",
    "static-server",
];
/// Runtimes with a debugger.
const RUNTIMES: &[&str] = &["bun", "deno", "java", "node", "nodemon", "ts-node", "tsx"];

impl Walker<'_> {
    /// Leaves out of a plan that data goes to others, if all that a server shows is a folder of the
    /// project: its pages are meant to be seen.
    pub(super) fn serve_own(&self, name: &str, rest: &[Field], plan: &mut Plan) {
        if !SERVERS.contains(&name) {
            return;
        }
        let shown: Vec<String> = plan
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Word(EffectKind::FileRead, at) => rest.get(*at).map(|f| f.text.clone()),
                Item::Value(EffectKind::FileRead, value) => Some(value.clone()),
                Item::Constant(EffectKind::FileRead, path) => Some((*path).to_owned()),
                _ => None,
            })
            .collect();
        let own = |folder: &String| {
            let (path, known) = places::resolve(folder, &self.env.folder);
            known
                && !self.project.is_empty()
                // The root of a project also holds its history and its settings, which are no
                // pages.
                && path != self.project
                && places::is_below(&path, self.project)
                && !path.split('/').any(|part| part == ".git")
        };
        if !shown.is_empty() && shown.iter().all(own) {
            plan.items.retain(|item| !matches!(item, Item::Constant(EffectKind::Send, _)));
        }
    }

    /// Notes a debugger that runs whatever any machine asks it to.
    pub(super) fn note_debugger(
        &mut self,
        name: &str,
        rest: &[Field],
        command: Option<u32>,
        setting: &Setting,
    ) {
        let everybody = |address: &str| {
            ["0.0.0.0", "[::]", "::", "*"].iter().any(|any| {
                address
                    .strip_prefix(any)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            })
        };
        let listens = RUNTIMES.contains(&name)
            && rest.iter().any(|field| {
                let inspected = field
                    .text
                    .split_once('=')
                    .filter(|(flag, _)| flag.starts_with("--inspect"))
                    .is_some_and(|(_, address)| everybody(address));
                let attached = field.text.contains("jdwp")
                    && field.text.split_once("address=").is_some_and(|(_, address)| {
                        everybody(address.split(',').next().unwrap_or_default())
                    });
                inspected || attached
            });
        if listens {
            self.out.form("tunnel", command);
            self.plain(EffectKind::Network, "", false, command, setting);
        }
    }
}
