"""R-Drop: training with two passes that should agree."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_number
from keras_seqzoo.models.common.next_token_training import consistent_next_token_loss
from keras_seqzoo.models.common.objective import Objective
from keras_seqzoo.models.seq2seq.objectives.attended import check_loss, check_no_metrics
from keras_seqzoo.models.seq2seq.source_output import refuse_mixture
from keras_seqzoo.tensors import dimension


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RDrop(Objective):
    """The likelihood of the references in two passes with different dropout, which should agree.

    For the distributions p and q of a token in two passes over the same batch, the loss is

    ```
    loss = (loss of p + loss of q) / 2 + α/2 · (KL(p || q) + KL(q || p)) / 2
    ```

    This is half of the loss of R-Drop (Liang et al. 2021, "R-Drop: regularized dropout for neural
    networks", section 2). Without the second term, the passes are two samples of the gradient. With
    it, dropout also teaches the model to give the same distribution whichever of its units are
    missing. Validation losses are those of the likelihood. A step costs as much as one with twice
    the batch size. It never computes the logits of a whole batch, see
    `consistent_linear_crossentropy`.

    Args:
        weight: α, a number of at least 0; the paper uses 5 for translation.

    Raises:
        ValueError: if `weight` is out of range. `compile` raises one for a model without dropout,
            whose passes are equal, and with the `source_output` copy or lexicon.

    Example:
    ```python
    model.compile(objective=RDrop(weight=5.0))
    model.fit({"encoder_text": english, "decoder_text": french}, epochs=20)
    ```
    """

    def __init__(self, weight=5.0):
        super().__init__()
        self.weight = check_number("weight", weight, minimum=0.0)

    def check(self, model, metrics):
        """Raise `ValueError` without dropout, with an output of mixtures, or with metrics."""
        refuse_mixture(model, "`objective` must not be RDrop for")
        if not model.backbone.dropout:
            raise ValueError(
                "`objective` must not be RDrop for a model with `dropout` 0: both passes are equal."
            )
        check_no_metrics("RDrop", metrics)

    def train_step(self, model, data, likelihood_step):
        """Train on a batch that is read twice."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        check_loss(model, labels, sample_weight)

        def loss():
            twice = {name: tf.concat([value, value], 0) for name, value in inputs.items()}
            features = model.features(twice, training=True)
            rows = dimension(labels, 0)
            first = tf.nest.map_structure(lambda value: value[:rows], features)
            second = tf.nest.map_structure(lambda value: value[rows:], features)
            return consistent_next_token_loss(
                model.output_layer,
                first,
                second,
                labels,
                sample_weight,
                model.loss.label_smoothing,
                self.weight / 2,
            )

        return model.minimize(loss, inputs)

    def get_config(self):
        """Return the constructor arguments."""
        return {"weight": self.weight}
