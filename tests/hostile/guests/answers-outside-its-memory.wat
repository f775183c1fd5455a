;; world: assessor
;; Its answer is outside its memory.
(func (export "portcullis:plugin/assessor@0.1.0#assess") (param i32) (result i32) (i32.const -8))
