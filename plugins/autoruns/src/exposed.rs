//! Lines of descriptions of containers that hand the machine to one, or the keys of a person:
//! compose files, manifests of clusters, containers for development.

use crate::starts::is_sample;
use crate::text::{Line, is_comment, new_lines};

/// Settings that give a container the rights of the machine, without quotes and blanks.
const RIGHTS: &[&str] = &[
    "hostIPC:true",
    "hostPID:true",
    "ipc:host",
    "pid:host",
    "privileged:true",
    "userns_mode:host",
];
/// Capabilities that do.
const CAPABILITIES: &[&str] = &["SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO"];
/// Folders of the machine, and sockets through which containers are started.
const FOLDERS: &[&str] =
    &["/", "/boot", "/dev", "/etc", "/home", "/proc", "/root", "/sys", "/usr", "/var"];
const SOCKETS: &[&str] = &["/containerd.sock", "/crio.sock", "/docker.sock", "/podman.sock"];
/// Ways to write a person's home, and the folders in it that hold keys.
const HOMES: &[&str] = &["$HOME", "${HOME}", "${env:HOME}", "${localEnv:HOME}", "~"];
const KEYS: &[&str] = &[
    "",
    "/.aws",
    "/.azure",
    "/.config/gcloud",
    "/.config/gh",
    "/.gnupg",
    "/.kube",
    "/.netrc",
    "/.ssh",
];

/// Returns true for a file that may describe containers.
fn describes_containers(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
    (yaml || path.contains("devcontainer") && name.ends_with(".json")) && !is_sample(path)
}

/// Returns true if a text may have such a line.
#[must_use]
pub fn may_expose(path: &str, text: &str) -> bool {
    describes_containers(path) && find_exposed(path, "", text).is_some()
}

/// Returns the first line of a file that hands the machine or keys to a container and that the file
/// did not have before.
#[must_use]
pub fn find_exposed<'t>(path: &str, before: &str, after: &'t str) -> Option<Line<'t>> {
    if !describes_containers(path) {
        return None;
    }
    new_lines(before, after).find(|line| !is_comment(line.text) && exposes(line.text))
}

fn exposes(line: &str) -> bool {
    let code = line.split(" #").next().unwrap_or(line);
    let parts = || {
        code.split([',', '[', ']'])
            .map(|part| part.trim().trim_matches(['{', '}']).trim_start_matches("- "))
    };
    parts().any(|part| {
        let bare: String =
            part.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
        RIGHTS.contains(&bare.as_str())
            || CAPABILITIES.contains(&bare.trim_start_matches("CAP_"))
            || mounts(&bare)
    })
}

/// Returns true for a mount of such a folder: `HERE:INSIDE`, `source: HERE`, `source=HERE`.
fn mounts(part: &str) -> bool {
    let named = ["source:", "src:", "source=", "src=", "device:"].iter();
    let named = named.filter_map(|start| part.strip_prefix(start)).next();
    let short = || {
        let (here, inside) = part.rsplit_once(":/")?;
        // A key of a map is no mount, and a socket to look at is none that starts anything.
        (!inside.ends_with(":ro") || !here.ends_with(".sock")).then_some(here)
    };
    let Some(here) = named.or_else(short) else { return false };
    let whole = here.trim_end_matches('/');
    let whole = if whole.is_empty() && here.starts_with('/') { "/" } else { whole };
    let of_person =
        HOMES.iter().any(|home| whole.strip_prefix(home).is_some_and(|rest| KEYS.contains(&rest)));
    FOLDERS.contains(&whole) || SOCKETS.iter().any(|end| whole.ends_with(end)) || of_person
}

#[cfg(test)]
mod tests {
    use super::find_exposed;

    #[test]
    fn containers_that_get_the_machine_are_found() {
        for line in [
            "    privileged: true",
            "    pid: \"host\"",
            "      hostPID: true",
            "      - /:/host",
            "      - \"/etc:/mnt/etc\"",
            "    volumes: [\"/var/run/docker.sock:/var/run/docker.sock\"]",
            "      - ~/.ssh:/root/.ssh:ro",
            "      - ${HOME}/.aws:/root/.aws",
            "        source: /",
            "      - SYS_ADMIN",
            "    cap_add: [SYS_ADMIN]",
        ] {
            assert!(find_exposed("/p/docker-compose.override.yml", "", line).is_some(), "{line}");
            assert!(find_exposed("/p/docker-compose.yml", line, line).is_none(), "{line}");
        }
        let keys = "  \"mounts\": [\"source=${localEnv:HOME}/.ssh,target=/tmp/s,type=bind\"],";
        assert!(find_exposed("/p/.devcontainer/devcontainer.json", "", keys).is_some());
    }

    #[test]
    fn ordinary_containers_are_none() {
        for line in [
            "    privileged: false",
            "      - ./api:/app",
            "      - .:/workspace:cached",
            "      - db:/var/lib/postgresql/data",
            "      - /var/run/docker.sock:/var/run/docker.sock:ro",
            "      - ~/.cache/pip:/root/.cache/pip",
            "    image: registry.example.com/a:/b",
            "    url: https://a.example/x",
            "        path: /",
            "      # privileged: true",
            "    cap_drop: [ALL]",
        ] {
            assert_eq!(find_exposed("/p/docker-compose.yml", "", line), None, "{line}");
        }
        assert_eq!(find_exposed("/p/README.md", "", "privileged: true"), None);
        assert_eq!(find_exposed("/p/examples/compose.yml", "", "privileged: true"), None);
    }
}
