"""The same functions in Pinocchio, if its package `pin` is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from linkwork.cli.timing import least_time
from linkwork.errors import LinkworkError

if TYPE_CHECKING:
    from linkwork.kindyn import KinDyn


class PinTimes:
    """A robot in Pinocchio."""

    def __init__(self, pin: Any, model: Any) -> None:
        self.version = str(pin.__version__)
        self._pin, self._model = pin, model
        self._data = model.createData()

    @classmethod
    def of(cls, kd: KinDyn) -> PinTimes | None:
        """The same robot, or None if Pinocchio is not here or cannot hold it."""
        from linkwork.io.convert import in_urdf_form
        from linkwork.io.urdf.writer import urdf_text

        if find_spec("pinocchio") is None:
            return None
        try:
            pin = import_module("pinocchio")
            text = urdf_text(in_urdf_form(kd.model)[0])
            root = [pin.JointModelFreeFlyer()] if kd.floating else []
            return cls(pin, pin.buildModelFromXML(text, *root))
        except (ImportError, LinkworkError, ValueError, RuntimeError):
            return None

    def least_time(self, request: Sequence[Any]) -> float | None:
        """Seconds of a call of the function, None if Pinocchio has none of this kind."""
        call = self._call(request)
        return None if call is None else least_time(call)

    def _call(self, request: Sequence[Any]) -> Callable[[], object] | None:
        pin, model, data = self._pin, self._model, self._data
        q, v, a = pin.neutral(model), *(0.1 * pin.utils.rand(model.nv) for _ in range(2))
        is_of_frame = len(request) == 2 and isinstance(request[1], str)
        frame = model.getFrameId(request[1]) if is_of_frame else 0
        if frame >= model.nframes:
            return None
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

        def pose() -> Any:
            pin.forwardKinematics(model, data, q)
            return pin.updateFramePlacement(model, data, frame).homogeneous

        calls: dict[str, Callable[[], object]] = {
            "inverse_dynamics": lambda: pin.rnea(model, data, q, v, a),
            "bias_force": lambda: pin.nonLinearEffects(model, data, q, v),
            "gravity_force": lambda: pin.computeGeneralizedGravity(model, data, q),
            "mass_matrix": lambda: pin.crba(model, data, q),
            "inverse_mass_matrix": lambda: pin.computeMinverse(model, data, q),
            "forward_dynamics": lambda: pin.aba(model, data, q, v, a),
            "com": lambda: pin.centerOfMass(model, data, q),
            "centroidal_momentum_matrix": lambda: pin.computeCentroidalMap(model, data, q),
            "transform": pose,
            "jacobian": lambda: pin.computeFrameJacobian(model, data, q, frame, axes),
        }
        return calls.get(request[0])
