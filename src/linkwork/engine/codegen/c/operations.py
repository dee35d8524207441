"""Operations as C writes them, with the functions of its library under their C names."""

from __future__ import annotations

from linkwork.engine.symbolic.node import Op

C_FORM = {
    Op.ADD: "{} + {}",
    Op.SUB: "{} - {}",
    Op.MUL: "{} * {}",
    Op.DIV: "{} / {}",
    Op.NEG: "-{}",
    Op.SQRT: "sqrt({})",
    Op.SIN: "sin({})",
    Op.COS: "cos({})",
    Op.ATAN2: "atan2({}, {})",
    Op.LESS: "{} < {} ? 1.0 : 0.0",
    Op.SELECT: "{} != 0.0 ? {} : {}",
    Op.EXP: "exp({})",
    Op.LOG: "log({})",
    Op.LESS_EQUAL: "{} <= {} ? 1.0 : 0.0",
    Op.FLOOR: "floor({})",
    Op.EXPM1: "expm1({})",
    Op.LOG1P: "log1p({})",
    Op.EXP2: "exp2({})",
}
