;; world: assessor
;; Requests 4 GiB before it runs.
(memory (export "memory") 65536)
