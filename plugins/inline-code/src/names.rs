//! Names of modules, of their members, and those that the program does not define.

use crate::environment::is_environment;
use crate::evaluate::Reader;
use crate::value::{HOLE, Value};
use crate::{Gap, Language};

/// Python's builtin functions that a star import does not hide.
const BUILTINS: &[&str] = &[
    "print",
    "len",
    "str",
    "int",
    "list",
    "dict",
    "set",
    "tuple",
    "range",
    "sorted",
    "open",
    "exec",
    "eval",
    "compile",
    "getattr",
    "__import__",
    "globals",
    "locals",
    "vars",
    "map",
    "filter",
    "zip",
    "enumerate",
    "isinstance",
    "type",
    "chr",
    "ord",
    "bytes",
    "bytearray",
    "repr",
    "input",
    "min",
    "max",
    "sum",
    "any",
    "all",
    "reversed",
    "iter",
    "next",
    "hasattr",
    "setattr",
    "super",
    "object",
    "float",
    "bool",
    "abs",
    "round",
    "hash",
    "id",
    "format",
    "True",
    "False",
    "None",
    "Exception",
    "ValueError",
    "staticmethod",
    "classmethod",
    "property",
];

impl Reader<'_> {
    /// Returns a name of a module, or one that the program does not define.
    pub(crate) fn namespace_member(&mut self, module: Option<&str>, name: &str) -> Value {
        let python = self.language == Language::Python;
        let Some(module) = module else {
            return self.unbound(name, python);
        };
        if matches!(module, "globalThis" | "builtins") {
            if matches!(name, "__dict__" | "builtins" | "__builtins__") {
                return Value::name(module);
            }
            let root = std::rc::Rc::clone(&self.root);
            return match root.own(name) {
                Some(value) => value,
                None => self.unbound(name, python),
            };
        }
        let same = matches!(name, "__dict__" | "default" | "promises")
            && !(name == "promises" && module != "fs" && module != "dns");
        if same && name != "promises" {
            return Value::name(module);
        }
        let whole = if module.len() > 200 { HOLE.to_string() } else { format!("{module}.{name}") };
        match whole.as_str() {
            "sys.argv" | "process.argv" | "Deno.args" | "Bun.argv" => self.given(&whole),
            "sys.executable" => Value::text("python3"),
            "process.execPath" => Value::text("node"),
            "os.sep" | "path.sep" | "os.path.sep" => Value::text("/"),
            "os.linesep" | "os.EOL" => Value::text("\n"),
            "os.curdir" | "os.path.curdir" => Value::text("."),
            "os.pardir" => Value::text(".."),
            "os.devnull" => Value::text("/dev/null"),
            "process.env.HOME" | "os.environ.HOME" => Value::text("~"),
            "process.env.PWD" | "os.environ.PWD" => Value::text("."),
            _ if module == "sys.modules" => Value::name(name),
            _ if is_environment(module) && !is_method_of_environment(name) => {
                Value::made("environment", vec![Value::text(name)], None)
            }
            "builtins.builtins" => Value::name("builtins"),
            _ => Value::name(&whole),
        }
    }

    fn unbound(&mut self, name: &str, python: bool) -> Value {
        match name {
            "__builtins__" | "builtins" if python => return Value::name("builtins"),
            "global" | "window" | "self" | "this" if !python => return Value::name("globalThis"),
            "__dirname" => return Value::text("."),
            "__name__" => return Value::text("__main__"),
            "child_process" | "fs" | "os" => return Value::name(name),
            _ => {}
        }
        if name.contains(HOLE) {
            self.gap(Gap::Dynamic);
        }
        if !self.stars.is_empty() && !BUILTINS.contains(&name) {
            // The name may be that of any module of which all names were imported.
            let all =
                self.stars.iter().map(|star| Value::name(&format!("{star}.{name}"))).collect();
            return Value::any(all);
        }
        Value::name(name)
    }

    /// Returns the program's own arguments.
    fn given(&self, name: &str) -> Value {
        let Some(words) = self.arguments else { return Value::made("argv", Vec::new(), None) };
        let before: &[&str] = match name {
            // `-c` stands in the place of the script's name.
            "sys.argv" => &["-c"],
            "Deno.args" => &[],
            _ => &["node"],
        };
        let all = before.iter().copied().chain(words.iter().map(String::as_str));
        Value::list(all.map(Value::text).collect())
    }
}

fn is_method_of_environment(name: &str) -> bool {
    matches!(name, "get" | "items" | "copy" | "keys" | "values" | "update" | "pop" | "setdefault")
}
