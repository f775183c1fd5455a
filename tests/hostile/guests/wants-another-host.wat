;; world: assessor
;; Imports an interface of another kind of host.
(import "acme:host/secrets@1.0.0" "read" (func $wanted (param i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (call $wanted (i32.const 2048)) (i32.const 1024))
