//! Walks a tree as its program would run: each branch, each loop's body, each function.

use crate::environment::is_whole;
use crate::guard::{self, Refused};
use crate::methods;
use crate::scope::{Inner, Local, Scope};
use crate::tree::{CallNode, Class, Function, Loop, Node, Operator};
use crate::value::{HOLE, Kind, Value, elements};
use crate::{Call, Code, Gap, Language, javascript, python};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The maximum number of nodes that are evaluated.
const STEPS: usize = 200_000;
/// The maximum number of nodes and calls inside each other, over all functions that call each
/// other.
const DEPTH: u32 = 320;
/// The maximum number of calls that are listed.
const CALLS: usize = 2048;
const USED: usize = 256;
/// The maximum number of loops inside each other whose bodies are walked twice.
const TWICE: u32 = 3;
/// The maximum number of texts that code runs as code, inside each other.
const TEXTS: u32 = 6;
/// The longest list in a comprehension that is followed item by item.
const ITEMS: usize = 64;

/// A function that exists, and the object it is a method of.
pub(crate) struct Known {
    pub function: Rc<Function>,
    pub scope: Rc<Scope>,
    pub this: Option<Value>,
}

pub(crate) struct Reader<'a> {
    pub language: Language,
    pub arguments: Option<&'a [String]>,
    pub code: Code,
    /// The names of the whole program.
    pub root: Rc<Scope>,
    /// The modules of which all names are imported.
    pub stars: Vec<String>,
    /// The values that the functions around the current node return.
    pub returns: Vec<Vec<Value>>,
    /// The functions around the current node.
    pub running: Vec<*const Function>,
    pub known: Vec<Known>,
    pub called: BTreeSet<*const Function>,
    pub(crate) depth: u32,
    /// The functions that are called because they were given as arguments.
    pub(crate) callbacks: u32,
    loops: u32,
    endless: u32,
    texts: u32,
}

/// Reads a program's text.
pub(crate) fn read(text: &str, language: Language, arguments: Option<&[String]>) -> Code {
    let mut reader = Reader {
        language,
        arguments,
        code: Code::default(),
        root: Scope::new(None),
        stars: Vec::new(),
        returns: vec![Vec::new()],
        running: Vec::new(),
        known: Vec::new(),
        called: BTreeSet::new(),
        depth: 0,
        callbacks: 0,
        loops: 0,
        endless: 0,
        texts: 0,
    };
    reader.code.steps = text.len() / 8;
    match parse(text, language) {
        Ok(tree) => {
            reader.code.parsed = true;
            let root = Rc::clone(&reader.root);
            reader.evaluate(&tree, &root);
            reader.uncalled();
        }
        Err(gap) => reader.gap(gap),
    }
    reader.code
}

fn parse(text: &str, language: Language) -> Result<Node, Gap> {
    let refused = |refused| match refused {
        Refused::Deep => Gap::Limit,
        Refused::Unclear => Gap::Syntax,
    };
    match language {
        Language::Python => {
            guard::check_python(text).map_err(refused)?;
            python::parse(text).or_else(|| python::parse_indented(text)).ok_or(Gap::Syntax)
        }
        Language::JavaScript => {
            guard::check_javascript(text).map_err(refused)?;
            javascript::parse(text).ok_or(Gap::Syntax)
        }
    }
}

impl Reader<'_> {
    pub(crate) fn gap(&mut self, gap: Gap) {
        if !self.code.gaps.contains(&gap) {
            self.code.gaps.push(gap);
        }
    }

    /// Counts a step; false if there were too many.
    pub(crate) fn step(&mut self) -> bool {
        self.code.steps += 1;
        let left = self.code.steps < STEPS;
        if !left {
            self.gap(Gap::Limit);
        }
        left
    }

    /// Goes one level deeper; false if that is too deep. The caller reduces `depth` afterwards.
    pub(crate) fn enter(&mut self) -> bool {
        let fits = self.depth < DEPTH;
        if fits {
            self.depth += 1;
        } else {
            self.gap(Gap::Limit);
        }
        fits
    }

    /// Evaluates a node.
    pub(crate) fn evaluate(&mut self, node: &Node, scope: &Rc<Scope>) -> Value {
        if !self.step() || !self.enter() {
            return Value::unknown();
        }
        let value = self.node(node, scope);
        self.depth -= 1;
        value
    }

    pub(crate) fn all(&mut self, nodes: &[Node], scope: &Rc<Scope>) -> Vec<Value> {
        nodes.iter().map(|node| self.evaluate(node, scope)).collect()
    }

    fn node(&mut self, node: &Node, scope: &Rc<Scope>) -> Value {
        match node {
            Node::Unknown(parts) => {
                let parts = self.all(parts, scope);
                self.uses(&parts);
                Value::unknown().with_origins(&parts.iter().collect::<Vec<_>>())
            }
            Node::Delete(parts) => {
                let all = self.all(parts, scope);
                self.uses(&all);
                parts.iter().for_each(|part| self.forget_item(part, scope));
                Value::unknown()
            }
            Node::Unread => {
                self.gap(Gap::Limit);
                Value::unknown()
            }
            Node::Text(text) => Value::text(text),
            Node::Number(number) => Value::number(*number),
            Node::Name(name) => self.lookup(name, scope),
            Node::Member(of, name) => {
                let of = self.evaluate(of, scope);
                self.member(&of, name)
            }
            Node::Index(of, at) => self.index(of, at, scope),
            Node::Slice(parts) => {
                for part in parts.iter().flatten() {
                    self.evaluate(part, scope);
                }
                Value::unknown()
            }
            Node::Call(call) => self.call_node(call, scope),
            Node::List(items) => {
                let mut all = Vec::new();
                for item in items {
                    self.spread_into(item, scope, &mut all);
                }
                Value::list(all)
            }
            Node::Spread(inner) => self.evaluate(inner, scope),
            Node::Map(items) => self.map(items, scope),
            Node::Join(parts) => {
                let parts = self.all(parts, scope);
                self.uses(&parts);
                Value::joined(&parts)
            }
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.evaluate(left, scope), self.evaluate(right, scope));
                if matches!(operator, Operator::Add | Operator::Remainder) {
                    self.uses_environment(&[&left, &right]);
                }
                binary(*operator, &left, &right)
            }
            Node::Either(parts) => Value::any(self.all(parts, scope)),
            Node::Function(function) => self.function(function, scope, None),
            Node::Class(class) => self.class(class, scope),
            Node::Assign(target, value) => {
                let value = self.evaluate(value, scope);
                self.assign(target, value.clone(), scope);
                value
            }
            Node::Loop(inner) => self.loop_over(inner, scope),
            Node::Repeat(parts, endless) => {
                self.endless += u32::from(*endless);
                self.repeated(scope, |reader| {
                    reader.all(parts, scope);
                });
                self.endless -= u32::from(*endless);
                Value::unknown()
            }
            Node::Block(parts) => self.all(parts, scope).pop().unwrap_or_else(Value::unknown),
            Node::Branches(arms) => {
                scope.branches.set(scope.branches.get() + 1);
                self.all(arms, scope);
                scope.branches.set(scope.branches.get() - 1);
                Value::unknown()
            }
            Node::Return(value) => {
                let value = self.evaluate(value, scope);
                if let Some(returns) = self.returns.last_mut()
                    && returns.len() < 64
                {
                    returns.push(value.clone());
                }
                value
            }
            Node::Module(name) => Value::name(name),
            Node::ImportAll(module) => {
                if self.stars.len() < 16 {
                    self.stars.push(module.clone());
                }
                Value::unknown()
            }
            Node::Global(names) => {
                for name in names {
                    scope.declare_global(name);
                }
                Value::unknown()
            }
        }
    }

    /// Evaluates an item of a list; a list that is spread adds its items.
    pub(crate) fn spread_into(&mut self, item: &Node, scope: &Rc<Scope>, all: &mut Vec<Value>) {
        let value = self.evaluate(item, scope);
        match (item, &value.kind) {
            (Node::Spread(_), Kind::List(items)) => {
                all.extend(items.iter().map(|item| item.clone().with_origins(&[&value])));
            }
            (Node::Spread(_), _) => {
                self.uses(std::slice::from_ref(&value));
                all.push(Value::any(elements(&value)).with_origins(&[&value]));
                all.push(Value::unknown().with_origins(&[&value]));
            }
            _ => all.push(value),
        }
    }

    fn map(&mut self, items: &[(Node, Node)], scope: &Rc<Scope>) -> Value {
        let mut all: Vec<(String, Value)> = Vec::new();
        for (key, value) in items {
            let spread = matches!(key, Node::Spread(_));
            let key = self.evaluate(key, scope);
            let value = self.evaluate(value, scope);
            match &value.kind {
                Kind::Map(inner) if spread => all.extend(inner.iter().cloned()),
                _ if spread => all.push(("**".to_owned(), value)),
                _ => {
                    let key = key.as_text().map_or(HOLE.to_string(), |key| key.to_string());
                    all.retain(|(old, _)| *old != key || key.contains(HOLE));
                    all.push((key, value));
                }
            }
        }
        Value::map(all)
    }

    pub(crate) fn function(
        &mut self,
        function: &Rc<Function>,
        scope: &Rc<Scope>,
        this: Option<Value>,
    ) -> Value {
        if !self.known.iter().any(|known| Rc::ptr_eq(&known.function, function)) {
            self.known.push(Known {
                function: Rc::clone(function),
                scope: Rc::clone(scope),
                this: this.clone(),
            });
        }
        let inner = Inner::Function(Rc::clone(function), Rc::clone(scope), this);
        Value::local(Local(Rc::new(inner)))
    }

    fn class(&mut self, class: &Class, scope: &Rc<Scope>) -> Value {
        let members = Scope::new(Some(Rc::clone(scope)));
        for base in &class.bases {
            let base = self.evaluate(base, scope);
            if let Kind::Local(local) = &base.kind
                && let Inner::Class(inherited) = &*local.0
            {
                for (name, value) in inherited.values() {
                    members.put(&name, value);
                }
            }
        }
        let fields = Scope::new(None);
        let object = Inner::Object(fields, Rc::clone(&members));
        let object = Value::local(Local(Rc::new(object)));
        for (name, member) in &class.members {
            let value = match member {
                Node::Function(function) => {
                    let this = function.is_method.then(|| object.clone());
                    self.function(function, scope, this)
                }
                other => self.evaluate(other, &members),
            };
            members.put(name, value);
        }
        for other in &class.others {
            self.evaluate(other, &members);
        }
        Value::local(Local(Rc::new(Inner::Class(members))))
    }

    fn loop_over(&mut self, from: &Loop, scope: &Rc<Scope>) -> Value {
        if !from.collects {
            for (target, source) in &from.sources {
                let source = self.evaluate(source, scope);
                self.uses(std::slice::from_ref(&source));
                let item = Value::any(elements(&source)).with_origins(&[&source]);
                self.repeated(scope, |reader| {
                    reader.assign(target, item.clone(), scope);
                    reader.evaluate(&from.body, scope);
                });
            }
            return Value::unknown();
        }
        let inner = Scope::new(Some(Rc::clone(scope)));
        let mut all = Vec::new();
        let exact = self.collect(from, 0, &inner, &mut all);
        if exact { Value::list(all) } else { Value::made("[]", all, None) }
    }

    /// Walks one source of a comprehension and all after it; true if the list is exact.
    fn collect(&mut self, from: &Loop, at: usize, scope: &Rc<Scope>, all: &mut Vec<Value>) -> bool {
        let Some((target, source)) = from.sources.get(at) else {
            for condition in &from.conditions {
                self.evaluate(condition, scope);
            }
            let value = self.evaluate(&from.body, scope);
            all.push(value);
            return from.conditions.is_empty() && all.len() < ITEMS;
        };
        let source = self.evaluate(source, scope);
        self.uses(std::slice::from_ref(&source));
        match &source.kind {
            Kind::List(items) if items.len() <= ITEMS && all.len() < ITEMS => {
                let mut exact = true;
                for item in items.iter() {
                    self.assign(target, item.clone(), scope);
                    exact &= self.collect(from, at + 1, scope, all);
                }
                exact
            }
            Kind::Text(text) if !text.contains(HOLE) && text.len() <= ITEMS => {
                let mut exact = true;
                for item in text.chars() {
                    self.assign(target, Value::text(item.encode_utf8(&mut [0; 4])), scope);
                    exact &= self.collect(from, at + 1, scope, all);
                }
                exact
            }
            _ => {
                let item = Value::any(elements(&source)).with_origins(&[&source]);
                self.assign(target, item, scope);
                self.collect(from, at + 1, scope, all);
                false
            }
        }
    }

    /// Walks a loop's body, and once more if it changes what it saw the first time.
    fn repeated(&mut self, scope: &Rc<Scope>, mut body: impl FnMut(&mut Self)) {
        self.loops += 1;
        scope.branches.set(scope.branches.get() + 1);
        let before = scope.changes.get();
        body(self);
        if scope.changes.get() != before {
            if self.loops <= TWICE {
                let first = (scope.changes.get(), scope.values());
                body(self);
                // A value that each round makes of the one before has more forms than were seen.
                if scope.changes.get() != first.0 {
                    for (name, value) in scope.values() {
                        if !first.1.iter().any(|(known, old)| *known == name && *old == value) {
                            let more = Value::text(&HOLE.to_string());
                            scope.put(&name, Value::any(vec![value, more]));
                        }
                    }
                }
            } else {
                self.gap(Gap::Limit);
            }
        }
        scope.branches.set(scope.branches.get() - 1);
        self.loops -= 1;
    }

    /// Evaluates a text as code of the same language.
    pub(crate) fn evaluate_text(&mut self, text: &str, scope: &Rc<Scope>) -> Value {
        if self.texts >= TEXTS {
            self.gap(Gap::Limit);
            return Value::unknown();
        }
        self.code.steps += text.len() / 8;
        match parse(text, self.language) {
            Ok(tree) => {
                self.texts += 1;
                let value = self.evaluate(&tree, scope);
                self.texts -= 1;
                value
            }
            Err(gap) => {
                self.gap(if gap == Gap::Syntax { Gap::Dynamic } else { gap });
                Value::unknown()
            }
        }
    }

    /// Notes the whole environment among values that become a part of a text.
    pub(crate) fn uses_environment(&mut self, values: &[&Value]) {
        for value in values {
            if is_whole(value) {
                self.uses(std::slice::from_ref(value));
            }
        }
    }

    /// Notes the names among values that are used as they are.
    pub(crate) fn uses(&mut self, values: &[Value]) {
        for value in values {
            match &value.kind {
                Kind::Name(name)
                    if self.code.used.len() < USED
                        && !self.code.used.contains(&name.to_string()) =>
                {
                    self.code.used.push(name.to_string());
                }
                Kind::List(items) | Kind::Any(items) => self.uses(items),
                Kind::Map(items) => {
                    for (_, item) in items.iter() {
                        self.uses(std::slice::from_ref(item));
                    }
                }
                _ => {}
            }
        }
    }

    /// Lists a call; returns its number.
    pub(crate) fn emit(
        &mut self,
        name: &str,
        receiver: Option<Value>,
        arguments: Vec<Value>,
        keywords: Vec<(String, Value)>,
    ) -> Option<u32> {
        let looped = self.endless > 0;
        let call = Call { name: name.to_owned(), receiver, arguments, keywords, looped };
        // The second round of a loop lists the same calls once more.
        let from = self.code.calls.len().saturating_sub(32);
        let same = self.code.calls.iter().skip(from).position(|known| *known == call);
        if let Some(at) = same {
            return u32::try_from(from + at).ok();
        }
        if self.code.calls.len() >= CALLS {
            self.gap(Gap::Limit);
            return None;
        }
        self.code.calls.push(call);
        u32::try_from(self.code.calls.len() - 1).ok()
    }

    fn call_node(&mut self, call: &CallNode, scope: &Rc<Scope>) -> Value {
        let callee = self.evaluate(&call.callee, scope);
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            self.spread_into(argument, scope, &mut arguments);
        }
        let mut keywords = Vec::new();
        for (name, value) in &call.keywords {
            let value = self.evaluate(value, scope);
            match &value.kind {
                Kind::Map(items) if name == "**" => keywords.extend(items.iter().cloned()),
                _ => keywords.push((name.clone(), value)),
            }
        }
        if let Node::Member(of, name) = &call.callee {
            self.mutate(of, name, &arguments, &keywords, scope);
        }
        // Its first argument is an object that gets the members of the others.
        if matches!(&callee.kind, Kind::Name(name) if &**name == "Object.assign")
            && let Some((first, others)) = call.arguments.split_first()
            && let Node::Name(_) = first
        {
            let count = arguments.len().saturating_sub(1).min(others.len());
            let from = arguments.len() - count;
            let more = arguments.get(from..).unwrap_or_default().to_vec();
            self.mutate(first, "update", &more, &[], scope);
        }
        self.apply(&callee, arguments, keywords, scope)
    }
}

fn binary(operator: Operator, left: &Value, right: &Value) -> Value {
    Value::each_pair(left, right, |left, right| match (operator, &left.kind, &right.kind) {
        (Operator::Add, Kind::Number(one), Kind::Number(two)) => {
            one.checked_add(*two).map_or_else(Value::unknown, Value::number)
        }
        (Operator::Add, Kind::List(one), Kind::List(two)) => {
            Value::list(one.iter().chain(two.iter()).cloned().collect())
        }
        (Operator::Add, Kind::List(items) | Kind::Made(_, items), _)
            if matches!(left.kind, Kind::List(_)) || left.is_list() =>
        {
            Value::made("[]", items.iter().cloned().chain(elements(right)).collect(), None)
        }
        (Operator::Add, Kind::Text(_), _) | (Operator::Add, _, Kind::Text(_)) => {
            Value::joined(&[left.clone(), right.clone()])
        }
        (Operator::Remainder, Kind::Text(text), _) => methods::percent(text, right),
        (Operator::Divide, Kind::Made(class, _), _) if &**class == "pathlib.Path" => {
            methods::path_joined(&[left.clone(), right.clone()])
        }
        (Operator::Minus, Kind::Number(one), Kind::Number(two)) => {
            one.checked_sub(*two).map_or_else(Value::unknown, Value::number)
        }
        (Operator::Xor, Kind::Number(one), Kind::Number(two)) => Value::number(one ^ two),
        (Operator::Or, Kind::Number(one), Kind::Number(two)) => Value::number(one | two),
        (Operator::And, Kind::Number(one), Kind::Number(two)) => Value::number(one & two),
        // The bits that one side has are known, whatever the other side is.
        (Operator::Or, _, _) => Value::made("|", vec![left.clone(), right.clone()], None),
        (Operator::And, _, _) => Value::made("&", vec![left.clone(), right.clone()], None),
        (Operator::Times, Kind::Text(text), Kind::Number(count))
        | (Operator::Times, Kind::Number(count), Kind::Text(text)) => {
            methods::repeated(text, *count)
        }
        _ => Value::unknown(),
    })
    .with_origins(&[left, right])
}
