"""The batched network computes what the network of the product computes."""

import numpy as np

from audio.vad.silero.network import STATE_SHAPE, SileroNetwork, network_path
from audio.vad.silero.weights import read_weights
from bench.vad_network import BatchedNetwork

CONVERSATIONS, WINDOWS = 3, 5


def test_batched_network_computes_same_probabilities() -> None:
    weights = read_weights(network_path().read_bytes())
    assert weights is not None
    batched, network = BatchedNetwork(weights, CONVERSATIONS), SileroNetwork()
    states = [(np.zeros(STATE_SHAPE, np.float32), np.zeros(STATE_SHAPE, np.float32)) for _ in range(CONVERSATIONS)]
    random = np.random.default_rng(3)
    for _ in range(WINDOWS):
        windows = random.normal(0, 0.1, (CONVERSATIONS, 576)).astype(np.float32)
        expected = []
        for number in range(CONVERSATIONS):
            probability, h, c = network.run(windows[number : number + 1], *states[number])
            states[number] = h, c
            expected.append(probability)
        np.testing.assert_allclose(batched.run(windows), expected, atol=1e-5)
