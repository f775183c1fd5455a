;; world: assessor
;; Looks for folders that it may open and traps without one.
(import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $folders (param i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (call $folders (i32.const 2048))
    (if (i32.eqz (i32.load (i32.const 2052))) (then unreachable))
    (i32.const 1024))
