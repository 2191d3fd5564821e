"""Recurrent networks in plain NumPy, written from the equations: one row, one step at a time."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def elman_step(x, states, kernel, recurrent, bias):
    (h,) = states
    h = np.tanh(x @ kernel + h @ recurrent + bias)
    return h, [h]


def lstm_step(x, states, kernel, recurrent, bias):
    h, c = states
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, [h, c]


def lstm_without_forget_gate_step(x, states, kernel, recurrent, bias):
    h, c = states
    i, g, o = np.split(x @ kernel + h @ recurrent + bias, 3)
    c = c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, [h, c]


def gru_reset_before_step(x, states, kernel, recurrent, bias):
    (h,) = states
    wz, wr, wh = np.split(x @ kernel + bias, 3)
    uz, ur, uh = np.split(recurrent, 3, axis=1)
    z, r = sigmoid(wz + h @ uz), sigmoid(wr + h @ ur)
    h = z * h + (1 - z) * np.tanh(wh + (r * h) @ uh)
    return h, [h]


def gru_reset_after_step(x, states, kernel, recurrent, bias):
    (h,) = states
    wz, wr, wh = np.split(x @ kernel + bias[0], 3)
    uz, ur, uh = np.split(h @ recurrent + bias[1], 3)
    z, r = sigmoid(wz + uz), sigmoid(wr + ur)
    h = z * h + (1 - z) * np.tanh(wh + r * uh)
    return h, [h]


def normalize(x):
    """Normalize the last dimension."""
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.001)


def normalized_lstm_step(x, states, kernel, recurrent, bias, gamma_x, gamma_h, gamma_c, beta_c):
    h, c = states
    inner = gamma_x * normalize(x @ kernel) + gamma_h * normalize(h @ recurrent) + bias
    i, f, g, o = np.split(inner, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(gamma_c * normalize(c) + beta_c)
    return h, [h, c]


def normalized_gru_step(x, states, kernel, recurrent, bias, gamma_x, gamma_h):
    (h,) = states

    def blocks(product, gamma, bias):
        gates, candidate = np.split(product, [2 * len(h)])
        normalized = np.concatenate([normalize(gates), normalize(candidate)])
        return np.split(gamma * normalized + bias, 3)

    wz, wr, wh = blocks(x @ kernel, gamma_x, bias[0])
    uz, ur, uh = blocks(h @ recurrent, gamma_h, bias[1])
    z, r = sigmoid(wz + uz), sigmoid(wr + ur)
    h = z * h + (1 - z) * np.tanh(wh + r * uh)
    return h, [h]


def unroll(step, weights, sequence, initial, mask=None, reverse=False):
    """Run the valid steps of each row alone, without the padding.

    Returns outputs `(B, T, U)` in the time order of the input, zero at padding; the last outputs
    `(B, U)`, zero in rows without a valid step; and the list of final states.
    """
    batch, time = sequence.shape[:2]
    mask = np.ones((batch, time), bool) if mask is None else mask
    outputs = np.zeros((batch, time, initial[0].shape[-1]))
    last = np.zeros((batch, initial[0].shape[-1]))
    final = [np.array(state, "float64") for state in initial]
    for row in range(batch):
        states = [state[row] for state in initial]
        for t in reversed(range(time)) if reverse else range(time):
            if mask[row, t]:
                outputs[row, t], states = step(sequence[row, t], states, *weights)
                last[row] = outputs[row, t]
        for state, value in zip(final, states, strict=True):
            state[row] = value
    return outputs, last, final


def numeric_gradients(loss, arrays, epsilon=1e-6):
    """Compute central differences of a function of float64 arrays, one entry at a time."""
    gradients = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for index in np.ndindex(*array.shape):
            kept = array[index]
            array[index] = kept + epsilon
            above = loss()
            array[index] = kept - epsilon
            gradient[index] = (above - loss()) / (2 * epsilon)
            array[index] = kept
        gradients.append(gradient)
    return gradients
