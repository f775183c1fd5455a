//! Programs that print shell code about themselves, to be run by the shell that starts them:
//! `eval "$(pyenv init -)"`, `source <(kubectl completion bash)`.
//!
//! Anybody who may change such a program's output may change the program, so that running its
//! output is running it.

use super::expand::Field;

/// Programs with the words that may come first after the name; "" stands for none.
const SETUPS: &[(&str, &[&str])] = &[
    ("atuin", &["init"]),
    ("brew", &["shellenv"]),
    ("conda", &["shell.bash", "shell.fish", "shell.posix", "shell.zsh"]),
    ("dircolors", &["", "-b", "--sh", "--bourne-shell"]),
    ("direnv", &["export", "hook"]),
    ("docker-machine", &["env"]),
    ("fnm", &["env"]),
    ("fzf", &["--bash", "--zsh"]),
    ("goenv", &["init"]),
    ("jenv", &["init"]),
    ("keychain", &["--eval"]),
    ("lesspipe", &[""]),
    ("luarocks", &["path"]),
    ("mamba", &["shell"]),
    ("micromamba", &["shell"]),
    ("minikube", &["docker-env", "podman-env"]),
    ("mise", &["activate", "env", "hook-env"]),
    ("nodenv", &["init"]),
    ("opam", &["env"]),
    ("phpenv", &["init"]),
    ("pixi", &["shell-hook"]),
    ("plenv", &["init"]),
    ("poetry", &["env"]),
    ("pyenv", &["init", "virtualenv-init"]),
    ("rbenv", &["init"]),
    ("register-python-argcomplete", &["*"]),
    ("resize", &[""]),
    ("sheldon", &["source"]),
    ("ssh-agent", &["", "-s"]),
    ("starship", &["init"]),
    ("swiftenv", &["init"]),
    ("thefuck", &["--alias"]),
    ("tset", &["-s"]),
    ("zoxide", &["init"]),
];

/// First words with which any program prints its completions.
const COMPLETIONS: &[&str] = &["completion", "completions"];
/// Shells for which they are printed.
const SHELLS: &[&str] = &["bash", "fish", "powershell", "pwsh", "sh", "zsh"];

/// Returns true if the call prints code about its own program.
pub(super) fn prints_setup(name: &str, rest: &[Field]) -> bool {
    if rest.iter().any(|field| !field.known) {
        return false;
    }
    let program = name.split(' ').next().unwrap_or(name);
    let first = rest.first().map_or("", |field| field.text.as_str());
    if COMPLETIONS.contains(&first) {
        return rest.iter().skip(1).all(|field| {
            SHELLS.contains(&field.text.as_str())
                || field.text.starts_with('-') && !field.text.contains('/')
        });
    }
    SETUPS.iter().any(|(known, words)| {
        *known == program && words.iter().any(|word| *word == first || *word == "*")
    })
}
