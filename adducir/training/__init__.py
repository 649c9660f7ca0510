"""Training: what a kind of model brings, and the one place where it is trained.

A kind is a :class:`~adducir.training.trainable.Trainable`: ``recipe``, ``dataset()`` (rows on the
disk, in Arrow), ``model()``, ``loss()``; :func:`adducir.training.run.train_model` trains it by the
Trainer of transformers inside one artifact. :mod:`adducir.training.kinds` knows all kinds by the
recipe's key ``kind``.
"""
