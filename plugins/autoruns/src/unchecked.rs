//! Lines of code and settings that leave out a check: who is at the other end of a connection, or
//! who signed what is installed.
//!
//! A line is read as words and the signs between them: a switch and its value, or a flag of a
//! program. Texts for tests, examples and documentation are not read, and neither are texts about
//! this machine itself, whose certificates nobody signs.

use crate::starts::is_sample;
use crate::text::{Line, is_comment, new_lines};

/// Parts of which every such line has at least one, in one spelling.
const PARTS: &[&str] = &[
    "CERT_NONE",
    "SSL",
    "SigLevel",
    "Ssl",
    "TLS",
    "VERIFY",
    "accept_invalid",
    "alidat",
    "certificate",
    "curl",
    "ejectUnauth",
    "erif",
    "gpg",
    "heck",
    "nauthenticated",
    "nsecure",
    "rust",
    "secure-http",
    "sigs",
    "ssl",
    "tls",
];

/// Switches of a check, in lower case and without signs; off, nobody checks.
const CHECKS: &[&str] = &[
    "checkcertificate",
    "checkhostname",
    "checksignature",
    "curloptsslverifyhost",
    "curloptsslverifypeer",
    "enablestrictssl",
    "gpgcheck",
    "hostkeychecking",
    "httpsslverify",
    "localpkggpgcheck",
    "nodetlsrejectunauthorized",
    "pkggpgcheck",
    "pythonhttpsverify",
    "rejectunauthorized",
    "repogpgcheck",
    "requiresigs",
    "securehttp",
    "siglevel",
    "sslverification",
    "sslverify",
    "sslverifyhost",
    "sslverifypeer",
    "strictssl",
    "tlsverify",
    "validatecerts",
    "validatecertificate",
    "validatecertificates",
    "verifycert",
    "verifycertificate",
    "verifycertificates",
    "verifycerts",
    "verifyhost",
    "verifyhostname",
    "verifypeer",
    "verifysignature",
    "verifysignatures",
    "verifyssl",
    "verifytls",
];
const OFF: &[&str] = &["0", "false", "never", "no", "none", "off"];

/// Switches that leave a check out when they are on.
const GAPS: &[&str] = &[
    "acceptinvalidcerts",
    "allowinsecureprotocol",
    "allowinsecurerepositories",
    "allowunauthenticated",
    "dangeracceptinvalidcerts",
    "dangeracceptinvalidhostnames",
    "disablecertificatevalidation",
    "disablesslverification",
    "disabletls",
    "gitsslnoverify",
    "ignorecertificateerrors",
    "ignorecerterrors",
    "insecureskiptlsverify",
    "insecureskipverify",
    "skipsslverification",
    "skiptlsverification",
    "skiptlsverify",
    "tlsinsecureskipverify",
    "tlsskipverify",
    "trustallcertificates",
    "trustallcerts",
    "trustservercertificate",
];
const ON: &[&str] = &["1", "on", "true", "yes"];

/// Words that name such a gap by themselves, without signs and in lower case.
const NAMED: &[&str] = &[
    "acceptalltruststrategy",
    "allowallhostnameverifier",
    "certnone",
    "createunverifiedcontext",
    "dangerousacceptanyservercertificatevalidator",
    "noophostnameverifier",
    "sslverifynone",
    "trustallstrategy",
    "verifynone",
];

/// Flags that leave a check out, whatever program takes them.
const FLAGS: &[&str] = &[
    "--allow-insecure-repositories",
    "--allow-unauthenticated",
    "--insecure-skip-tls-verify",
    "--no-check-certificate",
    "--no-gpg-check",
    "--no-gpg-checks",
    "--no-ssl-verify",
    "--no-verify-ssl",
    "--nogpgcheck",
    "--skip-tls-verify",
    "--tls-verify=false",
    "--trusted-host",
];

/// Files in which a key alone says it, and the keys.
const KEYS: &[(&str, &[&str])] = &[
    (".curlrc", &["insecure", "k"]),
    ("_curlrc", &["insecure", "k"]),
    ("pip.conf", &["trustedhost"]),
    ("pip.ini", &["trustedhost"]),
];

/// Endings of texts that nothing reads as settings or code.
const PROSE: &[&str] = &[
    ".adoc", ".csv", ".diff", ".htm", ".html", ".ipynb", ".lock", ".log", ".map", ".md", ".mdx",
    ".patch", ".po", ".rst", ".svg", ".xml", ".snap",
];
/// Folders of tests and documents, besides those of samples.
const UNRELATED: &[&str] = &[
    "__tests__",
    "doc",
    "docs",
    "e2e",
    "node_modules",
    "site-packages",
    "spec",
    "specs",
    "test",
    "tests",
    "vendor",
];
/// Parts of the names of files for tests and for one's own machine.
const OWN_NAMES: &[&str] = &[
    "conftest",
    "dev",
    "development",
    "example",
    "fixture",
    "local",
    "mock",
    "sample",
    "spec",
    "test",
];
/// Signs that a text is about this machine or a test.
const OWN: &[&str] = &[
    "127.0.0.1",
    "[::1]",
    "host.docker.internal",
    "localhost",
    "minikube",
    "pytest",
    "self-signed",
    "self_signed",
    "selfsigned",
    "unittest",
];

/// Returns true if a text may have such a line: most have none, and need no reader.
#[must_use]
pub fn may_leave_check_out(path: &str, text: &str) -> bool {
    PARTS.iter().any(|part| text.contains(part)) && find_unchecked(path, "", text).is_some()
}

/// Returns the first line of a file that leaves a check out and that the file did not have before:
/// its number, from 1, and its text.
#[must_use]
pub fn find_unchecked<'t>(path: &str, before: &str, after: &'t str) -> Option<Line<'t>> {
    let low = after.to_ascii_lowercase();
    if is_unrelated(path) || is_of_this_machine(&low) {
        return None;
    }
    let code = crate::find_code(path).is_some() || CODE.iter().any(|end| path.ends_with(end));
    let name = path.rsplit('/').next().unwrap_or(path);
    new_lines(before, after)
        .find(|line| !is_comment(line.text) && leaves_out(name, line.text, code))
}

/// Endings of code, besides those of files that others load.
const CODE: &[&str] = &[
    ".c", ".cc", ".cpp", ".cs", ".ex", ".exs", ".go", ".groovy", ".java", ".kt", ".rs", ".scala",
    ".swift",
];

fn is_unrelated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let low = name.to_ascii_lowercase();
    let folder = path.strip_suffix(name).unwrap_or("");
    PROSE.iter().any(|end| low.ends_with(end))
        || is_sample(path)
        || folder.split('/').any(|part| UNRELATED.contains(&part))
        || low.split(['.', '-', '_']).any(|part| OWN_NAMES.contains(&part))
}

/// Returns true for a text that speaks of this machine, not only in a comment.
fn is_of_this_machine(low: &str) -> bool {
    OWN.iter().any(|sign| low.contains(sign))
        && low.lines().any(|line| !is_comment(line) && OWN.iter().any(|sign| line.contains(sign)))
}

fn leaves_out(name: &str, line: &str, code: bool) -> bool {
    if line.len() > LONGEST
        || !PARTS.iter().any(|part| line.contains(part)) && !name.contains("curlrc")
    {
        return false;
    }
    let words = words_of(line);
    let bare = |at: usize| words.get(at).map(|word| plain(word.text)).unwrap_or_default();
    let switched = words.iter().enumerate().any(|(at, word)| {
        let key = last_part(word.text);
        let Some(next) = words.get(at + 1) else { return false };
        let sets = next.before.chars().all(|c| " \t\"'=:>[]()`,|".contains(c));
        let value = plain(next.text);
        let is = |list: &[&str]| list.contains(&value.as_str());
        let strict = next.before.contains(['=', ':']) && !next.before.contains(',');
        sets && (CHECKS.contains(&key.as_str()) && is(OFF)
            || GAPS.contains(&key.as_str()) && is(ON)
            || code && strict && key == "verify" && value == "false"
            || key == "stricthostkeychecking" && is(OFF)
            || key == "trusted" && value == "yes" && line.trim_start().starts_with("deb"))
    });
    let named = || words.iter().any(|word| NAMED.contains(&last_part(word.text).as_str()));
    let alone = KEYS.iter().any(|(file, keys)| *file == name && keys.contains(&bare(0).as_str()));
    switched || alone || named() || has_flag(line) || takes_any_certificate(line)
}

/// The longest line that is read, in bytes: longer ones are made by programs.
const LONGEST: usize = 1024;

/// Returns true for a command that leaves the check out by a flag.
fn has_flag(line: &str) -> bool {
    let words = || line.split(|c: char| c.is_whitespace() || "\"'`;|&,()[]".contains(c));
    if words().any(|word| FLAGS.contains(&word)) {
        return true;
    }
    let short = |word: &str| {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| {
            letters.contains('k') && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
    };
    // The flags of a later command of the line are its own.
    line.split(['|', ';']).any(|command| {
        let words = command.split(|c: char| c.is_whitespace() || "\"'`&,()[]".contains(c));
        let is_curl = |word: &&str| matches!(word.rsplit('/').next(), Some("curl" | "curl.exe"));
        let mut after = words.skip_while(|word| !is_curl(word));
        after.next().is_some() && after.any(|word| word == "--insecure" || short(word))
    })
}

/// Returns true for a callback that accepts every certificate.
fn takes_any_certificate(line: &str) -> bool {
    let low = line.to_ascii_lowercase();
    let compact: String = low.chars().filter(|c| !c.is_whitespace()).collect();
    let callback = ["certificatevalidationcallback", "servercertificatecustomvalidationcallback"];
    callback.iter().any(|name| compact.contains(name))
        && (compact.contains("=>true") || compact.contains("returntrue"))
        || compact.contains("checkservertrusted(") && compact.ends_with("{}")
}

/// A word, and the signs before it.
struct Word<'t> {
    text: &'t str,
    before: &'t str,
}

/// Splits a line into words of letters, digits, `_`, `-` and `.`.
fn words_of(line: &str) -> Vec<Word<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_part).filter(|_| words.len() < 256) {
        let (before, from) = rest.split_at_checked(start).unwrap_or((rest, ""));
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (text, after) = from.split_at_checked(end).unwrap_or((from, ""));
        words.push(Word { text, before });
        rest = after;
    }
    words
}

/// Returns a word in lower case, without signs.
fn plain(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the last part of a name with points, as [`plain`] does.
fn last_part(word: &str) -> String {
    plain(word.trim_end_matches('.').rsplit('.').next().unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::{find_unchecked, may_leave_check_out};

    #[test]
    fn lines_that_leave_a_check_out_are_found() {
        for (path, text) in [
            ("/p/api/a.py", "r = requests.get(url, verify=False)"),
            ("/p/api/a.py", "    verify = False,"),
            ("/p/api/a.py", "ctx.check_hostname = False"),
            ("/p/api/a.py", "ctx.verify_mode = ssl.CERT_NONE"),
            ("/p/api/a.py", "ssl._create_default_https_context = ssl._create_unverified_context"),
            ("/p/api/a.py", "jwt.decode(t, options={\"verify_signature\": False})"),
            ("/p/web/a.ts", "const agent = new https.Agent({ rejectUnauthorized: false })"),
            ("/p/web/a.js", "process.env[\"NODE_TLS_REJECT_UNAUTHORIZED\"] = \"0\""),
            ("/p/.env", "NODE_TLS_REJECT_UNAUTHORIZED=0"),
            ("/p/Dockerfile", "ENV NODE_TLS_REJECT_UNAUTHORIZED 0"),
            ("/p/compose.yaml", "      NODE_TLS_REJECT_UNAUTHORIZED: \"0\""),
            ("/p/a.go", "\tTLSClientConfig: &tls.Config{InsecureSkipVerify: true},"),
            ("/p/a.rs", "    .danger_accept_invalid_certs(true)"),
            ("/p/a.php", "curl_setopt($ch, CURLOPT_SSL_VERIFYPEER, false);"),
            ("/p/a.rb", "http.verify_mode = OpenSSL::SSL::VERIFY_NONE"),
            ("/p/a.cs", "h.ServerCertificateCustomValidationCallback = (m, c, ch, e) => true;"),
            ("/p/A.java", "public void checkServerTrusted(X509Certificate[] c, String a) {}"),
            ("/p/.npmrc", "strict-ssl=false"),
            ("/p/.yarnrc.yml", "enableStrictSsl: false"),
            ("/p/.gitconfig", "\tsslVerify = false"),
            ("/home/dev/.curlrc", "insecure"),
            ("/etc/pip.conf", "trusted-host = pypi.example"),
            ("/etc/yum.repos.d/a.repo", "gpgcheck=0"),
            ("/etc/apt/sources.list.d/a.list", "deb [trusted=yes] http://a.example ./"),
            ("/etc/pacman.conf", "SigLevel = Never"),
            ("/p/requirements.txt", "--trusted-host pypi.example"),
            ("/p/k8s/kubeconfig", "    insecure-skip-tls-verify: true"),
            ("/p/scripts/a.sh", "curl -fsSLk https://a.example/x -o x"),
            ("/p/scripts/a.sh", "curl --insecure https://a.example/x -o x"),
            ("/p/Makefile", "\twget --no-check-certificate https://a.example/x"),
            ("/p/scripts/a.sh", "git config --global http.sslVerify false"),
            ("/p/scripts/a.sh", "export GIT_SSL_NO_VERIFY=true"),
            ("/p/composer.json", "    \"secure-http\": false,"),
        ] {
            let found = find_unchecked(path, "", text).map(|line| (line.number, line.text));
            assert_eq!(found, Some((1, text)), "{path}");
            assert!(may_leave_check_out(path, text), "{path}: {text}");
            assert_eq!(find_unchecked(path, text, text), None, "{path}: it was there before");
        }
    }

    #[test]
    fn lines_that_look_alike_are_not() {
        for (path, text) in [
            ("/p/api/a.py", "r = requests.get(url, verify=True)"),
            ("/p/api/a.py", "# never verify=False"),
            ("/p/api/a.py", "email_verify = False"),
            ("/p/api/a.py", "verified = False"),
            ("/p/tests/a.py", "r = requests.get(url, verify=False)"),
            ("/p/api/a.py", "r = requests.get(\"https://localhost:8443\", verify=False)"),
            ("/p/web/a.ts", "rejectUnauthorized: process.env.NODE_ENV === 'production'"),
            ("/p/web/a.ts", "rejectUnauthorized: true"),
            ("/p/web/a.test.ts", "rejectUnauthorized: false"),
            ("/p/docs/a.md", "Do not set `strict-ssl=false`."),
            ("/p/.npmrc", "strict-ssl=true"),
            ("/p/.npmrc", "fund=false"),
            ("/p/config.yaml", "verify: false"),
            ("/p/scripts/a.sh", "curl -fsSL https://a.example/x -o k"),
            ("/p/scripts/a.sh", "curl -fsS https://a.example/x | sort -k 2"),
            ("/p/scripts/a.sh", "git commit --no-verify"),
            ("/p/docker-compose.dev.yml", "NODE_TLS_REJECT_UNAUTHORIZED: 0"),
            ("/p/a.go", "InsecureSkipVerify: false,"),
        ] {
            assert_eq!(find_unchecked(path, "", text), None, "{path}: {text}");
        }
    }
}
