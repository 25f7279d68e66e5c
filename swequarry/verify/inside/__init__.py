"""Sources that run inside the sandbox, under the project's own interpreter (Python 3.6 and later).

They are sent into the run as text (`swequarry.verify.payload`), import nothing but the standard library,
and never import each other: what one needs of another is passed to it.
"""
