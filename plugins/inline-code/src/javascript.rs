//! The tree of JavaScript and TypeScript as the common one: statements, functions and classes.

mod expressions;

use crate::tree::{CallNode, Class, Function, Loop, Node, Parameter, Target};
use expressions::{assigned, binding, expression, key_of};
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    self, ClassElement, Declaration, ExportDefaultDeclarationKind, ForStatementInit,
    ForStatementLeft, ImportDeclarationSpecifier, ModuleDeclaration, Statement,
};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;
use std::rc::Rc;

/// Parses a text as JavaScript, and as TypeScript if it is none; none if it is neither.
pub(crate) fn parse(text: &str) -> Option<Node> {
    // A module allows `await` everywhere, a script what strict code forbids.
    let module = SourceType::mjs();
    [module, SourceType::cjs(), SourceType::ts()].into_iter().find_map(|source_type| {
        let allocator = Allocator::default();
        let options =
            ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
        let parsed = Parser::new(&allocator, text, source_type).with_options(options).parse();
        let complete = !parsed.panicked && parsed.diagnostics.is_empty();
        complete.then(|| block(&parsed.program.body))
    })
}

/// Returns the statements in order, functions first: they are known before the first statement.
fn block(body: &[Statement<'_>]) -> Node {
    let (functions, others): (Vec<_>, Vec<_>) =
        body.iter().partition(|part| matches!(part, Statement::FunctionDeclaration(_)));
    Node::Block(functions.into_iter().chain(others).map(statement).collect())
}

const fn unknown() -> Node {
    Node::Unknown(Vec::new())
}

fn assign(to: Target, value: Node) -> Node {
    Node::Assign(Box::new(to), Box::new(value))
}

fn statement(from: &Statement<'_>) -> Node {
    match from {
        Statement::BlockStatement(inner) => block(&inner.body),
        Statement::DoWhileStatement(inner) => Node::Repeat(
            vec![statement(&inner.body), expression(&inner.test)],
            is_true(&inner.test),
        ),
        Statement::ExpressionStatement(inner) => expression(&inner.expression),
        Statement::ForInStatement(inner) => {
            let names = Node::Call(Box::new(CallNode {
                callee: Node::Member(Box::new(Node::Name("Object".to_owned())), "keys".to_owned()),
                arguments: vec![expression(&inner.right)],
                keywords: Vec::new(),
            }));
            looped(&inner.left, names, &inner.body)
        }
        Statement::ForOfStatement(inner) => {
            looped(&inner.left, expression(&inner.right), &inner.body)
        }
        Statement::ForStatement(inner) => {
            let init = match &inner.init {
                Some(ForStatementInit::VariableDeclaration(inner)) => declared(inner),
                Some(other) => other.as_expression().map_or(unknown(), expression),
                None => unknown(),
            };
            let endless = inner.test.as_ref().is_none_or(is_true);
            let mut parts: Vec<Node> = inner.test.iter().map(expression).collect();
            parts.push(statement(&inner.body));
            parts.extend(inner.update.iter().map(expression));
            Node::Block(vec![init, Node::Repeat(parts, endless)])
        }
        Statement::IfStatement(inner) => {
            let arms = std::iter::once(&inner.consequent).chain(&inner.alternate);
            Node::Block(vec![
                expression(&inner.test),
                Node::Branches(arms.map(statement).collect()),
            ])
        }
        Statement::LabeledStatement(inner) => statement(&inner.body),
        Statement::ReturnStatement(inner) => {
            Node::Return(Box::new(inner.argument.as_ref().map_or(unknown(), expression)))
        }
        Statement::SwitchStatement(inner) => {
            let arms = inner.cases.iter().map(|case| {
                let test = case.test.iter().map(expression);
                Node::Block(test.chain(case.consequent.iter().map(statement)).collect())
            });
            Node::Block(vec![expression(&inner.discriminant), Node::Branches(arms.collect())])
        }
        Statement::ThrowStatement(inner) => Node::Unknown(vec![expression(&inner.argument)]),
        Statement::TryStatement(inner) => {
            let mut arms = vec![block(&inner.block.body)];
            arms.extend(inner.handler.iter().map(|handler| block(&handler.body.body)));
            let last = inner.finalizer.iter().map(|last| block(&last.body));
            Node::Block(std::iter::once(Node::Branches(arms)).chain(last).collect())
        }
        Statement::WhileStatement(inner) => Node::Repeat(
            vec![expression(&inner.test), statement(&inner.body)],
            is_true(&inner.test),
        ),
        Statement::WithStatement(inner) => {
            Node::Block(vec![expression(&inner.object), statement(&inner.body)])
        }
        other => match (other.as_declaration(), other.as_module_declaration()) {
            (Some(inner), _) => declaration(inner),
            (_, Some(inner)) => module(inner),
            _ => unknown(),
        },
    }
}

fn is_true(test: &ast::Expression<'_>) -> bool {
    match test {
        ast::Expression::BooleanLiteral(literal) => literal.value,
        ast::Expression::NumericLiteral(literal) => literal.value != 0.0,
        _ => false,
    }
}

fn looped(left: &ForStatementLeft<'_>, over: Node, body: &Statement<'_>) -> Node {
    let to = match left {
        ForStatementLeft::VariableDeclaration(inner) => inner
            .declarations
            .first()
            .map_or(Target::Ignored(Vec::new()), |declarator| binding(&declarator.id)),
        other => other.as_assignment_target().map_or(Target::Ignored(Vec::new()), assigned),
    };
    Node::Loop(Box::new(Loop {
        sources: vec![(to, over)],
        conditions: Vec::new(),
        body: statement(body),
        collects: false,
    }))
}

fn declared(from: &ast::VariableDeclaration<'_>) -> Node {
    let all = from.declarations.iter().filter_map(|declarator| {
        let value = declarator.init.as_ref()?;
        Some(assign(binding(&declarator.id), expression(value)))
    });
    Node::Block(all.collect())
}

fn declaration(from: &Declaration<'_>) -> Node {
    match from {
        Declaration::VariableDeclaration(inner) => declared(inner),
        Declaration::FunctionDeclaration(inner) => named(inner.id.as_ref(), function(inner, false)),
        Declaration::ClassDeclaration(inner) => named(inner.id.as_ref(), class(inner)),
        Declaration::TSImportEqualsDeclaration(inner) => {
            let name = inner.id.name.to_string();
            match &inner.module_reference {
                ast::TSModuleReference::ExternalModuleReference(module) => {
                    let path = module_name(&module.expression.value);
                    assign(Target::Name(name), Node::Module(path))
                }
                _ => unknown(),
            }
        }
        Declaration::TSNamespaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_)
        | Declaration::TSEnumDeclaration(_) => Node::Unread,
        _ => unknown(),
    }
}

fn named(id: Option<&ast::BindingIdentifier<'_>>, value: Node) -> Node {
    match id {
        Some(id) => assign(Target::Name(id.name.to_string()), value),
        None => value,
    }
}

fn module(from: &ModuleDeclaration<'_>) -> Node {
    match from {
        ModuleDeclaration::ImportDeclaration(inner) => {
            let path = module_name(&inner.source.value);
            let all = inner.specifiers.iter().flatten().map(|specifier| match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(one) => {
                    let imported = one.imported.name();
                    let whole = if imported == "default" {
                        path.clone()
                    } else {
                        format!("{path}.{imported}")
                    };
                    assign(Target::Name(one.local.name.to_string()), Node::Module(whole))
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                    assign(Target::Name(one.local.name.to_string()), Node::Module(path.clone()))
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => {
                    assign(Target::Name(one.local.name.to_string()), Node::Module(path.clone()))
                }
            });
            Node::Block(all.collect())
        }
        ModuleDeclaration::ExportDeclaration(inner) => declaration(&inner.declaration),
        ModuleDeclaration::ExportDefaultDeclaration(inner) => match &inner.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(inner) => {
                named(inner.id.as_ref(), function(inner, false))
            }
            ExportDefaultDeclarationKind::ClassDeclaration(inner) => {
                named(inner.id.as_ref(), class(inner))
            }
            other => other.as_expression().map_or(unknown(), expression),
        },
        _ => unknown(),
    }
}

/// Returns a module's name: `node:fs/promises` is `fs.promises`.
pub(crate) fn module_name(path: &str) -> String {
    let path = path.strip_prefix("node:").unwrap_or(path);
    match path {
        "fs-extra" | "graceful-fs" | "original-fs" => "fs".to_owned(),
        "fs/promises" | "timers/promises" | "dns/promises" => path.replace('/', "."),
        _ => path.to_owned(),
    }
}

fn function(from: &ast::Function<'_>, is_method: bool) -> Node {
    let body = from.body.as_ref().map_or(unknown(), |body| block(&body.statements));
    let name = from.id.as_ref().map_or(String::new(), |id| id.name.to_string());
    made(&name, &from.params, body, is_method)
}

fn made(name: &str, params: &ast::FormalParameters<'_>, body: Node, is_method: bool) -> Node {
    let plain = |item: &ast::FormalParameter<'_>| Parameter {
        target: binding(&item.pattern),
        name: String::new(),
        rest: false,
        keywords: false,
        default: item.initializer.as_deref().map(expression),
    };
    let mut parameters: Vec<Parameter> = params.items.iter().map(plain).collect();
    if is_method {
        let target = Target::Name("this".to_owned());
        let name = String::new();
        parameters
            .insert(0, Parameter { target, name, rest: false, keywords: false, default: None });
    }
    parameters.extend(params.rest.iter().map(|rest| Parameter {
        target: binding(&rest.rest.argument),
        name: String::new(),
        rest: true,
        keywords: false,
        default: None,
    }));
    Node::Function(Rc::new(Function { name: name.to_owned(), parameters, body, is_method }))
}

fn class(from: &ast::Class<'_>) -> Node {
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for element in &from.body.body {
        match element {
            ClassElement::StaticBlock(inner) => others.push(block(&inner.body)),
            ClassElement::MethodDefinition(inner) => {
                let name = match inner.kind {
                    // Classes of both languages make their objects by this name.
                    ast::MethodDefinitionKind::Constructor => Some("__init__".to_owned()),
                    _ => key_of(&inner.key, inner.computed),
                };
                let made = function(&inner.value, true);
                match name {
                    Some(name) => members.push((name, made)),
                    None => others.push(made),
                }
            }
            ClassElement::PropertyDefinition(inner) => {
                if let Some(value) = &inner.value {
                    let value = expression(value);
                    match key_of(&inner.key, inner.computed) {
                        Some(name) => members.push((name, value)),
                        None => others.push(value),
                    }
                }
            }
            ClassElement::AccessorProperty(inner) => {
                others.extend(inner.value.iter().map(expression));
            }
            ClassElement::TSIndexSignature(_) => {}
        }
    }
    let bases = from.heritage.iter().map(|base| expression(&base.expression)).collect();
    let class = Node::Class(Rc::new(Class { bases, members, others }));
    Node::Block(
        from.decorators.iter().map(|one| expression(&one.expression)).chain([class]).collect(),
    )
}
