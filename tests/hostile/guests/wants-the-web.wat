;; world: assessor
;; Sends a request.
(import "wasi:http/outgoing-handler@0.2.0" "handle" (func $wanted (result i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (drop (call $wanted)) (i32.const 1024))
