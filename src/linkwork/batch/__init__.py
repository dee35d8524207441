"""Functions of very many states, computed chunk by chunk on one machine or on a cluster.

`plan` says what is computed, `functions` and `states` what from; `work` computes one chunk, and
`store` keeps it in a Zarr group. `journal` knows which chunks are done, so that a run can be
stopped at any moment. `local` and `cluster` run chunks, and `batch` puts all of it together. The
command `linkwork batch` shows how it goes.
"""
