;; world: assessor
;; Opens and reads one name of its folder 500 times, and traps if it reads the word from a file elsewhere.
(import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $folders (param i32)))
(import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
(import "wasi:filesystem/types@0.2.0" "[method]descriptor.read" (func $read (param i32 i64 i64 i32)))
(import "wasi:filesystem/types@0.2.0" "[resource-drop]descriptor" (func $drop (param i32)))
(data (i32.const 3072) "mine.txt")
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32)
    (local $i i32) (local $folder i32) (local $file i32)
    (call $folders (i32.const 2064))
    (local.set $folder (i32.load (i32.load (i32.const 2064))))
    (loop $more
        (call $open (local.get $folder) (i32.const 1) (i32.const 3072) (i32.const 8) (i32.const 0) (i32.const 1) (i32.const 2048))
        (if (i32.eqz (i32.load8_u (i32.const 2048))) (then
            (local.set $file (i32.load (i32.const 2052)))
            (call $read (local.get $file) (i64.const 8) (i64.const 0) (i32.const 2080))
            ;; `cana`, as a number.
            (if (i32.eqz (i32.load8_u (i32.const 2080))) (then
                (if (i32.eq (i32.load (i32.load (i32.const 2084))) (i32.const 0x616e6163)) (then unreachable))))
            (call $drop (local.get $file))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 500))))
    (i32.const 1024))
