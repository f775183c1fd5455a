;; world: assessor
;; Its answer begins at an address where none can begin.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (i32.const 1025))
