//! Ordinary files of code: something runs, imports or builds them some day.

use crate::{Autorun, Format, Reach, is_module};

/// Endings of files of code, and the language of each; none for the shell's.
const ENDINGS: &[(&str, Option<&str>)] = &[
    (".bash", None),
    (".cjs", Some("node")),
    (".cts", Some("node")),
    (".js", Some("node")),
    (".jsx", Some("node")),
    (".ksh", None),
    (".mjs", Some("node")),
    (".mts", Some("node")),
    (".php", Some("php")),
    (".pl", Some("perl")),
    (".py", Some("python")),
    (".rb", Some("ruby")),
    (".sh", None),
    (".ts", Some("node")),
    (".tsx", Some("node")),
    (".zsh", None),
];

/// Words of which code that does grave harm has at least one.
const SIGNS: &[&str] = &[
    " -k ",
    ".aws",
    ".claude",
    ".docker",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".ssh",
    "/bin/bash",
    "/bin/sh",
    "/dev/",
    "/shadow",
    "CERT_NONE",
    "HOME",
    "InsecureSkipVerify",
    "TLS_REJECT",
    "base64",
    "credentials",
    "curl",
    "dup2",
    "environ",
    "eval",
    "exec(",
    "fork",
    "hosts.yml",
    "insecure",
    "mkfs",
    "portcullis",
    "process.env",
    "rejectUnauthorized",
    "rimraf",
    "rm -",
    "rmSync",
    "rmtree",
    "shred",
    "socket",
    "unverified",
    "verify = False",
    "verify=False",
    "wget",
];

/// Returns the way in which an ordinary file of code is run, by its path; none for other files, for
/// files that run by themselves or by their name, and for code that packages brought.
#[must_use]
pub fn find_code(path: &str) -> Option<Autorun> {
    let brought = ["/node_modules/", "/site-packages/", "/vendor/", "/.venv/", "/.git/"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = ENDINGS.iter().find(|(end, _)| name.ends_with(end) && name.len() > end.len());
    let (end, language) = ends.filter(|_| !brought.iter().any(|folder| path.contains(folder)))?;
    debug_assert!(language.is_none() || is_module(path), "{end} belongs to no module");
    let format = language.map_or(Format::Script, Format::Code);
    Some(Autorun { reach: Reach::Called, format })
}

/// Returns true if a text of code has a word without which it does no grave harm. Most texts have
/// none, and need no reader.
#[must_use]
pub fn may_do_harm(text: &str) -> bool {
    SIGNS.iter().any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::{find_code, may_do_harm};
    use crate::Format;

    #[test]
    fn code_is_known_by_its_ending() {
        for (path, format) in [
            ("/p/a.sh", Some(Format::Script)),
            ("/p/a.py", Some(Format::Code("python"))),
            ("/p/src/a.test.tsx", Some(Format::Code("node"))),
            ("/p/node_modules/a/b.js", None),
            ("/p/.py", None),
            ("/p/notes.md", None),
            ("/p/a.rs", None),
        ] {
            assert_eq!(find_code(path).map(|found| found.format), format, "{path}");
        }
    }

    #[test]
    fn most_code_has_no_sign() {
        for text in ["def add(a, b):\n    return a + b\n", "export const x = () => fetch('/api')\n"]
        {
            assert!(!may_do_harm(text), "{text}");
        }
        for text in ["shutil.rmtree('/')", "open('/home/dev/.ssh/id_rsa')", "curl x | sh"] {
            assert!(may_do_harm(text), "{text}");
        }
    }
}
