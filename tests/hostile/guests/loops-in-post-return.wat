;; world: assessor
;; Answers, and loops when it is to give the answer's memory back.
(func (export "cabi_post_portcullis:plugin/assessor@0.1.0#assess") (param i32) (loop (br 0)))
