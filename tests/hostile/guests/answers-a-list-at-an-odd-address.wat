;; world: assessor
;; Its rulings begin at an address where none can begin.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store (i32.const 1092) (i32.const 3073))
    (i32.store (i32.const 1096) (i32.const 1))
    (i32.const 1024))
