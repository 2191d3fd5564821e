"""PyTorch's recurrent layers in a process of their own, for `layer_speed.py`.

It needs only PyTorch. It reads one command per line and answers each with a line:

    prepare CELL DTYPE BATCH TIME INPUT UNITS    ready
    forward RUNS                                 milliseconds of each run
    train RUNS                                   milliseconds of each run
"""

import sys
import time

import torch

LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "elman": torch.nn.RNN}


class Worker:
    def prepare(self, cell, dtype, batch, steps, inputs, units):
        dtype = getattr(torch, dtype)
        self.layer = LAYERS[cell](int(inputs), int(units), batch_first=True).to(dtype)
        self.sequence = torch.randn(int(batch), int(steps), int(inputs)).to(dtype)
        return "ready"

    def forward(self, runs):
        with torch.no_grad():
            return self._times(lambda: self.layer(self.sequence), runs)

    def train(self, runs):
        return self._times(self._train, runs)

    def _train(self):
        self.layer.zero_grad()
        outputs, _ = self.layer(self.sequence)
        (outputs * outputs).mean().backward()

    def _times(self, function, runs):
        times = []
        for _ in range(int(runs)):
            started = time.perf_counter()
            function()
            times.append(1e3 * (time.perf_counter() - started))
        return " ".join(map(str, times))


def main():
    torch.set_num_threads(int(sys.argv[1]))
    worker = Worker()
    for line in sys.stdin:
        command, *arguments = line.split()
        print(getattr(worker, command)(*arguments), flush=True)


if __name__ == "__main__":
    main()
