use super::*;

const LIMITS: CompileLimits = CompileLimits {
    wall: Duration::from_secs(60),
    cpu_seconds: 20,
    memory_bytes: 2048 * MIB,
    output_bytes: MIB,
};

/// Uses a shell in place of this program.
fn shell(script: &str) -> Processes {
    Processes {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        each: LIMITS,
        left: None,
    }
}

/// Every way in which the process can end has its own result, regardless of the input.
#[test]
fn every_end_is_named() {
    let invalid = |words: &str| CompileEnd::Invalid(words.into());
    let crashed = |words: &str| CompileEnd::Crashed(words.into());
    let table: &[(&str, Result<&[u8], CompileEnd>)] = &[
        ("cat", Ok(b"component")),
        ("printf answer", Ok(b"answer")),
        ("echo bad >&2; exit 3", Err(invalid("bad"))),
        ("printf '\\n\\033[2Jbad\\n' >&2; exit 3", Err(invalid("\\u{1b}[2Jbad"))),
        ("printf part; echo oh >&2; exit 101", Err(crashed("exit code 101, oh"))),
        ("kill -9 $$", Err(crashed("signal 9, it said nothing"))),
        ("kill -SEGV $$", Err(crashed("signal 11, it said nothing"))),
        ("kill -XCPU $$", Err(CompileEnd::Limit(CompileLimit::Cpu(20)))),
        (
            "echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$",
            Err(CompileEnd::Limit(CompileLimit::Memory(2048 * MIB))),
        ),
        (
            "echo 'cannot read standard input: out of memory' >&2; exit 1",
            Err(CompileEnd::Limit(CompileLimit::Memory(2048 * MIB))),
        ),
        ("echo 'stack overflow' >&2; kill -ABRT $$", Err(crashed("signal 6, stack overflow"))),
        (
            "echo 'memory allocation of 9 bytes failed' >&2; exit 3",
            Err(invalid("memory allocation of 9 bytes failed")),
        ),
        ("exec head -c 1048609 /dev/zero", Err(CompileEnd::Limit(CompileLimit::Output(MIB)))),
        ("exec cat /dev/zero", Err(CompileEnd::Limit(CompileLimit::Output(MIB)))),
        ("cat /dev/zero >&2 & sleep 0.2; kill $!; printf answer", Ok(b"answer")),
        (
            "sleep 1000 & printf answer",
            Err(CompileEnd::Limit(CompileLimit::Wall(Duration::from_millis(300)))),
        ),
    ];
    for (script, expected) in table {
        let wall =
            if script.starts_with("sleep") { Duration::from_millis(300) } else { LIMITS.wall };
        let answer = shell(script).compile(b"component", &CompileLimits { wall, ..LIMITS });
        assert_eq!(answer, expected.clone().map(<[u8]>::to_vec), "{script}");
    }
}

/// A process that reads nothing and one that never ends are both killed at the deadline.
#[test]
fn time_ends_what_does_not_end() {
    let large = vec![0; 4 << 20];
    let limits = CompileLimits { wall: Duration::from_millis(300), ..LIMITS };
    for script in [
        "exec sleep 1000",
        "sleep 1000 & wait",
        "exec >&-; exec sleep 1000",
        "while :; do :; done",
        "trap '' TERM; sleep 1000",
    ] {
        let answer = shell(script).compile(&large, &limits);
        assert_eq!(answer, Err(CompileEnd::Limit(CompileLimit::Wall(limits.wall))), "{script}");
    }
}

#[test]
fn one_that_cannot_be_started_is_reported_with_the_fix() {
    let nowhere = Processes { program: "/nowhere".into(), ..shell("") };
    let error = nowhere.compile(b"component", &LIMITS).unwrap_err();
    assert!(
        matches!(&error, CompileEnd::Unavailable(why) if why.contains("run `portcullis doctor`")),
        "{error}"
    );
}

/// A hook's compilations share one time budget; a person's each have their own.
#[test]
fn a_hook_does_not_wait_for_ever() {
    let hook = Processes {
        left: Some(Mutex::new(Duration::from_millis(300))),
        ..shell("exec sleep 1000")
    };
    let limits = hook.limits().unwrap();
    assert_eq!((limits.wall, hook.retries_failures()), (Duration::from_millis(300), false));
    assert!(hook.compile(b"component", &limits).is_err());
    assert_eq!(hook.limits(), None);
    let person = Processes { left: None, ..hook };
    assert_eq!((person.limits(), person.retries_failures()), (Some(LIMITS), true));
}

/// The compiler does not inherit the descriptors that a person's client left open, the environment,
/// or the working directory.
#[test]
fn it_gets_nothing_but_the_bytes() {
    let seen =
        shell("pwd; set -- /proc/$$/fd/*; echo $#; env | sort").compile(b"", &LIMITS).unwrap();
    let seen = String::from_utf8(seen).unwrap();
    let lines: Vec<&str> =
        seen.lines().filter(|line| !line.starts_with("PWD=") && !line.starts_with("_=")).collect();
    assert!(
        matches!(lines[..], ["/", count, "RAYON_NUM_THREADS=4"] if count.parse::<u32>().unwrap() <= 4),
        "{lines:?}"
    );
}
