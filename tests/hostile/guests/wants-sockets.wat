;; world: assessor
;; Opens a connection.
(import "wasi:sockets/instance-network@0.2.0" "instance-network" (func $wanted (result i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (drop (call $wanted)) (i32.const 1024))
