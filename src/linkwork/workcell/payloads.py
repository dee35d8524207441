"""The payloads of a robot as inputs of its functions: which robot computes, and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn
from linkwork.parameters import Parameter, Payload
from linkwork.workcell.loads import MOST_KEPT, Loads, Plan, Totals, prepare
from linkwork.workcell.state import flat_rows


class Payloads:
    """A robot with payloads on some bodies, and one with payloads on all of them."""

    def __init__(
        self, loads: Loads, plain: KinDyn, slots: dict[int, str], more: Sequence[Parameter]
    ) -> None:
        """Take the robot without payloads.

        Args:
            loads: says what its bodies carry.
            plain: the robot.
            slots: by body that may carry something: the link whose payload that is.
            more: further parameters, after the payloads; zero where nobody sets them.
        """
        self._loads, self._plain, self._slots, self._more = loads, plain, slots, more
        self.kd = self._with_payloads(slots)
        prepare()

    def of(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The robot that computes a state, and its parameters, (n,) or (..., n)."""
        if parents.ndim == 1:
            return self._of_one(parents, values)
        is_empty = 0 in parents.shape[:-1]
        if is_empty or not any(parents.strides[:-1]):  # or all rows are the same one in memory
            return self._of_shared(parents, values)
        return self._of_rows(parents, values)

    def _of_one(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The robot, and (n,) parameters, of one state; kept for the same attachments and poses."""
        plan = self._loads.plan(parents)
        key = values[plan.columns].tobytes()
        known = plan.sums.get(key)
        if known is None:
            kd, slots, totals = self._sums(plan, values[None])
            known = kd, self._numbers(kd, slots, totals, 1)[0]
            known[1].flags.writeable = False
            if len(plan.sums) >= MOST_KEPT:
                plan.sums.clear()
            plan.sums[key] = known
        return known

    def _of_shared(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The same for a batch with the same attachments in all rows; (n,) or (..., n)."""
        batch, values = values.shape[:-1], flat_rows(values)
        if not len(values):
            return self.kd, self.kd.parameter_values()
        row = flat_rows(parents)[0]
        plan = self._loads.plan(row)
        if self._loads.are_same(plan, values):
            return self._of_one(row, values[0])
        kd, slots, totals = self._sums(plan, values)
        return kd, self._numbers(kd, slots, totals, len(values)).reshape(*batch, -1)

    def _of_rows(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The same for a batch whose rows may differ in their attachments; (..., n)."""
        batch, n = values.shape[:-1], values.shape[-1]
        values = flat_rows(values)
        groups = self._loads.groups(flat_rows(parents))
        if len(groups) == 1:
            row = np.broadcast_to(groups[0][0], (*batch, parents.shape[-1]))
            return self._of_shared(row, values.reshape(*batch, n))
        parts = [(self._sums(self._loads.plan(row), values, at), at) for row, at in groups]
        kd, slots = next(
            (own[:2] for own, _ in parts if own[0] is not self.kd), (self.kd, self._slots)
        )
        numbers = np.zeros((len(values), kd.parameters.size))
        for (_, _, totals), at in parts:
            if totals:
                numbers[at] = self._numbers(kd, slots, totals, len(at))
        return kd, numbers.reshape(*batch, -1)

    def _sums(
        self, plan: Plan, values: Array, rows: Array | None = None
    ) -> tuple[KinDyn, dict[int, str], Totals]:
        """The robot that has all payloads of a plan, and what its bodies carry."""
        found = self._loads.totals(plan, values, rows)
        if not self._plain.floating:
            found.pop(0, None)  # what sits on a base that is fixed does not move
        if found.keys() <= self._slots.keys():
            return self.kd, self._slots, found
        return *self._general, found

    def _numbers(self, kd: KinDyn, slots: dict[int, str], totals: Totals, rows: int) -> Array:
        """(rows, n) the parameters of a robot with payloads."""
        numbers = np.zeros((rows, kd.parameters.size))
        for body, total in totals.items():
            numbers[:, kd.parameters[f"payload.{slots[body]}"]] = total
        return numbers

    @cached_property
    def _general(self) -> tuple[KinDyn, dict[int, str]]:
        """The robot with a payload on every body, for what the carriers do not carry."""
        bodies = range(0 if self._plain.floating else 1, len(self._plain.tree.links))
        slots = {body: self._plain.tree.links[body][0] for body in bodies}
        return self._with_payloads(slots), slots

    def _with_payloads(self, slots: dict[int, str]) -> KinDyn:
        listed = [Payload(link) for link in slots.values()]
        return _shared(self._plain.replace(parameters=[*listed, *self._more]))


@lru_cache(maxsize=32)
def _shared(kd: KinDyn) -> KinDyn:
    """One robot for all that are equal: another cell with the same arm compiles nothing anew."""
    return kd
