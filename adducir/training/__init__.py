"""Training: one loop, one artifact, one model card and one command for models of every kind.

A kind is a :class:`~adducir.training.plan.TrainingPlan` (what a recipe names, opened: what
determines the weights) that makes a :class:`~adducir.training.task.TrainingTask` (network,
examples, loss, validation). :mod:`adducir.training.kinds` knows them all by the recipe's key
`kind`.
"""
