"""Random shapes, robots made of them, and distances by coal."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin

import linkwork as lw

SHAPES = {
    "sphere": lambda rng: lw.Sphere(float(rng.choice([0.05, 0.08, 0.1]))),
    "capsule": lambda rng: lw.Capsule(rng.uniform(0.02, 0.1), rng.uniform(0.1, 0.4)),
    "box": lambda rng: lw.Box(tuple(rng.uniform(0.05, 0.3, size=3))),
    "cylinder": lambda rng: lw.Cylinder(rng.uniform(0.05, 0.1), rng.uniform(0.1, 0.4)),
}


def random_pose(rng, spread):
    return lw.Pose(tuple(spread * rng.normal(size=3)), tuple(rng.uniform(-3.0, 3.0, size=3)))


def random_robot(rng, kinds, n_links=4):
    """A tree of links with three shapes each, with joints of several kinds."""
    b = lw.ModelBuilder("random")
    for i in range(n_links):
        shapes = [
            lw.Shape(SHAPES[str(rng.choice(kinds))](rng), random_pose(rng, 0.15)) for _ in range(2)
        ]
        b.add_link(f"l{i}", inertia=lw.solid_box(1.0, (1.0, 1.0, 1.0)), collisions=shapes)
        if i:
            b.add_joint(
                f"j{i}",
                str(rng.choice(["revolute", "prismatic", "spherical"])),
                f"l{rng.integers(0, i)}",
                f"l{i}",
                axis=tuple(rng.normal(size=3)),
                first_H_joint=random_pose(rng, 0.5),
            )
    return b.build()


def coal_shape(geometry):
    if isinstance(geometry, lw.Sphere):
        return coal.Sphere(geometry.radius)
    if isinstance(geometry, lw.Box):
        return coal.Box(*geometry.size)
    kind = coal.Capsule if isinstance(geometry, lw.Capsule) else coal.Cylinder
    return kind(geometry.radius, geometry.length)


def coal_distance(first, first_pose, second, second_pose):
    """Signed distance and closest points of two shapes of coal at (4, 4) poses."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    places = [coal.Transform3s(H[:3, :3], H[:3, 3]) for H in (first_pose, second_pose)]
    coal.distance(first, places[0], second, places[1], request, result)
    return result.min_distance, result.getNearestPoint1(), result.getNearestPoint2()


def link_distance(kd, pair, q):
    """Distance of two links, from all pairs of their shapes, by coal."""
    placed = [
        [
            (coal_shape(shape.geometry), kd.transform(link, q) @ shape.link_H_shape.matrix())
            for shape in kd.model.link(link).collisions
        ]
        for link in pair
    ]
    return min(coal_distance(*a, *b)[0] for a in placed[0] for b in placed[1])


def collides_by_coal(robot, obstacles, configurations, margin=0.0):
    """Whether a robot of spheres collides in any configuration, by Pinocchio and coal.

    Pairs nearer than the margin [m] count as colliding.
    """
    text = lw.dump_urdf(robot.model)
    model = pin.buildModelFromXML(text)
    shapes = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.COLLISION)
    links = [shape.name.rpartition("_")[0] for shape in shapes.geometryObjects]
    pairs = {frozenset(pair) for pair in robot.pairs}
    for i, a in enumerate(links):
        for j, b in enumerate(links[:i]):
            if frozenset((a, b)) in pairs:
                shapes.addCollisionPair(pin.CollisionPair(i, j))
    for k, row in enumerate(obstacles.boxes):
        place = pin.SE3(pin.Quaternion(*row[3:7]).matrix(), row[:3])
        added = shapes.addGeometryObject(
            pin.GeometryObject(f"box {k}", 0, place, coal.Box(*row[7:]))
        )
        for i in range(len(links)):
            shapes.addCollisionPair(pin.CollisionPair(i, added))
    data, shape_data = model.createData(), shapes.createData()
    for request in shape_data.collisionRequests:
        request.security_margin = margin
    return any(
        pin.computeCollisions(model, data, shapes, shape_data, x, True)
        for x in (_in_pinocchio(robot, model, q) for q in configurations)
    )


def _in_pinocchio(robot, model, q):
    """A configuration of revolute and prismatic joints; those without limits have cos and sin."""
    x = pin.neutral(model)
    for name, joint in zip(model.names[1:], model.joints[1:], strict=True):
        mimic = robot.model.joint(name).mimic
        (value,) = q[robot.layout.q[mimic.joint if mimic else name]]
        value = mimic.multiplier * value + mimic.offset if mimic else value
        x[joint.idx_q : joint.idx_q + joint.nq] = (
            [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
        )
    return x
