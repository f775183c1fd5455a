;; world: assessor
;; Loops where the host asks it for room for what it is to be told.
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (loop (br 0)) unreachable)
