"""Loops printed as LLVM functions, which run the body for all lanes at a time.

    void loopN(ptr outer)

`outer` is the workspace of the enclosing program. The caller stores the initial carry and the
invariants there, and reads the final carry. If the body is one piece, the carry is in registers;
else it is in the workspace, and each piece is a function of `outer` and the iteration k.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from linkwork.engine.codegen.llvm.addresses import VectorArray
from linkwork.engine.codegen.llvm.steps import Module, StepPrinter
from linkwork.engine.codegen.schedule.loops import CutLoop, CutProgram, LoopAddress
from linkwork.engine.codegen.schedule.pieces import Piece, scalar_operands
from linkwork.engine.symbolic.operations import Op


def loop_functions(cut: CutProgram, module: Module, prefix: str = "") -> Iterator[str]:
    """Print the functions of the loops of a program, including nested loops."""
    for step, part in cut.loops.items():
        if part.loop.n:
            name = f"{prefix}loop{step}"
            yield from _LoopPrinter(part, module, name).functions()
            yield from loop_functions(part.body, module, f"{name}.")


class _LoopPrinter:
    """Prints the functions of one loop."""

    def __init__(self, part: CutLoop, module: Module, name: str) -> None:
        self._part, self._module, self._name = part, module, name
        self._vector = module.lanes.vector
        self._printer = StepPrinter(part.body, module, f"{name}.")
        self._program = part.body.program
        self._operands = scalar_operands(self._program)
        self._is_cut = len(part.body.pieces) > 1
        inputs = part.inputs
        self._inputs = {  # by INPUT step
            step: inputs[args[0]]
            for step, (op, *args) in enumerate(self._program.steps)
            if op is Op.INPUT
        }
        self._targets: dict[int, list[LoopAddress]] = {}  # addresses to store values to, by step
        first = 0 if self._is_cut else part.loop.n_carry
        for address, step in zip(part.outputs[first:], self._program.results[first:], strict=True):
            self._targets.setdefault(step, []).append(address)

    def functions(self) -> Iterator[str]:
        """Print the function of the loop, and those of the pieces of its body."""
        frame, part = self._module.lanes.frame, self._part
        yield from self._printer.constants.table()
        yield f"define internal void @{self._name}(ptr %outer) noinline{frame} {{"
        yield "entry:"
        yield from self._prologue()
        yield from self._printer.constants.address()
        yield from self._loop_in_memory() if self._is_cut else self._loop_in_registers()
        yield "}"
        for index, piece in enumerate(part.body.pieces if self._is_cut else ()):
            parameters = f"ptr %outer, i64 %k{self._printer.constants.extra_parameter}"
            name = f"@{self._name}.piece{index}"
            yield f"define internal void {name}({parameters}) noinline{frame} {{"
            yield from self._prologue()
            yield from self._printer.in_regions(self._body(piece, self._printer.begin(piece)))
            yield "  ret void"
            yield "}"

    def _prologue(self) -> Iterator[str]:
        yield f"  %scratch = getelementptr {self._vector}, ptr %outer, i64 {self._part.inner}"

    def _loop_in_registers(self) -> Iterator[str]:
        (piece,) = self._part.body.pieces
        n_carry = self._part.loop.n_carry
        names = self._printer.begin(piece)
        for step, (op, *args) in enumerate(self._program.steps):
            if op is Op.INPUT and args[0] < n_carry:
                names[step] = f"%carry{args[0]}"
        body = list(self._body(piece, names))
        next_carry = [names[step] for step in self._program.results[:n_carry]]
        for k in range(n_carry):
            yield from self._address(f"%carry{k}.at", self._part.carry + k)
            yield f"  %carry{k}.first = load {self._vector}, ptr %carry{k}.at"
        yield from self._start()
        for k, value in enumerate(next_carry):
            before = f"[ %carry{k}.first, %entry ]"
            yield f"  %carry{k} = phi {self._vector} {before}, [ {value}, {self._last_block} ]"
        yield from self._printer.in_regions(body)
        yield from self._end(next_carry[0] if next_carry else "")
        for k, value in enumerate(next_carry):
            yield f"  store {self._vector} {value}, ptr %carry{k}.at"
        yield "  br label %done"
        yield "done:"
        yield "  ret void"

    def _loop_in_memory(self) -> Iterator[str]:
        part = self._part
        yield from self._start()
        for index in range(len(part.body.pieces)):
            arguments = f"ptr %outer, i64 %k{self._printer.constants.extra_parameter}"
            yield f"  call void @{self._name}.piece{index}({arguments})"
        for k in range(part.loop.n_carry):
            yield from self._address(f"%next{k}.at", part.next_carry + k)
            yield f"  %next{k} = load {self._vector}, ptr %next{k}.at"
            yield from self._address(f"%carry{k}.at", part.carry + k)
            yield f"  store {self._vector} %next{k}, ptr %carry{k}.at"
        yield from self._end("%next0")
        yield "  br label %done"
        yield "done:"
        yield "  ret void"

    def _start(self) -> Iterator[str]:
        """Print the start of an iteration."""
        loop = self._part.loop
        yield "  br label %loop"
        yield "loop:"
        first = loop.n - 1 if loop.is_reversed else 0
        yield f"  %k = phi i64 [ {first}, %entry ], [ %k.next, {self._last_block} ]"

    def _end(self, flag: str) -> Iterator[str]:
        """Print the end of an iteration; a conditional loop needs the first entry of its carry.

        A loop that may end early does so where the condition is false in all lanes, so that lanes
        never change each other's results.
        """
        loop = self._part.loop
        yield f"  %k.next = add i64 %k, {-1 if loop.is_reversed else 1}"
        more = "%remain" if loop.is_conditional else "%more"
        yield f"  {more} = icmp ne i64 %k.next, {-1 if loop.is_reversed else loop.n}"
        if loop.is_conditional:
            yield from self._module.lanes.is_any(flag, "%any")
            yield "  %more = and i1 %remain, %any"
        yield "  br i1 %more, label %loop, label %end"
        yield "end:"

    @property
    def _last_block(self) -> str:
        """The block at the end of an iteration."""
        (first, *others) = self._part.body.pieces
        return "%loop" if others else self._printer.last_block(first, "%loop")

    def _body(self, piece: Piece, names: list[str]) -> Iterator[str]:
        """Print the steps of a piece of the body."""
        steps = range(piece.start, piece.stop)
        in_memory = {step: address for step, address in self._inputs.items() if not names[step]}
        strides = {address.stride for address in in_memory.values()}
        strides |= {address.stride for step in steps for address in self._targets.get(step, ())}
        for stride in sorted(strides - {0}):
            yield f"  %offset{stride} = mul i64 %k, {stride}"
            offset = f"ptr %outer, i64 %offset{stride}"
            yield f"  {_base(stride)} = getelementptr {self._vector}, {offset}"
        arrays = [self._array(stride, steps, in_memory) for stride in sorted(strides)]
        slots = self._printer.slots_of(piece)

        def after(step: int, names: list[str]) -> Iterator[str]:
            if step in results:
                for array in arrays:
                    yield from array.loads([step], step, names)
            for address in self._targets.get(step, ()):
                yield from self._stored(names[step], address)

        results = set(self._program.results)
        yield from self._printer.lines(piece, names, slots, arrays, after)

    def _array(
        self, stride: int, steps: Collection[int], in_memory: dict[int, LoopAddress]
    ) -> VectorArray:
        """Return the array of the inputs with a stride."""
        indices = {
            step: address.start for step, address in in_memory.items() if address.stride == stride
        }
        uses = [
            (step, indices[arg]) for step in steps for arg in self._operands[step] if arg in indices
        ]
        lanes, new = self._module.lanes, self._module.new
        return VectorArray(indices, lanes, new, uses, _base(stride))

    def _stored(self, value: str, address: LoopAddress) -> Iterator[str]:
        pointer = self._module.new()
        base = f"ptr {_base(address.stride)}, i64 {address.start}"
        yield f"  {pointer} = getelementptr {self._vector}, {base}"
        yield f"  store {self._vector} {value}, ptr {pointer}"

    def _address(self, name: str, index: int) -> Iterator[str]:
        yield f"  {name} = getelementptr {self._vector}, ptr %outer, i64 {index}"


def _base(stride: int) -> str:
    """Return the pointer to the items of iteration k in stacks with a stride."""
    return f"%items{stride}" if stride else "%outer"
