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
from dataclasses import dataclass

from linkwork.engine.cached_property import cached_property
from linkwork.engine.codegen.llvm.arithmetic import INTRINSICS, Arithmetic
from linkwork.engine.codegen.llvm.constants import Constants
from linkwork.engine.codegen.llvm.finite import Finite
from linkwork.engine.codegen.llvm.lanes import Lanes
from linkwork.engine.codegen.llvm.sincos import sincos_function
from linkwork.engine.codegen.llvm.staged import NO_STAGES, STAGES, Stage
from linkwork.engine.codegen.schedule.pieces import LONGEST_CACHED, Piece, pieces_of
from linkwork.engine.codegen.schedule.slots import Slots
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Port, Program, per_port

# A program with staged outputs is cut if it has more steps than LONGEST_STAGED, into short pieces:
# more values are in slots then, which have short addresses, and fewer are spilled. Above MOST_SHORT
# steps, too many values would have to be passed on.
LONGEST_STAGED, SHORT_PIECE, MOST_SHORT = 5000, 1000, 40_000
# Rows are tiled: each piece runs for a tile of TILE_BLOCKS blocks of W rows before the next piece
# does, or fewer if their intermediate values would exceed TILE_BYTES and leave the cache.
TILE_BLOCKS, TILE_BYTES = 4, 128 * 1024
# LLVM's scheduler compares each load and store of a basic block with all others before it, and adds
# an edge unless it can prove that they are independent: the time grows faster than the square. In
# programs with more than LONGEST_UNBOUNDED steps, a label that produces no code ends the region
# that it considers after this many loads and stores. Machine code runs as fast as without.
LONGEST_UNBOUNDED, ACCESSES_PER_REGION = 10_000, 100
_BOUNDARY = "llvm.codeview.annotation"
# In one-row code, this many adjacent constants of an output are stored as one vector.
CONSTANTS_PER_STORE = 4


def emit_llvm(program: Program, name: str, lanes: Lanes, *, checked: Collection[int] = ()) -> str:
    """LLVM IR text of a module with one public function and what it calls.

    Args:
        program: what to compute.
        name: of the function.
        lanes: how many rows at a time, and the type of numbers.
        checked: steps whose values have to be finite.
    """
    writer = _Writer(program, lanes, Finite(program, lanes, checked))
    arrays = ", ".join(f"ptr noalias %{what}" for what in ("in", "out", "stride"))
    is_tiled = lanes.width > 1 and not writer.stage.slots
    staged = [port for port in program.outputs if writer.stage.holds(port)]
    is_short = bool(staged) and len(program.steps) <= MOST_SHORT
    pieces = pieces_of(
        program,
        longest=LONGEST_CACHED if is_tiled else LONGEST_STAGED if staged else None,
        piece=LONGEST_CACHED if is_tiled else SHORT_PIECE if is_short else None,
        staged=staged,
        lanes=lanes,
    )
    takes = f"{arrays}, i64 %rows, ptr noalias %workspace"
    parts = [f"define i64 @{name}({takes}){lanes.frame} {{", *writer.body(pieces), "}"]
    if len(pieces) > 1:
        is_bounded = len(program.steps) > LONGEST_UNBOUNDED
        if is_bounded:
            parts += [f"declare void @{_BOUNDARY}(metadata)", '!1 = !{!"region"}']
        for index, piece in enumerate(pieces):
            given = f"{arrays}, ptr %scratch, {STAGES}, i64 %row{writer.extra_parameters}"
            lines = writer.straight_line(piece)
            parts += [
                f"define internal void @piece{index}({given}) noinline{lanes.frame} {{",
                *writer.pointers(),
                *(_in_regions(lines) if is_bounded else lines),
                "  ret void",
                "}",
            ]
    parts += [*writer.constants.table(), *writer.stage.functions()]
    if writer.arithmetic.uses_sincos:
        parts.append(sincos_function(lanes.vector, lanes.scalar, lanes.suffix, lanes.constant))
    parts += [
        *(
            f"declare {lanes.vector} @{intrinsic}.{lanes.suffix}({lanes.vector})"
            for op, intrinsic in INTRINSICS.items()
            if op is Op.SQRT or any(step[0] is op for step in program.steps)
        ),
        *(f"declare {lanes.scalar} @{text}" for text in sorted(writer.arithmetic.libm)),
    ]
    return "\n".join(parts) + "\n"


@dataclass
class _Writer:
    program: Program
    lanes: Lanes
    finite: Finite
    _count: int = 0

    @cached_property
    def stage(self) -> Stage:
        """The double buffer of large outputs."""
        return Stage(self.program, self.lanes, self._new)

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """The instructions of each operation."""
        return Arithmetic(self.program, self.lanes, self._new)

    @cached_property
    def constants(self) -> Constants:
        """The table of constants."""
        return Constants(self.program, self.lanes, self._new)

    @property
    def extra_parameters(self) -> str:
        """Further arguments of each piece."""
        return self.finite.extra_parameter + self.constants.extra_parameter

    def prologue(self) -> Iterator[str]:
        """What comes before all else in the function."""
        yield from self.finite.prologue()
        yield from self.constants.address()

    @cached_property
    def _constants(self) -> list[str]:
        """The text of each constant; empty for other steps."""
        return [
            self.lanes.constant(step[1]) if step[0] is Op.CONST else ""
            for step in self.program.steps
        ]

    def body(self, pieces: Sequence[Piece]) -> Iterator[str]:
        """The body of the function: pointers to the ports, then a loop over blocks of W rows."""
        n_slots = max(piece.n_slots for piece in pieces)
        if len(pieces) > 1 and self.lanes.width > 1 and not self.stage.slots:
            return self._tiled_body(len(pieces), n_slots)
        lines = ["entry:", *self.prologue(), *_unless_empty(), *self.pointers()]
        after = f"ptr %workspace, i64 {self.stage.size}"
        lines += [
            f"  %scratch = getelementptr {self.lanes.vector}, {after}",
            *self.stage.prepared(),
            "  br label %loop",
            "loop:",
            "  %row = phi i64 [ 0, %start ], [ %next, %loop ]",
            *self.stage.swapped(),
        ]
        if len(pieces) == 1:
            lines += self.straight_line(pieces[0])
        else:
            stages = STAGES if self.stage.slots else NO_STAGES
            given = f"ptr %in, ptr %out, ptr %stride, ptr %scratch, {stages}, i64 %row"
            given += self.extra_parameters
            lines += [f"  call void @piece{k}({given})" for k in range(len(pieces))]
        lines += [
            f"  %next = add i64 %row, {self.lanes.width}",
            "  %more = icmp slt i64 %next, %rows",
            f"  br i1 %more, label %loop, label %{'drain' if self.stage.slots else 'end'}",
            *self.stage.drained(),
            "end:",
            *self.finite.epilogue((self.stage.size + n_slots) * self.lanes.bytes),
        ]
        return iter(lines)

    def _tiled_body(self, n_pieces: int, n_slots: int) -> Iterator[str]:
        """The body where each piece runs for a tile of several blocks before the next does."""
        lanes = self.lanes
        blocks = max(1, min(TILE_BLOCKS, TILE_BYTES // max(n_slots * lanes.bytes, 1)))
        yield "entry:"
        yield from self.prologue()
        yield from _unless_empty()
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
            given += self.extra_parameters
            yield f"  call void @piece{k}({given})"
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
        yield from self.finite.epilogue(n_slots * blocks * lanes.bytes)

    def pointers(self) -> Iterator[str]:
        """Pointers to inputs and outputs, and the strides of inputs."""
        for kind, ports in (("in", self.program.inputs), ("out", self.program.outputs)):
            for k in range(len(ports)):
                yield f"  %{kind}{k}.at = getelementptr ptr, ptr %{kind}, i64 {k}"
                yield f"  %{kind}{k} = load ptr, ptr %{kind}{k}.at"
        for k in range(len(self.program.inputs)):
            yield f"  %stride{k}.at = getelementptr i64, ptr %stride, i64 {k}"
            yield f"  %stride{k} = load i64, ptr %stride{k}.at"

    def straight_line(self, piece: Piece) -> Iterator[str]:
        """The steps of a piece, with loads of what they use and stores of what later pieces use."""
        program = self.program
        self.arithmetic.start()
        self.constants.begin(range(piece.start, piece.stop))
        names = list(self._constants)
        slots = Slots(piece.fetched, self.lanes, self._new, piece.uses(program))
        yield from self._row_pointers("in", program.inputs)
        yield from self._row_pointers("out", program.outputs)
        yield from self.stage.rows_before()
        yield from self._loads(names, piece.inputs)
        ends = [block[0] for block in self._store_blocks]
        n_stored = bisect_left(ends, piece.start)
        for step in range(piece.start, piece.stop):
            op, *args = program.steps[step]
            if program.operands[step]:
                yield from slots.loads(args, step, names)
                yield from self.constants.loads(args, step, names)
                names[step] = f"%v{step}"
                yield from self.arithmetic.lines(op, args, names, names[step])
                if step in piece.kept:
                    yield from slots.store(step, piece.kept[step], names[step])
            if op is not Op.CONST:
                yield from self.stage.put(step, names[step])
                yield from self.finite.accumulate(step, names[step])
            yield from self.stage.burst(step)
            while n_stored < len(ends) and ends[n_stored] <= step:
                _, port, start, steps = self._store_blocks[n_stored]
                yield from slots.loads(steps, step, names)
                yield from self._store(port, start, steps, names)
                n_stored += 1
        yield from self.finite.flush()

    def _row_pointers(self, kind: str, ports: Sequence[Port]) -> Iterator[str]:
        """Pointers to the row of each lane."""
        scalar = self.lanes.scalar
        for index, port in enumerate(ports):
            stride = f"%stride{index}" if kind == "in" else str(port.size)
            for lane in range(self.lanes.width):
                here = f"%{kind}{index}.{lane}"
                yield f"  {here}.row = add i64 %row, {lane}"
                yield f"  {here}.offset = mul i64 {here}.row, {stride}"
                yield f"  {here} = getelementptr {scalar}, ptr %{kind}{index}, i64 {here}.offset"

    def _loads(self, names: list[str], needed: Collection[int]) -> Iterator[str]:
        """Load the inputs that are needed, block by block."""
        steps = {self.program.steps[step][1]: step for step in needed}
        indices = range(sum(port.size for port in self.program.inputs))
        for index, (port, own) in enumerate(per_port(self.program.inputs, indices)):
            used = {k: steps[number] for k, number in enumerate(own) if number in steps}
            for start in _block_starts(port.size, self.lanes.width):
                inside = range(start, min(start + self.lanes.width, port.size))
                if any(k in used for k in inside):
                    yield from self._load_block(index, start, len(inside), used, names)

    def _load_block(
        self, port: int, start: int, count: int, used: dict[int, int], names: list[str]
    ) -> Iterator[str]:
        width, scalar, vector = self.lanes.width, self.lanes.scalar, self.lanes.vector
        if width == 1:
            value = self._new()
            yield from self._load(value, scalar, f"%in{port}.0", start)
            names[used[start]] = value
        elif count == width:
            rows = [self._new() for _ in range(width)]
            for lane, row in enumerate(rows):
                yield from self._load(row, vector, f"%in{port}.{lane}", start)
            columns, lines = self.lanes.transposed(rows, self._new)
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
        yield f"  {at} = getelementptr {self.lanes.scalar}, ptr {pointer}, i64 {start}"
        yield f"  {value} = load {kind}, ptr {at}, align {self.lanes.item}"

    @cached_property
    def _store_blocks(self) -> list[tuple[int, int, int, list[int]]]:
        """(last step that it needs, output, offset in a row, steps) of each block, in order."""
        blocks: list[tuple[int, int, int, list[int]]] = []
        outputs = per_port(self.program.outputs, self.program.results)
        for index, (port, results) in enumerate(outputs):
            for start, end in [] if self.stage.holds(port) else self._store_ranges(results):
                steps = list(results[start:end])
                blocks.append((max(steps), index, start, steps))
        return sorted(blocks)

    def _store_ranges(self, results: Sequence[int]) -> list[tuple[int, int]]:
        """Start and end of each block of an output: W numbers; if W is 1, one or some constants."""
        size, width = len(results), self.lanes.width
        if width > 1:
            return [(k, min(k + width, size)) for k in _block_starts(size, width)]
        ranges: list[tuple[int, int]] = []
        known = [self.program.steps[step][0] is Op.CONST for step in results]
        start = 0
        while start < size:
            end = start + CONSTANTS_PER_STORE
            end = end if all(known[start:end]) else start + 1
            ranges.append((start, min(end, size)))
            start = end
        return ranges

    def _store(self, port: int, start: int, steps: list[int], names: list[str]) -> Iterator[str]:
        width, scalar, vector = self.lanes.width, self.lanes.scalar, self.lanes.vector
        values = [self._constants[step] or names[step] for step in steps]
        if width == 1:
            value = values[0] if len(values) == 1 else _constant_vector(scalar, values)
            kind = scalar if len(values) == 1 else f"<{len(values)} x {scalar}>"
            yield from self._store_at(value, kind, f"%out{port}.0", start)
        elif len(values) == width:
            rows, lines = self.lanes.transposed(values, self._new)
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
        yield f"  {at} = getelementptr {self.lanes.scalar}, ptr {pointer}, i64 {start}"
        yield f"  store {kind} {value}, ptr {at}, align {self.lanes.item}"

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


def _unless_empty() -> Iterator[str]:
    """Branch to the end if there are no rows."""
    yield "  %some = icmp sgt i64 %rows, 0"
    yield "  br i1 %some, label %start, label %end"
    yield "start:"


def _constant_vector(scalar: str, values: Sequence[str]) -> str:
    return "<" + ", ".join(f"{scalar} {value}" for value in values) + ">"


def _block_starts(size: int, width: int) -> list[int]:
    """Starts of blocks of `width` that cover `size` numbers; the last may overlap its neighbour."""
    if size <= width:
        return [0] if size else []
    starts = list(range(0, size - width + 1, width))
    return starts if starts[-1] + width == size else [*starts, size - width]
