//! Files of settings that options and variables name: a file that is there is read as the settings
//! that it holds, each as the option or the key that it is. One that is not there, or that is known
//! only when the program runs, is a gap.

use super::expand::Field;
use super::simple::Call;
use super::{Setting, Walker};
use crate::autoruns::{self, Format};
use crate::places;

/// The most settings of a file that are followed.
const SETTINGS: usize = 256;
/// The limit on them.
const MORE: &str = "more settings than are read in a file";
/// Commands of a terminal's settings that start a program.
const STARTS: &[&str] = &["exec ", "screen ", "shell ", "backtick "];

impl Walker<'_> {
    /// Follows a file of settings in a format.
    pub(super) fn named_settings(
        &mut self,
        format: &str,
        label: &str,
        value: &Field,
        command: Option<u32>,
        setting: &Setting,
    ) {
        if value.text.contains("://") {
            return self.package_source("address", value, command, setting);
        }
        let nothing = matches!(value.text.as_str(), "" | "none" | "/dev/null" | "-");
        let (path, certain) = places::resolve(&value.text, &self.env.folder);
        // The person's own settings, which count without the option too.
        let own = path.strip_prefix(self.home).is_some_and(|rest| rest.starts_with("/."));
        if nothing || own && !self.home.is_empty() && !self.files.contains_key(&path) {
            return;
        }
        if !certain {
            return self.out.gap("settings that are known only when they are used");
        }
        self.foreign_hooks(label, value);
        self.mind_missing(&value.text, setting);
        let Some(text) = self.commands_in(&value.text, command, setting) else {
            return self.foreign_file(value, command, setting);
        };
        let lines = pairs(&text);
        if lines.len() > SETTINGS {
            self.out.limit(MORE);
        }
        let lines = lines.into_iter().take(SETTINGS);
        let field = |text: &str| Field { known: true, ..Field::plain(text, value.span) };
        match format {
            "ssh" => {
                for part in autoruns::list_parts(Format::Ssh, &text).0 {
                    self.nested(&field(&part.text), label, setting);
                }
            }
            "git" => {
                for (key, given) in autoruns::list_git_settings(&text) {
                    self.configured("git", &key, &field(&given), command, setting);
                }
            }
            "cargo" => {
                for (key, given) in lines {
                    self.configured("cargo", &key, &field(&given), command, setting);
                }
            }
            "npm" | "pip" => {
                for (key, given) in lines {
                    let name = key.rsplit(['.', ':']).next().unwrap_or(&key);
                    let source = ["registry", "index-url", "extra-index-url", "find-links"];
                    if source.contains(&name) {
                        for address in given.split_ascii_whitespace() {
                            self.package_source("registry", &field(address), command, setting);
                        }
                    }
                    self.configured("npm", &key, &field(&given), command, setting);
                }
            }
            "maven" => {
                let urls = text.split("<url>").skip(1).filter_map(|rest| rest.split('<').next());
                for address in urls.take(SETTINGS) {
                    self.package_source("registry", &field(address.trim()), command, setting);
                }
            }
            "wget" => {
                let mut fields = vec![field("wget")];
                let words = lines.map(|(key, given)| match given.as_str() {
                    "on" | "1" | "yes" => format!("--{}", key.replace('_', "-")),
                    _ => format!("--{}={given}", key.replace('_', "-")),
                });
                fields.extend(words.map(|word| field(&word)));
                let call = Call { end: value.span.end, ..Call::default() };
                self.run(&fields, &call, setting);
            }
            "screen" => {
                let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
                for line in lines.take(SETTINGS) {
                    let started = STARTS.iter().find_map(|start| line.strip_prefix(start));
                    if let Some(started) = started {
                        let words = started.split_ascii_whitespace();
                        let words: Vec<&str> = words
                            .skip_while(|word| {
                                word.starts_with('-') || word.bytes().all(|b| b.is_ascii_digit())
                            })
                            .collect();
                        self.nested(&field(&words.join(" ")), label, setting);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the settings in lines of the form `KEY = VALUE`, with the name of their section before
/// the key.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut pairs = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = format!("{}.", name.trim().trim_matches('"'));
        } else if let Some((key, value)) = line.split_once('=')
            && !line.starts_with(['#', ';', '!'])
        {
            let value = value.trim().trim_matches(['"', '\'']).to_owned();
            pairs.push((format!("{section}{}", key.trim()).to_ascii_lowercase(), value));
        }
    }
    pairs
}
