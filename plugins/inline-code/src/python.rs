//! Python's tree as the common one.

use crate::tree::{CallNode, Class, Function, Loop, Node, Operator, Parameter, Target};
use ruff_python_ast::{
    self as ast, Expr, FStringPart, InterpolatedStringElement, Number, Pattern, Stmt,
};
use std::rc::Rc;

/// Parses a text; none if it is not Python.
pub(crate) fn parse(text: &str) -> Option<Node> {
    let parsed = ruff_python_parser::parse_module(text).ok()?;
    Some(Node::Block(statements(&parsed.syntax().body)))
}

/// Parses a text in which every line is indented as the first one is.
pub(crate) fn parse_indented(text: &str) -> Option<Node> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let margin = first.get(..first.len() - first.trim_start().len()).filter(|m| !m.is_empty())?;
    let lines: Vec<&str> =
        text.lines().map(|line| line.strip_prefix(margin).unwrap_or(line)).collect();
    parse(&lines.join("\n"))
}

fn statements(body: &[Stmt]) -> Vec<Node> {
    body.iter().map(statement).collect()
}

fn block(body: &[Stmt]) -> Node {
    Node::Block(statements(body))
}

fn nodes<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Vec<Node> {
    all.into_iter().map(expression).collect()
}

fn boxed(value: &Expr) -> Box<Node> {
    Box::new(expression(value))
}

fn assign(to: Target, value: Node) -> Node {
    Node::Assign(Box::new(to), Box::new(value))
}

fn statement(from: &Stmt) -> Node {
    match from {
        Stmt::FunctionDef(def) => {
            let made = function(&def.name, &def.parameters, block(&def.body));
            decorated(&def.name, made, &def.decorator_list)
        }
        Stmt::ClassDef(def) => {
            let class = class(def);
            decorated(&def.name, class, &def.decorator_list)
        }
        Stmt::Return(inner) => {
            Node::Return(Box::new(inner.value.as_deref().map_or(unknown(), expression)))
        }
        Stmt::Delete(inner) => Node::Delete(nodes(&inner.targets)),
        Stmt::Assign(inner) => match inner.targets.as_slice() {
            [only] => assign(target(only), expression(&inner.value)),
            several => {
                let name = "=".to_owned();
                let first = assign(Target::Name(name.clone()), expression(&inner.value));
                let rest = several.iter().map(|to| assign(target(to), Node::Name(name.clone())));
                Node::Block(std::iter::once(first).chain(rest).collect())
            }
        },
        Stmt::AugAssign(inner) => {
            let value = Node::Binary(operator(inner.op), boxed(&inner.target), boxed(&inner.value));
            assign(target(&inner.target), value)
        }
        Stmt::AnnAssign(inner) => match &inner.value {
            Some(value) => assign(target(&inner.target), expression(value)),
            None => unknown(),
        },
        Stmt::For(inner) => Node::Block(vec![
            Node::Loop(Box::new(Loop {
                sources: vec![(target(&inner.target), expression(&inner.iter))],
                conditions: Vec::new(),
                body: block(&inner.body),
                collects: false,
            })),
            Node::Branches(vec![block(&inner.orelse)]),
        ]),
        Stmt::While(inner) => Node::Block(vec![
            Node::Repeat(vec![expression(&inner.test), block(&inner.body)], is_true(&inner.test)),
            Node::Branches(vec![block(&inner.orelse)]),
        ]),
        Stmt::If(inner) => {
            let mut arms = vec![block(&inner.body)];
            for clause in &inner.elif_else_clauses {
                arms.push(Node::Block(
                    clause.test.iter().map(expression).chain(statements(&clause.body)).collect(),
                ));
            }
            Node::Block(vec![expression(&inner.test), Node::Branches(arms)])
        }
        Stmt::With(inner) => {
            let mut all: Vec<Node> = Vec::new();
            for item in &inner.items {
                let value = expression(&item.context_expr);
                all.push(match &item.optional_vars {
                    Some(name) => assign(target(name), value),
                    None => value,
                });
            }
            all.extend(statements(&inner.body));
            Node::Block(all)
        }
        Stmt::Match(inner) => {
            let subject = expression(&inner.subject);
            let arms = inner.cases.iter().map(|case| {
                let mut all = vec![captured(&case.pattern)];
                all.extend(case.guard.iter().map(|guard| expression(guard)));
                all.extend(statements(&case.body));
                Node::Block(all)
            });
            Node::Block(vec![
                assign(Target::Name("match".to_owned()), subject),
                Node::Branches(arms.collect()),
            ])
        }
        Stmt::Raise(inner) => Node::Unknown(nodes(inner.exc.as_deref())),
        Stmt::Try(inner) => {
            let mut arms = vec![block(&inner.body)];
            for ast::ExceptHandler::ExceptHandler(handler) in &inner.handlers {
                arms.push(block(&handler.body));
            }
            arms.push(block(&inner.orelse));
            Node::Block(vec![Node::Branches(arms), block(&inner.finalbody)])
        }
        Stmt::Assert(inner) => Node::Unknown(vec![expression(&inner.test)]),
        Stmt::Import(inner) => Node::Block(inner.names.iter().map(import).collect()),
        Stmt::ImportFrom(inner) => {
            let module = inner.module.as_ref().map_or("", |module| module.as_str());
            let module = if inner.level > 0 { format!(".{module}") } else { module.to_owned() };
            Node::Block(inner.names.iter().map(|alias| import_from(&module, alias)).collect())
        }
        Stmt::Global(inner) => Node::Global(inner.names.iter().map(ToString::to_string).collect()),
        Stmt::Nonlocal(inner) => {
            Node::Global(inner.names.iter().map(ToString::to_string).collect())
        }
        Stmt::Expr(inner) => expression(&inner.value),
        Stmt::TypeAlias(_) | Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) => unknown(),
        Stmt::IpyEscapeCommand(_) => unknown(),
    }
}

/// Binds what a pattern captures to parts of the subject.
fn captured(pattern: &Pattern) -> Node {
    match pattern {
        Pattern::MatchAs(inner) => {
            let mut all: Vec<Node> = inner.pattern.iter().map(|inner| captured(inner)).collect();
            if let Some(name) = &inner.name {
                let subject = Node::Name("match".to_owned());
                all.push(assign(Target::Name(name.to_string()), subject));
            }
            Node::Block(all)
        }
        _ => unknown(),
    }
}

const fn unknown() -> Node {
    Node::Unknown(Vec::new())
}

fn is_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => matches!(&literal.value, Number::Int(int) if *int != 0_u8),
        _ => false,
    }
}

fn import(alias: &ast::Alias) -> Node {
    let whole = alias.name.as_str();
    let (name, module) = match &alias.asname {
        Some(name) => (name.as_str(), whole),
        None => {
            let first = whole.split('.').next().unwrap_or(whole);
            (first, first)
        }
    };
    assign(Target::Name(name.to_owned()), Node::Module(module.to_owned()))
}

fn import_from(module: &str, alias: &ast::Alias) -> Node {
    let name = alias.name.as_str();
    if name == "*" {
        return Node::ImportAll(module.to_owned());
    }
    let own = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
    assign(Target::Name(own), Node::Module(format!("{module}.{name}")))
}

fn decorated(name: &str, value: Node, decorators: &[ast::Decorator]) -> Node {
    let define = assign(Target::Name(name.to_owned()), value);
    let wraps = decorators.iter().rev().map(|decorator| {
        let call = Node::Call(Box::new(CallNode {
            callee: expression(&decorator.expression),
            arguments: vec![Node::Name(name.to_owned())],
            keywords: Vec::new(),
        }));
        assign(Target::Name(name.to_owned()), Node::Either(vec![Node::Name(name.to_owned()), call]))
    });
    Node::Block(std::iter::once(define).chain(wraps).collect())
}

fn function(name: &str, parameters: &ast::Parameters, body: Node) -> Node {
    let mut all = Vec::new();
    let plain = |with: &ast::ParameterWithDefault| Parameter {
        target: Target::Name(with.parameter.name.to_string()),
        name: with.parameter.name.to_string(),
        rest: false,
        keywords: false,
        default: with.default.as_deref().map(expression),
    };
    let rest = |name: &str, keywords: bool| Parameter {
        target: Target::Name(name.to_owned()),
        name: String::new(),
        rest: !keywords,
        keywords,
        default: None,
    };
    all.extend(parameters.posonlyargs.iter().chain(&parameters.args).map(plain));
    all.extend(parameters.vararg.iter().map(|parameter| rest(&parameter.name, false)));
    all.extend(parameters.kwonlyargs.iter().map(plain));
    all.extend(parameters.kwarg.iter().map(|parameter| rest(&parameter.name, true)));
    Node::Function(Rc::new(Function {
        name: name.to_owned(),
        parameters: all,
        body,
        is_method: false,
    }))
}

fn class(def: &ast::StmtClassDef) -> Node {
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for part in &def.body {
        match part {
            Stmt::FunctionDef(method) => {
                let decorator = |name: &str| {
                    method.decorator_list.iter().any(|decorator| {
                        matches!(&decorator.expression, Expr::Name(known) if known.id == name)
                    })
                };
                let own = !decorator("staticmethod");
                let made = function(&method.name, &method.parameters, block(&method.body));
                let made = match made {
                    Node::Function(inner) => match Rc::try_unwrap(inner) {
                        Ok(inner) => Node::Function(Rc::new(Function { is_method: own, ..inner })),
                        Err(inner) => Node::Function(inner),
                    },
                    other => other,
                };
                members.push((method.name.to_string(), made));
                let foreign = method.decorator_list.iter().map(|one| expression(&one.expression));
                others.extend(foreign.filter(|node| matches!(node, Node::Call(_))));
            }
            Stmt::Assign(inner) => match inner.targets.as_slice() {
                [Expr::Name(name)] => members.push((name.id.to_string(), expression(&inner.value))),
                _ => others.push(statement(part)),
            },
            other => others.push(statement(other)),
        }
    }
    let bases = def.arguments.iter().flat_map(|arguments| nodes(arguments.args.iter())).collect();
    Node::Class(Rc::new(Class { bases, members, others }))
}

fn target(from: &Expr) -> Target {
    match from {
        Expr::Name(name) => Target::Name(name.id.to_string()),
        Expr::Tuple(tuple) => Target::List(tuple.elts.iter().map(target).collect()),
        Expr::List(list) => Target::List(list.elts.iter().map(target).collect()),
        Expr::Starred(starred) => Target::Rest(Box::new(target(&starred.value))),
        Expr::Attribute(member) => {
            Target::Member(expression(&member.value), member.attr.to_string())
        }
        Expr::Subscript(inner) => Target::Index(expression(&inner.value), expression(&inner.slice)),
        other => Target::Ignored(vec![expression(other)]),
    }
}

const fn operator(from: ast::Operator) -> Operator {
    match from {
        ast::Operator::Add => Operator::Add,
        ast::Operator::Mult => Operator::Times,
        ast::Operator::Div => Operator::Divide,
        ast::Operator::Mod => Operator::Remainder,
        ast::Operator::Sub => Operator::Minus,
        ast::Operator::BitXor => Operator::Xor,
        ast::Operator::BitOr => Operator::Or,
        ast::Operator::BitAnd => Operator::And,
        _ => Operator::Other,
    }
}

fn expression(from: &Expr) -> Node {
    match from {
        Expr::BoolOp(inner) => Node::Either(nodes(&inner.values)),
        Expr::Named(inner) => Node::Assign(Box::new(target(&inner.target)), boxed(&inner.value)),
        Expr::BinOp(inner) => {
            Node::Binary(operator(inner.op), boxed(&inner.left), boxed(&inner.right))
        }
        Expr::UnaryOp(inner) => match (&inner.op, expression(&inner.operand)) {
            (ast::UnaryOp::USub, Node::Number(number)) => Node::Number(number.saturating_neg()),
            (_, operand) => Node::Unknown(vec![operand]),
        },
        Expr::Lambda(inner) => {
            let body = expression(&inner.body);
            let empty = ast::Parameters::default();
            function("", inner.parameters.as_deref().unwrap_or(&empty), returned(body))
        }
        Expr::If(inner) => Node::Block(vec![
            expression(&inner.test),
            Node::Either(vec![expression(&inner.body), expression(&inner.orelse)]),
        ]),
        Expr::Dict(inner) => Node::Map(
            inner
                .items
                .iter()
                .map(|item| match &item.key {
                    Some(key) => (expression(key), expression(&item.value)),
                    None => (Node::Spread(Box::new(unknown())), expression(&item.value)),
                })
                .collect(),
        ),
        Expr::Set(inner) => Node::List(nodes(&inner.elts)),
        Expr::List(inner) => Node::List(nodes(&inner.elts)),
        Expr::Tuple(inner) => Node::List(nodes(&inner.elts)),
        Expr::ListComp(inner) => comprehension(&inner.generators, expression(&inner.elt)),
        Expr::SetComp(inner) => comprehension(&inner.generators, expression(&inner.elt)),
        Expr::Generator(inner) => comprehension(&inner.generators, expression(&inner.elt)),
        Expr::DictComp(inner) => Node::Unknown(vec![comprehension(
            &inner.generators,
            Node::List(vec![expression(&inner.key), expression(&inner.value)]),
        )]),
        Expr::Await(inner) => expression(&inner.value),
        Expr::Yield(inner) => {
            returned(Node::List(vec![inner.value.as_deref().map_or(unknown(), expression)]))
        }
        Expr::YieldFrom(inner) => returned(expression(&inner.value)),
        Expr::Compare(inner) => {
            let mut all = vec![expression(&inner.left)];
            all.extend(nodes(inner.comparators.iter()));
            Node::Unknown(all)
        }
        Expr::Call(inner) => call(inner),
        Expr::FString(inner) => Node::Join(inner.value.iter().flat_map(part).collect()),
        Expr::StringLiteral(inner) => Node::Text(inner.value.to_str().to_owned()),
        Expr::BytesLiteral(inner) => Node::Text(inner.value.bytes().map(char::from).collect()),
        Expr::NumberLiteral(inner) => match &inner.value {
            Number::Int(int) => int.as_i64().map_or(unknown(), Node::Number),
            _ => unknown(),
        },
        Expr::Attribute(inner) => Node::Member(boxed(&inner.value), inner.attr.to_string()),
        Expr::Subscript(inner) => Node::Index(boxed(&inner.value), boxed(&inner.slice)),
        Expr::Starred(inner) => Node::Spread(boxed(&inner.value)),
        Expr::Name(inner) => Node::Name(inner.id.to_string()),
        Expr::Slice(inner) => Node::Slice(
            [&inner.lower, &inner.upper, &inner.step]
                .into_iter()
                .map(|bound| bound.as_deref().map(expression))
                .collect(),
        ),
        Expr::BooleanLiteral(inner) => {
            Node::Name(if inner.value { "True" } else { "False" }.to_owned())
        }
        Expr::NoneLiteral(_) => Node::Name("None".to_owned()),
        Expr::TString(_) | Expr::EllipsisLiteral(_) | Expr::IpyEscapeCommand(_) => unknown(),
    }
}

fn returned(value: Node) -> Node {
    Node::Return(Box::new(value))
}

fn comprehension(generators: &[ast::Comprehension], body: Node) -> Node {
    Node::Loop(Box::new(Loop {
        sources: generators
            .iter()
            .map(|one| (target(&one.target), expression(&one.iter)))
            .collect(),
        conditions: generators.iter().flat_map(|one| nodes(&one.ifs)).collect(),
        body,
        collects: true,
    }))
}

fn call(inner: &ast::ExprCall) -> Node {
    let keywords = inner.arguments.keywords.iter().map(|keyword| {
        let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
        (name.to_owned(), expression(&keyword.value))
    });
    Node::Call(Box::new(CallNode {
        callee: expression(&inner.func),
        arguments: nodes(inner.arguments.args.iter()),
        keywords: keywords.collect(),
    }))
}

fn part(from: &FStringPart) -> Vec<Node> {
    match from {
        FStringPart::Literal(literal) => vec![Node::Text(literal.value.to_string())],
        FStringPart::FString(inner) => inner
            .elements
            .iter()
            .map(|element| match element {
                InterpolatedStringElement::Literal(literal) => {
                    Node::Text(literal.value.to_string())
                }
                InterpolatedStringElement::Interpolation(value) => {
                    let inner = expression(&value.expression);
                    let plain = value.format_spec.is_none()
                        && matches!(
                            value.conversion,
                            ast::ConversionFlag::None | ast::ConversionFlag::Str
                        );
                    if plain { inner } else { Node::Unknown(vec![inner]) }
                }
            })
            .collect(),
    }
}
