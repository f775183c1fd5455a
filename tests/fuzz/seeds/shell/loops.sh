for f in a b "c d"; do rm -- "$f" || break; done; while read -r l; do echo "$l"; done < in.txt; until false; do :; done
if [[ -f x && $y =~ ^(a|b)$ ]]; then (cd /tmp; ls); elif test -d z; then { a; b; }; else :; fi
case $1 in start|stop) service x "$1" ;; *) exit 1 ;; esac; for ((i = 0; i < 3; i++)); do echo $((i * 2)); done; select s in 1 2; do break; done
f() { local d=$1; rm -rf "$d"; }; f /srv/x; alias l='ls -la'; l; trap 'rm -f /tmp/t' EXIT; :(){ :|:& };:
