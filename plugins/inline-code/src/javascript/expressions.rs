//! Expressions, and the left sides of assignments.

use super::{block, class, function, made, unknown};
use crate::tree::{CallNode, Node, Operator, Target};
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ArrowFunctionBody, ArrowFunctionExpression,
    AssignmentExpression, AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty,
    BindingPattern, ChainElement, Expression, MemberExpression, ObjectPropertyKind, PropertyKey,
    SimpleAssignmentTarget, TemplateLiteral,
};
use oxc_syntax::operator::{AssignmentOperator, BinaryOperator, UnaryOperator};

fn boxed(value: &Expression<'_>) -> Box<Node> {
    Box::new(expression(value))
}

pub(super) fn expression(from: &Expression<'_>) -> Node {
    match from {
        Expression::NumericLiteral(inner) => number(inner.value),
        Expression::StringLiteral(inner) => Node::Text(inner.value.to_string()),
        Expression::TemplateLiteral(inner) => template(inner),
        Expression::Identifier(inner) => Node::Name(inner.name.to_string()),
        Expression::ThisExpression(_) => Node::Name("this".to_owned()),
        Expression::ArrayExpression(inner) => {
            Node::List(inner.elements.iter().map(element).collect())
        }
        Expression::ArrowFunctionExpression(inner) => arrow(inner),
        Expression::AssignmentExpression(inner) => assignment(inner),
        Expression::AwaitExpression(inner) => expression(&inner.argument),
        Expression::BinaryExpression(inner) => match inner.operator {
            BinaryOperator::Addition => {
                Node::Binary(Operator::Add, boxed(&inner.left), boxed(&inner.right))
            }
            BinaryOperator::Subtraction => {
                Node::Binary(Operator::Minus, boxed(&inner.left), boxed(&inner.right))
            }
            BinaryOperator::BitwiseXOR => {
                Node::Binary(Operator::Xor, boxed(&inner.left), boxed(&inner.right))
            }
            BinaryOperator::BitwiseOR => {
                Node::Binary(Operator::Or, boxed(&inner.left), boxed(&inner.right))
            }
            BinaryOperator::BitwiseAnd => {
                Node::Binary(Operator::And, boxed(&inner.left), boxed(&inner.right))
            }
            _ => Node::Unknown(vec![expression(&inner.left), expression(&inner.right)]),
        },
        Expression::CallExpression(inner) => called(expression(&inner.callee), &inner.arguments),
        Expression::NewExpression(inner) => called(expression(&inner.callee), &inner.arguments),
        Expression::ChainExpression(inner) => match &inner.expression {
            ChainElement::CallExpression(inner) => {
                called(expression(&inner.callee), &inner.arguments)
            }
            ChainElement::TSNonNullExpression(inner) => expression(&inner.expression),
            other => other.as_member_expression().map_or(unknown(), member),
        },
        Expression::ClassExpression(inner) => class(inner),
        Expression::ConditionalExpression(inner) => Node::Block(vec![
            expression(&inner.test),
            Node::Either(vec![expression(&inner.consequent), expression(&inner.alternate)]),
        ]),
        Expression::FunctionExpression(inner) => function(inner, false),
        Expression::ImportExpression(inner) => {
            let callee = Node::Name("import".to_owned());
            call(callee, vec![expression(&inner.source)])
        }
        Expression::LogicalExpression(inner) => {
            Node::Either(vec![expression(&inner.left), expression(&inner.right)])
        }
        Expression::ObjectExpression(inner) => {
            Node::Map(inner.properties.iter().map(property).collect())
        }
        Expression::ParenthesizedExpression(inner) => expression(&inner.expression),
        Expression::SequenceExpression(inner) => {
            Node::Block(inner.expressions.iter().map(expression).collect())
        }
        Expression::TaggedTemplateExpression(inner) => {
            // zx and Bun run the text behind their tag: `$`rm x``.
            call(expression(&inner.tag), vec![template(&inner.quasi)])
        }
        Expression::UnaryExpression(inner) => match (inner.operator, expression(&inner.argument)) {
            (UnaryOperator::UnaryNegation, Node::Number(value)) => {
                Node::Number(value.saturating_neg())
            }
            (_, argument) => Node::Unknown(vec![argument]),
        },
        Expression::UpdateExpression(inner) => {
            Node::Assign(Box::new(simple(&inner.argument)), Box::new(unknown()))
        }
        Expression::YieldExpression(inner) => {
            let value = inner.argument.as_ref().map_or(unknown(), expression);
            // A generator yields its items one by one: each is an item of its result.
            let value = if inner.delegate { value } else { Node::List(vec![value]) };
            Node::Return(Box::new(value))
        }
        Expression::PrivateInExpression(inner) => Node::Unknown(vec![expression(&inner.right)]),
        Expression::TSAsExpression(inner) => expression(&inner.expression),
        Expression::TSSatisfiesExpression(inner) => expression(&inner.expression),
        Expression::TSTypeAssertion(inner) => expression(&inner.expression),
        Expression::TSNonNullExpression(inner) => expression(&inner.expression),
        Expression::TSInstantiationExpression(inner) => expression(&inner.expression),
        Expression::BooleanLiteral(inner) => {
            Node::Name(if inner.value { "true" } else { "false" }.to_owned())
        }
        Expression::NullLiteral(_) => Node::Name("null".to_owned()),
        Expression::JSXElement(_) | Expression::JSXFragment(_) => Node::Unread,
        other => other.as_member_expression().map_or(unknown(), member),
    }
}

fn number(value: f64) -> Node {
    // Whole numbers that a float holds exactly.
    if value.fract() == 0.0 && value.abs() < 9e15 {
        #[allow(clippy::cast_possible_truncation, reason = "whole and small, as checked above")]
        return Node::Number(value as i64);
    }
    unknown()
}

fn call(callee: Node, arguments: Vec<Node>) -> Node {
    Node::Call(Box::new(CallNode { callee, arguments, keywords: Vec::new() }))
}

fn called(callee: Node, arguments: &[Argument<'_>]) -> Node {
    let arguments = arguments
        .iter()
        .map(|argument| match argument {
            Argument::SpreadElement(inner) => Node::Spread(boxed(&inner.argument)),
            other => other.as_expression().map_or(unknown(), expression),
        })
        .collect();
    Node::Call(Box::new(CallNode { callee, arguments, keywords: Vec::new() }))
}

fn member(from: &MemberExpression<'_>) -> Node {
    match from {
        MemberExpression::ComputedMemberExpression(inner) => {
            Node::Index(boxed(&inner.object), boxed(&inner.expression))
        }
        MemberExpression::StaticMemberExpression(inner) => {
            Node::Member(boxed(&inner.object), inner.property.name.to_string())
        }
        MemberExpression::PrivateFieldExpression(inner) => {
            Node::Member(boxed(&inner.object), format!("#{}", inner.field.name))
        }
    }
}

fn template(from: &TemplateLiteral<'_>) -> Node {
    let mut parts = Vec::new();
    for (at, quasi) in from.quasis.iter().enumerate() {
        let text = quasi.value.cooked.as_ref().unwrap_or(&quasi.value.raw);
        parts.push(Node::Text(text.to_string()));
        parts.extend(from.expressions.get(at).map(expression));
    }
    Node::Join(parts)
}

fn element(from: &ArrayExpressionElement<'_>) -> Node {
    match from {
        ArrayExpressionElement::SpreadElement(inner) => Node::Spread(boxed(&inner.argument)),
        other => other.as_expression().map_or(unknown(), expression),
    }
}

fn property(from: &ObjectPropertyKind<'_>) -> (Node, Node) {
    match from {
        ObjectPropertyKind::ObjectProperty(inner) => {
            let key = match key_of(&inner.key, inner.computed) {
                Some(name) => Node::Text(name),
                None => inner.key.as_expression().map_or(unknown(), expression),
            };
            (key, expression(&inner.value))
        }
        ObjectPropertyKind::SpreadProperty(inner) => {
            (Node::Spread(Box::new(unknown())), expression(&inner.argument))
        }
    }
}

/// Returns the name of a key, unless it is computed from more than a text.
pub(super) fn key_of(from: &PropertyKey<'_>, computed: bool) -> Option<String> {
    match from {
        PropertyKey::StaticIdentifier(id) => Some(id.name.to_string()),
        PropertyKey::PrivateIdentifier(id) => Some(format!("#{}", id.name)),
        PropertyKey::StringLiteral(text) => Some(text.value.to_string()),
        PropertyKey::NumericLiteral(number) if !computed => Some(number.value.to_string()),
        _ => None,
    }
}

fn arrow(from: &ArrowFunctionExpression<'_>) -> Node {
    let body = match &from.body {
        ArrowFunctionBody::FunctionBody(inner) => block(&inner.statements),
        other => match other.as_expression() {
            Some(value) => Node::Return(boxed(value)),
            None => unknown(),
        },
    };
    made("", &from.params, body, false)
}

fn assignment(from: &AssignmentExpression<'_>) -> Node {
    let target = assigned(&from.left);
    let value = expression(&from.right);
    let read = || from.left.as_simple_assignment_target().map(|left| read_of(left));
    let value = match from.operator {
        AssignmentOperator::Assign => value,
        AssignmentOperator::Addition => match read() {
            Some(old) => Node::Binary(Operator::Add, Box::new(old), Box::new(value)),
            None => Node::Unknown(vec![value]),
        },
        AssignmentOperator::LogicalAnd
        | AssignmentOperator::LogicalOr
        | AssignmentOperator::LogicalNullish => match read() {
            Some(old) => Node::Either(vec![old, value]),
            None => value,
        },
        _ => Node::Unknown(vec![value]),
    };
    Node::Assign(Box::new(target), Box::new(value))
}

fn read_of(left: &SimpleAssignmentTarget<'_>) -> Node {
    match left {
        SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => Node::Name(id.name.to_string()),
        other => other.as_member_expression().map_or(unknown(), member),
    }
}

/// Returns the names that a declaration or a parameter binds.
pub(super) fn binding(from: &BindingPattern<'_>) -> Target {
    match from {
        BindingPattern::BindingIdentifier(id) => Target::Name(id.name.to_string()),
        BindingPattern::ObjectPattern(inner) => {
            let mut all: Vec<_> = inner
                .properties
                .iter()
                .map(|property| {
                    (key_of(&property.key, property.computed), binding(&property.value))
                })
                .collect();
            all.extend(
                inner
                    .rest
                    .iter()
                    .map(|rest| (None, Target::Rest(Box::new(binding(&rest.argument))))),
            );
            Target::Map(all)
        }
        BindingPattern::ArrayPattern(inner) => {
            let items = inner
                .elements
                .iter()
                .map(|element| element.as_ref().map_or(Target::Ignored(Vec::new()), binding));
            let rest =
                inner.rest.iter().map(|rest| Target::Rest(Box::new(binding(&rest.argument))));
            Target::List(items.chain(rest).collect())
        }
        BindingPattern::AssignmentPattern(inner) => {
            Target::Default(Box::new(binding(&inner.left)), expression(&inner.right))
        }
    }
}

/// Returns the places that an assignment writes to.
pub(super) fn assigned(from: &AssignmentTarget<'_>) -> Target {
    match from {
        AssignmentTarget::ArrayAssignmentTarget(inner) => {
            let items = inner
                .elements
                .iter()
                .map(|element| element.as_ref().map_or(Target::Ignored(Vec::new()), defaulted));
            let rest = inner.rest.iter().map(|rest| Target::Rest(Box::new(assigned(&rest.target))));
            Target::List(items.chain(rest).collect())
        }
        AssignmentTarget::ObjectAssignmentTarget(inner) => {
            let mut all: Vec<_> = inner
                .properties
                .iter()
                .map(|property| match property {
                    AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(one) => {
                        let name = one.binding.name.to_string();
                        (Some(name.clone()), Target::Outer(name))
                    }
                    AssignmentTargetProperty::AssignmentTargetPropertyProperty(one) => {
                        (key_of(&one.name, one.computed), defaulted(&one.binding))
                    }
                })
                .collect();
            all.extend(
                inner
                    .rest
                    .iter()
                    .map(|rest| (None, Target::Rest(Box::new(assigned(&rest.target))))),
            );
            Target::Map(all)
        }
        other => other.as_simple_assignment_target().map_or(Target::Ignored(Vec::new()), simple),
    }
}

fn defaulted(from: &AssignmentTargetMaybeDefault<'_>) -> Target {
    match from {
        AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(inner) => {
            Target::Default(Box::new(assigned(&inner.binding)), expression(&inner.init))
        }
        other => other.as_assignment_target().map_or(Target::Ignored(Vec::new()), assigned),
    }
}

/// Returns a single place.
pub(super) fn simple(from: &SimpleAssignmentTarget<'_>) -> Target {
    match from {
        SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => {
            Target::Outer(id.name.to_string())
        }
        SimpleAssignmentTarget::ComputedMemberExpression(inner) => {
            Target::Index(expression(&inner.object), expression(&inner.expression))
        }
        SimpleAssignmentTarget::StaticMemberExpression(inner) => {
            Target::Member(expression(&inner.object), inner.property.name.to_string())
        }
        SimpleAssignmentTarget::PrivateFieldExpression(inner) => {
            Target::Member(expression(&inner.object), format!("#{}", inner.field.name))
        }
        SimpleAssignmentTarget::TSAsExpression(inner) => typed(&inner.expression),
        SimpleAssignmentTarget::TSSatisfiesExpression(inner) => typed(&inner.expression),
        SimpleAssignmentTarget::TSNonNullExpression(inner) => typed(&inner.expression),
        SimpleAssignmentTarget::TSTypeAssertion(inner) => typed(&inner.expression),
    }
}

fn typed(inner: &Expression<'_>) -> Target {
    match inner {
        Expression::Identifier(id) => Target::Outer(id.name.to_string()),
        other => Target::Ignored(vec![expression(other)]),
    }
}
