"""Long work in shards: cut once, made anywhere and in any order, put together in one place.

:mod:`.plan` cuts items into shards, :mod:`.work` says what a kind of work gives, :mod:`.worker`
makes one shard, :mod:`.parts` keeps those that are made, :mod:`.executors` say where they are made,
and :mod:`.building` makes an artifact of them. A shard's bytes depend on its items and the work
alone, so that neither the executor nor the number of workers nor any failure shows in the artifact.
"""
