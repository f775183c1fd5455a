;; world: assessor
;; Writes 4 KiB to its standard output and never ends the line.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush" (func $write (param i32 i32 i32) (result i32)))
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $out i32)
    (local.set $out (call $stdout))
    (memory.fill (i32.const 4096) (i32.const 120) (i32.const 4096))
    (loop (drop (call $write (local.get $out) (i32.const 4096) (i32.const 4096))) (br 0)) unreachable)
