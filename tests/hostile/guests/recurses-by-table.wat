;; world: assessor
;; Two functions that call each other through a table, where a compiler cannot see it.
(type $step (func (param i32) (result i32)))
(table 2 2 funcref)
(elem (i32.const 0) $even $odd)
(func $even (type $step) (i32.add (i32.const 1) (call_indirect (type $step) (local.get 0) (i32.const 1))))
(func $odd (type $step) (i32.add (i32.const 1) (call_indirect (type $step) (local.get 0) (i32.const 0))))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (call $even (i32.const 0)))
