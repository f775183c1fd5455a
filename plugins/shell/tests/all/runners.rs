//! Runners of tasks: files that are read, and files whose language is not.

use crate::scripts::{plain, reading_with, text};
use crate::{effects, forms};
use portcullis_shell_reader::types::Coverage;
use portcullis_shell_reader::{KnownFile, Surroundings, read};

#[test]
fn recipes_of_other_files_count() {
    for (command, files) in [
        ("make x", vec![("Makefile", "include x.mk\nall:\n\ttrue\n"), ("x.mk", "x:\n\t<c>\n")]),
        ("make", vec![("Makefile", "all:\n\t$(MAKE) -C sub\n"), ("sub/Makefile", "all:\n\t<c>\n")]),
        ("make", vec![("Makefile", "all:\n\t${MAKE} -f x.mk\n"), ("x.mk", "all:\n\t<c>\n")]),
        ("rake x", vec![("Rakefile", "task :x do\n  sh \"<c>\"\nend\n")]),
        ("rake x", vec![("Rakefile", "task :x do\n  sh(\"<c>\")\nend\n")]),
    ] {
        for (line, harmful) in [("rm -rf /opt/app", true), ("echo hello", false)] {
            let files: Vec<(&str, _)> = files
                .iter()
                .map(|(path, file)| (*path, text(&file.replace("<c>", line))))
                .collect();
            let run = reading_with(command, &files);
            let lost = effects(&run).contains(&"delete! /opt/app".to_owned());
            assert_eq!(lost, harmful, "{command} {files:?}: {:?}", effects(&run));
            assert_eq!(run.coverage, Coverage::Full, "{:?}", run.gaps);
        }
    }
}

/// Runners: the call, its file, and a text of it that runs commands.
const RUNNERS: &[(&str, &str, &str)] = &[
    ("task build", "Taskfile.yml", "tasks: {}"),
    ("task -t x.yml build", "x.yml", "tasks: {}"),
    ("tox -e py", "tox.ini", "[testenv]\ncommands = pytest"),
    ("nox", "noxfile.py", "import nox"),
    ("ant", "build.xml", "<exec executable=\"rm\"/>"),
    ("cmake -B build", "CMakeLists.txt", "execute_process(COMMAND a)"),
    ("cmake -S sub -B build", "sub/CMakeLists.txt", "execute_process(COMMAND a)"),
    ("cmake -P x.cmake", "x.cmake", "execute_process(COMMAND a)"),
    ("ansible-playbook site.yml", "site.yml", "- hosts: all"),
    ("vagrant up", "Vagrantfile", "x"),
    ("foreman start", "Procfile", "web: a"),
    ("act", ".github/workflows/ci.yml", "on: push"),
    ("nix-shell", "shell.nix", "{}"),
    ("make", "Makefile", "include $(wildcard *.mk)\nall:\n\ttrue\n"),
];

#[test]
fn a_file_in_a_language_that_is_not_read_is_a_gap_unless_git_holds_it() {
    for (command, file, contents) in RUNNERS {
        let run = reading_with(command, &[(file, text(contents))]);
        assert_eq!(run.coverage, Coverage::Partial, "{command}: {:?}", effects(&run));
        assert!(run.gaps.iter().any(|gap| gap.contains(file)), "{command}: {:?}", run.gaps);
        // A file that the words name is expected to be there.
        let missing = reading_with(command, &[]);
        let is_named = command.split(' ').any(|word| word == *file);
        let covered = if is_named { Coverage::Partial } else { Coverage::Full };
        assert_eq!(missing.coverage, covered, "{command}: {:?}", missing.gaps);
        let known = KnownFile {
            path: format!("/home/dev/project/{file}"),
            contents: Some(text(contents)),
            provenance: plain(),
            committed: true,
        };
        let surroundings = Surroundings {
            cwd: "/home/dev/project".to_owned(),
            home: "/home/dev".to_owned(),
            files: vec![known],
            mounts: Vec::new(),
        };
        let committed = read(command, &surroundings);
        assert_eq!(committed.coverage, Coverage::Full, "{command}: {:?}", committed.gaps);
    }
    for (command, file, contents) in [
        ("task --list", "Taskfile.yml", "tasks: {}"),
        ("cmake -B build", "CMakeLists.txt", "project(x)\nadd_executable(x x.c)"),
        ("cmake --build build", "CMakeLists.txt", "execute_process(COMMAND a)"),
        ("vagrant status", "Vagrantfile", "x"),
        ("cmake -B build", "CMakeLists.txt", "include(CTest)\nproject(x)"),
        ("make", "Makefile", "-include $(DEPS) $(OBJS:.o=.d)\nall:\n\tcc x.c\n"),
        ("ansible-playbook --check site.yml", "site.yml", "- hosts: all"),
    ] {
        let run = reading_with(command, &[(file, text(contents))]);
        assert_eq!(run.coverage, Coverage::Full, "{command}: {:?}", run.gaps);
    }
}

#[test]
fn mounts_of_the_machine_count_in_either_form_of_a_list() {
    for (mounts, whole) in [
        ("volumes: [\"/:/h\"]", true),
        ("volumes:\n      - /:/h", true),
        ("volumes: ['./a:/a', '/etc:/h']", true),
        ("volumes: [\"./data:/h\"]", false),
        ("ports: [\"80:80\"]", false),
    ] {
        let file = format!("services:\n  a:\n    image: b\n    {mounts}\n");
        let run = reading_with("docker compose up", &[("compose.yaml", text(&file))]);
        assert_eq!(forms(&run).contains(&"container-escape"), whole, "{mounts}");
    }
}

#[test]
fn an_application_in_its_own_container_may_lose_its_own_files() {
    for (command, own) in [
        ("docker compose exec web bash -c 'rm -rf /app/tmp/cache'", true),
        ("docker-compose exec web rm -rf tmp/cache", true),
        ("docker compose exec db rm -rf /var/lib/postgresql/data", false),
        ("docker compose exec web rm -rf /app", false),
        ("docker compose exec web rm -rf /app/../data", false),
        ("docker compose exec web bash -c \"rm -rf $X\"", false),
        ("docker compose -f docker-compose.prod.yml exec web rm -rf /app/tmp", false),
        ("docker -H ssh://a compose exec web rm -rf /app/tmp", false),
    ] {
        let run = reading_with(command, &[]);
        let there = effects(&run).iter().any(|effect| effect.starts_with("remote"));
        assert_eq!(!there, own, "{command}: {:?} {:?}", effects(&run), run.gaps);
    }
}
