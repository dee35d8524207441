"""Programs printed as LLVM IR: a loop over rows, W rows at a time, one per lane.

    i64 NAME(ptr inputs, ptr outputs, ptr strides, i64 rows, ptr workspace)

inputs, outputs   pointers to the first row of each; the rows of outputs are contiguous
strides           for each input, elements from one row to the next, or 0 if one row is broadcast;
                  followed by a flag: 1 if the outputs are too large for the caches, else 0
rows              a multiple of W
workspace         memory for intermediate values, aligned to 64 bytes
returns           -1 if one of the results to check is not finite, else the size of the workspace in
                  bytes. If `rows` is 0, it only returns this size

Only spilled registers are on the stack, since the calling thread may have a small stack.

Each lane computes a row, so the steps are the same for any W. Elements are loaded and stored in
W x W blocks that are transposed in registers, or as they are if the rows of a block are stored in
columns (`Lanes.columns`; the strides are then those of contiguous rows). No optimization pass runs,
since the program has no redundancy, and no flag allows other results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.finite import Finite
from linkwork.engine.codegen.llvm.loops import loop_functions
from linkwork.engine.codegen.llvm.staged import NO_STAGES, STAGES, Stage
from linkwork.engine.codegen.llvm.steps import Module, StepPrinter, boundaries
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.pieces import Piece
from linkwork.engine.codegen.schedule.rows import StoreBlock, block_starts, schedule_of
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Port, Program, per_port, values_of


def emit_llvm(program: Program, name: str, lanes: Lanes, *, checked: Collection[int] = ()) -> str:
    """Print an LLVM IR module with one public function and the functions that it calls.

    Args:
        program: the program.
        name: the name of the function.
        lanes: number of rows at a time, and the type of elements.
        checked: steps whose values must be finite; of `values_of` the program.
    """
    program = values_of(program)
    return "\n".join(_ModulePrinter(program, lanes, checked).module(name)) + "\n"


class _ModulePrinter:
    """Prints the functions of a program."""

    def __init__(self, program: Program, lanes: Lanes, checked: Collection[int]) -> None:
        self._program = program
        self._lanes = VectorType(lanes.width, lanes.scalar, lanes.short_offsets, lanes.columns)
        self._module = Module(self._lanes)
        self._new = self._module.new
        self._schedule = schedule_of(program, lanes)
        self._printer = StepPrinter(self._schedule.cut, self._module)
        self._finite = Finite(program, self._lanes, checked)
        self._stage = Stage(program, self._schedule, self._lanes, self._new)

    def module(self, name: str) -> Iterator[str]:
        """Print the public function, and the functions and tables that it uses."""
        lanes, cut = self._lanes, self._schedule.cut
        arrays = ", ".join(f"ptr noalias %{what}" for what in ("in", "out", "stride"))
        parameters = f"{arrays}, i64 %rows, ptr noalias %workspace"
        yield f"define i64 @{name}({parameters}){lanes.frame} {{"
        yield from self._tiled_body() if self._schedule.tile_blocks else self._body()
        yield "}"
        yield from boundaries(cut)
        for index, piece in enumerate(cut.pieces if len(cut.pieces) > 1 else ()):
            parameters = f"{arrays}, ptr %scratch, {STAGES}, i64 %row{self._extra_parameters}"
            yield f"define internal void @piece{index}({parameters}) noinline{lanes.frame} {{"
            yield from self._pointers()
            yield from self._printer.in_regions(self._straight_line(piece))
            yield "  ret void"
            yield "}"
        yield from loop_functions(cut, self._module)
        yield from self._printer.constants.table()
        yield from self._stage.functions()
        yield from self._module.calls.lines(lanes)

    @property
    def _extra_parameters(self) -> str:
        """Additional parameters of each piece."""
        return self._finite.extra_parameter + self._printer.constants.extra_parameter

    def _prologue(self) -> Iterator[str]:
        """Print the start of the function, which returns if there are no rows."""
        yield "entry:"
        yield from self._finite.prologue()
        yield from self._printer.constants.address()
        yield "  %some = icmp sgt i64 %rows, 0"
        yield "  br i1 %some, label %start, label %end"
        yield "start:"

    def _body(self) -> Iterator[str]:
        """Print the body of the function, with a loop over blocks of W rows."""
        lanes, stage, pieces = self._lanes, self._stage, self._schedule.cut.pieces
        yield from self._prologue()
        yield from self._pointers()
        yield f"  %scratch = getelementptr {lanes.vector}, ptr %workspace, i64 {stage.size}"
        yield from stage.prologue()
        yield "  br label %loop"
        yield "loop:"
        last = self._printer.last_block(pieces[0], "%loop") if len(pieces) == 1 else "%loop"
        yield f"  %row = phi i64 [ 0, %start ], [ %next, {last} ]"
        yield from stage.swap(last)
        if len(pieces) == 1:
            yield from self._straight_line(pieces[0])
        else:
            stages = STAGES if stage.slots else NO_STAGES
            arguments = f"ptr %in, ptr %out, ptr %stride, ptr %scratch, {stages}, i64 %row"
            for k in range(len(pieces)):
                yield f"  call void @piece{k}({arguments}{self._extra_parameters})"
        yield f"  %next = add i64 %row, {lanes.width}"
        yield "  %more = icmp slt i64 %next, %rows"
        yield f"  br i1 %more, label %loop, label %{'drain' if stage.slots else 'end'}"
        yield from stage.epilogue()
        yield "end:"
        yield from self._finite.epilogue((stage.size + self._schedule.cut.size) * lanes.bytes)

    def _tiled_body(self) -> Iterator[str]:
        """Print the body with tiles: each piece runs for several blocks before the next does."""
        lanes, schedule = self._lanes, self._schedule
        n_pieces, size, blocks = len(schedule.cut.pieces), schedule.cut.size, schedule.tile_blocks
        yield from self._prologue()
        yield "  br label %loop"
        yield "loop:"
        yield f"  %first = phi i64 [ 0, %start ], [ %last, %after{n_pieces - 1} ]"
        yield f"  %last = add i64 %first, {lanes.width * blocks}"
        yield "  %is.short = icmp sgt i64 %last, %rows"
        yield "  %stop = select i1 %is.short, i64 %rows, i64 %last"
        yield "  br label %blocks0"
        for k in range(n_pieces):
            before = f"after{k - 1}" if k else "loop"
            yield f"blocks{k}:"
            yield f"  %row{k} = phi i64 [ %first, %{before} ], [ %next{k}, %blocks{k} ]"
            yield f"  %work{k} = phi ptr [ %workspace, %{before} ], [ %other{k}, %blocks{k} ]"
            arguments = f"ptr %in, ptr %out, ptr %stride, ptr %work{k}, {NO_STAGES}, i64 %row{k}"
            yield f"  call void @piece{k}({arguments}{self._extra_parameters})"
            yield f"  %next{k} = add i64 %row{k}, {lanes.width}"
            yield f"  %other{k} = getelementptr {lanes.vector}, ptr %work{k}, i64 {size}"
            yield f"  %more{k} = icmp slt i64 %next{k}, %stop"
            yield f"  br i1 %more{k}, label %blocks{k}, label %after{k}"
            yield f"after{k}:"
            if k + 1 < n_pieces:
                yield f"  br label %blocks{k + 1}"
        yield "  %again = icmp slt i64 %last, %rows"
        yield "  br i1 %again, label %loop, label %end"
        yield "end:"
        yield from self._finite.epilogue(size * blocks * lanes.bytes)

    def _pointers(self) -> Iterator[str]:
        """Print pointers to inputs and outputs, and the strides of inputs."""
        for kind, ports in (("in", self._program.inputs), ("out", self._program.outputs)):
            for k in range(len(ports)):
                yield f"  %{kind}{k}.at = getelementptr ptr, ptr %{kind}, i64 {k}"
                yield f"  %{kind}{k} = load ptr, ptr %{kind}{k}.at"
        for k in range(len(self._program.inputs)):
            yield f"  %stride{k}.at = getelementptr i64, ptr %stride, i64 {k}"
            yield f"  %stride{k} = load i64, ptr %stride{k}.at"

    def _straight_line(self, piece: Piece) -> Iterator[str]:
        """Print the steps of a piece, with loads of inputs, and stores of complete blocks."""
        program, stores = self._program, self._schedule.stores
        names, slots = self._printer.begin(piece), self._printer.slots_of(piece)
        yield from self._row_pointers("in", program.inputs)
        yield from self._row_pointers("out", program.outputs)
        yield from self._stage.row_pointers()
        yield from self._loads(names, piece.inputs)
        first = bisect_left(stores, (piece.start,))
        blocks = stores[first : bisect_left(stores, (piece.stop,))]
        by_step = {
            step: list(group) for step, group in groupby(blocks, lambda block: block.last_step)
        }

        def after(step: int, names: list[str]) -> Iterator[str]:
            if program.steps[step][0] is not Op.CONST:
                yield from self._stage.put(step, names[step])
                yield from self._finite.accumulate(step, names[step])
            yield from self._stage.burst(step)
            for block in by_step.get(step, ()):
                yield from slots.loads(block.steps, step, names)
                yield from self._store(block, names)

        yield from self._printer.lines(piece, names, slots, (), after)
        yield from self._finite.flush()

    def _row_pointers(self, kind: str, ports: Sequence[Port]) -> Iterator[str]:
        """Print pointers to the row of each lane."""
        scalar = self._lanes.scalar
        for index, port in enumerate(ports):
            stride = f"%stride{index}" if kind == "in" else str(port.size)
            for lane in range(1 if self._lanes.columns else self._lanes.width):
                here = f"%{kind}{index}.{lane}"
                yield f"  {here}.row = add i64 %row, {lane}"
                yield f"  {here}.offset = mul i64 {here}.row, {stride}"
                yield f"  {here} = getelementptr {scalar}, ptr %{kind}{index}, i64 {here}.offset"

    def _loads(self, names: list[str], needed: Collection[int]) -> Iterator[str]:
        """Print loads of the inputs that are needed, in blocks."""
        steps = {self._program.steps[step][1]: step for step in needed}
        indices = range(sum(port.size for port in self._program.inputs))
        for index, (port, elements) in enumerate(per_port(self._program.inputs, indices)):
            used = {k: steps[element] for k, element in enumerate(elements) if element in steps}
            for start in block_starts(port.size, self._lanes.width):
                inside = range(start, min(start + self._lanes.width, port.size))
                if any(k in used for k in inside):
                    yield from self._load_block(index, start, len(inside), used, names)

    def _load_block(
        self, port: int, start: int, count: int, used: dict[int, int], names: list[str]
    ) -> Iterator[str]:
        width, scalar, vector = self._lanes.width, self._lanes.scalar, self._lanes.vector
        if width == 1:
            value = self._new()
            yield from self._load(value, scalar, f"%in{port}.0", start)
            names[used[start]] = value
        elif self._lanes.columns:
            for k in range(start, start + count):
                if k in used:
                    names[used[k]] = value = self._new()
                    yield from self._load(value, vector, f"%in{port}.0", k * width)
        elif count == width:
            rows = [self._new() for _ in range(width)]
            for lane, row in enumerate(rows):
                yield from self._load(row, vector, f"%in{port}.{lane}", start)
            columns, lines = self._lanes.transposed(rows, self._new)
            yield from lines
            for k, column in enumerate(columns):
                if start + k in used:
                    names[used[start + k]] = column
        else:  # fewer elements in a row than lanes
            for k in range(start, start + count):
                if k in used:
                    value = "undef"
                    for lane in range(width):
                        part, joined = self._new(), self._new()
                        yield from self._load(part, scalar, f"%in{port}.{lane}", k)
                        here = f"{scalar} {part}, i32 {lane}"
                        yield f"  {joined} = insertelement {vector} {value}, {here}"
                        value = joined
                    names[used[k]] = value

    def _load(self, value: str, kind: str, pointer: str, start: int) -> Iterator[str]:
        address = self._new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr {pointer}, i64 {start}"
        yield f"  {value} = load {kind}, ptr {address}, align {self._lanes.item}"

    def _store(self, block: StoreBlock, names: list[str]) -> Iterator[str]:
        _, port, start, steps = block
        width, scalar, vector = self._lanes.width, self._lanes.scalar, self._lanes.vector
        values = [self._printer.texts[step] or names[step] for step in steps]
        if width == 1:
            value = values[0] if len(values) == 1 else _constant_vector(scalar, values)
            kind = scalar if len(values) == 1 else f"<{len(values)} x {scalar}>"
            yield from self._store_at(value, kind, f"%out{port}.0", start)
        elif self._lanes.columns:
            yield from self._store_at(values[0], vector, f"%out{port}.0", start * width)
        elif len(values) == width:
            rows, lines = self._lanes.transposed(values, self._new)
            yield from lines
            for lane, row in enumerate(rows):
                yield from self._store_at(row, vector, f"%out{port}.{lane}", start)
        else:
            for k, value in enumerate(values):
                for lane in range(width):
                    part = self._new()
                    yield f"  {part} = extractelement {vector} {value}, i32 {lane}"
                    yield from self._store_at(part, scalar, f"%out{port}.{lane}", start + k)

    def _store_at(self, value: str, kind: str, pointer: str, start: int) -> Iterator[str]:
        address = self._new()
        yield f"  {address} = getelementptr {self._lanes.scalar}, ptr {pointer}, i64 {start}"
        yield f"  store {kind} {value}, ptr {address}, align {self._lanes.item}"


def _constant_vector(scalar: str, values: Sequence[str]) -> str:
    return "<" + ", ".join(f"{scalar} {value}" for value in values) + ">"
