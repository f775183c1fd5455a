//! Folders of this machine that a container sees: notations of mounts x commands inside, compose
//! files in each form, and twins that stay in the project or in the container.

use crate::scripts::{reading_with, text};
use crate::{effects, forms};
use portcullis_shell_reader::Contents;
use portcullis_shell_reader::types::Coverage;

/// Ways to run `<c>` in a container that sees `<h>` as `/e`.
const RUNS: &[&str] = &[
    "docker run -v <h>:/e alpine <c>",
    "docker run -v <h>/:/e/ alpine <c>",
    "docker run --rm -it -v <h>:/e:rw alpine <c>",
    "docker run -v=<h>:/e alpine <c>",
    "docker run -itv <h>:/e alpine <c>",
    "docker run --volume <h>:/e alpine <c>",
    "docker run --volume=<h>:/e:z alpine <c>",
    "docker run --mount type=bind,source=<h>,target=/e alpine <c>",
    "docker run --mount=type=bind,src=<h>,dst=/e alpine <c>",
    "docker run --mount \"type=bind,destination=/e,source=<h>\" alpine <c>",
    "docker run --mount type=volume,src=v,dst=/e,volume-opt=device=<h>,volume-opt=o=bind alpine <c>",
    "docker volume create -o type=none -o o=bind -o device=<h> v; docker run -v v:/e alpine <c>",
    "docker volume create --opt device=<h> --opt o=bind v; docker run --mount source=v,target=/e a <c>",
    "docker container run -v <h>:/e alpine <c>",
    "docker create -v <h>:/e alpine <c>",
    "docker run -d --name c -v <h>:/e alpine sleep 9; docker exec c <c>",
    "docker create --name=c -v <h>:/e alpine sleep 9; docker start c; docker exec -it c <c>",
    "podman run -v <h>:/e:Z alpine <c>",
    "nerdctl run -v <h>:/e alpine <c>",
    "sudo docker run -v <h>:/e alpine <c>",
    "docker compose run -v <h>:/e app <c>",
    "buildah run -v <h>:/e c <c>",
    "apptainer exec -B <h>:/e img.sif <c>",
    "apptainer run --bind <h>:/e img.sif <c>",
    "singularity exec --bind=<h>:/e img.sif <c>",
    "bwrap --ro-bind /usr /usr --bind <h> /e <c>",
    "bwrap --dev-bind <h> /e -- <c>",
];

/// Commands inside, and what they do to the mounted folder.
const COMMANDS: &[(&str, &str)] = &[
    ("rm -rf /e/app", "delete! <h>/app"),
    ("rm -rf /e/./app", "delete! <h>/app"),
    ("sh -c 'rm -rf /e/*'", "delete! <h>/*"),
    ("sh -c 'cd /e && rm -rf app'", "delete! <h>/app"),
    ("find /e/app -delete", "delete! <h>/app"),
    ("sh -c 'echo x >> /e/a.txt'", "modify <h>/a.txt"),
    ("cp a /e/a.txt", "modify <h>/a.txt"),
    ("touch /e/a.txt", "create <h>/a.txt"),
    ("python3 -c \"import shutil; shutil.rmtree('/e/app')\"", "delete! <h>/app"),
    ("cat /e/a.txt", "read <h>/a.txt"),
];

/// Folders as they are written, and as they are.
const PLACES: &[(&str, &str)] = &[
    ("/opt", "/opt"),
    ("/home/dev/other", "/home/dev/other"),
    ("../other", "/home/dev/other"),
    ("$PWD/../other", "/home/dev/other"),
    ("$(pwd)/../../x", "/home/x"),
    ("$HOME/other", "/home/dev/other"),
];

fn has(found: &[String], expected: &str) -> bool {
    let plain = |effect: &String| {
        let (kind, target) = effect.split_once(' ').unwrap_or((effect, ""));
        let target = target.replace("/home/dev/project/../", "/home/dev/");
        format!("{} {target}", kind.replace('?', "")) == expected
    };
    found.iter().any(plain)
}

#[test]
fn a_command_in_a_container_reaches_what_it_sees() {
    let (mut wrong, mut cells) = (Vec::new(), 0);
    for run in RUNS {
        for (command, expected) in COMMANDS {
            for (written, place) in PLACES {
                // A volume's option is no path that a shell fills in.
                if run.contains("device") && written.contains('$') {
                    continue;
                }
                cells += 1;
                let line = run.replace("<h>", written).replace("<c>", command);
                let found = effects(&reading_with(&line, &[]));
                if !has(&found, &expected.replace("<h>", place)) {
                    wrong.push(format!("`{line}`: {found:?}"));
                }
            }
        }
        for (here, command, expected) in [
            ("/etc", "sh -c 'echo x >> /e/passwd'", "system /etc/passwd"),
            ("/home/dev/.ssh", "cat /e/id_rsa", "secret /home/dev/.ssh/id_rsa"),
            ("/home/dev", "sh -c 'echo x >> /e/.bashrc'", "persist /home/dev/.bashrc"),
            (".git/hooks", "cp a /e/pre-commit", "persist .git/hooks/pre-commit"),
        ] {
            // A name without a slash is that of a volume.
            let here = here.replace(".git", "./.git");
            let line = run.replace("<h>", &here).replace("<c>", command);
            let found = effects(&reading_with(&line, &[]));
            if !has(&found, expected) {
                wrong.push(format!("`{line}`: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A folder that is known only when it runs may be any.
#[test]
fn an_unknown_folder_stays_unknown() {
    for run in RUNS.iter().filter(|run| !run.contains("device")) {
        let line = run.replace("<h>", "$X").replace("<c>", "rm -rf /e/app");
        let reading = reading_with(&line, &[]);
        assert!(has(&effects(&reading), "delete! "), "`{line}`: {:?}", effects(&reading));
        assert!(reading.coverage != Coverage::Full, "`{line}`");
    }
}

#[test]
fn what_stays_inside_or_in_the_project_is_quiet() {
    let mut wrong = Vec::new();
    for line in [
        "docker run --rm -v \"$PWD\":/w -w /w node npm test",
        "docker run --rm -v $(pwd):/app -w /app alpine rm -rf build",
        "docker run --rm -v ./data:/d alpine sh -c 'rm -rf /d/*'",
        "docker run --rm -v /opt:/e:ro alpine rm -rf /e/app",
        "docker run --rm --mount type=bind,source=/opt,target=/e,readonly alpine rm -rf /e/app",
        "docker run --rm -v /opt:/e:ro,z alpine ls -la /e",
        "docker run --rm -v /opt:/e alpine rm -rf /var/cache/apk",
        "docker run --rm -v /opt:/e alpine ls /e",
        "docker run --rm -v /data alpine rm -rf /data/x",
        "docker run --rm alpine rm -rf /opt/app",
        "docker run -d --name c -v ./data:/d alpine sleep 9; docker exec c rm -rf /d/x",
        "buildah run c rm -rf /var/cache/x",
        "docker compose run --rm -v ./x:/x app rm -rf /x/y",
        "docker volume create data; docker run --rm -v data:/d alpine ls /d",
    ] {
        let reading = reading_with(line, &[]);
        let grave = |effect: &String| {
            let outside = effect.contains(" /") && !effect.starts_with("read");
            let kinds = ["system", "privilege", "persist", "secret", "remote"];
            outside || kinds.iter().any(|kind| effect.starts_with(kind))
        };
        let found = effects(&reading);
        if found.iter().any(grave) || reading.coverage != Coverage::Full {
            wrong.push(format!("`{line}`: {found:?} {:?}", reading.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ways to write that a service `a` sees `<h>` as `/e`: the whole file without its command.
const MOUNTS: &[&str] = &[
    "services:\n  a:\n    image: x\n<c>    volumes:\n      - <h>:/e\n",
    "services:\n  a:\n    image: x\n    volumes:\n    - \"<h>:/e:rw\"\n<c>",
    "version: '3'\nservices:\n  a:\n    image: x\n    volumes: ['<h>:/e']\n<c>",
    "services:\n  a:\n<c>    volumes: [\"./src:/app\", \"<h>:/e\"]\n",
    "services:\n  a:\n    image: x # a\n    volumes:\n      # b\n      - type: bind\n        source: <h>\n        target: /e\n<c>",
    "services:\n  a:\n    volumes:\n      - {type: bind, source: <h>, target: /e}\n<c>",
    "services:\n  a:\n    volumes:\n      - target: /e\n        source: \"<h>\"\n        type: bind\n<c>",
    "x-base: &base\n  volumes:\n    - <h>:/e\nservices:\n  a:\n    <<: *base\n    image: x\n<c>",
    "x-v: &v\n  - <h>:/e\nservices:\n  a:\n    volumes: *v\n<c>",
    "services:\n  b:\n    image: y\n  a:\n    volumes:\n      - v:/e\n<c>volumes:\n  v:\n    driver_opts:\n      type: none\n      o: bind\n      device: <h>\n",
];
/// Ways to write the command of a service that deletes `/e/app`.
const GIVEN: &[&str] = &[
    "    command: rm -rf /e/app\n",
    "    command: [\"rm\", \"-rf\", \"/e/app\"]\n",
    "    command:\n      - sh\n      - -c\n      - rm -rf /e/app\n",
    "    command: >\n      sh -c \"rm -rf\n      /e/app\"\n",
    "    command: |\n      rm -rf /e/app\n",
    "    entrypoint: rm -rf /e/app\n",
    "    entrypoint: [\"sh\", \"-c\"]\n    command: [\"rm -rf /e/app\"]\n",
    "    entrypoint: rm\n    command: -rf /e/app\n",
    "    working_dir: /e\n    command: rm -rf app\n",
    "    healthcheck:\n      test: [\"CMD-SHELL\", \"rm -rf /e/app\"]\n",
    "    healthcheck:\n      test: rm -rf /e/app\n",
    "    post_start:\n      - command: rm -rf /e/app\n",
];

fn compose(command: &str, file: &str, content: &str) -> portcullis_shell_reader::Reading {
    let files: [(&str, Contents); 1] = [(file, text(content))];
    reading_with(command, &files)
}

#[test]
fn services_reach_what_they_see() {
    let mut wrong = Vec::new();
    let places = [
        ("/opt", "/opt"),
        ("../other", "/home/dev/other"),
        ("~/other", "/home/dev/other"),
        ("${HOME}/other", "/home/dev/other"),
        ("$HOME/other", "/home/dev/other"),
        ("${PWD}/../other", "/home/dev/other"),
        ("${DATA:-/opt}", "/opt"),
        ("${DATA-/srv/x}", "/srv/x"),
    ];
    let mut check = |command: &str, file: &str, content: &str, expected: &str| {
        let reading = compose(command, file, content);
        if !has(&effects(&reading), expected) {
            wrong.push(format!("`{command}`: {content}: {:?}", effects(&reading)));
        }
    };
    for mount in MOUNTS {
        for (written, place) in places {
            let expected = format!("delete! {place}/app");
            for given in GIVEN {
                let content = mount.replace("<h>", written).replace("<c>", given);
                check("docker compose up -d", "compose.yaml", &content, &expected);
            }
            let content = mount.replace("<h>", written).replace("<c>", "");
            for command in [
                "docker compose run a rm -rf /e/app",
                "docker compose run --rm a sh -c 'rm -rf /e/app'",
                "docker compose exec a rm -rf /e/app",
                "docker-compose exec -T a rm -rf /e/app",
                "podman-compose run a rm -rf /e/app",
            ] {
                check(command, "docker-compose.yml", &content, &expected);
            }
        }
    }
    let content = MOUNTS[0].replace("<h>", "/opt").replace("<c>", GIVEN[0]);
    for (command, file) in [
        ("docker compose -f x.yml up", "x.yml"),
        ("docker compose --file=x.yml up a", "x.yml"),
        ("docker compose -f a.yml -f x.yml up", "x.yml"),
        ("docker compose up", "docker-compose.override.yml"),
        ("COMPOSE_FILE=x.yml docker compose up", "x.yml"),
        ("export COMPOSE_FILE=a.yml:x.yml; docker compose up", "x.yml"),
        ("docker compose create", "docker-compose.yaml"),
        ("docker compose restart a", "compose.yml"),
        ("docker compose run a", "compose.yml"),
        ("docker-compose up --build", "docker-compose.yml"),
        ("podman-compose up", "docker-compose.yml"),
        ("cd sub && docker compose up", "sub/compose.yaml"),
    ] {
        check(command, file, &content, "delete! /opt/app");
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn services_of_the_project_are_quiet() {
    let mut wrong = Vec::new();
    let quiet = |command: &str, content: &str, wrong: &mut Vec<String>| {
        let reading = compose(command, "compose.yaml", content);
        let grave = |effect: &String| {
            let kinds = ["delete", "system", "privilege", "persist", "secret", "unseen", "discard"];
            kinds.iter().any(|kind| effect.starts_with(kind))
        };
        let odd = forms(&reading).iter().any(|form| !form.starts_with("recursive"));
        if effects(&reading).iter().any(grave) || odd || reading.coverage != Coverage::Full {
            wrong.push(format!("`{command}`: {content}: {:?}", effects(&reading)));
        }
    };
    for given in GIVEN {
        // What is lost in a new container was not there before; read-only folders stay.
        for volumes in ["", "    volumes:\n      - data:/e\n", "    volumes: ['/opt:/e:ro']\n"] {
            let content = format!("services:\n  a:\n    image: x\n{volumes}{given}");
            quiet("docker compose up", &content, &mut wrong);
        }
    }
    let content = "services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: x\n    volumes:\n      - db:/var/lib/postgresql/data\n      - ./init:/docker-entrypoint-initdb.d:ro\n    healthcheck:\n      test: [\"CMD-SHELL\", \"pg_isready -U postgres\"]\n  web:\n    build: .\n    command: npm run dev\n    volumes:\n      - .:/app\n      - /app/node_modules\n    ports: [\"3000:3000\"]\n    depends_on: [db]\nvolumes:\n  db: {}\n";
    for command in [
        "docker compose up -d",
        "docker compose up --build web",
        "docker compose run --rm web npm test",
        "docker compose exec web npm run lint",
        "docker compose restart web",
    ] {
        quiet(command, content, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file of too many services, or too deep, hides nothing.
#[test]
fn a_long_compose_file_is_a_limit() {
    let many: String = (0..80).map(|n| format!("  s{n}:\n    image: x\n")).collect();
    let deep: String = (0..40).map(|n| format!("{}a:\n", "  ".repeat(n + 1))).collect();
    for content in [
        format!("services:\n{many}  z:\n    command: rm -rf /e\n    volumes: ['/opt:/e']\n"),
        format!("services:\n{deep}"),
        format!("services:\n{}", "  # padding\n".repeat(5_000)),
    ] {
        let reading = compose("docker compose up", "compose.yaml", &content);
        let limited = reading.gaps.iter().any(|gap| gap.starts_with("limit: "));
        assert!(limited, "{:?}", reading.gaps);
    }
}
