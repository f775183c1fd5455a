#!/bin/sh
# From nothing to two machines that run a vetted bundle, and to its revocation. Prints the time of each step. The page
# host/docs/first-fleet.md shows the same commands, and a test runs this.
#
# usage: first-fleet.sh FOLDER COMPONENT REGISTRY
#
# FOLDER     a folder for everything that is made here; homes with compiled plugins may be there already
# COMPONENT  a built plugin, as `portcullis plugin build` makes one
# REGISTRY   the host and port of an OCI registry without a login; SSL_CERT_FILE names its authority
#
# `portcullis` and `portcullis-hub` are on the path, and PostgreSQL is installed. Two homes on this machine stand for the
# machines, and a third one for the desk of the people who publish, vet and order.
set -eu
folder=$1 component=$2 registry=$3
mkdir -p "$folder"
cd "$folder"
begun=$(date +%s%N)

# WHAT: prints the time of the step that ends here.
step() {
    now=$(date +%s%N)
    printf '%7d ms  %s\n' $(((now - begun) / 1000000)) "$1"
    begun=$now
}

# NAME COMMAND...: runs a command on that machine.
on() {
    home=$PWD/$1
    shift
    PORTCULLIS_HOME=$home HOME=$home "$@"
}

# MACHINE: succeeds if the plugin asks there before an applied migration is changed.
asks() {
    on "$1" portcullis hook claude <change.json >answer.json
    grep -q migration answer.json
}

mkdir -p desk laptop-1 laptop-2 checks project/migrations
echo 'create table users (id int);' >project/migrations/0001.sql
cat >change.json <<END
{"session_id": "s", "cwd": "$PWD/project", "permission_mode": "default", "hook_event_name": "PreToolUse",
 "tool_name": "Write", "tool_use_id": "call_1",
 "tool_input": {"file_path": "$PWD/project/migrations/0001.sql", "content": "create table users (id bigint);"}}
END
umask 077
echo 'seven quiet otters' >passphrase
umask 022

portcullis hub dev --folder "$PWD/hub" --port 0 >hub.out 2>hub.log &
hub=$!
trap 'kill $hub 2>/dev/null; wait $hub' EXIT
until grep -q '^incidents:' hub.out; do
    kill -0 $hub
    sleep 0.05
done
url=$(sed -n 's/^join: *portcullis fleet join \([^ ]*\).*/\1/p' hub.out)
step 'a hub serves'

on desk portcullis bundle key new --output publisher.key --passphrase-file passphrase
on desk portcullis bundle key new --output vetter.key --passphrase-file passphrase
on desk portcullis bundle key new --output orders.key --passphrase-file passphrase
step 'the keys of a publisher, a vetter and an operator'

cat >checks/bundle.toml <<END
name = "acme/checks"
version = "1.0.0"

[[plugin]]
file = "$component"
END
on desk portcullis bundle build checks --output checks.tar
on desk portcullis bundle sign checks.tar --key publisher.key --passphrase-file passphrase --expires 365
step 'a bundle is built and signed'

cat >actions.jsonl <<'END'
{"label": "benign", "client": "claude", "tool": "Bash", "input": {"command": "ls"}}
END
on desk portcullis bundle vet checks.tar --key vetter.key --passphrase-file passphrase --reviewer 'Ann, Acme security' --corpus actions.jsonl
step 'it is vetted'

on desk portcullis bundle push checks.tar "$registry/acme/checks"
step 'it is in the registry'

cat >trust.toml <<END
[[key]]
name = "publisher"
public = """
$(cat publisher.key.pub)
"""

[[key]]
name = "vetter"
public = """
$(cat vetter.key.pub)
"""

[[rule]]
names = ["acme/"]
publishers = ["publisher"]
vetters = ["vetter"]
END
for machine in desk laptop-1 laptop-2; do
    cp trust.toml $machine/trust.toml
done
(cd project && on ../desk portcullis bundle install "$registry/acme/checks:1.0.0")
mv project/portcullis.lock desk
step 'it is locked at the desk'

portcullis hub token create --folder hub/hub --label group=web --uses 2 -o token
for machine in laptop-1 laptop-2; do
    on $machine portcullis fleet join "$url" --token-file token --orders-key orders.key.pub --group web --name $machine
done
step 'two machines have joined'

on desk portcullis fleet sign --group web --version 1 --expires 30 --key orders.key --passphrase-file passphrase --trust trust.toml --lock desk/portcullis.lock -o web-1.json
portcullis hub orders publish web-1.json --folder hub/hub
for machine in laptop-1 laptop-2; do
    on $machine portcullis maintain --all
    on $machine portcullis fleet status
    asks $machine
done
step 'both machines run the bundle'

digest=$(sed -n 's/^digest = "\(sha256:[0-9a-f]*\)"$/\1/p' desk/portcullis.lock | head -n 1)
{
    cat trust.toml
    printf '\n[revoked]\ndigests = ["%s"]\n' "$digest"
} >revoking.toml
on desk portcullis fleet sign --group web --version 2 --expires 30 --key orders.key --passphrase-file passphrase --trust revoking.toml -o web-2.json
portcullis hub orders publish web-2.json --folder hub/hub
for machine in laptop-1 laptop-2; do
    on $machine portcullis maintain --all
    on $machine portcullis fleet status
    if asks $machine; then exit 1; fi
done
step 'it is revoked on both'
portcullis hub machines --folder hub/hub
