"""Find the mass, centre of mass and inertia of what an arm holds, from its torques.

python examples/12_identify_payload.py [--samples N] [--noise TORQUE]

Gradient descent on numbers without bounds (log-Cholesky): every iterate is a body that can exist.
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
    """The squared difference between the torques of a payload and those measured."""
    load = lw.parameters.log_cholesky(theta)
    difference = kd.inverse_dynamics(q, nu, nu_dot, parameters=load) - tau
    return difference @ difference


def identified(
    samples: int, noise: float, iterations: int = 1500
) -> tuple[np.ndarray, list[float]]:
    """The ten inertial parameters that fit best, and the mean misfit after each iteration."""
    rng = np.random.default_rng(0)
    q, (nu, nu_dot) = kd.random(samples, seed=1), rng.normal(size=(2, samples, kd.nv))
    tau = kd.inverse_dynamics(q, nu, nu_dot, parameters=BOX.parameters())
    tau = tau + noise * rng.normal(size=tau.shape)
    slope = misfit.gradient("theta")
    theta = lw.parameters.log_cholesky_inverse(lw.solid_sphere(1.0, 0.1).parameters())
    mean, square, history = np.zeros(10), np.zeros(10), []
    for k in range(1, iterations + 1):  # Adam
        gradient = slope(theta, q, nu, nu_dot, tau).mean(axis=0)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        theta = theta - 0.02 * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-9)
        history.append(float(misfit(theta, q, nu, nu_dot, tau).mean()))
    return lw.parameters.log_cholesky(theta), history


def deviations(samples: int, noise: float, speed: float = 1.0) -> np.ndarray:
    """(10,) standard deviations of the parameters for a noise of the torques [N m].

    Infinite for what the motion does not determine: without motion, the tensor.
    """
    rng = np.random.default_rng(0)
    q, (nu, nu_dot) = kd.random(samples, seed=1), speed * rng.normal(size=(2, samples, kd.nv))
    by_load = kd.function("inverse_dynamics").jacobian("parameters")
    Y = by_load(q, nu, nu_dot, kd.parameter_values()).reshape(-1, 10)
    _, s, Vt = np.linalg.svd(Y, full_matrices=False)
    kept = s > 1e-9 * s[0]
    is_determined = (Vt[kept] ** 2).sum(axis=0) > 1 - 1e-9
    return np.where(is_determined, noise * np.linalg.norm(Vt[kept] / s[kept, None], axis=0), np.inf)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.0, help="of the torques [N m]")
    given = parser.parse_args()
    found, history = identified(given.samples, given.noise)
    sigma = deviations(given.samples, given.noise)
    doubtful = [name for name, s, x in zip(NAMES, sigma, found, strict=True) if s > 0.1 * abs(x)]
    if doubtful:
        print("hardly determined by these data:", ", ".join(doubtful))
    print(f"misfit {history[0]:.3g} at first, {history[-1]:.3g} at last")
    print(f"mass {found[0]:.3f} kg of {BOX.mass:.3f}")
    print(f"centre of mass {np.round(found[1:4] / found[0], 4)} of {np.array(BOX.com)} m")
