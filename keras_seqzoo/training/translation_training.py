"""Training of translation models from parallel text."""

from keras_seqzoo.data import bucketed_batches, count_buckets, tokenize_pairs
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.training.optimizers import adamw
from keras_seqzoo.training.training_run import TrainingRun


class TranslationTraining(TrainingRun):
    """Trains a translation model, keeps the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches bucketed by length, in an order that depends on the seed
    and the epoch alone; then the validation sentences are translated greedily with the averaged
    weights, and where BLEU (cased, sacrebleu) is the best so far the averaged model is saved as a
    preset. The rate rises linearly during the warm-up and falls along a cosine to a fiftieth. For
    `run`, `train` and `validation` are pairs of lists of strings, source and target.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor; it is compiled here.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        batch_size: int, sentence pairs in a batch.
        learning_rate: float, Adam's rate after the warm-up.
        warmup_steps: int, 0 for none.
        label_smoothing: float in [0, 1).
        weight_decay: float, decoupled decay of the weights (Loshchilov and Hutter, 2019).
        average: float in [0, 1), momentum of the running average of the weights.
        boundaries: increasing lengths in tokens that batches are padded to; longer pairs are left
            out.
        **kwargs: `seed`, `options`, `metadata` and `report` of `TrainingRun`.

    Example:
    ```python
    training = TranslationTraining(model, "my-preset", epochs=20)
    training.run((english, french), (valid_english, valid_french))
    ```
    """

    def __init__(
        self,
        model,
        directory,
        epochs=30,
        batch_size=64,
        learning_rate=2e-3,
        warmup_steps=400,
        label_smoothing=0.1,
        weight_decay=0.0,
        average=0.999,
        boundaries=(8, 12, 16, 20, 24, 32, 48, 64),
        **kwargs,
    ):
        super().__init__(model, directory, epochs, average, **kwargs)
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.label_smoothing = label_smoothing
        self.weight_decay = weight_decay
        self.boundaries = boundaries
        self._pairs = None

    def prepare(self, train, validation):
        """Check the validation texts and tokenize the others."""
        if len(validation[0]) != len(validation[1]) or not validation[0]:
            raise ValueError(
                "`validation` must be two lists of the same, positive length, "
                f"got {len(validation[0])} and {len(validation[1])}."
            )
        preprocessor = self.model.preprocessor
        self._pairs = tokenize_pairs(*train, preprocessor.encode_source, preprocessor.encode_target)

    def batches(self, epoch):
        """Give the bucketed batches of an epoch."""
        return bucketed_batches(
            self._pairs,
            batch_size=self.batch_size,
            boundaries=self.boundaries,
            seed=(self.seed, epoch),
            pad_token_id=self.model.preprocessor.tokenizer.pad_token_id,
        )

    def describe(self, steps):
        """Say how many batches and shapes there are."""
        shapes = count_buckets(self._pairs, self.boundaries)
        return f"{steps} batches an epoch, of {shapes} shapes: each is compiled once"

    def compile_model(self, steps):
        """Compile the model with AdamW, warm-up and cosine."""
        steps *= self.epochs
        optimizer = adamw(self.learning_rate, self.warmup_steps, steps, self.weight_decay)
        self.model.compile(
            optimizer=optimizer,
            loss=SequenceCrossentropy(label_smoothing=self.label_smoothing),
            weighted_metrics=[],
        )

    def measure(self, validation, stop):
        """Translate the validation sentences greedily and compute BLEU and chrF."""
        sources, references = validation
        translations = self.model.translate(sources, Greedy(), on_batch=stop.check)
        scores = score_translations([best.text for best, *_ in translations], references)
        return scores.bleu, {"bleu": scores.bleu, "chrf": scores.chrf}
