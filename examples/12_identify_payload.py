"""Identify the mass, center of mass and inertia of a payload from the torques of an arm.

python examples/12_identify_payload.py [--samples N] [--noise TORQUE]

Gradient descent on unconstrained parameters (log-Cholesky): every iterate is physically consistent.
"""

from __future__ import annotations

import argparse

import numpy as np

import linkwork as lw

kd = lw.KinDyn(lw.robots.load("arm"), floating=False, parameters=[lw.parameters.Payload("tool")])
NAMES = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
BOX = lw.solid_box(2.0, (0.1, 0.15, 0.2), com=(0.02, -0.01, 0.1))


@lw.compile(theta=10, q=kd.nq, nu=kd.nv, nu_dot=kd.nv, tau=kd.nv)
def misfit(theta, q, nu, nu_dot, tau):
    """Return the squared difference between the torques of a payload and the measured ones."""
    load = lw.parameters.log_cholesky(theta)
    difference = kd.inverse_dynamics(q, nu, nu_dot, parameters=load) - tau
    return difference @ difference


def identify(samples: int, noise: float, iterations: int = 1500) -> tuple[np.ndarray, list[float]]:
    """Return the ten best inertial parameters, and the mean misfit after each iteration."""
    rng = np.random.default_rng(0)
    q, (nu, nu_dot) = kd.random(samples, seed=1), rng.normal(size=(2, samples, kd.nv))
    tau = kd.inverse_dynamics(q, nu, nu_dot, parameters=BOX.parameters())
    tau = tau + noise * rng.normal(size=tau.shape)
    misfit_gradient = misfit.gradient("theta")
    theta = lw.parameters.log_cholesky_inverse(lw.solid_sphere(1.0, 0.1).parameters())
    mean, square, history = np.zeros(10), np.zeros(10), []
    for k in range(1, iterations + 1):  # Adam
        gradient = misfit_gradient(theta, q, nu, nu_dot, tau).mean(axis=0)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        theta = theta - 0.02 * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-9)
        history.append(float(misfit(theta, q, nu, nu_dot, tau).mean()))
    return lw.parameters.log_cholesky(theta), history


def deviations(samples: int, noise: float, speed: float = 1.0) -> np.ndarray:
    """(10,) standard deviations of the parameters for a torque noise [N m].

    Infinite for parameters that the motion does not determine: without motion, the tensor.
    """
    rng = np.random.default_rng(0)
    q, (nu, nu_dot) = kd.random(samples, seed=1), speed * rng.normal(size=(2, samples, kd.nv))
    regressor = kd.function("inverse_dynamics").jacobian("parameters")
    Y = regressor(q, nu, nu_dot, kd.parameter_values()).reshape(-1, 10)
    _, s, Vt = np.linalg.svd(Y, full_matrices=False)
    nonzero = s > 1e-9 * s[0]
    is_determined = (Vt[nonzero] ** 2).sum(axis=0) > 1 - 1e-9
    return np.where(
        is_determined, noise * np.linalg.norm(Vt[nonzero] / s[nonzero, None], axis=0), np.inf
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.0, help="noise of the torques [N m]")
    args = parser.parse_args()
    parameters, history = identify(args.samples, args.noise)
    sigma = deviations(args.samples, args.noise)
    poor = [name for name, s, x in zip(NAMES, sigma, parameters, strict=True) if s > 0.1 * abs(x)]
    if poor:
        print("poorly determined by these data:", ", ".join(poor))
    print(f"initial misfit {history[0]:.3g}, final misfit {history[-1]:.3g}")
    print(f"mass {parameters[0]:.3f} kg, true value {BOX.mass:.3f} kg")
    com = np.round(parameters[1:4] / parameters[0], 4)
    print(f"center of mass {com} m, true value {np.array(BOX.com)} m")
