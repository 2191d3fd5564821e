"""Training of translation models from parallel text."""

import time
from pathlib import Path

import keras

from keras_seqzoo.callbacks import StopOnInterrupt, WeightAverage
from keras_seqzoo.data import bucketed_batches, count_buckets, tokenize_pairs
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.training.run_state import RunState
from keras_seqzoo.zoo import save_preset


class TranslationTraining:
    """Trains a translation model, keeps the best preset, and can be stopped and resumed.

    Each epoch is one `fit` over batches bucketed by length, in an order that depends on the seed
    and the epoch alone; then the validation sentences are translated greedily with the averaged
    weights, and where BLEU (cased, sacrebleu) is the best so far the averaged model is saved as a
    preset. The rate rises linearly during the warm-up and falls along a cosine to a fiftieth.

    A run that an interrupt (Ctrl-C) stopped has lost nothing but the step under way: resumed, it
    goes through the very weights that it would have gone through.

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
        seed: int, of the order of the data. Weights and dropout follow
            `keras.utils.set_random_seed`.
        options: dict that describes the whole run, kept with its state; a run is only resumed
            with the same options.
        metadata: dict for the preset, see `keras_seqzoo.zoo.save_preset`.
        report: function of a line of text, called with each epoch's figures.

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
        seed=0,
        options=None,
        metadata=None,
        report=print,
    ):
        self.model = model
        self.directory = Path(directory)
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.label_smoothing = label_smoothing
        self.weight_decay = weight_decay
        self.boundaries = boundaries
        self.seed = seed
        self.options = options or {}
        self.metadata = metadata
        self.report = report
        self.average = WeightAverage(average)
        self.state = RunState(self.directory)
        self._figures = {}

    def run(self, train, validation, verbose="auto", callbacks=()):
        """Train from the start, or from where an earlier run stopped.

        The model is left with the weights of the last step; the best are in the preset.

        Args:
            train: a pair of lists of strings, source and target.
            validation: the same.
            verbose: Keras' progress bar, see `keras.Model.fit`.
            callbacks: list of further Keras callbacks. Each epoch is a `fit` of its own to them.

        Returns:
            `True` if all epochs are done, `False` if an interrupt stopped the run; its state is
            then saved up to the last whole step.

        Raises:
            ValueError: if the texts are empty or of unequal lengths, or the folder holds a run
                with other `options`.
            OSError: if the folder holds something else than a run.
        """
        self.state.check(self.options)
        if self.state.finished:
            return True
        if len(validation[0]) != len(validation[1]) or not validation[0]:
            raise ValueError(
                "`validation` must be two lists of the same, positive length, "
                f"got {len(validation[0])} and {len(validation[1])}."
            )
        preprocessor = self.model.preprocessor
        pairs = tokenize_pairs(*train, preprocessor.encode_source, preprocessor.encode_target)
        steps = self._batches(pairs, 0).cardinality().numpy()
        self._compile(steps)
        self.state.begin(self.options)
        self.state.restore(self.model, self.average)
        if self.state.epoch or self.state.step:
            self.report(f"resumed at epoch {self.state.epoch + 1} after step {self.state.step}")
        shapes = count_buckets(pairs, self.boundaries)
        self.report(f"{steps} batches an epoch, of {shapes} shapes: each is compiled once")
        with StopOnInterrupt() as stop:
            while self.state.epoch < self.epochs:
                if self.state.step < steps:
                    self._train_epoch(pairs, stop, verbose, callbacks)
                    self.state.save(self.model, self.average)
                if stop.interrupted or not self._evaluate(validation, stop):
                    return False
                self.state.save(self.model, self.average)
        self.state.finish()
        return True

    def _batches(self, pairs, epoch):
        return bucketed_batches(
            pairs,
            batch_size=self.batch_size,
            boundaries=self.boundaries,
            seed=(self.seed, epoch),
            pad_token_id=self.model.preprocessor.tokenizer.pad_token_id,
        )

    def _compile(self, steps):
        warmup = {}
        if self.warmup_steps:
            warmup = {"warmup_target": self.learning_rate, "warmup_steps": self.warmup_steps}
        schedule = keras.optimizers.schedules.CosineDecay(
            initial_learning_rate=self.learning_rate / max(1, self.warmup_steps),
            decay_steps=max(1, steps * self.epochs - self.warmup_steps),
            alpha=0.02,
            **warmup,
        )
        optimizer = keras.optimizers.AdamW(
            schedule, weight_decay=self.weight_decay, global_clipnorm=1.0
        )
        self.model.compile(
            optimizer=optimizer,
            loss=SequenceCrossentropy(label_smoothing=self.label_smoothing),
            weighted_metrics=[],
        )

    def _train_epoch(self, pairs, stop, verbose, callbacks):
        """Do the steps of the epoch under way that are not yet done."""
        dataset = self._batches(pairs, self.state.epoch).skip(self.state.step)
        counter = _StepCounter(self.state)
        # The batches hold ids already.
        preprocessor, self.model.preprocessor = self.model.preprocessor, None
        started = time.perf_counter()
        try:
            history = self.model.fit(
                dataset,
                initial_epoch=self.state.epoch,
                epochs=self.state.epoch + 1,
                callbacks=[stop, self.average, counter, *callbacks],
                shuffle=False,
                verbose=verbose,
            )
        finally:
            self.model.preprocessor = preprocessor
        # Of the steps since the start or the last resumption.
        self._figures = {
            "loss": history.history["loss"][-1],
            "seconds": time.perf_counter() - started,
        }

    def _evaluate(self, validation, stop):
        """Translate the validation set with the averaged weights and keep the best preset.

        Returns `False` if an interrupt came; the epoch then counts as not evaluated.
        """
        sources, references = validation
        with self.average.applied():
            try:
                translations = self.model.translate(sources, Greedy(), on_batch=stop.check)
            except KeyboardInterrupt:
                return False
            scores = score_translations([best.text for best, *_ in translations], references)
            improved = self.state.best is None or scores.bleu > self.state.best
            if improved:
                save_preset(self.model, self.directory, metadata=self.metadata)
                self.state.best = scores.bleu
        self.state.epoch += 1
        self.state.step = 0
        figures = {"epoch": self.state.epoch, **self._figures}
        figures |= {"bleu": scores.bleu, "chrf": scores.chrf}
        self.state.history.append(figures)
        text = "  ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in figures.items()
        )
        self.report(text + ("  (best so far, saved)" if improved else ""))
        return True


class _StepCounter(keras.callbacks.Callback):
    """Counts the steps of an epoch in the state of the run."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def on_train_batch_end(self, batch, logs=None):
        self.state.step += 1
