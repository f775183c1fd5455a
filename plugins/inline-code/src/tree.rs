//! One tree for all languages: the parts of a program that matter for names, texts and calls.

use std::rc::Rc;

/// An expression or a statement.
#[derive(Debug)]
pub(crate) enum Node {
    /// Something without a value that is followed; its parts are evaluated in order.
    Unknown(Vec<Node>),
    /// Something that may contain calls which are not looked at.
    Unread,
    Text(String),
    Number(i64),
    Name(String),
    Member(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    /// The bounds of a part of a list or text.
    Slice(Vec<Option<Node>>),
    Call(Box<CallNode>),
    List(Vec<Node>),
    Spread(Box<Node>),
    Map(Vec<(Node, Node)>),
    /// Texts put together.
    Join(Vec<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// One of these.
    Either(Vec<Node>),
    Function(Rc<Function>),
    Class(Rc<Class>),
    Assign(Box<Target>, Box<Node>),
    /// A loop over values; a comprehension's value is the list of its body's values.
    Loop(Box<Loop>),
    /// A loop without values; the flag says that nothing ends it but itself.
    Repeat(Vec<Node>, bool),
    /// In order; the value is the last one's.
    Block(Vec<Node>),
    /// Each may run, or not.
    Branches(Vec<Node>),
    Return(Box<Node>),
    /// The module of this name, bound by an import.
    Module(String),
    /// All names of a module.
    ImportAll(String),
    /// Items of lists that are deleted.
    Delete(Vec<Node>),
    /// Names that belong to a function around this one.
    Global(Vec<String>),
}

/// A call, or the making of an object.
#[derive(Debug)]
pub(crate) struct CallNode {
    pub callee: Node,
    pub arguments: Vec<Node>,
    pub keywords: Vec<(String, Node)>,
}

/// A loop over values.
#[derive(Debug)]
pub(crate) struct Loop {
    pub sources: Vec<(Target, Node)>,
    pub conditions: Vec<Node>,
    pub body: Node,
    /// It is a comprehension.
    pub collects: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Times,
    Divide,
    Remainder,
    Minus,
    Or,
    And,
    Xor,
    Other,
}

/// A function's parameters and body.
#[derive(Debug)]
pub(crate) struct Function {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub body: Node,
    /// It sees the receiver of a call under the name of its first parameter.
    pub is_method: bool,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub target: Target,
    pub name: String,
    pub rest: bool,
    /// It takes the keywords that no other parameter takes.
    pub keywords: bool,
    pub default: Option<Node>,
}

/// A class's members, in order.
#[derive(Debug)]
pub(crate) struct Class {
    pub bases: Vec<Node>,
    pub members: Vec<(String, Node)>,
    /// Statements in its body.
    pub others: Vec<Node>,
}

/// The left of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Name(String),
    /// A name that was declared somewhere around, if it was.
    Outer(String),
    List(Vec<Target>),
    Map(Vec<(Option<String>, Target)>),
    Rest(Box<Target>),
    Default(Box<Target>, Node),
    Member(Node, String),
    Index(Node, Node),
    Ignored(Vec<Node>),
}
