"""Cuts a voice's ONNX graph into an encoder, a flow and a decoder, so that audio is made in growing pieces.

A Piper voice is one graph: phonemes -> durations and a latent frame every 256 samples (text encoder), latent frames ->
spectral frames (flow), spectral frames -> samples (decoder). The flow and the decoder look only a few frames to either
side, so a piece of the audio needs a piece of the frames. The file is not changed, and the onnx package is not needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from audio import onnx_messages as onnx

_WITH_SUBGRAPH = {"If", "Loop", "Scan"}
"""Operators whose inner graphs may use any tensor of the outer one."""

_FLOAT = 1
_NOTHING: frozenset[str] = frozenset()


class NotUnderstoodError(Exception):
    """The graph has no place to cut. The text says what is missing, as a clause."""


@dataclass(frozen=True, slots=True)
class InnerTensors:
    """Names of the tensors that connect the parts of a voice. They are float32, (1, channels, frames).

    Attributes:
        latent: The latent frames.
        mask: Their mask, all 1 for one sentence; None if the voice has none.
        frames: The spectral frames.
    """

    latent: str
    mask: str | None
    frames: str


@dataclass(frozen=True, slots=True)
class VoiceParts:
    """The parts of a voice, as model files.

    Attributes:
        encoder: From a voice's inputs to `latent`, `mask` and the durations, in this order.
        flow: From `latent` and `mask` to `frames`.
        decoder: From `frames` to the samples.
        inner: The tensors that connect them.
    """

    encoder: bytes
    flow: bytes
    decoder: bytes
    inner: InnerTensors


def cut(model: bytes, durations: str | None) -> VoiceParts:
    """Cuts a voice. `durations`: the tensor with the frames of every phoneme id; None if there is none.

    Raises:
        NotUnderstoodError: The graph is built in another way than Piper's.
        NotReadableError: The bytes are not a model.
    """
    if durations is None:
        raise NotUnderstoodError("it does not tell the durations of its phonemes")
    graph = _Graph.read(model)
    output = next(iter(graph.outputs), "")  # the sound; a voice exported with alignments has a second output
    if any(node.operator in _WITH_SUBGRAPH for node in graph.nodes):
        raise NotUnderstoodError("its graph has branches or loops")
    frames = _decoder_input(graph)
    latent = _flow_input(graph, durations)
    flow = graph.between({latent}, frames)
    if not flow:
        raise NotUnderstoodError("its random numbers do not reach its decoder")
    masks = [name for name in graph.sides(flow, {latent}) if graph.needs_text(name)]
    if len(masks) > 1:
        raise NotUnderstoodError("its flow needs more than the frames and a mask")
    decoder = graph.between({frames}, output)
    if any(graph.needs_text(name) for name in graph.sides(decoder, {frames})):
        raise NotUnderstoodError("its decoder needs more than the frames")
    return VoiceParts(
        encoder=graph.part(set(), [latent, *masks, durations]),
        flow=graph.part({latent, *masks}, [frames]),
        decoder=graph.part({frames}, [output]),
        inner=InnerTensors(latent, masks[0] if masks else None, frames),
    )


@dataclass(frozen=True, slots=True)
class _Node:
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    encoded: memoryview


@dataclass(slots=True)
class _Graph:
    """A model, split into encoded messages.

    Attributes:
        header: The model's fields except its graph.
        constants: Encoded initializers by name.
        values: Types of tensors, as payloads, by name; those of the graph's inputs too.
        inputs: Names of the graph's inputs that are not constants.
        made_by: Index of the node that makes a tensor.
        needs: The graph's inputs that a tensor depends on.
    """

    header: list[memoryview] = field(default_factory=list)
    nodes: list[_Node] = field(default_factory=list)
    constants: dict[str, memoryview] = field(default_factory=dict)
    values: dict[str, memoryview] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    made_by: dict[str, int] = field(default_factory=dict)
    needs: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, model: bytes) -> "_Graph":
        graph = cls()
        for number, payload, encoded in onnx.fields(memoryview(model)):
            if number != onnx.MODEL_GRAPH:
                graph.header.append(encoded)
                continue
            for inner, content, whole in onnx.fields(payload):
                graph._add_field(inner, content, whole)
        graph.inputs = [name for name in graph.inputs if name not in graph.constants]
        graph.needs = {name: frozenset((name,)) for name in graph.inputs}
        for node in graph.nodes:  # in execution order
            needs = _NOTHING.union(*(graph.needs.get(name, _NOTHING) for name in node.inputs))
            graph.needs |= dict.fromkeys(node.outputs, needs)
        return graph

    def _add_field(self, number: int, content: memoryview, encoded: memoryview) -> None:
        if number == onnx.GRAPH_NODE:
            node = _node(content, encoded)
            self.made_by |= dict.fromkeys(node.outputs, len(self.nodes))
            self.nodes.append(node)
        elif number == onnx.GRAPH_INITIALIZER:
            self.constants[_name(content, onnx.TENSOR_NAME)] = encoded
        elif number in (onnx.GRAPH_INPUT, onnx.GRAPH_OUTPUT, onnx.GRAPH_VALUE_INFO):
            name = _name(content, onnx.VALUE_NAME)
            self.values[name] = content
            if number == onnx.GRAPH_INPUT:
                self.inputs.append(name)
            elif number == onnx.GRAPH_OUTPUT:
                self.outputs.append(name)

    def producer(self, tensor: str) -> _Node | None:
        index = self.made_by.get(tensor)
        return None if index is None else self.nodes[index]

    def consumers(self, tensor: str) -> list[_Node]:
        return [node for node in self.nodes if tensor in node.inputs]

    def above(self, tensors: Iterable[str], given: set[str]) -> set[int]:
        """Returns the nodes that make the tensors, as far up as the tensors in `given`."""
        nodes: set[int] = set()
        open_tensors = list(tensors)
        while open_tensors:
            tensor = open_tensors.pop()
            index = self.made_by.get(tensor)
            if tensor not in given and index is not None and index not in nodes:
                nodes.add(index)
                open_tensors += self.nodes[index].inputs
        return nodes

    def needs_text(self, tensor: str) -> bool:
        """Returns whether a tensor depends on the text, and not only on the speaker."""
        return bool(self.needs.get(tensor, _NOTHING) - {"sid"})

    def between(self, sources: set[str], target: str) -> set[int]:
        """Returns the nodes that make `target` and depend on a tensor of `sources`. Nodes are in execution order."""
        reached, nodes = set(sources), set()
        for index in sorted(self.above([target], sources)):
            if reached & set(self.nodes[index].inputs):
                reached |= set(self.nodes[index].outputs)
                nodes.add(index)
        return nodes

    def sides(self, nodes: set[int], sources: set[str]) -> list[str]:
        """Returns the tensors that the nodes use and neither make nor receive in `sources`, in order, each once."""
        made = {name for index in nodes for name in self.nodes[index].outputs}
        used = [name for index in sorted(nodes) for name in self.nodes[index].inputs]
        return [name for name in dict.fromkeys(used) if name in self.made_by and name not in made | sources]

    def part(self, given: set[str], outputs: list[str]) -> bytes:
        """Returns the model that makes `outputs` from the graph's inputs and the tensors in `given`."""
        nodes = [self.nodes[index] for index in sorted(self.above(outputs, given))]
        used = dict.fromkeys(name for node in nodes for name in node.inputs)
        # The first part has all inputs of the voice, because it is called with all.
        inputs = [name for name in (*self.inputs, *sorted(given)) if name in used or not given]
        body: list[bytes | memoryview] = [node.encoded for node in nodes]
        body.append(onnx.message(onnx.GRAPH_NAME, b"part"))
        body += [self.constants[name] for name in used if name in self.constants]
        body += [onnx.message(onnx.GRAPH_INPUT, self._value(name)) for name in inputs]
        body += [onnx.message(onnx.GRAPH_OUTPUT, onnx.message(onnx.VALUE_NAME, name.encode())) for name in outputs]
        return b"".join((*self.header, onnx.message(onnx.MODEL_GRAPH, b"".join(body))))

    def _value(self, name: str) -> bytes:
        """Returns the type of a tensor; float32 of any shape if the model does not give it."""
        if name in self.values:
            return bytes(self.values[name])
        kind = onnx.message(1, onnx.number(1, _FLOAT))
        return onnx.message(onnx.VALUE_NAME, name.encode()) + onnx.message(onnx.VALUE_TYPE, kind)


def _node(content: memoryview, encoded: memoryview) -> _Node:
    return _Node(*onnx.read_node(content), encoded)


def _name(content: memoryview, number: int) -> str:
    return next((onnx.text(payload) for payload in onnx.messages(content, number)), "")


def _decoder_input(graph: _Graph) -> str:
    """Returns the tensor that enters the decoder: the input of the convolution in front of its first upsampling."""
    first = next((node for node in graph.nodes if node.operator == "ConvTranspose"), None)
    if first is None:
        raise NotUnderstoodError("it has no upsampling")
    for node in _up(graph, first):
        if node.operator == "Conv":
            return node.inputs[0]
        if node.operator not in ("LeakyRelu", "Add"):
            break
    raise NotUnderstoodError("its upsampling does not begin with a convolution")


def _up(graph: _Graph, node: _Node) -> Iterator[_Node]:
    """Yields the node's ancestors along the first input that depends on the text and not only on the speaker."""
    while True:
        made = [graph.producer(name) for name in node.inputs if graph.needs_text(name)]
        if not made or made[0] is None:
            return
        node = made[0]
        yield node


def _flow_input(graph: _Graph, durations: str) -> str:
    """Returns the tensor that enters the flow: the mean of the latent frames plus scaled random numbers."""
    before = graph.above([durations], set())
    random = [
        node for index, node in enumerate(graph.nodes) if node.operator == "RandomNormalLike" and index not in before
    ]
    if len(random) != 1:
        raise NotUnderstoodError(f"it adds random numbers in {len(random)} places, not in one")
    node = random[0]
    while node.operator != "Add":
        following = graph.consumers(node.outputs[0])
        if len(following) != 1 or following[0].operator not in ("Mul", "Add"):
            raise NotUnderstoodError("its random numbers are not added to its frames")
        node = following[0]
    return node.outputs[0]
