;; world: assessor
;; Reports a failure in 900 characters of terminal control sequences.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store8 (i32.const 1024) (i32.const 1))
    (i32.store8 (i32.const 1028) (i32.const 2))
    (memory.fill (i32.const 100) (i32.const 27) (i32.const 900))
    (i32.store (i32.const 1032) (i32.const 100))
    (i32.store (i32.const 1036) (i32.const 900))
    (i32.const 1024))
