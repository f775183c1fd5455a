//! The imports of a component and how the host answers them: decided by the import's name alone,
//! before any of its code is compiled or run.

use crate::grants::Grants;
use crate::load_error::LoadError;
use crate::text;
use serde::{Deserialize, Serialize};

/// The most bytes of an import's name that people are shown: an unvalidated file may hold any text.
const NAME_BYTES: usize = 200;

/// The way in which the host answers an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// One of the host's own interfaces.
    Own,
    /// Answered without an effect: no files, no variables, no arguments, a fixed clock.
    Inert,
    /// Requests to granted hosts; without any, the component does not load.
    Hosts,
    /// Not granted: the component does not load.
    Refused,
}

/// One import of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Its name, with the version: one line for people, cut and escaped. Linking uses the component
    /// itself.
    pub name: String,
    /// The way in which it is answered.
    pub tier: Tier,
}

impl Import {
    pub(crate) fn of(name: &str) -> Self {
        Self { name: text::line(text::cut(name, NAME_BYTES)), tier: tier(name) }
    }

    /// Returns the purpose of the import, as text that follows "wants to".
    #[must_use]
    pub fn import_purpose(&self) -> &'static str {
        let interface = self.name.split('@').next().unwrap_or_default();
        PURPOSES
            .iter()
            .find(|(prefix, _)| interface.starts_with(prefix))
            .map_or("use an interface of a host other than this one", |(_, words)| words)
    }

    /// Returns the line of a plugin's table of grants that would give it more than an answer
    /// without effect; none if nothing can be granted.
    #[must_use]
    pub fn grant(&self) -> Option<&'static str> {
        if !matches!(self.tier, Tier::Inert | Tier::Hosts) {
            return None;
        }
        GRANTS.iter().find(|(prefix, _)| self.name.starts_with(prefix)).map(|(_, line)| *line)
    }

    /// Returns true if a component with this import can be loaded.
    pub(crate) fn is_granted(&self, grants: &Grants) -> bool {
        match self.tier {
            Tier::Own | Tier::Inert => true,
            Tier::Hosts => !grants.hosts.is_empty(),
            Tier::Refused => false,
        }
    }

    /// Returns the error for a component that is not loaded because of this import.
    pub(crate) fn refusal(&self) -> LoadError {
        LoadError::Refused {
            import: self.name.clone(),
            wants: self.import_purpose(),
            grant: self.grant(),
        }
    }
}

const GRANTS: &[(&str, &str)] = &[
    ("wasi:cli/environment@", "environment = [\"VARIABLE\"]"),
    ("wasi:filesystem/", "directories = [\"~/FOLDER\"]"),
    ("wasi:clocks/", "clocks = true"),
    ("wasi:random/", "random = \"system\""),
    ("wasi:http/", "hosts = [\"https://HOST\"]"),
];

const PURPOSES: &[(&str, &str)] = &[
    ("portcullis:plugin/host", "write to its log and look up past steps"),
    ("portcullis:plugin/types", "share types with the host"),
    ("wasi:sockets/", "open network connections"),
    ("wasi:http/types", "send web requests"),
    ("wasi:http/outgoing-handler", "send web requests"),
    ("wasi:http/", "serve web requests"),
    ("wasi:tls/", "open encrypted network connections"),
    ("wasi:filesystem/", "open files"),
    ("wasi:cli/environment", "read environment variables and arguments"),
    ("wasi:cli/exit", "end itself"),
    ("wasi:cli/", "use standard input and output"),
    ("wasi:io/", "read and write streams"),
    ("wasi:clocks/", "read clocks"),
    ("wasi:random/", "get random numbers"),
    ("wasi:keyvalue/", "use a key-value store"),
    ("wasi:blobstore/", "use an object store"),
    ("wasi:messaging/", "send messages"),
    ("wasi:config/", "read the host's configuration"),
    ("wasi:nn/", "run a model"),
];

const INERT: &[&str] =
    &["wasi:cli/", "wasi:io/", "wasi:clocks/", "wasi:random/", "wasi:filesystem/"];

fn tier(name: &str) -> Tier {
    let (interface, version) = name.split_once('@').unwrap_or((name, ""));
    match interface {
        "portcullis:plugin/types" | "portcullis:plugin/host" => Tier::Own,
        _ if INERT.iter().any(|prefix| interface.starts_with(prefix))
            && version.starts_with("0.2.") =>
        {
            Tier::Inert
        }
        "wasi:http/types" | "wasi:http/outgoing-handler" if version.starts_with("0.2.") => {
            Tier::Hosts
        }
        _ => Tier::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_imports_into_tiers() {
        let table = [
            ("portcullis:plugin/types@0.1.0", Tier::Own, "share types"),
            ("portcullis:plugin/host@0.1.0", Tier::Own, "write to its log"),
            ("portcullis:plugin/admin@0.1.0", Tier::Refused, "another host"),
            ("wasi:cli/environment@0.2.6", Tier::Inert, "environment variables"),
            ("wasi:io/streams@0.2.0", Tier::Inert, "streams"),
            ("wasi:filesystem/types@0.2.3", Tier::Inert, "open files"),
            ("wasi:clocks/monotonic-clock@0.2.12", Tier::Inert, "clocks"),
            ("wasi:random/random@0.2.0", Tier::Inert, "random"),
            ("wasi:random/random@0.3.0", Tier::Refused, "random"),
            ("wasi:random/random", Tier::Refused, "random"),
            ("wasi:sockets/tcp@0.2.0", Tier::Refused, "network connections"),
            ("wasi:http/outgoing-handler@0.2.0", Tier::Hosts, "send web requests"),
            ("wasi:http/types@0.2.12", Tier::Hosts, "send web requests"),
            ("wasi:http/incoming-handler@0.2.0", Tier::Refused, "serve web requests"),
            ("wasi:http/types@0.3.0", Tier::Refused, "web requests"),
            ("wasi:clix/environment@0.2.0", Tier::Refused, "another host"),
            ("env", Tier::Refused, "another host"),
        ];
        for (name, tier, words) in table {
            let import = Import::of(name);
            assert_eq!(import.tier, tier, "{name}");
            let described = import.import_purpose().contains(words)
                || (words == "another host"
                    && import.import_purpose().contains("other than this one"));
            assert!(described, "{name}: {}", import.import_purpose());
        }
    }

    #[test]
    fn tells_what_could_be_granted() {
        let table = [
            ("wasi:cli/environment@0.2.6", Some("environment = [\"VARIABLE\"]")),
            ("wasi:cli/exit@0.2.6", None),
            ("wasi:clocks/wall-clock@0.2.0", Some("clocks = true")),
            ("wasi:filesystem/preopens@0.2.3", Some("directories = [\"~/FOLDER\"]")),
            ("wasi:random/random@0.3.0", None),
            ("wasi:sockets/tcp@0.2.0", None),
            ("wasi:http/outgoing-handler@0.2.0", Some("hosts = [\"https://HOST\"]")),
            ("wasi:http/incoming-handler@0.2.0", None),
            ("portcullis:plugin/host@0.1.0", None),
        ];
        for (name, line) in table {
            assert_eq!(Import::of(name).grant(), line, "{name}");
        }
    }
}
