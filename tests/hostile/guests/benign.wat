;; world: assessor
;; Finds nothing. What its hook uses is what every other guest's is compared with.
