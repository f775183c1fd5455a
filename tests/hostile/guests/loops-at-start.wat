;; world: assessor
;; Loops in its start function, so before anything was called.
(start $begin)
(func $begin (loop (br 0)))
