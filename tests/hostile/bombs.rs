//! Components that are made to be hard to compile.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

use crate::binary::{COMPONENT, CORE_MODULE, HEAD_OF_COMPONENT, HEAD_OF_MODULE, number, section};

/// Returns a component with that core module and the export of an assessor.
pub fn around(module: &[u8]) -> Vec<u8> {
    let head = wat::parse_str(
        r#"(component (instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i)))"#,
    )
    .unwrap();
    [head, section(CORE_MODULE, module)].concat()
}

fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [HEAD_OF_MODULE.to_vec(), sections.concat()].concat()
}

/// Returns functions `(i32) -> i32` with those bodies.
fn functions(bodies: &[Vec<u8>]) -> Vec<u8> {
    let count = number(bodies.len());
    let code: Vec<Vec<u8>> =
        bodies.iter().map(|body| [number(body.len()), body.clone()].concat()).collect();
    let types = section(1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    module(&[
        types,
        section(3, &[count.clone(), vec![0; bodies.len()]].concat()),
        section(10, &[count, code.concat()].concat()),
    ])
}

/// Returns one function of that many multiplications.
pub fn huge_function(times: usize) -> Vec<u8> {
    let mut body = vec![0];
    body.extend([0x20, 0, 0x41, 7, 0x6c, 0x21, 0].repeat(times));
    body.extend([0x20, 0, 0x0b]);
    functions(&[body])
}

/// Returns functions with the maximum number of locals, all changed in each round of a loop.
pub fn many_locals(count: usize) -> Vec<u8> {
    const LOCALS: usize = 49_000;
    let mut body = [vec![1], number(LOCALS), vec![0x7f, 0x03, 0x40]].concat();
    for local in (1..LOCALS).step_by(7) {
        let local = number(local);
        body.extend([&[0x20], local.as_slice(), &[0x20, 0, 0x6a, 0x21], &local].concat());
    }
    body.extend([0x20, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b]);
    functions(&vec![body; count])
}

/// Returns that many different function types.
pub fn many_types(count: usize) -> Vec<u8> {
    let one = |at: usize| -> Vec<u8> {
        let parameters = (0..20).map(|bit| if at >> bit & 1 == 0 { 0x7f } else { 0x7e });
        [0x60, 20].into_iter().chain(parameters).chain([0]).collect()
    };
    let all: Vec<u8> = (0..count).flat_map(one).collect();
    module(&[section(1, &[number(count), all].concat())])
}

/// Returns a memory with that many bytes of initial data.
pub fn large_data(bytes: usize) -> Vec<u8> {
    let memory = [vec![1, 0], number(bytes / 65_536 + 1)].concat();
    let data = [vec![1, 0, 0x41, 0, 0x0b], number(bytes), vec![0xa5; bytes]].concat();
    module(&[section(5, &memory), section(11, &data)])
}

/// Returns nested components, deeper than any parser of the text format goes.
pub fn nested(depth: usize) -> Vec<u8> {
    (0..depth).fold(HEAD_OF_COMPONENT.to_vec(), |inner, _| {
        [HEAD_OF_COMPONENT, &section(COMPONENT, &inner)].concat()
    })
}

/// Returns nested components, each of which contains the next one twice.
pub fn doubling(depth: usize) -> Vec<u8> {
    let innermost = "(core module $m) (core instance (instantiate $m))".to_owned();
    let inner = (0..depth).fold(innermost, |inner, _| {
        format!("(component $c {inner}) (instance (instantiate $c)) (instance (instantiate $c))")
    });
    wat::parse_str(format!(r#"(component (instance $i) (export "portcullis:plugin/assessor@0.1.0" (instance $i)) {inner})"#)).unwrap()
}
