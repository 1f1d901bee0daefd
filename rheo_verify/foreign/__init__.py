"""Floor 5: other people's decoders, unchanged, under exact enumeration.

`answering.law_of_call` runs a callable while its random calls are answered by a `Chance`; `verifier`, `sampler`,
`decoder`, `coins` and `huggingface` are the ways in, each with a function that returns a `CheckReport`.
"""
