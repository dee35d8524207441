"""The derivatives that every kernel has, each a kernel again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.engine.autodiff.ports import Kind
    from linkwork.engine.kernel.kernel import Kernel


class Differentiable:
    """Derivatives of a kernel by some of its inputs, or by all if none is named.

    Each is made once, compiled and kept on disk as its function is, and has derivatives of its own.
    An input that holds quaternions or (cos, sin) pairs stands for the normalized ones: derivatives
    by it have no component along them.
    """

    signature: Any
    _derivatives: dict[tuple[Kind, tuple[str, ...]], Kernel]

    def jacobian(self, *wrt: str) -> Kernel:
        """The function that gives the derivatives of each output by each input.

        Args:
            wrt: names of inputs; all if none is given.

        Returns:
            A function with the same inputs. It gives d f / d input as an array of shape
            (..., *output.shape, *input.shape); for several outputs or inputs a tuple of them, with
            the inputs one after the other for each output.
        """
        return self.derivative("jacobian", wrt)

    def gradient(self, *wrt: str) -> Kernel:
        """The function that gives the derivatives of one number by each input.

        Args:
            wrt: names of inputs; all if none is given.

        Returns:
            A function with the same inputs, which gives an array of shape (..., *input.shape) for
            each input of `wrt`.
        """
        return self.derivative("gradient", wrt)

    def hessian(self, *wrt: str) -> Kernel:
        """The function that gives the second derivatives of one number.

        Args:
            wrt: names of inputs; all if none is given.

        Returns:
            A function with the same inputs. It gives an array of shape
            (..., *first.shape, *second.shape) for each two inputs of `wrt`, the second inputs one
            after the other for each first.
        """
        return self.derivative("hessian", wrt)

    def jvp(self, *wrt: str) -> Kernel:
        """The function that gives the Jacobian times a tangent, without the Jacobian.

        Args:
            wrt: names of inputs; all if none is given.

        Returns:
            A function of the inputs, then of one tangent `d_<input>` for each input of `wrt`. It
            gives the tangent of each output.
        """
        return self.derivative("jvp", wrt)

    def vjp(self, *wrt: str) -> Kernel:
        """The function that gives a cotangent times the Jacobian, without the Jacobian.

        Args:
            wrt: names of inputs; all if none is given.

        Returns:
            A function of the inputs, then of one cotangent `ct_<output>` for each output. It gives
            an array of shape (..., *input.shape) for each input of `wrt`.
        """
        return self.derivative("vjp", wrt)

    def derivative(self, kind: Kind, wrt: tuple[str, ...] = ()) -> Kernel:
        """A derivative by its kind, made if it is not there yet.

        Args:
            kind: "jacobian", "gradient", "hessian", "jvp" or "vjp"; or "hvp", the Hessian times a
                tangent, with the inputs of jvp and the outputs of gradient.
            wrt: names of inputs; all if none is given.
        """
        names = wrt or tuple(port.name for port in self.signature.inputs)
        try:
            known = self._derivatives.get((kind, names))
        except TypeError:  # no name, which is said where it is made
            known = None
        if known is None:
            made = self._make_derivative(kind, names)
            known = self._derivatives.setdefault((kind, names), made)
        return known

    def _make_derivative(self, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
        from linkwork.engine.kernel.derive import Derivative  # a kernel itself

        return Derivative(self, kind, wrt)  # pyright: ignore[reportArgumentType]
