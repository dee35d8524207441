"""Programs as LLVM IR: a loop over rows, W rows at a time, one lane each.

    void NAME(ptr inputs, ptr outputs, ptr strides, i64 rows)

inputs, outputs   pointers to the first row of each
strides           numbers from one row of an input to the next, 0 where all rows share one; and one
                  number more, which is 1 if the outputs are too large for caches, else 0
rows              a multiple of W; rows of outputs lie one after the other

Lanes are rows, so the body is the same for any W. Numbers are loaded and stored in W x W blocks
that are transposed in registers. There is nothing left for optimisation passes to do: the program
has no redundancy. Operations may be fused and reordered, but NaN stays NaN.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program
from linkwork.lazy import cached_property
from linkwork.llvm.flags import FLAGS, flags_of
from linkwork.llvm.lanes import Lanes
from linkwork.llvm.pieces import CACHED, Piece, pieces_of
from linkwork.llvm.sincos import sincos_function
from linkwork.llvm.staged import NO_STAGES, STAGES, Stage

LONGEST_STAGED = 14_000  # steps of a program that stays whole if it fills a stage
BLOCKS, SCRATCH_BYTES = 4, 128 * 1024  # of rows that a piece runs for, and what they may need
FACTS = 4  # numbers known in advance that are stored together, one row at a time
_BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
_COMPARE = {Op.LESS: "olt", Op.LESS_EQUAL: "ole"}  # ordered: false for NaN
_INTRINSICS = {Op.SQRT: "llvm.sqrt", Op.FLOOR: "llvm.floor"}
_LIBM = {
    Op.ATAN2: ("atan2", 2),
    **{op: (op.name.lower(), 1) for op in (Op.EXP, Op.LOG, Op.EXPM1, Op.LOG1P, Op.EXP2)},
}


def emit_llvm(program: Program, name: str, lanes: Lanes) -> str:
    """LLVM IR text of a module with one public function and what it calls."""
    writer = _Writer(program, lanes)
    takes = ", ".join(f"ptr noalias %{what}" for what in ("in", "out", "stride"))
    turns = lanes.width > 1 and not writer.stage.slots
    staged = [port for port in program.outputs if writer.stage.holds(port)]
    pieces = pieces_of(
        program,
        longest=CACHED if turns else LONGEST_STAGED if staged else None,
        piece=CACHED if turns else None,
        staged=staged,
    )
    parts = [f"define void @{name}({takes}, i64 %rows) {{", *writer.body(pieces), "}"]
    if len(pieces) > 1:
        for number_, piece in enumerate(pieces):
            given = f"{takes}, ptr %scratch, {STAGES}, i64 %row"
            parts += [
                f"define internal void @piece{number_}({given}) noinline {{",
                *writer.pointers(),
                *writer.straight_line(piece),
                "  ret void",
                "}",
            ]
    parts += writer.stage.functions()
    if writer.uses_sincos:
        parts.append(sincos_function(lanes.vector, lanes.scalar, lanes.suffix, lanes.constant))
    parts += [
        *(
            f"declare {lanes.vector} @{intrinsic}.{lanes.suffix}({lanes.vector})"
            for op, intrinsic in _INTRINSICS.items()
            if op is Op.SQRT or any(step[0] is op for step in program.steps)
        ),
        *(f"declare {lanes.scalar} @{text}" for text in sorted(writer.libm)),
    ]
    return "\n".join(parts) + "\n"


@dataclass
class _Writer:
    program: Program
    lanes: Lanes
    uses_sincos: bool = False
    libm: set[str] = field(default_factory=set)
    _count: int = 0

    @cached_property
    def stage(self) -> Stage:
        """Where the numbers of large outputs wait."""
        return Stage(self.program, self.lanes, self._new)

    def body(self, pieces: Sequence[Piece]) -> Iterator[str]:
        """The function: pointers once, then a loop over blocks of rows."""
        n_slots = max(piece.n_slots for piece in pieces)
        if len(pieces) > 1 and self.lanes.width > 1 and not self.stage.slots:
            return self._in_turns(len(pieces), max(n_slots, 1))
        lines = ["entry:", *self.pointers()]
        lines += [
            f"  %scratch = alloca {self.lanes.vector}, i64 {max(n_slots, 1)}, align 64",
            *self.stage.prepared(),
            "  %some = icmp sgt i64 %rows, 0",
            "  br i1 %some, label %loop, label %end",
            "loop:",
            "  %row = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *self.stage.turn(),
        ]
        if len(pieces) == 1:
            lines += self.straight_line(pieces[0])
        else:
            stages = STAGES if self.stage.slots else NO_STAGES
            given = f"ptr %in, ptr %out, ptr %stride, ptr %scratch, {stages}, i64 %row"
            lines += [f"  call void @piece{k}({given})" for k in range(len(pieces))]
        lines += [
            f"  %next = add i64 %row, {self.lanes.width}",
            "  %more = icmp slt i64 %next, %rows",
            f"  br i1 %more, label %loop, label %{'rest' if self.stage.slots else 'end'}",
            *self.stage.rest(),
            "end:",
            "  ret void",
        ]
        return iter(lines)

    def _in_turns(self, n_pieces: int, n_slots: int) -> Iterator[str]:
        """The function, where each piece runs for several blocks of rows before the next does."""
        lanes = self.lanes
        blocks = max(1, min(BLOCKS, SCRATCH_BYTES // (n_slots * lanes.bytes)))
        yield "entry:"
        yield f"  %scratch = alloca {lanes.vector}, i64 {n_slots * blocks}, align 64"
        yield "  %some = icmp sgt i64 %rows, 0"
        yield "  br i1 %some, label %loop, label %end"
        yield "loop:"
        yield f"  %first = phi i64 [ 0, %entry ], [ %last, %after{n_pieces - 1} ]"
        yield f"  %last = add i64 %first, {lanes.width * blocks}"
        yield "  %is.short = icmp sgt i64 %last, %rows"
        yield "  %stop = select i1 %is.short, i64 %rows, i64 %last"
        yield "  br label %turn0"
        for k in range(n_pieces):
            before = f"after{k - 1}" if k else "loop"
            yield f"turn{k}:"
            yield f"  %row{k} = phi i64 [ %first, %{before} ], [ %next{k}, %turn{k} ]"
            yield f"  %own{k} = phi ptr [ %scratch, %{before} ], [ %other{k}, %turn{k} ]"
            given = f"ptr %in, ptr %out, ptr %stride, ptr %own{k}, {NO_STAGES}, i64 %row{k}"
            yield f"  call void @piece{k}({given})"
            yield f"  %next{k} = add i64 %row{k}, {lanes.width}"
            yield f"  %other{k} = getelementptr {lanes.vector}, ptr %own{k}, i64 {n_slots}"
            yield f"  %more{k} = icmp slt i64 %next{k}, %stop"
            yield f"  br i1 %more{k}, label %turn{k}, label %after{k}"
            yield f"after{k}:"
            if k + 1 < n_pieces:
                yield f"  br label %turn{k + 1}"
        yield "  %again = icmp slt i64 %last, %rows"
        yield "  br i1 %again, label %loop, label %end"
        yield "end:"
        yield "  ret void"

    def pointers(self) -> Iterator[str]:
        """Where inputs and outputs start, and how far apart the rows of inputs are."""
        for kind, ports in (("in", self.program.inputs), ("out", self.program.outputs)):
            for number_, _ in enumerate(ports):
                yield f"  %{kind}{number_}.at = getelementptr ptr, ptr %{kind}, i64 {number_}"
                yield f"  %{kind}{number_} = load ptr, ptr %{kind}{number_}.at"
        for number_, _ in enumerate(self.program.inputs):
            yield f"  %stride{number_}.at = getelementptr i64, ptr %stride, i64 {number_}"
            yield f"  %stride{number_} = load i64, ptr %stride{number_}.at"

    def straight_line(self, piece: Piece) -> Iterator[str]:
        """The steps of a piece: what they need is loaded before, what others need stored after."""
        program = self.program
        self._pairs: dict[int, str] = {}
        names = [
            self.lanes.constant(step[1]) if step[0] is Op.CONST else "" for step in program.steps
        ]
        yield from self._row_pointers("in", program.inputs)
        yield from self._row_pointers("out", program.outputs)
        yield from self.stage.rows_before()
        yield from self._loads(names, piece.inputs)
        for step, slot in piece.fetched.items():
            names[step] = self._new()
            yield from self._scratch(slot)
            yield f"  {names[step]} = load {self.lanes.vector}, ptr %t{self._count}"
        blocks = [b for b in self._store_blocks() if piece.start <= b[0] < piece.stop]
        at = 0
        for step in range(piece.start, piece.stop):
            op, *args = program.steps[step]
            if op not in (Op.CONST, Op.INPUT):
                yield from self._step(step, op, args, names)
                if step in piece.kept:
                    yield from self._scratch(piece.kept[step])
                    yield f"  store {self.lanes.vector} {names[step]}, ptr %t{self._count}"
            if op is not Op.CONST:
                yield from self.stage.kept(step, names[step])
            yield from self.stage.burst(step)
            while at < len(blocks) and blocks[at][0] <= step:
                yield from self._store(*blocks[at][1:], names)
                at += 1

    def _scratch(self, slot: int) -> Iterator[str]:
        at = self._new()
        yield f"  {at} = getelementptr {self.lanes.vector}, ptr %scratch, i64 {slot}"

    def _row_pointers(self, kind: str, ports: Sequence[Port]) -> Iterator[str]:
        """Where the rows of each lane start."""
        for port, shape in enumerate(ports):
            for lane in range(self.lanes.width):
                here = f"%{kind}{port}.{lane}"
                yield f"  {here}.row = add i64 %row, {lane}"
                by = f"%stride{port}" if kind == "in" else str(shape.size)
                yield f"  {here}.offset = mul i64 {here}.row, {by}"
                scalar = self.lanes.scalar
                yield f"  {here} = getelementptr {scalar}, ptr %{kind}{port}, i64 {here}.offset"

    def _loads(self, names: list[str], needed: Collection[int]) -> Iterator[str]:
        """Load the inputs that are needed, block by block."""
        steps = {self.program.steps[step][1]: step for step in needed}
        offset = 0
        for port, shape in enumerate(self.program.inputs):
            used = {k - offset: s for k, s in steps.items() if offset <= k < offset + shape.size}
            for start in _block_starts(shape.size, self.lanes.width):
                inside = range(start, min(start + self.lanes.width, shape.size))
                if any(k in used for k in inside):
                    yield from self._load_block(port, start, len(inside), used, names)
            offset += shape.size

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

    def _store_blocks(self) -> list[tuple[int, int, int, list[int]]]:
        """(step after which it can be stored, output, place, steps) of each block, in order."""
        blocks: list[tuple[int, int, int, list[int]]] = []
        offset = 0
        for port, shape in enumerate(self.program.outputs):
            results = self.program.results[offset : offset + shape.size]
            for start, end in [] if self.stage.holds(shape) else self._store_ranges(results):
                steps = list(results[start:end])
                blocks.append((max(steps), port, start, steps))
            offset += shape.size
        return sorted(blocks)

    def _store_ranges(self, results: Sequence[int]) -> list[tuple[int, int]]:
        """Starts and ends of the blocks of an output: W numbers, or one; facts go together."""
        size, width = len(results), self.lanes.width
        if width > 1:
            return [(k, min(k + width, size)) for k in _block_starts(size, width)]
        ranges: list[tuple[int, int]] = []
        facts = [self.program.steps[step][0] is Op.CONST for step in results]
        start = 0
        while start < size:
            end = start + FACTS if all(facts[start : start + FACTS]) else start + 1
            ranges.append((start, min(end, size)))
            start = end
        return ranges

    def _store(self, port: int, start: int, steps: list[int], names: list[str]) -> Iterator[str]:
        width, scalar, vector = self.lanes.width, self.lanes.scalar, self.lanes.vector
        values = [names[step] for step in steps]
        if width == 1:
            whole = values[0] if len(values) == 1 else _joined(scalar, values)
            kind = scalar if len(values) == 1 else f"<{len(values)} x {scalar}>"
            yield from self._store_at(whole, kind, f"%out{port}.0", start)
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

    def _step(self, step: int, op: Op, args: list[int], names: list[str]) -> Iterator[str]:
        vector = self.lanes.vector
        values = [names[arg] for arg in args]
        name = names[step] or f"%v{step}"
        names[step] = name
        if op in _BINARY:
            flags = flags_of(self.program, op, args, self.lanes.scalar)
            yield f"  {name} = {_BINARY[op]} {flags} {vector} {values[0]}, {values[1]}"
        elif op is Op.NEG:
            yield f"  {name} = fneg {FLAGS} {vector} {values[0]}"
        elif op in _INTRINSICS:
            function = f"{_INTRINSICS[op]}.{self.lanes.suffix}"
            yield f"  {name} = call {vector} @{function}({vector} {values[0]})"
        elif op in (Op.SIN, Op.COS):
            yield from self._sincos(args[0], values[0], name, index=int(op is Op.COS))
        elif op in _COMPARE:
            yield f"  {name}.is = fcmp {_COMPARE[op]} {vector} {values[0]}, {values[1]}"
            yield f"  {name} = uitofp {self._bool} {name}.is to {vector}"
        elif op is Op.SELECT:
            zero = self.lanes.constant(0.0)
            yield f"  {name}.is = fcmp une {vector} {values[0]}, {zero}"
            choice = f"{vector} {values[1]}, {vector} {values[2]}"
            yield f"  {name} = select {self._bool} {name}.is, {choice}"
        else:
            yield from self._library(op, values, name)

    @property
    def _bool(self) -> str:
        return "i1" if self.lanes.width == 1 else f"<{self.lanes.width} x i1>"

    def _sincos(self, arg: int, value: str, name: str, index: int) -> Iterator[str]:
        """Sine and cosine of one angle come from one call."""
        vector, pair = self.lanes.vector, f"{{ {self.lanes.vector}, {self.lanes.vector} }}"
        self.uses_sincos = True
        if arg not in self._pairs:
            self._pairs[arg] = self._new()
            yield f"  {self._pairs[arg]} = call fastcc {pair} @sincos({vector} {value})"
        yield f"  {name} = extractvalue {pair} {self._pairs[arg]}, {index}"

    def _library(self, op: Op, values: list[str], name: str) -> Iterator[str]:
        """A function of the C library, lane by lane."""
        function, count = _LIBM[op]
        scalar, vector, width = self.lanes.scalar, self.lanes.vector, self.lanes.width
        function += "" if scalar == "double" else "f"
        self.libm.add(f"{function}({', '.join([scalar] * count)})")
        joined = "undef"
        for lane in range(width):
            parts: list[str] = []
            for value in values:
                part = value
                if width > 1:
                    part = self._new()
                    yield f"  {part} = extractelement {vector} {value}, i32 {lane}"
                parts.append(f"{scalar} {part}")
            result = name if width == 1 else self._new()
            yield f"  {result} = call {scalar} @{function}({', '.join(parts)})"
            if width > 1:
                target = name if lane == width - 1 else self._new()
                yield f"  {target} = insertelement {vector} {joined}, {scalar} {result}, i32 {lane}"
                joined = target

    def _new(self) -> str:
        self._count += 1
        return f"%t{self._count}"


def _joined(scalar: str, values: Sequence[str]) -> str:
    """A vector of numbers that are known."""
    return "<" + ", ".join(f"{scalar} {value}" for value in values) + ">"


def _block_starts(size: int, width: int) -> list[int]:
    """Starts of blocks of `width` that cover `size` numbers; the last may overlap its neighbour."""
    if size <= width:
        return [0] if size else []
    starts = list(range(0, size - width + 1, width))
    return starts if starts[-1] + width == size else [*starts, size - width]
