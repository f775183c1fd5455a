;; world: assessor
;; Makes the host keep one byte more than a megabyte for it.
(func (export "portcullis:plugin/assessor@0.1.0#prepare") (param i32 i32) (result i32)
    (drop (memory.grow (i32.const 32)))
    (i32.store (i32.const 1032) (i32.const 1048577))
    (i32.const 1024))
