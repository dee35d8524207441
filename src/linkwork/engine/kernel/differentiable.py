"""Methods that return the derivatives of a kernel, which are kernels too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.engine.autodiff.ports import Kind
    from linkwork.engine.kernel.kernel import Kernel


class Differentiable:
    """Derivatives of a kernel with respect to some of its inputs, by default all.

    Each derivative is created once, compiled and stored on disk as its function is, and has
    derivatives too. Quaternions and (cos, sin) pairs in an input are treated as normalized:
    derivatives have no component along them.
    """

    signature: Any
    _derivatives: dict[tuple[Kind, tuple[str, ...]], Kernel]

    def jacobian(self, *wrt: str) -> Kernel:
        """Return the function that computes the derivatives of the outputs.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function with the same inputs. It returns d output / d input as an array of shape
            (..., *output.shape, *input.shape). For several outputs or inputs it returns a tuple,
            with the derivatives of the first output first.
        """
        return self.derivative("jacobian", wrt)

    def gradient(self, *wrt: str) -> Kernel:
        """Return the function that computes the derivatives of a scalar output.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function with the same inputs, which returns an array of shape (..., *input.shape) for
            each input of `wrt`.
        """
        return self.derivative("gradient", wrt)

    def hessian(self, *wrt: str) -> Kernel:
        """Return the function that computes the second derivatives of a scalar output.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function with the same inputs. It returns an array of shape
            (..., *first.shape, *second.shape) for each pair of inputs of `wrt`, in the order
            (first, first), (first, second), and so on.
        """
        return self.derivative("hessian", wrt)

    def jvp(self, *wrt: str) -> Kernel:
        """Return the function that computes the product of the Jacobian and a tangent.

        The Jacobian itself is not computed.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function of the inputs, followed by a tangent `d_<input>` for each input of `wrt`. It
            returns the tangent of each output.
        """
        return self.derivative("jvp", wrt)

    def vjp(self, *wrt: str) -> Kernel:
        """Return the function that computes the product of a cotangent and the Jacobian.

        The Jacobian itself is not computed.

        Args:
            wrt: names of the inputs to differentiate with respect to; all by default.

        Returns:
            A function of the inputs, followed by a cotangent `ct_<output>` for each output. It
            returns an array of shape (..., *input.shape) for each input of `wrt`.
        """
        return self.derivative("vjp", wrt)

    def derivative(self, kind: Kind, wrt: tuple[str, ...] = ()) -> Kernel:
        """Return the derivative of a kind, created on first use.

        Args:
            kind: "jacobian", "gradient", "hessian", "jvp" or "vjp"; or "hvp", the Hessian times a
                tangent, with the inputs of jvp and the outputs of gradient.
            wrt: names of the inputs to differentiate with respect to; all by default.
        """
        names = wrt or tuple(port.name for port in self.signature.inputs)
        try:
            derivative = self._derivatives.get((kind, names))
        except TypeError:  # not a name; `_make_derivative` raises the error
            derivative = None
        if derivative is None:
            new = self._make_derivative(kind, names)
            derivative = self._derivatives.setdefault((kind, names), new)
        return derivative

    def _make_derivative(self, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
        from linkwork.engine.kernel.derive import Derivative  # imports this module

        return Derivative(self, kind, wrt)  # pyright: ignore[reportArgumentType]
