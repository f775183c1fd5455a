//! Links the program without shared libraries, and with the functions of a hook side by side.

#[path = "build/function_order.rs"]
mod function_order;
#[path = "../hook/build/link_statically.rs"]
mod link_statically;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/function_order.rs");
    println!("cargo:rerun-if-changed=../hook/build/link_statically.rs");
    link_statically::link_statically();
    function_order::order_functions();
}
