//! Commands and all of their effects.

use crate::{effects, reading};

/// The command, its effects in order and with commas between, nothing else.
const TABLE: &[(&str, &str)] = &[
    // files
    ("ls -la", ""),
    ("cat README.md", "read README.md"),
    ("rm old.txt", "delete old.txt"),
    ("rm -rf build", "delete! build"),
    ("rm -- -odd", "delete -odd"),
    ("mkdir -p a/b", "create a/b"),
    ("cp a b", "read a, modify b"),
    ("echo hi > out.txt", "modify out.txt"),
    ("echo hi >> /tmp/log", "modify /tmp/log"),
    ("echo hi 2>/dev/null >&2", ""),
    ("ls &> all.log", "modify all.log"),
    ("sort < in > out", "read in, modify out"),
    ("sed -i s/a/b/ x.txt", "read x.txt, modify x.txt"),
    ("sed s/a/b/ x.txt", "read x.txt"),
    ("grep -rn todo src", "read src"),
    ("grep -e todo src", "read src"),
    ("head -n 5 a.txt", "read a.txt"),
    ("tee out.log", "modify out.log"),
    ("find . -name '*.pyc' -delete", "read! ., delete **/*.pyc"),
    ("find src -type f -exec rm {} +", "read! src, delete src"),
    ("tar czf a.tgz src", "read! src, modify a.tgz"),
    ("tar xf a.tgz -C out", "read a.tgz, create! out"),
    ("dd if=in of=out", "read in, modify out"),
    // values that the text makes known
    ("D=/tmp/x; rm -rf \"$D\"", "delete! /tmp/x"),
    ("D=/tmp/x && rm -rf ${D}/y", "delete! /tmp/x/y"),
    ("export D=/tmp; rm $D/a", "delete /tmp/a"),
    ("rm ${UNSET:-a.txt}", "delete? a.txt"),
    ("rm -rf ${TMPDIR:-/tmp}/x", "delete! /tmp/x"),
    ("rm -rf \"$UNSET/x\"", "delete!?"),
    ("rm /var/tmp/$UNSET/x", "delete? /var/tmp"),
    ("cd /tmp && rm a", "delete /tmp/a"),
    ("cd sub; cd ..; rm a", "delete a"),
    ("(cd /tmp; rm a); rm b", "delete /tmp/a, delete b"),
    ("cd \"$UNSET\" && rm a", "delete?"),
    ("rm ~/notes", "delete /home/dev/notes"),
    ("rm \"$HOME/notes\" $PWD/a", "delete /home/dev/notes, delete a"),
    ("rm '~/notes'", "delete ~/notes"),
    ("rm {a,b}.txt", "delete a.txt, delete b.txt"),
    ("rm f{1..3}", "delete f1, delete f2, delete f3"),
    ("rm '{a,b}'", "delete {a,b}"),
    ("rm *.log", "delete *.log"),
    ("for f in a b; do rm $f; done", "delete a, delete b"),
    ("rm $(echo a b)", "delete a, delete b"),
    ("rm `echo a`", "delete a"),
    ("p=$(command -v rm || which unlink); $p a", "delete a"),
    ("rm $(echo a || echo b)", "delete a"),
    ("rm $'a\\x62'", "delete ab"),
    ("r\\m a; 'rm' b; r\"\"m c", "delete a, delete b, delete c"),
    ("x=rm; $x a", "delete a"),
    ("IFS=,; a=rm,x,y; $a", "delete x, delete y"),
    ("a=(rm x y); \"${a[@]}\"", "delete x, delete y"),
    ("a=(x y z); rm ${a[1]}", "delete y"),
    ("cd \"$(git rev-parse --show-toplevel)\" && rm a", "delete a"),
    ("source /dev/stdin <<< 'rm a'", "delete a"),
    ("git -c core.pager='rm a' log", "delete a"),
    ("git -c alias.x='!rm a' x", "delete a, start?"),
    ("vim -c ':!rm a'", "delete a"),
    ("rm${IFS}a", "delete a"),
    ("t=$(mktemp -d); rm -rf \"$t\"", "create? /tmp, delete!? /tmp"),
    ("p=/a/b.txt; rm ${p%.txt}.md", "delete /a/b.md"),
    // wrappers
    ("sudo -u root rm /srv/x", "privilege?, delete /srv/x"),
    ("env A=1 nice -n 5 timeout 10 rm a", "delete a"),
    ("nohup rm a &", "delete a"),
    ("sh -c 'rm a'", "delete a"),
    ("bash -lc \"rm $HOME/a\"", "delete /home/dev/a"),
    ("sh -c 'rm \"$1\"' _ a", "delete a"),
    ("eval 'rm a'", "delete a"),
    ("command rm a; exec rm b", "delete a, delete b"),
    ("echo a b | xargs rm", "delete a, delete b"),
    ("ls | xargs -I{} rm {}", "delete? ."),
    ("find . -name x | xargs rm", "read! ., delete? **/x"),
    ("watch -n 1 'rm a'", "delete a"),
    ("echo 'rm a' | sh", "delete a"),
    ("sh <<< 'rm a'", "delete a"),
    ("bash <<'EOF'\nrm a\nEOF", "delete a"),
    ("cat > run.sh <<'EOF'\nrm a\nEOF\nsh run.sh", "modify run.sh, read run.sh, delete a"),
    ("ssh host.example rm -rf /srv", "network host.example, remote! host.example"),
    // inline code
    ("python3 -c 'import os; os.remove(\"a\")'", "delete a"),
    ("python3 -c 'import shutil; shutil.rmtree(\"/srv/x\")'", "delete! /srv/x"),
    ("python3 -c 'import os; os.system(\"rm a\")'", "delete a"),
    ("python3 -c 'import subprocess; subprocess.run([\"rm\", \"a\"])'", "delete a"),
    ("python3 -c 'print(1)'", ""),
    ("python3 - <<'EOF'\nopen('a', 'w').write('x')\nEOF", "modify a"),
    ("node -e 'require(\"fs\").rmSync(\"a\")'", "delete! a"),
    ("node -e 'fetch(\"https://x.example/y\")'", "network x.example"),
    ("perl -e 'unlink \"a\"'", "delete a"),
    ("ruby -e 'File.delete(\"a\")'", "delete a"),
    ("ruby -e '`rm a`'", "delete a"),
    // everyday work of a developer
    ("git status && git diff", ""),
    ("git add -A && git commit -m 'x'", "modify? .git"),
    ("git push", "publish origin, network?"),
    ("git rm a.txt", "delete a.txt"),
    ("cargo build", "modify? target"),
    ("npm test", "modify? ."),
    ("npm install", "modify? node_modules, network registry.npmjs.org"),
    ("python -m pytest -q", "modify? ."),
    ("./scripts/build.sh", "modify? ."),
    ("python tool.py", "read tool.py, modify? ."),
    ("npx eslint src", "modify? ."),
    ("uv run pytest", "modify? ."),
    (".venv/bin/python -m pytest", "modify? ."),
    // what is not known
    ("frobnicate --all", "start? frobnicate"),
    ("/opt/x/run --all", "start? /opt/x/run"),
    ("frobnicate --version", ""),
    // other machines, services, the system
    ("curl -s https://example.com/a", "network example.com"),
    ("curl -o a https://example.com/a", "network example.com, modify a"),
    ("scp a.txt dev@host.example:/srv", "read! a.txt, network host.example, publish host.example"),
    ("aws s3 ls", "network amazonaws.com"),
    ("aws ec2 terminate-instances --instance-ids i", "network amazonaws.com, remote amazonaws.com"),
    ("kubectl get pods", "network cluster"),
    ("kubectl -n web delete pod x", "network cluster, remote cluster"),
    ("terraform destroy", "remote?"),
    ("psql -c 'drop table a'", "network database, remote?"),
    ("psql -c 'select 1'", "network database"),
    ("sqlite3 a.db 'delete from t'", "read a.db, modify a.db"),
    ("kill 123", "stop 123"),
    ("systemctl status x", ""),
    ("systemctl enable x", "persist x, system x"),
    ("sudo apt-get install jq", "privilege?, system?, network?"),
    ("docker ps", ""),
    ("docker exec app rm -rf /data", "remote! app"),
    ("docker exec app ls /data", ""),
    // what follows from a path
    ("cat ~/.ssh/id_rsa", "secret /home/dev/.ssh/id_rsa, read /home/dev/.ssh/id_rsa"),
    ("cat ~/.ssh/id_rsa.pub", "read /home/dev/.ssh/id_rsa.pub"),
    ("sqlite3 'file:/srv/a.key?mode=ro' .tables", "secret /srv/a.key, read /srv/a.key"),
    ("git log --output .git/config", "persist .git/config, modify .git/config"),
    ("consul kv delete -recurse team/x", "network?, remote?"),
    ("aws iam delete-policy-version --version 4", "network amazonaws.com, remote amazonaws.com"),
    ("git remote add origin https://x.example/y", "modify? .git"),
    ("cat .env", "secret .env, read .env"),
    ("cat .env.example", "read .env.example"),
    ("echo x >> ~/.bashrc", "persist /home/dev/.bashrc, modify /home/dev/.bashrc"),
    ("cp hook .git/hooks/pre-commit", "read hook, persist .git/hooks/pre-commit, modify .git/hooks/pre-commit"),
    (
        "echo k >> ~/.ssh/authorized_keys",
        "persist /home/dev/.ssh/authorized_keys, privilege /home/dev/.ssh/authorized_keys, modify /home/dev/.ssh/authorized_keys",
    ),
    ("echo x > /etc/hosts", "system /etc/hosts, modify /etc/hosts"),
    ("dd if=/dev/zero of=/dev/sda", "system /dev/sda, modify /dev/sda"),
];

#[test]
fn commands_have_these_effects_and_no_others() {
    let mut wrong = Vec::new();
    for (command, expected) in TABLE {
        let mut found = effects(&reading(command));
        let mut expected: Vec<String> = expected.split(", ").filter(|effect| !effect.is_empty()).map(str::to_owned).collect();
        found.sort();
        expected.sort();
        if found != expected {
            wrong.push(format!("`{command}`\n  found    {found:?}\n  expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hosts_are_named_once_in_lower_case_without_a_port() {
    let reading = reading("curl https://User@Example.COM:8443/a https://example.com/b; ssh dev@other.example ls");
    assert_eq!(reading.hosts, ["example.com", "other.example"]);
}
