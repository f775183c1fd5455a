;; world: assessor
;; Its answer is neither a result nor an error.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store8 (i32.const 1024) (i32.const 9)) (i32.const 1024))
