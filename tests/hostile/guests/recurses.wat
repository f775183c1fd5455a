;; world: assessor
;; Calls itself without end, each time with more on the stack.
(func $deeper (param i32) (result i32) (i32.add (i32.const 1) (call $deeper (local.get 0))))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (call $deeper (i32.const 0)))
