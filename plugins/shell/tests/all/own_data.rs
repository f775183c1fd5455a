//! Losses of data by the machine that holds it: engines x hosts, and sets of containers. Data of
//! this machine is for a person to decide about, data of another machine or of production is lost
//! for others.

use crate::{forms, reading};

/// Clients of databases with a call that loses everything; `<at>` stands for the flags that name
/// the host.
const ENGINES: &[(&str, &str)] = &[
    ("redis", "redis-cli <at> flushall"),
    ("redis", "redis-cli <at> FLUSHDB"),
    ("redis", "valkey-cli <at> flushall async"),
    ("redis", "echo flushall | redis-cli <at>"),
    ("psql", "psql <at> -U app -c 'DELETE FROM users'"),
    ("psql", "psql <at> -c 'DROP TABLE users'"),
    ("psql", "psql <at> -c 'TRUNCATE users'"),
    ("psql", "echo 'DROP DATABASE shop' | psql <at>"),
    ("psql", "dropdb <at> shop"),
    ("mysql", "mysql <at> -e 'DELETE FROM users'"),
    ("mysql", "mysql <at> shop <<< 'DROP TABLE users'"),
    ("mysql", "mariadb <at> -e 'DROP DATABASE shop'"),
    ("mongo", "mongosh <at> --eval 'db.dropDatabase()'"),
    ("mongo", "mongosh <at> --eval 'db.users.deleteMany({})'"),
];

/// Ways to name a host: the engine, or any, and the flags; true for this machine.
const HOSTS: &[(&str, &str, bool)] = &[
    ("", "", true),
    ("", "-h localhost", true),
    ("", "-h 127.0.0.1", true),
    ("", "-h db.example.com", false),
    ("", "-h 10.1.2.3", false),
    ("", "-h \"$HOST\"", false),
    ("psql", "--host=localhost", true),
    ("psql", "-h /var/run/postgresql", true),
    ("psql", "--host db.example.com", false),
    ("mysql", "--login-path=live", false),
    ("mysql", "--defaults-file=live.cnf", false),
    ("redis", "-u redis://localhost:6379/0", true),
    ("redis", "-u redis://cache.example.com", false),
    ("mongo", "mongodb://localhost/shop", true),
    ("mongo", "mongodb+srv://cluster.example.net/shop", false),
    ("mongo", "db.example.com:27017/shop", false),
];

/// Places from which a call is made; true for those of this machine.
const PLACES: &[(&str, bool)] = &[
    ("<call>", true),
    ("sudo -u postgres <call>", true),
    ("docker exec db <call>", true),
    ("docker compose exec -T db <call>", true),
    ("podman exec db <call>", true),
    ("docker exec prod-db <call>", false),
    ("docker compose -p production exec db <call>", false),
    ("docker -H ssh://web1 exec db <call>", false),
    ("docker --context web1 exec db <call>", false),
    ("DOCKER_HOST=tcp://10.0.0.7:2375 docker exec db <call>", false),
    ("export DOCKER_CONTEXT=web1; docker exec db <call>", false),
    ("kubectl exec db -- <call>", false),
    ("ssh web1 <quoted>", false),
    ("PGHOST=db.example.com MYSQL_HOST=db.example.com <call>", false),
];

const OWN: &[&str] = &["delete-own-volumes", "drop-own-data"];
const OTHERS: &[&str] = &["delete-all-rows", "delete-volumes", "drop-data"];

/// Says whose loss a command is.
fn loss(command: &str) -> &'static str {
    let read = reading(command);
    let has = |ids: &[&str]| forms(&read).iter().any(|form| ids.contains(form));
    match (has(OTHERS), has(OWN)) {
        (true, _) => "others",
        (false, true) => "own",
        (false, false) => "none",
    }
}

#[test]
fn each_engine_on_each_host() {
    let mut wrong = Vec::new();
    for (engine, call) in ENGINES {
        for (of, at, here) in HOSTS.iter().filter(|(of, ..)| of.is_empty() || of == engine) {
            let command = call.replace("<at>", at);
            let expected = if *here { "own" } else { "others" };
            if of != engine && *engine == "mongo" && at.starts_with("-h") {
                continue;
            }
            let found = loss(&command);
            if found != expected {
                wrong.push(format!("`{command}` is {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_place_of_a_call() {
    let mut wrong = Vec::new();
    for (engine, call) in ENGINES.iter().filter(|(_, call)| !call.contains(['|', '<'])) {
        for (place, here) in PLACES {
            // The variables of one engine say nothing to another one.
            if place.starts_with("PGHOST") && !matches!(*engine, "psql" | "mysql") {
                continue;
            }
            let call = call.replace("<at> ", "");
            let quoted = format!("\"{call}\"");
            let command = place.replace("<call>", &call).replace("<quoted>", &quoted);
            let (found, expected) = (loss(&command), if *here { "own" } else { "others" });
            if found != expected {
                wrong.push(format!("`{command}` is {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn production_is_not_ones_own() {
    for command in [
        "dropdb production",
        "psql -d production -c 'DROP TABLE users'",
        "psql live -c 'DELETE FROM users'",
        "psql -c 'DROP DATABASE shop_production'",
        "psql -c '\\c shop_production' -c 'DROP TABLE users'",
        "PGDATABASE=production psql -c 'DROP TABLE users'",
        "PGSERVICE=shop psql -c 'DROP TABLE users'",
        "psql service=shop -c 'DROP TABLE users'",
        "redis-cli --cluster call 10.0.0.1:6379 flushall",
    ] {
        assert_eq!(loss(command), "others", "`{command}`");
    }
}

#[test]
fn each_set_of_containers() {
    for engine in ["docker compose", "docker-compose", "podman-compose", "podman compose"] {
        for (words, expected) in [
            ("down -v", "own"),
            ("down --volumes --remove-orphans", "own"),
            ("-f compose.yml -p shop down -v", "own"),
            ("rm -fsv", "own"),
            ("rm -f", "none"),
            ("down", "none"),
            ("down --rmi local", "none"),
            ("-f docker-compose.test.yml down -v", "none"),
            ("-p production down -v", "others"),
            ("-f docker-compose.prod.yml down -v", "others"),
            ("--file deploy/live.yml down -v", "others"),
            ("-p \"$NAME\" down -v", "others"),
        ] {
            let command = format!("{engine} {words}");
            assert_eq!(loss(&command), expected, "`{command}`");
            if expected == "own" {
                for strict in ["DOCKER_HOST=ssh://web1 <c>", "COMPOSE_PROJECT_NAME=prod <c>"] {
                    let command = strict.replace("<c>", &command);
                    assert_eq!(loss(&command), "others", "`{command}`");
                }
                let far = format!("ssh web1 '{command}'");
                assert_eq!(loss(&far), "others", "`{far}`");
            }
        }
    }
    for command in ["docker -H ssh://web1 compose down -v", "docker volume rm a"] {
        assert_eq!(loss(command), "others", "`{command}`");
    }
}

#[test]
fn what_a_container_makes_again_is_scratch() {
    let deletes = |command: &str| {
        let read = reading(command);
        let force = ["recursive-force-delete", "recursive-delete"];
        forms(&read).iter().any(|form| force.contains(form))
    };
    for engine in ["docker exec", "docker exec -it", "podman exec", "docker container exec"] {
        for scratch in [
            "rm -rf /app/tmp",
            "rm -rf /tmp/cache",
            "rm -rf node_modules",
            "rm -rf /app/dist /app/.cache",
            "sh -c 'rm -rf /app/tmp/*'",
        ] {
            let command = format!("{engine} app {scratch}");
            assert!(!deletes(&command), "`{command}`");
        }
        for kept in [
            "rm -rf /var/lib/postgresql/data",
            "rm -rf /app",
            "rm -rf /",
            "rm -rf /app/tmp /app/uploads",
            "rm -rf /app/tmp/../uploads",
            "rm -rf \"$DIR\"",
            "sh -c 'rm -rf /app/tmp; rm -rf /data'",
        ] {
            let command = format!("{engine} app {kept}");
            assert!(deletes(&command), "`{command}`");
        }
    }
    for command in [
        "docker exec prod-app rm -rf /app/tmp",
        "docker -H ssh://web1 exec app rm -rf /app/tmp",
        "kubectl exec app -- rm -rf /app/tmp",
    ] {
        assert!(deletes(command), "`{command}`");
    }
}
