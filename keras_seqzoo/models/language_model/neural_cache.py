"""Neural cache: tokens that followed similar hidden states become more probable."""

import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import check_fraction, check_integer, check_number
from keras_seqzoo.models.language_model.base import LanguageModel, check_texts
from keras_seqzoo.models.language_model.cache import mix_scores, mix_with_recent
from keras_seqzoo.models.language_model.running_text import RunningText, split_scores


class NeuralCacheLanguageModel(LanguageModel):
    """Mixture of a recurrent model with a cache that it reads with its hidden states.

        P(w | h_t) = (1 - λ) P_model(w | h_t) + λ P_cache(w | h_t),
        P_cache(w | h_t) ∝ Σ_{i=t-N}^{t-1} [w_{i+1} = w] exp(θ h_t · h_i)

    where h_i is the input of the output layer before token w_{i+1} (Grave, Joulin and Usunier 2017,
    Improving neural language models with a continuous cache, equations 3 and 5). The cache holds
    the last N tokens, including ends of sentences; nothing is trained. The first token has only its
    probability in the model. θ = 0 gives a `CacheLanguageModel` without decay.

    `score` and `perplexity` read a text as `model` does, with a cache for each stream. If the model
    is a `DynamicEvaluation`, its weights change while the cache keeps earlier states. Generation
    starts with an empty cache.

    Args:
        model: a `RunningText`, such as a `DynamicEvaluation`.
        weight: float, λ, from 0 to 1.
        flatness: float, θ, at least 0. The paper chooses it on a validation text, as `tuned` does,
            near 0.3 for the Penn Treebank and LSTMs of 1,024 units.
        size: int, N, at least 1.

    Raises:
        ValueError: if `model` is not a `RunningText`, or an argument is out of its range.

    Example:
    ```python
    model = RecurrentLanguageModel.from_preset("lstm_bpe_imdb")
    cached = NeuralCacheLanguageModel(RunningText(model), weight=0.1, flatness=0.3)
    cached.perplexity(sentences)
    ```
    """

    remembers_sentences = True

    def __init__(self, model, weight=0.1, flatness=0.3, size=500):
        if not isinstance(model, RunningText):
            raise ValueError(f"`model` must be a RunningText, got {model!r}.")
        self.model = model
        self.tokenizer = model.tokenizer
        self.weight = check_fraction("weight", weight)
        self.flatness = check_number("flatness", flatness, minimum=0.0)
        self.size = check_integer("size", size, minimum=1)

    @classmethod
    def tuned(cls, model, held_out, weights=(0.05, 0.1, 0.2), flatnesses=(0.1, 0.3, 0.5), size=500):
        """Find the weight and the flatness that make held-out text most probable.

        The model reads the text once, however many values there are.

        Args:
            model: see the class.
            held_out: list of strings, sentences in order that the model was not trained on.
            weights: floats, the values of λ to try.
            flatnesses: floats, the values of θ to try.
            size: see the class.

        Returns:
            A `NeuralCacheLanguageModel`.

        Raises:
            ValueError: if there is no text or no value, or an argument is out of its range.
        """
        weights, flatnesses = list(weights), list(flatnesses)
        candidates = [
            cls(model, weight, flatness, size) for flatness in flatnesses for weight in weights
        ]
        if not candidates:
            raise ValueError(
                "`weights` and `flatnesses` must have at least one value each, got "
                f"{weights} and {flatnesses}."
            )
        sentences = candidates[0].sentence_ids(check_texts(held_out, "held_out"))
        totals = np.zeros(len(candidates))
        for part, caches in candidates[0]._read_parts(sentences, flatnesses):
            for place, candidate in enumerate(candidates):
                scores = candidate._mix(part.scores, *caches[place // len(weights)])
                totals[place] += scores[part.valid].sum(dtype=np.float64)
        return candidates[np.where(np.isnan(totals), -np.inf, totals).argmax()]

    def token_scores(self, texts, batch_size=64):
        """Compute log P of each token of the sentences of a text; see `RunningText`."""
        sentences = self.sentence_ids(texts)
        found = [
            (self._mix(part.scores, *cache), part.valid)
            for part, [cache] in self._read_parts(sentences, [self.flatness])
        ]
        return split_scores(found, sentences)

    def _read_parts(self, sentences, flatnesses):
        """Yield each part of a text and, for each flatness, what `_look_up` returns."""
        keys = values = None
        for part in self.model.read_parts(sentences):
            features = tf.cast(part.features, tf.float32).numpy()
            if keys is None:
                keys, values = features[:, :0], part.labels[:, :0]
            # (streams, past + length, ...)
            keys = np.concatenate([keys, features], axis=1)
            values = np.concatenate([values, part.labels], axis=1)
            products = np.matmul(features, keys.transpose(0, 2, 1))
            length, total = products.shape[1:]
            now = np.arange(total - length, total)[:, np.newaxis]
            distance = now - np.arange(total)  # (length, past + length)
            seen = (distance >= 1) & (distance <= self.size)
            same = part.labels[:, :, np.newaxis] == values[:, np.newaxis]
            yield part, [_look_up(flatness * products, seen, same) for flatness in flatnesses]
            keys, values = keys[:, -self.size :], values[:, -self.size :]

    def _mix(self, scores, cached, empty):
        mixed = mix_scores(scores, cached, self.weight)
        return np.where(empty, scores, mixed).astype(np.float32)

    def start(self, rows):
        """Create the state before the beginning of sentences; see `LanguageModel`."""
        backbone = self.model.model.backbone
        units = backbone.output.shape[-1]
        return {
            "model": self.model.start(rows),
            "hidden": tf.zeros([rows, units]),  # before the next token
            "keys": tf.zeros([rows, self.size, units]),  # the most recent first
            "values": tf.fill([rows, self.size], -1),  # -1 for none
        }

    def step(self, tokens, state):
        """Read one token per row and compute the next distribution; see `LanguageModel`."""
        scores, hidden, model_state = self.model.model.step_with_features(tokens, state["model"])
        hidden = tf.cast(hidden, tf.float32)
        follows = (tokens != self.tokenizer.start_token_id)[:, tf.newaxis]  # a hidden state
        keys = tf.concat([state["hidden"][:, tf.newaxis], state["keys"]], 1)[:, :-1]
        keys = tf.where(follows[..., tf.newaxis], keys, state["keys"])
        values = tf.concat([tokens[:, tf.newaxis], state["values"]], 1)[:, :-1]
        values = tf.where(follows, values, state["values"])

        full = values >= 0
        logits = self.flatness * tf.einsum("bu,bnu->bn", hidden, keys)
        weights = tf.where(full, tf.nn.softmax(tf.where(full, logits, logits.dtype.min)), 0.0)
        state = {"model": model_state, "hidden": hidden, "keys": keys, "values": values}
        return mix_with_recent(scores, values, weights, self.weight), state


def _look_up(logits, seen, same):
    """Return log P_cache of labels, and where the cache is empty.

    Args:
        logits: float array `(streams, length, past + length)`, θ h_t · h_i.
        seen: bool array `(length, past + length)`, whether the cache holds i at t.
        same: bool array like `logits`, whether the token after i is the label at t.
    """
    logits = np.where(seen, logits, -np.inf)
    highest = np.where(seen.any(-1), logits.max(-1), 0.0)[..., np.newaxis]
    likelihoods = np.exp(logits - highest, dtype=np.float64)
    all_tokens = likelihoods.sum(-1)
    this_token = np.where(same, likelihoods, 0.0).sum(-1)
    empty = all_tokens == 0
    with np.errstate(divide="ignore"):
        return np.log(this_token) - np.log(np.where(empty, 1.0, all_tokens)), empty
