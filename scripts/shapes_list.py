"""Shapes of sentences that a reader stumbles over: a regular expression for each, and what to write instead.

scripts/shapes looks for them in the whole tree, and scripts/messages in texts of errors."""

import re

_BEGIN = r"(?:^|[.:;!?][\"'`)]*\s+)"  # of a sentence, or of a clause behind a colon
_JOINT = r"\b(?:and|or|but|if|that|than|as|for|by|of|to|with|on|from|lets|let|is)\s+"
_VERBS = "needs|fails|finds|stands|changes|protects|follows|comes|goes|remains|has"

SHAPES = [
    (
        rf"(?:{_BEGIN}|{_JOINT})[Ww]ho\s+(?!it\b|they\b|we\b|you\b)[a-z]+|\b[Ww]hoever\b",
        "name the actor: the rank, the worker, the caller, the program",
    ),
    (
        rf"{_BEGIN}What\s+(?:is|was|were|had|does|{_VERBS}|(?:it|they|nobody|no\s+\w+|load\s+and\s+store)\s+[a-z]+)"
        r"\b[^.:;?|]{0,60}?\s(?:is|are|was|goes|comes|stays|costs|has)\b(?![^.]*\?)",
        "name the thing: the memory that ..., the operations that ...",
    ),
    (r"\bis\s+none\b|\bare\s+none\b", "say what is missing, or what is allowed"),
    (r"\bmakes?\s+no\s+sense\b", "say what was found, and what was expected"),
    (r"\bfor\s+want\s+of\b", "say what is missing"),
    (rf"{_BEGIN}[Ee]rrors\s+as\b", "returns the same errors as ..."),
]
COMPILED = [(re.compile(shape), remedy) for shape, remedy in SHAPES]
