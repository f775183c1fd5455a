;; world: assessor
;; A risk of 65,535 out of 1,000.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store8 (i32.const 1028) (i32.const 1))
    (i32.store16 (i32.const 1032) (i32.const 65535))
    (i32.const 1024))
