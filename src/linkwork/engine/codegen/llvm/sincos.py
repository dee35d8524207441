"""Sine and cosine of one angle, as LLVM IR for any number of lanes.

The angle is reduced by a multiple n of pi/2, with pi/2 in three parts and fused multiply-adds, so
that the remainder has full precision for angles far beyond a million. Two polynomials approximate
sine and cosine on [-pi/4, pi/4], and n modulo 4 determines which is which, and their signs. libm
computes angles that are too large for this reduction; the results for NaN and infinity are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkwork.engine.codegen.sincos import SINCOS_CONSTANTS, TWO_OVER_PI


def sincos_function(vector: str, scalar: str, suffix: str, constant: Callable[[float], str]) -> str:
    """Print the function `sincos` for a type, and the functions that it calls."""
    constants = SINCOS_CONSTANTS[scalar]
    width = vector[1 : vector.index(" ")] if vector.startswith("<") else ""
    ints = f"<{width} x {constants.integer}>" if width else constants.integer
    bools = f"<{width} x i1>" if width else "i1"
    pair = f"{{ {vector}, {vector} }}"

    def integer(value: int) -> str:
        if not width:
            return str(value)
        return "<" + ", ".join([f"{constants.integer} {value}"] * int(width)) + ">"

    lines = [
        f"define internal fastcc {pair} @sincos({vector} %x) {{",
        f"  %scaled = fmul {vector} %x, {constant(TWO_OVER_PI)}",
        f"  %shifted = fadd {vector} %scaled, {constant(constants.magic)}",
        f"  %n = fsub {vector} %shifted, {constant(constants.magic)}",
        f"  %minus_n = fneg {vector} %n",
    ]
    remainder = "%x"
    for k, part in enumerate(constants.half_pi):
        name = "%r" if k + 1 == len(constants.half_pi) else f"%r{k}"
        lines.append(f"  {name} = {_fma(vector, suffix, '%minus_n', constant(part), remainder)}")
        remainder = name
    lines += [
        f"  %t = fmul {vector} %r, %r",
        f"  %rt = fmul {vector} %r, %t",
        f"  %tt = fmul {vector} %t, %t",
        f"  %c = {_fma(vector, suffix, '%t', constant(-0.5), constant(1.0))}",
    ]
    for name, coefficients in (("s", constants.sine), ("c", constants.cosine)):
        value = constant(coefficients[-1])
        for k, coefficient in reversed(list(enumerate(coefficients[:-1]))):
            lines.append(
                f"  %{name}{k} = {_fma(vector, suffix, value, '%t', constant(coefficient))}"
            )
            value = f"%{name}{k}"
    lines += [
        f"  %sin_r = {_fma(vector, suffix, '%s0', '%rt', '%r')}",
        f"  %cos_r = {_fma(vector, suffix, '%c0', '%tt', '%c')}",
        f"  %bits = bitcast {vector} %shifted to {ints}",
        f"  %odd_bit = and {ints} %bits, {integer(1)}",
        f"  %odd = icmp ne {ints} %odd_bit, {integer(0)}",
        f"  %sin_q = select {bools} %odd, {vector} %cos_r, {vector} %sin_r",
        f"  %cos_q = select {bools} %odd, {vector} %sin_r, {vector} %cos_r",
        f"  %second_bit = and {ints} %bits, {integer(2)}",
        f"  %next = add {ints} %bits, {integer(1)}",
        f"  %third_bit = and {ints} %next, {integer(2)}",
        f"  %sin_minus = icmp ne {ints} %second_bit, {integer(0)}",
        f"  %cos_minus = icmp ne {ints} %third_bit, {integer(0)}",
        f"  %sin_negated = fneg {vector} %sin_q",
        f"  %cos_negated = fneg {vector} %cos_q",
        f"  %sin_signed = select {bools} %sin_minus, {vector} %sin_negated, {vector} %sin_q",
        f"  %is_zero = fcmp oeq {vector} %x, {constant(0.0)}",
        f"  %sin = select {bools} %is_zero, {vector} %x, {vector} %sin_signed",  # sin(-0) is -0
        f"  %cos = select {bools} %cos_minus, {vector} %cos_negated, {vector} %cos_q",
        f"  %first = insertvalue {pair} undef, {vector} %sin, 0",
        f"  %both = insertvalue {pair} %first, {vector} %cos, 1",
        f"  %size = call {vector} @llvm.fabs.{suffix}({vector} %x)",
        f"  %large = fcmp ogt {vector} %size, {constant(constants.largest)}",
        *([f"  %large_bits = bitcast {bools} %large to i{width}"] if width else []),
        f"  %any = icmp ne {f'i{width} %large_bits' if width else 'i1 %large'}, 0",
        "  br i1 %any, label %by_libm, label %end",
        "end:",
        f"  ret {pair} %both",
        "by_libm:",
        f"  %replaced = call fastcc {pair} @sincos_libm({vector} %x, {bools} %large, {pair} %both)",
        f"  ret {pair} %replaced",
        "}",
        f"declare {vector} @llvm.fabs.{suffix}({vector})",
        *_libm_function(vector, scalar, int(width or 0)),
    ]
    return "\n".join(lines)


def _libm_function(vector: str, scalar: str, width: int) -> Iterator[str]:
    """Print `sincos_libm`, which replaces the sines and cosines of lanes with large angles."""
    pair, bools = f"{{ {vector}, {vector} }}", f"<{width} x i1>" if width else "i1"
    parameters = f"{vector} %x, {bools} %large, {pair} %both"
    yield f"define internal fastcc {pair} @sincos_libm({parameters}) noinline cold {{"
    for index, name in enumerate(("sin", "cos")):
        function = name + ("" if scalar == "double" else "f")
        value = "undef" if width else f"%{name}"
        if not width:
            yield f"  {value} = call {scalar} @{function}({scalar} %x)"
        for lane in range(width):
            part, joined = f"%{name}{lane}", f"%{name}.joined{lane}"
            yield f"  {part}.x = extractelement {vector} %x, i32 {lane}"
            yield f"  {part} = call {scalar} @{function}({scalar} {part}.x)"
            yield f"  {joined} = insertelement {vector} {value}, {scalar} {part}, i32 {lane}"
            value = joined
        yield f"  %{name}.before = extractvalue {pair} %both, {index}"
        choice = f"{vector} {value}, {vector} %{name}.before"
        yield f"  %{name}.chosen = select {bools} %large, {choice}"
    yield f"  %first = insertvalue {pair} undef, {vector} %sin.chosen, 0"
    yield f"  %second = insertvalue {pair} %first, {vector} %cos.chosen, 1"
    yield f"  ret {pair} %second"
    yield "}"
    for name in ("sin", "cos") if scalar == "double" else ("sinf", "cosf"):
        yield f"declare {scalar} @{name}({scalar})"


def _fma(vector: str, suffix: str, a: str, b: str, c: str) -> str:
    return f"call {vector} @llvm.fma.{suffix}({vector} {a}, {vector} {b}, {vector} {c})"
