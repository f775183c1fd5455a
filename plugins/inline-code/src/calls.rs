//! Calls: of the program's own functions, of functions outside it, and of those that call others.

use crate::environment;
use crate::evaluate::{Known, Reader};
use crate::javascript::module_name;
use crate::library;
use crate::methods;
use crate::scope::{Inner, Local, Scope};
use crate::tree::Function;
use crate::value::{HOLE, Kind, Value, elements};
use crate::{Gap, Language};
use std::rc::Rc;

/// The maximum number of functions that call each other.
const RUNNING: usize = 12;
/// The maximum number of functions that are walked although nothing here calls them.
const UNCALLED: usize = 512;

/// Calls that load a module by its name.
const LOADERS: &[&str] = &[
    "__import__",
    "importlib.import_module",
    "importlib.__import__",
    "import",
    "require",
    "module.require",
    "process.mainModule.require",
    "process.getBuiltinModule",
    "process.binding",
    "module.constructor._load",
    "Module._load",
    "module.Module._load",
    "module._load",
    "require.main.require",
    "module.createRequire()",
    "createRequire()",
];
/// Calls that run a text as code of the same language.
const RUNNERS: &[&str] = &[
    "exec",
    "eval",
    "execScript",
    "code.interact",
    "vm.runInThisContext",
    "vm.runInNewContext",
    "vm.runInContext",
    "vm.Script",
    "vm.compileFunction",
    "globalThis.eval",
    "Function",
];
/// Calls that run a text or call a function.
const TIMERS: &[&str] = &["setTimeout", "setInterval", "setImmediate"];
/// Calls of a function for each item of a list.
const MAPPERS: &[&str] = &[
    "map",
    "filter",
    "forEach",
    "flatMap",
    "some",
    "every",
    "find",
    "findIndex",
    "reduce",
    "sort",
    "starmap",
    "imap",
    "imap_unordered",
    "map_async",
    "starmap_async",
    "from",
    "filterfalse",
    "takewhile",
    "dropwhile",
    "each",
    "eachSeries",
    "eachLimit",
];

/// The most functions that are called within each other because they were given as arguments.
const CALLBACKS: u32 = 4;

type Keywords = Vec<(String, Value)>;

impl Reader<'_> {
    /// Calls a value.
    pub(crate) fn apply(
        &mut self,
        callee: &Value,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        if !self.step() || !self.enter() {
            return Value::unknown();
        }
        let result = self.apply_entered(callee, arguments, keywords, scope);
        self.depth -= 1;
        result
    }

    fn apply_entered(
        &mut self,
        callee: &Value,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        match &callee.kind {
            Kind::Any(values) => {
                let all = values
                    .iter()
                    .map(|one| self.apply(one, arguments.clone(), keywords.clone(), scope));
                Value::any(all.collect())
            }
            Kind::Name(name) => self.call_name(name, arguments, keywords, scope),
            Kind::Local(local) => self.call_local(callee, local, arguments, keywords, scope),
            Kind::Member(of, name) => self.call_member(of, name, arguments, keywords, scope),
            Kind::Made(class, parts) if &**class == "Function" => {
                parts.first().cloned().unwrap_or_else(Value::unknown)
            }
            Kind::Made(class, _) => {
                let name = format!("{class}()");
                self.call_outside(&name, Some(callee), arguments, keywords, scope)
            }
            _ => {
                self.uses(&arguments);
                self.call_back(&arguments, &keywords, None, false, scope);
                Value::unknown()
            }
        }
    }

    fn call_local(
        &mut self,
        callee: &Value,
        local: &Local,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        match &*local.0 {
            Inner::Function(function, around, this) => {
                self.invoke(function, around, this.as_ref(), arguments, keywords)
            }
            Inner::Class(members) => {
                let object = Inner::Object(Scope::new(None), Rc::clone(members));
                let object = Value::local(Local(Rc::new(object)));
                let init = self.member(&object, "__init__");
                if matches!(init.kind, Kind::Local(_)) {
                    self.apply(&init, arguments, keywords, scope);
                } else {
                    self.uses(&arguments);
                }
                object
            }
            Inner::Object(..) => {
                let call = self.member(callee, "__call__");
                match call.kind {
                    Kind::Local(_) => self.apply(&call, arguments, keywords, scope),
                    _ => Value::unknown(),
                }
            }
            Inner::Partial(function, first) => {
                let all = first.iter().cloned().chain(arguments).collect();
                self.apply(function, all, keywords, scope)
            }
        }
    }

    /// Walks a function's body with its arguments.
    fn invoke(
        &mut self,
        function: &Rc<Function>,
        around: &Rc<Scope>,
        this: Option<&Value>,
        arguments: Vec<Value>,
        keywords: Keywords,
    ) -> Value {
        let own = Rc::as_ptr(function);
        self.called.insert(own);
        if self.running.contains(&own) {
            return Value::unknown();
        }
        if self.running.len() >= RUNNING {
            self.gap(Gap::Limit);
            return Value::unknown();
        }
        let scope = Scope::new(Some(Rc::clone(around)));
        let first = this.filter(|_| function.is_method).cloned();
        let mut arguments = first.into_iter().chain(arguments);
        let mut keywords = keywords;
        for parameter in &function.parameters {
            let value = if parameter.rest {
                Value::list(arguments.by_ref().collect())
            } else if parameter.keywords {
                Value::map(std::mem::take(&mut keywords))
            } else {
                let named = keywords
                    .iter()
                    .position(|(name, _)| !name.is_empty() && *name == parameter.name)
                    .map(|at| keywords.remove(at).1);
                match (arguments.next().or(named), &parameter.default) {
                    (Some(value), _) => value,
                    (None, Some(default)) => self.evaluate(default, around),
                    (None, None) => Value::unknown(),
                }
            };
            self.assign(&parameter.target, value, &scope);
        }
        if !function.name.is_empty() && scope.find(&function.name).is_none() {
            let itself = Inner::Function(Rc::clone(function), Rc::clone(around), None);
            scope.put(&function.name, Value::local(Local(Rc::new(itself))));
        }
        self.running.push(own);
        self.returns.push(Vec::new());
        self.evaluate(&function.body, &scope);
        self.running.pop();
        Value::any(self.returns.pop().unwrap_or_default())
    }

    /// Walks the functions that nothing here calls: something else may.
    pub(crate) fn uncalled(&mut self) {
        let mut at = 0;
        while let Some(Known { function, scope, this }) = self.known.get(at) {
            let (function, scope, this) = (Rc::clone(function), Rc::clone(scope), this.clone());
            at += 1;
            if at > UNCALLED {
                self.gap(Gap::Limit);
                return;
            }
            if !self.called.contains(&Rc::as_ptr(&function)) {
                self.invoke(&function, &scope, this.as_ref(), Vec::new(), Vec::new());
            }
        }
    }

    /// Calls a function outside the program.
    fn call_name(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        if self.language == Language::JavaScript
            && let Some((base, how)) = name.rsplit_once('.')
            && matches!(how, "call" | "apply" | "bind")
            && !matches!(base, "" | "Reflect")
        {
            return self.call_through(&Value::name(base), how, arguments, scope);
        }
        if self.language == Language::JavaScript
            && let Some((base, "then" | "catch" | "finally")) = name.rsplit_once('.')
        {
            let base = Value::name(base);
            let results = self.call_back(&arguments, &keywords, Some(&base), false, scope);
            return Value::any(results.unwrap_or_default());
        }
        if LOADERS.contains(&name) {
            return self.load(&arguments);
        }
        if RUNNERS.contains(&name) && !(name == "exec" && self.language == Language::JavaScript)
            || name.ends_with(".constructor")
        {
            return self.run_text(name, arguments, keywords, scope);
        }
        if TIMERS.contains(&name) && arguments.first().is_some_and(|text| text.as_text().is_some())
        {
            return self.run_text(name, arguments, keywords, scope);
        }
        let first = arguments.first().cloned().unwrap_or_else(Value::unknown);
        let second = || arguments.get(1).cloned().unwrap_or_else(Value::unknown);
        match name {
            "getattr" | "Reflect.get" => {
                let member = second().alternatives();
                let all = member.iter().map(|member| match member.as_text() {
                    Some(text) => self.member(&first, &text),
                    None => self.member(&first, &HOLE.to_string()),
                });
                return Value::any(all.collect());
            }
            "vars" if !arguments.is_empty() => return first,
            "vars" | "globals" | "locals" => return Value::name("globalThis"),
            "super" => return self.lookup("this", scope),
            "functools.partial" | "partial" => {
                let rest = arguments.get(1..).unwrap_or_default().to_vec();
                return Value::local(Local(Rc::new(Inner::Partial(first, rest))));
            }
            "util.promisify"
            | "promisify"
            | "asyncio.run"
            | "asyncio.create_task"
            | "asyncio.ensure_future"
            | "Promise.resolve"
            | "asyncio.wait_for"
            | "copy.copy"
            | "copy.deepcopy"
            | "staticmethod"
            | "classmethod"
            | "functools.wraps()"
            | "functools.lru_cache"
            | "functools.cache"
            | "contextlib.closing"
            | "Object.freeze" => return first,
            "Object.assign" => return environment::merge_objects(&arguments),
            "dict" if environment::is_whole(&first) => {
                let all = [("**".to_owned(), first)].into_iter().chain(keywords);
                return Value::map(all.collect());
            }
            "os.environ.copy" => return Value::name("os.environ"),
            "asyncio.gather" | "Promise.all" | "Promise.allSettled" => {
                return match &first.kind {
                    Kind::List(_) => first,
                    _ => Value::list(arguments),
                };
            }
            "operator.methodcaller" | "operator.attrgetter" => {
                return Value::made(name, arguments, None);
            }
            "operator.methodcaller()" | "operator.attrgetter()" => {}
            "Reflect.apply" | "Reflect.construct" => {
                let list = if name.ends_with('t') {
                    second()
                } else {
                    arguments.get(2).cloned().unwrap_or_else(Value::unknown)
                };
                let all = match &list.kind {
                    Kind::List(items) => items.as_ref().clone(),
                    _ => vec![Value::any(elements(&list))],
                };
                return self.apply(&first, all, keywords, scope);
            }
            "asyncio.to_thread" | "loop.run_in_executor" => {
                let rest = arguments.get(1..).unwrap_or_default().to_vec();
                return self.apply(&first, rest, keywords, scope);
            }
            _ => {}
        }
        self.call_outside(name, None, arguments, keywords, scope)
    }

    /// Lists a call, and calls the functions that it is given.
    fn call_outside(
        &mut self,
        name: &str,
        receiver: Option<&Value>,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        let method = name.rsplit('.').next().unwrap_or(name);
        let maps = MAPPERS.contains(&method);
        let results = self.call_back(&arguments, &keywords, receiver, maps, scope);
        self.uses(&environment::list_disclosed(name, &arguments, &keywords));
        let call = self.emit(name, receiver.cloned(), arguments.clone(), keywords.clone());
        let all: Vec<&Value> = arguments.iter().chain(receiver).collect();
        let computed = match receiver {
            Some(of) if name.starts_with("pathlib.Path().") => {
                library::compute_path(method, of, &arguments)
            }
            _ => library::compute(name, &arguments, &keywords, results.as_ref()),
        };
        if let Some(value) = computed {
            return value.with_origins(&all).with_origin(call);
        }
        let parts: Vec<Value> = receiver.into_iter().cloned().chain(arguments).collect();
        Value::made(name, parts, call)
    }

    /// Calls functions among arguments, as what they are given to would; returns the results.
    fn call_back(
        &mut self,
        arguments: &[Value],
        keywords: &Keywords,
        receiver: Option<&Value>,
        maps: bool,
        scope: &Rc<Scope>,
    ) -> Option<Vec<Value>> {
        let is_function = |value: &Value| match &value.kind {
            Kind::Local(local) => {
                matches!(&*local.0, Inner::Function(..) | Inner::Partial(..))
            }
            Kind::Name(name) => {
                !matches!(&**name, "True" | "False" | "None" | "true" | "false" | "null")
                    && library::is_callable(name)
            }
            Kind::Made(name, _) => name.starts_with("operator.methodcaller"),
            _ => false,
        };
        let mut results = None;
        // Each function may be given all the others: what is deeper stays listed as used.
        if self.callbacks >= CALLBACKS {
            return results;
        }
        self.callbacks += 1;
        let all = arguments.iter().chain(keywords.iter().map(|(_, value)| value));
        for (at, function) in all.enumerate() {
            if !function.alternatives().iter().any(is_function) {
                continue;
            }
            self.code.steps += arguments.len();
            if !self.step() {
                break;
            }
            let listed = keywords.iter().find(|(name, _)| name == "args" || name == "argv");
            let given: Vec<Vec<Value>> = if let Some((_, list)) = listed {
                vec![match &list.kind {
                    Kind::List(items) => items.as_ref().clone(),
                    _ => vec![Value::any(elements(list))],
                }]
            } else {
                given_to(at, arguments, receiver, maps)
            };
            let mut all = Vec::new();
            for given in given {
                all.push(self.apply(function, given, Vec::new(), scope));
            }
            results = Some(all);
        }
        self.callbacks -= 1;
        results
    }

    /// Loads a module.
    fn load(&mut self, arguments: &[Value]) -> Value {
        let name = arguments.first().cloned().unwrap_or_else(Value::unknown);
        let all = name.alternatives().into_iter().map(|name| match name.as_text() {
            Some(name) if !name.contains(HOLE) => Value::name(&module_name(&name)),
            _ => {
                self.gap(Gap::Module);
                Value::name(&HOLE.to_string())
            }
        });
        Value::any(all.collect())
    }

    /// Runs a text as code.
    fn run_text(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        let function = name == "Function" || name.ends_with("constructor");
        let code = if function { arguments.last() } else { arguments.first() };
        let code = code.cloned().unwrap_or_else(Value::unknown);
        self.emit(name, None, arguments, keywords);
        let mut all = Vec::new();
        for text in code.alternatives() {
            match text.as_text() {
                Some(text) if !text.contains(HOLE) => {
                    let before = self.returns.len();
                    self.returns.push(Vec::new());
                    let last = self.evaluate_text(&text, scope);
                    let returned = self.returns.pop().unwrap_or_default();
                    self.returns.truncate(before);
                    all.push(if function { Value::any(returned) } else { last });
                }
                _ => {
                    self.gap(Gap::Dynamic);
                    if let Some(text) = text.as_text() {
                        // Its known parts may still parse.
                        self.evaluate_text(&text, scope);
                    }
                    all.push(Value::unknown());
                }
            }
        }
        let value = Value::any(all).with_origins(&[&code]);
        if function { Value::made("Function", vec![value], None) } else { value }
    }

    /// Calls a function through `call`, `apply` or `bind`.
    fn call_through(
        &mut self,
        function: &Value,
        how: &str,
        arguments: Vec<Value>,
        scope: &Rc<Scope>,
    ) -> Value {
        let rest = arguments.get(1..).unwrap_or_default().to_vec();
        match how {
            "bind" => Value::local(Local(Rc::new(Inner::Partial(function.clone(), rest)))),
            "apply" => {
                let list = rest.first().cloned().unwrap_or_else(Value::unknown);
                let all = match &list.kind {
                    Kind::List(items) => items.as_ref().clone(),
                    _ => vec![Value::any(elements(&list))],
                };
                self.apply(function, all, Vec::new(), scope)
            }
            _ => self.apply(function, rest, Vec::new(), scope),
        }
    }

    fn call_member(
        &mut self,
        of: &Value,
        name: &str,
        arguments: Vec<Value>,
        keywords: Keywords,
        scope: &Rc<Scope>,
    ) -> Value {
        if name == "constructor" {
            return self.run_text("constructor", arguments, keywords, scope);
        }
        if matches!(name, "call" | "apply" | "bind") && is_function(of) {
            return self.call_through(of, name, arguments, scope);
        }
        if name == "__call__" && !matches!(of.kind, Kind::Unknown) {
            return self.apply(of, arguments, keywords, scope);
        }
        let maps = MAPPERS.contains(&name);
        if matches!(of.kind, Kind::Text(_) | Kind::Number(_) | Kind::List(_)) || of.is_list() {
            let results = self.call_back(&arguments, &keywords, Some(of), maps, scope);
            let all: Vec<&Value> = arguments.iter().chain([of]).collect();
            self.uses_environment(&all);
            // Without a separator JavaScript splits nothing.
            let whole = name == "split" && arguments.is_empty();
            if whole && self.language == Language::JavaScript {
                return Value::list(vec![of.clone()]).with_origins(&all);
            }
            let python = self.language == Language::Python;
            return methods::of_value(of, name, &arguments, &keywords, results.as_ref(), python)
                .with_origins(&all);
        }
        let whole = format!("{}.{name}", methods::class_of(of));
        if matches!(name, "then" | "catch" | "finally") {
            let results = self.call_back(&arguments, &keywords, Some(of), false, scope);
            return Value::any(results.unwrap_or_default()).with_origins(&[of]);
        }
        self.call_outside(&whole, Some(of), arguments, keywords, scope)
    }
}

fn is_function(value: &Value) -> bool {
    matches!(&value.kind, Kind::Local(local) if !matches!(&*local.0, Inner::Object(..)))
}

/// Returns the arguments with which a call calls a function that it is given.
fn given_to(
    at: usize,
    arguments: &[Value],
    receiver: Option<&Value>,
    maps: bool,
) -> Vec<Vec<Value>> {
    let others: Vec<&Value> =
        arguments.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, v)| v).collect();
    if !maps {
        let mut given: Vec<Value> = others.into_iter().skip(at.min(1)).cloned().collect();
        if given.is_empty()
            && let Some(receiver) = receiver
        {
            given = vec![receiver.clone(); 2];
        }
        return vec![given];
    }
    let lists: Vec<&Value> = receiver
        .into_iter()
        .filter(|of| !matches!(of.kind, Kind::Member(..)))
        .chain(others)
        .collect();
    if let [only] = lists.as_slice()
        && let Kind::List(items) = &only.kind
        && items.len() <= 64
    {
        return items.iter().map(|item| vec![item.clone()]).collect();
    }
    vec![lists.iter().map(|list| Value::any(elements(list)).with_origins(&[list])).collect()]
}
