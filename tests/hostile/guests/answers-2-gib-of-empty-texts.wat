;; world: assessor
;; A list of 268,435,456 texts, which would be 2 GiB of the guest's memory before the first byte of text.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (i32.store8 (i32.const 1044) (i32.const 1))
    (i32.store (i32.const 1064) (i32.const 4096))
    (i32.store (i32.const 1068) (i32.const 268435456))
    (i32.const 1024))
