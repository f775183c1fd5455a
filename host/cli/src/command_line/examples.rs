//! Examples for each help page. A test runs all of them through the real parser.

use super::groups::style_heading;
use clap::Command;
use clap::builder::StyledStr;
use std::fmt::Write;

/// The examples by command; the empty name is the whole program. Text after ` # ` explains.
pub const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "portcullis demo                      # what it does, on a recorded session",
            "portcullis install claude --observe  # put it in front of Claude Code",
            "portcullis explain last              # why it objected",
        ],
    ),
    ("demo", &["portcullis demo", "portcullis demo --keep   # then look around in its journal"]),
    ("hook", &["portcullis hook claude < event.json"]),
    (
        "install",
        &[
            "portcullis install claude --observe  # record decisions, refuse nothing",
            "portcullis install claude --dry-run --diff",
            "sudo portcullis install claude --managed",
            "portcullis install claude --service  # faster, with `portcullis serve`",
        ],
    ),
    (
        "uninstall",
        &[
            "portcullis uninstall claude --dry-run",
            "portcullis uninstall claude",
            "portcullis uninstall claude --purge  # the journal and the key too",
            "portcullis uninstall --purge         # every client's hooks, and everything that is kept",
        ],
    ),
    (
        "review",
        &[
            "portcullis review -c 'git push --force'",
            "portcullis review -q -c 'rm -rf build'   # the verdict and its reason only",
            "portcullis review --json event.json",
            "portcullis review --stdin < events.jsonl   # the actions of your own agent",
        ],
    ),
    (
        "replay",
        &[
            "portcullis replay --agent claude --since 7d    # your past Claude Code sessions",
            "portcullis replay session.jsonl -o report.html",
            "portcullis replay --compare --config-file strict.toml session.jsonl",
        ],
    ),
    (
        "eval",
        &[
            "portcullis eval actions.jsonl",
            "portcullis eval --json --rows rows.jsonl actions.jsonl",
        ],
    ),
    ("fleet", &["portcullis fleet join https://hub.example:8443 --token-file token"]),
    (
        "fleet join",
        &[
            "portcullis fleet join https://hub.example:8443 --token-file token",
            "portcullis fleet join https://hub.example --token-file - --name build-7 < token",
            "portcullis fleet join https://hub.example --token-file token --orders-key orders.key.pub",
        ],
    ),
    ("fleet leave", &["portcullis fleet leave"]),
    ("fleet status", &["portcullis fleet status", "portcullis fleet status --json"]),
    (
        "fleet sign",
        &[
            "portcullis fleet sign --group web --version 4 --expires 30 --key orders.key \\\n      --configuration web.toml -o web-4.json",
        ],
    ),
    (
        "hub",
        &[
            "portcullis hub dev                  # try it out, with a PostgreSQL of its own",
            "portcullis hub token create -o token",
            "portcullis hub machines",
        ],
    ),
    (
        "hub init",
        &[
            "portcullis hub init --url https://hub.example:8443 \\\n      --database 'host=/run/postgresql user=hub dbname=hub'",
        ],
    ),
    ("hub serve", &["portcullis hub serve", "portcullis hub serve --listen '[::]:443'"]),
    ("hub dev", &["portcullis hub dev", "portcullis hub dev --folder trial --port 0"]),
    ("hub token", &["portcullis hub token create -o token"]),
    (
        "hub token create",
        &[
            "portcullis hub token create -o token",
            "portcullis hub token create --label team=web --uses 20 --for 1d -o token",
        ],
    ),
    ("hub machines", &["portcullis hub machines", "portcullis hub machines --json"]),
    (
        "hub revoke",
        &["portcullis hub revoke m-0123456789abcdef0123 --reason 'the laptop was lost'"],
    ),
    ("hub incidents", &["portcullis hub incidents", "portcullis hub incidents --json"]),
    (
        "hub incidents settle",
        &["portcullis hub incidents settle 7 --reason 'restored from the backup of Monday'"],
    ),
    (
        "hub orders",
        &["portcullis hub orders publish web-4.json --share 10", "portcullis hub orders list"],
    ),
    (
        "hub orders publish",
        &[
            "portcullis hub orders publish web-4.json",
            "portcullis hub orders publish web-4.json --share 10",
            "portcullis hub orders publish web-4.json --rollout shadow:1h,10:1h,50:2h,100 --fallback web-5.json",
        ],
    ),
    (
        "fleet approvals",
        &[
            "portcullis fleet approvals list --key approver.key",
            "portcullis fleet approvals allow k7m2x9qd --key approver.key",
        ],
    ),
    (
        "fleet approvals list",
        &[
            "portcullis fleet approvals list --key approver.key",
            "portcullis fleet approvals list --key approver.key --hub https://hub.example:8443 --authority authority.pem",
        ],
    ),
    ("fleet approvals show", &["portcullis fleet approvals show k7m2x9qd --key approver.key"]),
    (
        "fleet approvals allow",
        &["portcullis fleet approvals allow m-0123456789abcdef0123/k7m2x9qd --key approver.key"],
    ),
    (
        "fleet approvals deny",
        &[
            "portcullis fleet approvals deny k7m2x9qd --reason 'use the staging host' --key approver.key",
        ],
    ),
    ("hub orders pause", &["portcullis hub orders pause web 4"]),
    (
        "hub orders resume",
        &["portcullis hub orders resume web 4", "portcullis hub orders resume web 4 --tolerance 8"],
    ),
    (
        "hub orders share",
        &["portcullis hub orders share web 4 50", "portcullis hub orders share web 4 0"],
    ),
    ("hub orders list", &["portcullis hub orders list", "portcullis hub orders list --json"]),
    (
        "hub orders show",
        &["portcullis hub orders show web", "portcullis hub orders show web --version 3 --json"],
    ),
    (
        "hub findings",
        &["portcullis hub findings", "portcullis hub findings --machines 5 --within 2h --json"],
    ),
    (
        "hub export",
        &[
            "portcullis hub export --output /srv/records",
            "portcullis hub export --output /srv/records --since 2026-11-01 --until 2026-11-30",
        ],
    ),
    ("hub feedback", &["portcullis hub feedback", "portcullis hub feedback --json"]),
    (
        "hub user",
        &["portcullis hub user add ann@example.org --role operator", "portcullis hub user list"],
    ),
    (
        "hub user add",
        &[
            "portcullis hub user add ann@example.org --role operator",
            "portcullis hub user add ben --for 1h --json",
        ],
    ),
    ("hub user link", &["portcullis hub user link ann@example.org"]),
    ("hub user list", &["portcullis hub user list", "portcullis hub user list --json"]),
    ("hub user role", &["portcullis hub user role ann@example.org viewer"]),
    ("hub user sign-out", &["portcullis hub user sign-out ann@example.org"]),
    ("hub user remove", &["portcullis hub user remove ann@example.org"]),
    (
        "hub user passkeys",
        &["portcullis hub user passkeys ann@example.org", "portcullis hub user passkeys --json"],
    ),
    ("hub audit", &["portcullis hub audit show", "portcullis hub audit verify"]),
    (
        "hub audit show",
        &["portcullis hub audit show", "portcullis hub audit show --limit 500 --json"],
    ),
    ("hub audit verify", &["portcullis hub audit verify", "portcullis hub audit verify --json"]),
    ("serve", &["portcullis serve", "portcullis serve --status --json"]),
    ("open", &["portcullis open", "portcullis open --role viewer --print"]),
    ("approvals", &["portcullis approvals watch", "portcullis approvals list"]),
    ("approvals list", &["portcullis approvals list", "portcullis approvals list --all --json"]),
    ("approvals show", &["portcullis approvals show k7m2x9qd"]),
    ("approvals allow", &["portcullis approvals allow k7m2x9qd --reason 'the jobs are old'"]),
    ("approvals deny", &["portcullis approvals deny k7m2x9qd --reason 'use the staging host'"]),
    ("approvals proof", &["portcullis approvals proof", "portcullis approvals proof code"]),
    (
        "approvals watch",
        &[
            "portcullis approvals watch   # in a terminal of your own",
            "sudo portcullis approvals watch --of-user ann   # behind a boundary",
        ],
    ),
    ("explain", &["portcullis explain last", "portcullis explain 3f2a --json"]),
    (
        "feedback",
        &[
            "portcullis feedback last --right",
            "portcullis feedback 3f2a --false-positive --reason 'a generated folder'",
        ],
    ),
    (
        "metrics",
        &[
            "portcullis metrics > /var/lib/node_exporter/portcullis.prom",
            "portcullis metrics --json session.jsonl",
        ],
    ),
    ("audit", &["portcullis audit show --verdict block", "portcullis audit verify"]),
    (
        "audit show",
        &[
            "portcullis audit show --limit 10",
            "portcullis audit show --kind review --verdict block",
            "portcullis audit show --session 5e3f --json",
        ],
    ),
    ("audit verify", &["portcullis audit verify", "portcullis audit verify --heads heads.jsonl"]),
    (
        "audit export",
        &[
            "portcullis audit export --exporter csv -o journal.csv",
            "portcullis audit export --after 1200 | gzip > journal.jsonl.gz",
            "portcullis audit export --plugin build/junit.wasm --exporter junit -o junit.xml",
        ],
    ),
    (
        "plugin",
        &[
            "portcullis plugin list",
            "portcullis plugin new my-check --kind risk-calculator --lang python",
        ],
    ),
    (
        "plugin new",
        &[
            "portcullis plugin new --list",
            "portcullis plugin new my-check --kind risk-calculator --lang rust",
            "portcullis plugin new my-check --kind pattern --lang go -o ~/plugins",
        ],
    ),
    ("plugin build", &["portcullis plugin build", "portcullis plugin build my-check --watch"]),
    ("plugin list", &["portcullis plugin list", "portcullis plugin list --json"]),
    (
        "plugin compare",
        &["portcullis plugin compare", "portcullis plugin compare my-check --since 30d"],
    ),
    ("plugin release", &["portcullis plugin release my-check"]),
    (
        "plugin test",
        &[
            "portcullis plugin test",
            "portcullis plugin test my-check 'lock file'   # cases with that name",
            "portcullis plugin test my-check.wasm --cases cases.toml",
        ],
    ),
    ("plugin bench", &["portcullis plugin bench", "portcullis plugin bench my-check.wasm --json"]),
    (
        "plugin diff",
        &[
            "portcullis plugin diff released/my-check.wasm my-check",
            "portcullis plugin diff old.wasm new.wasm --cases cases.toml --corpus corpora",
        ],
    ),
    (
        "plugin publish",
        &[
            "portcullis plugin publish --dry-run  # everything but signing and sending",
            "portcullis plugin publish --to ghcr.io/acme/my-check --key release.key",
        ],
    ),
    (
        "plugin record",
        &[
            "portcullis plugin record last",
            "portcullis plugin record 3f2a -o cases.toml",
            "portcullis plugin record --last --session 5e3f --steps 5",
        ],
    ),
    (
        "plugin inspect",
        &[
            "portcullis plugin inspect my-check.wasm",
            "portcullis plugin inspect my-check.wasm --json",
        ],
    ),
    (
        "bundle",
        &[
            "portcullis bundle install ghcr.io/acme/checks:1.2.0",
            "portcullis bundle list",
            "portcullis bundle verify acme-checks-1.2.0.tar",
        ],
    ),
    (
        "bundle key",
        &["portcullis bundle key new -o release.key", "portcullis bundle key show release.key.pub"],
    ),
    (
        "bundle key new",
        &[
            "portcullis bundle key new -o release.key",
            "portcullis bundle key new -o release.key --passphrase-file phrase.txt",
        ],
    ),
    ("bundle key show", &["portcullis bundle key show release.key.pub"]),
    (
        "bundle build",
        &["portcullis bundle build", "portcullis bundle build checks/bundle.toml -o checks.tar"],
    ),
    (
        "release",
        &[
            "portcullis release verify portcullis-0.1.0.sigstore.json --key release.key.pub",
            "portcullis release sign portcullis-0.1.0.provenance.json --key release.key",
        ],
    ),
    (
        "release sign",
        &["portcullis release sign portcullis-0.1.0.provenance.json --key release.key"],
    ),
    (
        "release verify",
        &[
            "portcullis release verify portcullis-0.1.0.sigstore.json --key release.key.pub",
            "portcullis release verify portcullis-0.1.0.sigstore.json --key release.key.pub portcullis_0.1.0_amd64.deb",
        ],
    ),
    (
        "upgrade",
        &[
            "portcullis upgrade                   # the command for the way it was installed",
            "portcullis upgrade --check           # as `[upgrade]` of the configuration says",
            "portcullis upgrade --check --from https://downloads.example.org/portcullis --key release.key.pub",
        ],
    ),
    (
        "bundle sign",
        &[
            "portcullis bundle sign checks-1.0.0.tar --key release.key --expires 365",
            "portcullis bundle sign checks-1.0.0.tar --key release.key -o checks.json",
            "portcullis bundle sign checks-1.0.0.tar --attach checks.json",
        ],
    ),
    (
        "bundle verify",
        &[
            "portcullis bundle verify checks-1.0.0.tar",
            "portcullis bundle verify checks-1.0.0.tar --trust candidate.toml",
            "portcullis bundle verify acme/checks --json",
        ],
    ),
    (
        "bundle vet",
        &[
            "portcullis bundle vet checks-1.2.0.tar --dry-run --corpus actions.jsonl",
            "portcullis bundle vet checks-1.2.0.tar --key security.key \\",
            "    --reviewer 'Ann, Acme security' --corpus corpora/ --session sessions/",
        ],
    ),
    (
        "bundle diff",
        &[
            "portcullis bundle diff checks-1.0.0.tar checks-1.1.0.tar",
            "portcullis bundle diff old.tar new.tar --json",
        ],
    ),
    (
        "bundle push",
        &[
            "portcullis bundle push checks-1.2.0.tar ghcr.io/acme/checks",
            "portcullis bundle push checks-1.2.0.tar ghcr.io/acme/checks:latest",
            "portcullis bundle push checks.tar localhost:5000/checks \\",
            "    --plain-http localhost:5000",
        ],
    ),
    (
        "bundle pull",
        &[
            "portcullis bundle pull ghcr.io/acme/checks:1.2.0",
            "portcullis bundle pull ghcr.io/acme/checks:1.2.0 -o checks.tar",
        ],
    ),
    (
        "bundle search",
        &[
            "portcullis bundle search migrations",
            "portcullis bundle search --kind risk-calculator --json",
        ],
    ),
    (
        "bundle info",
        &["portcullis bundle info acme/checks", "portcullis bundle info acme/checks@1.2.0 --json"],
    ),
    ("bundle index", &["portcullis bundle index update", "portcullis bundle index list"]),
    (
        "bundle index update",
        &["portcullis bundle index update", "portcullis bundle index update acme/index --json"],
    ),
    ("bundle index list", &["portcullis bundle index list", "portcullis bundle index list --json"]),
    (
        "bundle index build",
        &[
            "portcullis bundle index build archives/ --name acme/index --serial 7 \\",
            "    --registry ghcr.io --notes notes.toml",
        ],
    ),
    ("bundle index sign", &["portcullis bundle index sign acme-index-7.tar --key index.key"]),
    ("bundle index push", &["portcullis bundle index push acme-index-7.tar ghcr.io/acme/index"]),
    ("bundle index mirror", &["portcullis bundle index mirror acme/index -o /srv/acme-index"]),
    (
        "bundle install",
        &[
            "portcullis bundle install ghcr.io/acme/checks:1.2.0",
            "portcullis bundle install acme/checks       # the newest that an index lists",
            "portcullis bundle install checks-1.2.0.tar --global",
            "portcullis bundle install   # the bundles in the project's portcullis.lock",
        ],
    ),
    (
        "bundle update",
        &["portcullis bundle update --check", "portcullis bundle update acme/checks --to 1.3.0"],
    ),
    ("bundle list", &["portcullis bundle list", "portcullis bundle list --json"]),
    ("bundle remove", &["portcullis bundle remove acme/checks"]),
    (
        "bundle revoke",
        &[
            "portcullis bundle revoke acme/checks          # every installed version",
            "portcullis bundle revoke old-1.0.0.tar",
            "portcullis bundle revoke --key acme-release   # all that this key signed",
        ],
    ),
    (
        "allow",
        &[
            "portcullis allow last                       # once, within the hour",
            "portcullis allow 3f2a --project --for 30d   # in all sessions in its folder",
            "portcullis allow --list",
        ],
    ),
    ("recover", &["portcullis recover", "portcullis recover --keep   # a restored backup"]),
    (
        "undo",
        &[
            "portcullis undo --dry-run          # what would be restored",
            "portcullis undo                    # the last action that changed files",
            "portcullis undo --prompt           # everything since your last request",
            "portcullis undo --only src/app.py  # one file of it",
        ],
    ),
    ("checkpoint", &["portcullis checkpoint list", "portcullis checkpoint restore last"]),
    ("checkpoint list", &["portcullis checkpoint list", "portcullis checkpoint list --json"]),
    ("checkpoint show", &["portcullis checkpoint show last"]),
    ("checkpoint diff", &["portcullis checkpoint diff last"]),
    (
        "checkpoint restore",
        &[
            "portcullis checkpoint restore last --dry-run",
            "portcullis checkpoint restore last --only src/app.py",
        ],
    ),
    ("incident", &["portcullis incident list", "portcullis incident show last"]),
    ("incident list", &["portcullis incident list"]),
    ("incident show", &["portcullis incident show last"]),
    (
        "incident export",
        &[
            "portcullis incident export last -o incident.md",
            "portcullis incident export last --format html -o incident.html",
        ],
    ),
    ("incident resume", &["portcullis incident resume last --reason 'a false alarm'"]),
    (
        "incident rollback",
        &["portcullis incident rollback last", "portcullis incident rollback last --to 4c1d"],
    ),
    ("incident supervise", &["portcullis incident supervise last"]),
    ("incident lift", &["portcullis incident lift last"]),
    ("incident abort", &["portcullis incident abort last --clean-up"]),
    ("quarantine", &["portcullis quarantine list", "portcullis quarantine restore last"]),
    ("quarantine list", &["portcullis quarantine list"]),
    ("quarantine show", &["portcullis quarantine show last"]),
    ("quarantine restore", &["portcullis quarantine restore last"]),
    ("quarantine purge", &["portcullis quarantine purge --older 7d"]),
    ("rules", &["portcullis rules list", "portcullis rules check team.rules.toml"]),
    ("rules check", &["portcullis rules check", "portcullis rules check team.rules.toml --json"]),
    ("rules list", &["portcullis rules list"]),
    ("rules fields", &["portcullis rules fields"]),
    ("catalogue", &["portcullis catalogue check shelf.toml"]),
    (
        "catalogue check",
        &[
            "portcullis catalogue check shelf.toml                # with the built-in catalogue",
            "portcullis catalogue check plugins/shell/catalogue   # a whole one",
            "portcullis catalogue check --json shelf.toml",
        ],
    ),
    (
        "run",
        &[
            "portcullis run -- claude -p 'Fix the failing test.'",
            "portcullis run --time 30m --tokens 200000 -- claude -p 'Tidy up.'",
            "portcullis run --confine --json -- claude -p 'Update the docs.'",
        ],
    ),
    (
        "mcp",
        &[
            "portcullis mcp -- npx -y @modelcontextprotocol/server-everything",
            "portcullis mcp --name files -- mcp-files --root /srv/data",
            "portcullis mcp --url https://mcp.example.com/mcp --header Authorization=ISSUES_TOKEN",
        ],
    ),
    (
        "mcp wrap",
        &[
            "portcullis mcp wrap claude --dry-run",
            "portcullis mcp wrap --file .vscode/servers.json",
        ],
    ),
    ("mcp unwrap", &["portcullis mcp unwrap claude"]),
    ("mcp pins", &["portcullis mcp pins list", "portcullis mcp pins diff"]),
    ("mcp pins list", &["portcullis mcp pins list", "portcullis mcp pins list --json"]),
    ("mcp pins diff", &["portcullis mcp pins diff", "portcullis mcp pins diff 3f2a"]),
    (
        "mcp pins accept",
        &["portcullis mcp pins accept 3f2a", "portcullis mcp pins accept 3f2a read_file"],
    ),
    ("mcp pins forget", &["portcullis mcp pins forget 3f2a"]),
    ("config", &["portcullis config show", "portcullis config check"]),
    (
        "config show",
        &[
            "portcullis config show",
            "portcullis config show --profile strict",
            "portcullis --config ./candidate config show --json",
        ],
    ),
    ("config check", &["portcullis config check", "portcullis config check candidate.toml"]),
    ("config schema", &["portcullis config schema > portcullis.schema.json"]),
    ("notifications", &["portcullis notifications list", "portcullis notifications test chat"]),
    ("notifications list", &["portcullis notifications list"]),
    ("notifications test", &["portcullis notifications test chat"]),
    ("notifications retry", &["portcullis notifications retry"]),
    ("exports", &["portcullis exports list", "portcullis exports test siem"]),
    ("exports list", &["portcullis exports list", "portcullis exports list --json"]),
    ("exports test", &["portcullis exports test siem"]),
    ("exports run", &["portcullis exports run", "portcullis exports run siem"]),
    ("exports reset", &["portcullis exports reset siem", "portcullis exports reset siem --to now"]),
    ("credential", &["portcullis credential set siem", "portcullis credential list"]),
    (
        "credential set",
        &[
            "portcullis credential set siem --expires 90d",
            "portcullis credential set ghcr --registry ghcr.io --user me --stdin < token.txt",
            "portcullis credential set chat -- pass show portcullis/chat",
        ],
    ),
    ("credential rotate", &["portcullis credential rotate siem --expires 90d"]),
    (
        "credential list",
        &["portcullis credential list", "portcullis credential list --hub /etc/portcullis/hub"],
    ),
    ("credential check", &["portcullis credential check", "portcullis credential check siem"]),
    ("credential remove", &["portcullis credential remove siem"]),
    ("encryption", &["portcullis encryption status", "portcullis encryption backup ~/master.key"]),
    ("encryption status", &["portcullis encryption status", "portcullis encryption status --json"]),
    ("encryption rotate", &["portcullis encryption rotate"]),
    (
        "encryption move",
        &[
            "portcullis encryption move --in keyring",
            "portcullis encryption move --store 'secret-tool store --label=portcullis app portcullis' -- secret-tool lookup app portcullis",
        ],
    ),
    ("encryption unlock", &["portcullis encryption unlock"]),
    ("encryption backup", &["portcullis encryption backup ~/master.key"]),
    ("encryption restore", &["portcullis encryption restore ~/master.key"]),
    ("encryption reset", &["portcullis encryption reset"]),
    ("encryption off", &["portcullis encryption off"]),
    ("encryption on", &["portcullis encryption on"]),
    (
        "privacy",
        &[
            "portcullis privacy export --person ann@example.com --output ann.json",
            "portcullis privacy erase --session 0b5e3f7c-6a55-4a35-9d1c-2f1d6f2f7a10",
        ],
    ),
    ("privacy export", &["portcullis privacy export --person ann@example.com --output ann.json"]),
    ("privacy erase", &["portcullis privacy erase --person ann@example.com"]),
    ("trust", &["portcullis trust", "portcullis trust --list", "portcullis trust --remove ~/shop"]),
    ("pause", &["portcullis pause", "portcullis pause --for 2h --reason 'a large migration'"]),
    ("resume", &["portcullis resume"]),
    ("doctor", &["portcullis doctor", "portcullis doctor --quick --json"]),
    ("status", &["portcullis status", "portcullis status --json"]),
    ("maintain", &["portcullis maintain --all"]),
    (
        "completions",
        &["portcullis completions bash > ~/.local/share/bash-completion/completions/portcullis"],
    ),
    ("man", &["portcullis man audit show | man -l -", "portcullis man -o ~/.local/share/man/man1"]),
];

/// Returns the examples of a command.
pub fn examples_of(name: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(command, _)| *command == name).map_or(&[], |(_, examples)| examples)
}

/// Adds the examples to the end of a command's help, and to those of all commands below.
pub fn add_examples(command: Command, name: &str) -> Command {
    let mut text =
        command.get_after_help().map(|before| format!("{}\n\n", before.ansi())).unwrap_or_default();
    let _ = write!(text, "{}", style_heading(&command, "Examples"));
    for example in examples_of(name) {
        let _ = write!(text, "\n  {example}");
    }
    command.after_help(StyledStr::from(text)).mut_subcommands(|below| {
        let path = format!("{name} {}", below.get_name());
        add_examples(below, path.trim_start())
    })
}
