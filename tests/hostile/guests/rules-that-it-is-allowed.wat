;; world: assessor
;; Reports an invalid objection for a rule: there are four objections, and no number means permission.
(data (i32.const 2048) "lie")
(data (i32.const 2056) "because I say so")

(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store (i32.const 1092) (i32.const 3072))
    (i32.store (i32.const 1096) (i32.const 1))
    (i32.store (i32.const 3072) (i32.const 2048))
    (i32.store (i32.const 3076) (i32.const 3))
    (i32.store8 (i32.const 3080) (i32.const 4))
    (i32.store8 (i32.const 3081) (i32.const 0))
    (i32.store (i32.const 3084) (i32.const 2056))
    (i32.store (i32.const 3088) (i32.const 16))

    (i32.const 1024))
