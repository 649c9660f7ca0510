"""A short tale and remarks on it, written for these tests."""

from adducir.studies.literary_evidence.sources import Source

TALE = [
    "The harbour lay so still that morning that the gulls seemed painted on it.",
    "Old Margaret counted her baskets twice, for she trusted nobody, and herself least of all.",
    "Then she went in.",
    "Her nephew had promised to mend the roof before the autumn rains, and had mended nothing;",
    "he sat on the wall with his long legs dangling, and whistled at the sea as at a dog.",
    "Nobody in the village could remember a summer that had asked so little of them.",
    "When the schoolmaster passed the church, he found the door open and a candle burning there.",
    "He thought of thieves, then of ghosts, and at last, with some relief, of the sexton.",
    "The sexton had been dead since Easter.",
    "It was a woman who knelt there, wrapped in a cloak the colour of wet slate and seaweed.",
    "She did not turn her head when he spoke, nor did she stop the low murmur of her prayer.",
    "Years afterwards he would say that he had known her at once, which was not the truth.",
    "The boats came home heavy that evening, and the whole street smelled of herring and tar.",
    "Margaret alone took no pleasure in the catch, having seen too many good years end badly.",
    "What the sea gives on a Monday, she liked to say, it will ask for again by the Sunday.",
    "Her nephew laughed at this, and was the only one who did, and the only one who drowned.",
]
"""Every sentence has ten words or more but those numbered 2 and 8."""

REMARKS = [
    "The opening of this little book has been praised more often than it has been read.",
    "Critics of the last century saw in it a mere sketch of manners by the coast.",
    "That view cannot be held any longer by those who look at the structure of the whole.",
    "Each of the three parts turns upon something that was promised and not performed.",
    "It is here that the author shows what can be done with a plain and sober style.",
    "Much of the effect depends on what the reader is not told about these people.",
    "We are given no dates, and the names of the places could be those of any county.",
    "One feels that the writer had lived among such people and had listened to them.",
    "There is some irony in this, but it is the irony of affection and not of contempt.",
    "The later chapters return to the theme and give it a darker colour than before.",
    "No other work of the period treats the subject with so much restraint and tact.",
    "It would be wrong to call the end of the story tragic in the usual sense of the word.",
]


def tale() -> Source:
    """The tale as a book."""
    return Source("tale", "A Tale", list(TALE))


def criticism(*quoted: str, name: str = "remarks", title: str = "Remarks") -> Source:
    """The remarks with some sentences after the sixth of them."""
    return Source(name, title, [*REMARKS[:6], *quoted, *REMARKS[6:]])
