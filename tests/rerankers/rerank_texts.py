"""A few queries and texts, one of them empty and one too long for the tiny models."""

TEXTS = [
    "cats run fast, dogs run slow",
    "nuclear energy is clean and cheap",
    "a school uniform",
    "",
    "the dog ran, not fast: power plants should be banned because of the e-mail!",
    "uniforms in schools",
    "energy " * 90,
    "Café dogs and cats (slow)",
]
QUERIES = ["should nuclear power be banned", "cats", "school uniforms for dogs?"]
