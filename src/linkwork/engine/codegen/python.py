"""Programs printed as Python functions of floats or arrays, with functions named as in libm."""

from __future__ import annotations

from linkwork.engine.symbolic.operations import OPERATIONS, Op
from linkwork.engine.symbolic.program import Program


def _python_form(op: Op) -> str:
    """Return an operation as a Python expression."""
    row = OPERATIONS[op]
    if not row.symbol:
        return f"{op.name.lower()}({','.join(['{}'] * row.arity)})"
    if row.arity == 1:
        return f"{row.symbol}{{}}"
    return f"({{}}{row.symbol}{{}})*1.0" if row.is_comparison else f"{{}}{row.symbol}{{}}"


_FORMS = {op: _python_form(op) for op in OPERATIONS}


def emit_python(program: Program, *, is_body: bool = False) -> str:
    """Print a function `f` from the elements of all inputs to those of all outputs.

    Variables are reused when their value is no longer needed, so that few arrays exist at a time.

    Args:
        program: the program.
        is_body: whether it is the body of a loop, whose inputs may be Python floats.
    """
    lines = ["def f(x):"]
    texts: list[str] = []  # the variable or constant of each step
    floats: set[int] = set()  # steps that may be Python floats in a call on arrays
    free: list[str] = []  # variables that can be reused
    last_uses = _last_uses(program)
    for step, (op, *args) in enumerate(program.steps):
        if op is Op.CONST:
            texts.append(repr(float(args[0])))
            floats.add(step)
            continue
        operands = program.operands[step]
        arguments = [texts[operand] for operand in operands]
        if op is Op.INPUT:
            value = f"x[{args[0]}]"
            if is_body:
                floats.add(step)
        elif op is Op.LOOP:
            value = f"loop{args[0]}([{','.join(arguments)}])"
        elif op is Op.LOOP_RESULT or op is Op.LOOP_STACK:
            value = f"{arguments[0]}.{'results' if op is Op.LOOP_RESULT else 'stacks'}[{args[0]}]"
            floats.add(step)
        else:
            form = _FORMS[op]
            if floats.issuperset(args):
                floats.add(step)
                form = "div({},{})" if op is Op.DIV else form  # NumPy returns inf for c / 0
            value = form.format(*arguments)
        unused = [texts[operand] for operand in {*operands} if last_uses[operand] == step]
        free += [text for text in unused if text.startswith("v")]
        texts.append(free.pop() if free else f"v{len(texts)}")
        lines.append(f" {texts[step]}={value}")
    lines.append(f" return [{','.join(texts[result] for result in program.results)}]")
    return "\n".join(lines)


def _last_uses(program: Program) -> list[int]:
    """Return the last step that uses each step."""
    last_uses = [0] * len(program.steps)
    for step, operands in enumerate(program.operands):
        for operand in operands:
            last_uses[operand] = step
    for result in program.results:
        last_uses[result] = len(program.steps)
    return last_uses
