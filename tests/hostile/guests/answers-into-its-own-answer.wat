;; world: assessor
;; The list in its answer overlaps the answer, which overlaps itself.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store8 (i32.const 1044) (i32.const 1))
    (i32.store (i32.const 1064) (i32.const 1064))
    (i32.store (i32.const 1068) (i32.const 64))
    (i32.const 1024))
