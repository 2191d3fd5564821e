"""Signatures of a toy: it answers in capitals, and cuts what is longer than 30 bytes."""

import json

import numpy as np

LIMIT = 30
BLANK = " \u0301"  # of these nothing is left


def texts_of(inputs):
    """What the model reads: invalid bytes as U+FFFD, as exported models do."""
    return [row.decode("utf-8", "replace") for row in inputs["text"].tolist()]


def strings(rows, shape):
    found = np.empty(len(rows), object)
    found[:] = [row.encode() for row in rows]
    return found.reshape(shape)


def cut(texts):
    return np.array([len(text.encode()) > LIMIT for text in texts], bool)


def translate(inputs):
    texts = texts_of(inputs)
    phrases = inputs.get("required_phrases", np.full(len(texts), b"", object)).tolist()
    found = [
        text.upper() + "".join(f" {own}" for own in phrase.decode().split("\t") if own)
        for text, phrase in zip(texts, phrases, strict=True)
    ]
    scores = np.array([-0.5 * len(text) for text in texts], np.float32)
    return {
        "translation": strings(found, len(texts)),
        "score": scores,
        "truncated": cut(texts),
    }


def n_best(inputs):
    """Three translations, of which the third is none."""
    texts = texts_of(inputs)
    found = [
        row
        for text in texts
        for row in ([text.upper(), text.title(), ""] if text.strip(BLANK) else [""] * 3)
    ]
    scores = [[-1.0, -2.0, -np.inf] if text.strip(BLANK) else [0.0] * 3 for text in texts]
    scores = np.array(scores, np.float32).reshape(len(texts), 3)
    return {
        "translations": strings(found, (len(texts), 3)),
        "scores": scores,
        "log_probabilities": 2 * scores,
        "truncated": cut(texts),
    }


def translate_into(inputs):
    """The language after the text, and an error for those that are unknown."""
    found = translate(inputs)
    languages = [name.decode() for name in inputs["language"].tolist()]
    texts = [f"{text} {name}" for text, name in zip(texts_of(inputs), languages, strict=True)]
    errors = ["" if name in ("fr", "de") else f"no {name}" for name in languages]
    return {
        **found,
        "translation": strings(texts, len(texts)),
        "error": strings(errors, len(texts)),
    }


def classify(inputs):
    texts = texts_of(inputs)
    good = np.array([0.75 if "good" in text else 0.25 for text in texts], np.float32)
    return {
        "label": strings(["good" if one > 0.5 else "bad" for one in good], len(texts)),
        "probability": np.maximum(good, 1 - good),
        "labels": strings(["bad", "good"] * len(texts), (len(texts), 2)),
        "probabilities": np.stack([1 - good, good], axis=1),
        "chosen": np.stack([good < 0.5, good > 0.5], axis=1),
        "truncated": cut(texts),
    }


def tag(inputs):
    texts = texts_of(inputs)
    words = [text.split() for text in texts]
    longest = max(map(len, words), default=0)
    tokens = [[*row, *[""] * (longest - len(row))] for row in words]
    tags = [["X"] * len(row) + [""] * (longest - len(row)) for row in words]
    shape = len(texts), longest
    return {
        "tokens": strings([one for row in tokens for one in row], shape),
        "tags": strings([one for row in tags for one in row], shape),
        "probabilities": np.array(
            [[0.5 * bool(one) for one in row] for row in tags], np.float32
        ).reshape(shape),
        "lengths": np.array([len(row) for row in words], np.int32),
        "truncated": cut(texts),
    }


def generate(inputs):
    """Two texts, or one for those of a full stop."""
    texts = texts_of(inputs)
    rows = [[text, ""] if text.endswith(".") else [f"{text} one", f"{text} two"] for text in texts]
    scores = [[-1.0, -np.inf if text.endswith(".") else -2.0] for text in texts]
    return {
        "generated": strings([text for row in rows for text in row], (len(texts), 2)),
        "scores": np.array(scores, np.float32).reshape(len(texts), 2),
        "truncated": cut(texts),
    }


def score(inputs):
    texts = texts_of(inputs)
    return {
        "log_probability": np.array([-len(text) for text in texts], np.float32),
        "tokens": np.array([len(text.split()) + 1 for text in texts], np.int32),
        "truncated": cut(texts),
    }


def similar(inputs):
    texts = texts_of(inputs)
    known = np.array([text != "unknown" for text in texts])
    return {
        "words": strings(
            [one for text in texts for one in (text + "s", text + "ly")], (len(texts), 2)
        ),
        "similarities": np.full((len(texts), 2), 0.5, np.float32),
        "known": known,
        "truncated": cut(texts),
    }


def echo(inputs):
    """What came, as JSON: for what the client sends."""
    shown = {
        name: [array.dtype.name, [repr(item) for item in array.ravel().tolist()]]
        for name, array in sorted(inputs.items())
    }
    return {"shown": strings([json.dumps(shown)], 1)}


TRUNCATED = {"truncated": ("bool", [None])}
TEXT = ("string", [None])
SIGNATURES = {
    "serving_default": (
        {
            "required_phrases": TEXT,
            "translation": TEXT,
            "score": ("float32", [None]),
            **TRUNCATED,
        },
        translate,
    ),
    "n_best": (
        {
            "translations": ("string", [None, 3]),
            "scores": ("float32", [None, 3]),
            "log_probabilities": ("float32", [None, 3]),
            **TRUNCATED,
        },
        n_best,
    ),
    "score": (
        {"log_probability": ("float32", [None]), "tokens": ("int32", [None]), **TRUNCATED},
        score,
    ),
    "similar": (
        {
            "words": ("string", [None, 2]),
            "similarities": ("float32", [None, 2]),
            "known": ("bool", [None]),
            **TRUNCATED,
        },
        similar,
    ),
    "echo": ({"shown": TEXT}, echo),
}
MULTILINGUAL = {
    "serving_default": (
        {
            "language": TEXT,
            "translation": TEXT,
            "score": ("float32", [None]),
            "error": TEXT,
            **TRUNCATED,
        },
        translate_into,
    )
}
CLASSIFIER = {
    "serving_default": (
        {
            "label": TEXT,
            "probability": ("float32", [None]),
            "labels": ("string", [None, 2]),
            "probabilities": ("float32", [None, 2]),
            "chosen": ("bool", [None, 2]),
            **TRUNCATED,
        },
        classify,
    )
}
TAGGER = {
    "serving_default": (
        {
            "tokens": ("string", [None, None]),
            "tags": ("string", [None, None]),
            "probabilities": ("float32", [None, None]),
            "lengths": ("int32", [None]),
            **TRUNCATED,
        },
        tag,
    )
}
LANGUAGE_MODEL = {
    "serving_default": (
        {
            "generated": ("string", [None, 2]),
            "scores": ("float32", [None, 2]),
            **TRUNCATED,
        },
        generate,
    ),
    "score": SIGNATURES["score"],
}
