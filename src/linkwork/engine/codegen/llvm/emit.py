"""Programs as LLVM IR: a loop over rows, W rows at a time, one lane each.

    i64 NAME(ptr inputs, ptr outputs, ptr strides, i64 rows, ptr workspace)

inputs, outputs   pointers to the first row of each
strides           for each input, numbers from one row to the next, or 0 if one row is broadcast;
                  then a flag: 1 if the outputs are too large for the caches, else 0
rows              a multiple of W; outputs are contiguous
workspace         memory for intermediate values, aligned to 64 bytes
returns           the bytes of workspace that it needs; with 0 rows it does nothing else. With some,
                  -1 if one of the results that it is told to check is not finite

Only spilled registers are on the stack: the caller may be a thread with a small stack.

Each lane computes a row, so the body is the same for any W. Numbers are loaded and stored in W x W
blocks that are transposed in registers. No optimisation pass runs: the program has no redundancy.
Operations may be fused and reordered, but NaN stays NaN.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.addresses import Constants, VectorArray
from linkwork.engine.codegen.llvm.arithmetic import INTRINSICS, Arithmetic
from linkwork.engine.codegen.llvm.finite import Finite
from linkwork.engine.codegen.llvm.sincos import sincos_function
from linkwork.engine.codegen.llvm.staged import NO_STAGES, STAGES, Stage
from linkwork.engine.codegen.llvm.types import VectorType
from linkwork.engine.codegen.schedule.pieces import Piece
from linkwork.engine.codegen.schedule.rows import StoreBlock, block_starts, schedule_of
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Port, Program, per_port

# LLVM's scheduler compares each load and store of a basic block with all others before it, and adds
# an edge unless it can prove that they are independent: the time grows faster than the square. In
# programs with more than LONGEST_UNBOUNDED steps, a label that produces no code ends the region
# that it considers after this many loads and stores. Machine code runs as fast as without.
LONGEST_UNBOUNDED, ACCESSES_PER_REGION = 10_000, 100
_BOUNDARY = "llvm.codeview.annotation"


def emit_llvm(program: Program, name: str, lanes: Lanes, *, checked: Collection[int] = ()) -> str:
    """LLVM IR text of a module with one public function and what it calls.

    Args:
        program: what to compute.
        name: of the function.
        lanes: how many rows at a time, and the type of numbers.
        checked: steps whose values have to be finite.
    """
    return "\n".join(_Writer(program, lanes, checked).module(name)) + "\n"


class _Writer:
    """Writes the functions of a program."""

    def __init__(self, program: Program, lanes: Lanes, checked: Collection[int]) -> None:
        self._program = program
        self._lanes = VectorType(lanes.width, lanes.scalar, lanes.short_offsets)
        self._schedule = schedule_of(program, lanes)
        self._finite = Finite(program, self._lanes, checked)
        self._stage = Stage(program, self._schedule, self._lanes, self._new)
        self._arithmetic = Arithmetic(program, self._lanes, self._new)
        self._table = Constants(program, self._lanes, self._new)
        self._constants = [  # the text of each constant; empty for other steps
            self._lanes.constant(step[1]) if step[0] is Op.CONST else "" for step in program.steps
        ]
        self._count = 0

    def module(self, name: str) -> Iterator[str]:
        """The public function, the pieces that it calls, and what they use."""
        lanes, arithmetic, pieces = self._lanes, self._arithmetic, self._schedule.pieces
        arrays = ", ".join(f"ptr noalias %{what}" for what in ("in", "out", "stride"))
        takes = f"{arrays}, i64 %rows, ptr noalias %workspace"
        yield f"define i64 @{name}({takes}){lanes.frame} {{"
        yield from self._tiled_body() if self._schedule.tile_blocks else self._body()
        yield "}"
        if len(pieces) > 1:
            is_bounded = len(self._program.steps) > LONGEST_UNBOUNDED
            if is_bounded:
                yield f"declare void @{_BOUNDARY}(metadata)"
                yield '!1 = !{!"region"}'
            for index, piece in enumerate(pieces):
                given = f"{arrays}, ptr %scratch, {STAGES}, i64 %row{self._extra_parameters}"
                yield f"define internal void @piece{index}({given}) noinline{lanes.frame} {{"
                yield from self._pointers()
                lines = self._straight_line(piece)
                yield from _in_regions(lines) if is_bounded else lines
                yield "  ret void"
                yield "}"
        yield from self._table.table()
        yield from self._stage.functions()
        if arithmetic.uses_sincos:
            yield sincos_function(lanes.vector, lanes.scalar, lanes.suffix, lanes.constant)
        for op, intrinsic in INTRINSICS.items():
            if op is Op.SQRT or any(step[0] is op for step in self._program.steps):
                yield f"declare {lanes.vector} @{intrinsic}.{lanes.suffix}({lanes.vector})"
        yield from (f"declare {lanes.scalar} @{text}" for text in sorted(arithmetic.libm))

    @property
    def _extra_parameters(self) -> str:
        """Further arguments of each piece."""
        return self._finite.extra_parameter + self._table.extra_parameter

    def _prologue(self) -> Iterator[str]:
        """What comes before all else in the function; it ends there if there are no rows."""
        yield "entry:"
        yield from self._finite.prologue()
        yield from self._table.address()
        yield "  %some = icmp sgt i64 %rows, 0"
        yield "  br i1 %some, label %start, label %end"
        yield "start:"

    def _body(self) -> Iterator[str]:
        """The body of the function: pointers to the ports, then a loop over blocks of W rows."""
        lanes, stage, pieces = self._lanes, self._stage, self._schedule.pieces
        yield from self._prologue()
        yield from self._pointers()
        yield f"  %scratch = getelementptr {lanes.vector}, ptr %workspace, i64 {stage.size}"
        yield from stage.prepared()
        yield "  br label %loop"
        yield "loop:"
        yield "  %row = phi i64 [ 0, %start ], [ %next, %loop ]"
        yield from stage.swapped()
        if len(pieces) == 1:
            yield from self._straight_line(pieces[0])
        else:
            stages = STAGES if stage.slots else NO_STAGES
            given = f"ptr %in, ptr %out, ptr %stride, ptr %scratch, {stages}, i64 %row"
            for k in range(len(pieces)):
                yield f"  call void @piece{k}({given}{self._extra_parameters})"
        yield f"  %next = add i64 %row, {lanes.width}"
        yield "  %more = icmp slt i64 %next, %rows"
        yield f"  br i1 %more, label %loop, label %{'drain' if stage.slots else 'end'}"
        yield from stage.drained()
        yield "end:"
        yield from self._finite.epilogue((stage.size + self._schedule.n_slots) * lanes.bytes)

    def _tiled_body(self) -> Iterator[str]:
        """The body where each piece runs for a tile of several blocks before the next does."""
        lanes, schedule = self._lanes, self._schedule
        n_pieces, n_slots, blocks = len(schedule.pieces), schedule.n_slots, schedule.tile_blocks
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
            yield f"  %own{k} = phi ptr [ %workspace, %{before} ], [ %other{k}, %blocks{k} ]"
            given = f"ptr %in, ptr %out, ptr %stride, ptr %own{k}, {NO_STAGES}, i64 %row{k}"
            yield f"  call void @piece{k}({given}{self._extra_parameters})"
            yield f"  %next{k} = add i64 %row{k}, {lanes.width}"
            yield f"  %other{k} = getelementptr {lanes.vector}, ptr %own{k}, i64 {n_slots}"
            yield f"  %more{k} = icmp slt i64 %next{k}, %stop"
            yield f"  br i1 %more{k}, label %blocks{k}, label %after{k}"
            yield f"after{k}:"
            if k + 1 < n_pieces:
                yield f"  br label %blocks{k + 1}"
        yield "  %again = icmp slt i64 %last, %rows"
        yield "  br i1 %again, label %loop, label %end"
        yield "end:"
        yield from self._finite.epilogue(n_slots * blocks * lanes.bytes)

    def _pointers(self) -> Iterator[str]:
        """Pointers to inputs and outputs, and the strides of inputs."""
        for kind, ports in (("in", self._program.inputs), ("out", self._program.outputs)):
            for k in range(len(ports)):
                yield f"  %{kind}{k}.at = getelementptr ptr, ptr %{kind}, i64 {k}"
                yield f"  %{kind}{k} = load ptr, ptr %{kind}{k}.at"
        for k in range(len(self._program.inputs)):
            yield f"  %stride{k}.at = getelementptr i64, ptr %stride, i64 {k}"
            yield f"  %stride{k} = load i64, ptr %stride{k}.at"

    def _straight_line(self, piece: Piece) -> Iterator[str]:
        """The steps of a piece, with loads of what they use and stores of what later pieces use."""
        program, stores = self._program, self._schedule.stores
        self._arithmetic.start()
        names = list(self._constants)
        slots = VectorArray(piece.fetched, self._lanes, self._new, piece.uses(program))
        constants = self._table.of_piece(range(piece.start, piece.stop))
        yield from self._row_pointers("in", program.inputs)
        yield from self._row_pointers("out", program.outputs)
        yield from self._stage.rows_before()
        yield from self._loads(names, piece.inputs)
        n_stored = bisect_left(stores, (piece.start,))
        for step in range(piece.start, piece.stop):
            op, *args = program.steps[step]
            if program.operands[step]:
                yield from slots.loads(args, step, names)
                yield from constants.loads(args, step, names)
                names[step] = f"%v{step}"
                yield from self._arithmetic.lines(op, args, names, names[step])
                if step in piece.kept:
                    yield from slots.store(step, piece.kept[step], names[step])
            if op is not Op.CONST:
                yield from self._stage.put(step, names[step])
                yield from self._finite.accumulate(step, names[step])
            yield from self._stage.burst(step)
            while n_stored < len(stores) and stores[n_stored].last_step <= step:
                yield from slots.loads(stores[n_stored].steps, step, names)
                yield from self._store(stores[n_stored], names)
                n_stored += 1
        yield from self._finite.flush()

    def _row_pointers(self, kind: str, ports: Sequence[Port]) -> Iterator[str]:
        """Pointers to the row of each lane."""
        scalar = self._lanes.scalar
        for index, port in enumerate(ports):
            stride = f"%stride{index}" if kind == "in" else str(port.size)
            for lane in range(self._lanes.width):
                here = f"%{kind}{index}.{lane}"
                yield f"  {here}.row = add i64 %row, {lane}"
                yield f"  {here}.offset = mul i64 {here}.row, {stride}"
                yield f"  {here} = getelementptr {scalar}, ptr %{kind}{index}, i64 {here}.offset"

    def _loads(self, names: list[str], needed: Collection[int]) -> Iterator[str]:
        """Load the inputs that are needed, block by block."""
        steps = {self._program.steps[step][1]: step for step in needed}
        indices = range(sum(port.size for port in self._program.inputs))
        for index, (port, own) in enumerate(per_port(self._program.inputs, indices)):
            used = {k: steps[number] for k, number in enumerate(own) if number in steps}
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
        elif count == width:
            rows = [self._new() for _ in range(width)]
            for lane, row in enumerate(rows):
                yield from self._load(row, vector, f"%in{port}.{lane}", start)
            columns, lines = self._lanes.transposed(rows, self._new)
            yield from lines
            for k, column in enumerate(columns):
                if start + k in used:
                    names[used[start + k]] = column
        else:  # fewer numbers in a row than lanes
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
        at = self._new()
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr {pointer}, i64 {start}"
        yield f"  {value} = load {kind}, ptr {at}, align {self._lanes.item}"

    def _store(self, block: StoreBlock, names: list[str]) -> Iterator[str]:
        _, port, start, steps = block
        width, scalar, vector = self._lanes.width, self._lanes.scalar, self._lanes.vector
        values = [self._constants[step] or names[step] for step in steps]
        if width == 1:
            value = values[0] if len(values) == 1 else _constant_vector(scalar, values)
            kind = scalar if len(values) == 1 else f"<{len(values)} x {scalar}>"
            yield from self._store_at(value, kind, f"%out{port}.0", start)
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
        at = self._new()
        yield f"  {at} = getelementptr {self._lanes.scalar}, ptr {pointer}, i64 {start}"
        yield f"  store {kind} {value}, ptr {at}, align {self._lanes.item}"

    def _new(self) -> str:
        self._count += 1
        return f"%t{self._count}"


def _in_regions(lines: Iterable[str]) -> Iterator[str]:
    """Straight-line code with boundaries for the scheduler."""
    accesses = 0
    for line in lines:
        yield line
        accesses += line.startswith("  store ") or " = load " in line
        if accesses == ACCESSES_PER_REGION:
            yield f"  call void @{_BOUNDARY}(metadata !1)"
            accesses = 0


def _constant_vector(scalar: str, values: Sequence[str]) -> str:
    return "<" + ", ".join(f"{scalar} {value}" for value in values) + ">"
