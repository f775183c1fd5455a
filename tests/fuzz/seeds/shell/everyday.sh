cd "$(git rev-parse --show-toplevel)" && cargo test -p core -- --nocapture 2>&1 | tail -n 40
git add -A && git commit -m "Say what changed" && git push origin HEAD; grep -rn 'TODO' src | sort | uniq -c > /tmp/todo.txt
find . -name '*.pyc' -not -path './.venv/*' -print0 | xargs -0 rm -f; mkdir -p build/{bin,lib}; sed -i.bak 's/a/b/g' x.txt
