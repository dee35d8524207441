"""Properties, lists and timed values with RobWork's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from linkwork.compat.robwork.rotations import EAA, RPY, Quaternion, Rotation2D, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D, VelocityScrew6D
from linkwork.compat.robwork.vectors import Q, Vector2D, Vector3D
from linkwork.errors import ArgumentError, name_not_found, shown


class PropertyMap(dict[str, Any]):
    """Values by name. Those of the file are strings; `getDouble` and others convert them."""

    def __init__(self, values: Any = (), stored: Callable[[PropertyMap], None] | None = None):
        """Create a map of values; `stored` is called with the map after each change."""
        super().__init__(values)
        self._stored = stored

    def __setitem__(self, identifier: str, value: Any) -> None:
        super().__setitem__(identifier, value)
        if self._stored:
            self._stored(self)

    def __reduce__(self) -> tuple[object, ...]:
        return PropertyMap, (dict(self),)

    def has(self, identifier: str) -> bool:
        """Return whether there is a property with this name."""
        return identifier in self

    def size(self) -> int:
        """Return the number of properties."""
        return len(self)

    def set(self, identifier: str, value: Any) -> None:
        """Set a property; a frame stores it as a string."""
        self[identifier] = value

    setString = setDouble = setFloat = setInt = setBool = set

    def add(self, identifier: str, description: str, value: Any) -> Property:
        """Set a property, and return it with its description."""
        self[identifier] = value
        return Property(identifier, description, value)

    def getString(self, identifier: str, *default: Any) -> Any:
        """Return a property; without a default, a missing one raises."""
        if identifier not in self and not default:
            raise name_not_found("property", identifier, self)
        return self.get(identifier, *default)

    def getDouble(self, identifier: str, *default: Any) -> Any:
        """Return a property as a float."""
        return self._number(identifier, float, default)

    getFloat = getDouble

    def getInt(self, identifier: str, *default: Any) -> Any:
        """Return a property as an integer."""
        return self._number(identifier, int, default)

    def _number(self, identifier: str, kind: type, default: tuple[Any, ...]) -> Any:
        if identifier not in self and default:
            return default[0]
        string = self.getString(identifier)
        try:
            return kind(string)
        except (TypeError, ValueError):
            message = f"property {identifier!r}: expected a number of type {kind.__name__}"
            raise ArgumentError(f"{message}, got {shown(string)}") from None


class PropertyType:
    """The type of a property: one of the numbers below."""

    Unknown, PropertyMap, PropertyMapPtr, PropertyValueBasePtrList, String = range(-1, 4)
    Float, Double, Int, Bool, Vector3D, Vector2D, Q, Transform3D, Rotation3D = range(4, 13)
    RPY, EAA, Quaternion, Rotation2D, VelocityScrew6D = range(13, 18)
    QPath, QPathPtr, Transform3DPath, Transform3DPathPtr = range(18, 22)
    StringList, IntList, DoubleList = range(22, 25)
    User = 1024

    def __init__(self, id: int = -1) -> None:
        self._id = id

    def getId(self) -> int:
        """Return its number."""
        return self._id

    @staticmethod
    def getType(value: Any) -> PropertyType:
        """Return the type of a value; Unknown if there is none."""
        if isinstance(value, (list, tuple)) and value:
            kinds = {str: "StringList", int: "IntList", float: "DoubleList"}
            return PropertyType(getattr(PropertyType, kinds.get(type(value[0]), "Unknown")))
        for kind, name in _TYPES.items():
            if isinstance(value, kind):
                return PropertyType(getattr(PropertyType, name))
        return PropertyType()


_TYPES: dict[type, str] = {bool: "Bool", int: "Int", float: "Double", str: "String"} | {
    kind: kind.__name__
    for kind in (
        *(PropertyMap, EAA, RPY, Quaternion, Rotation2D, Rotation3D, Transform3D),
        *(Q, Vector2D, VelocityScrew6D, Vector3D),
    )
}


class Property:
    """A value with an identifier and a description."""

    def __init__(self, identifier: str, description: str, value: Any) -> None:
        self._identifier, self._description, self._value = identifier, description, value

    def __repr__(self) -> str:
        return f"Property({self._identifier!r}, {self._description!r}, {self._value!r})"

    def getIdentifier(self) -> str:
        """Return its identifier."""
        return self._identifier

    def getDescription(self) -> str:
        """Return its description."""
        return self._description

    def setDescription(self, description: str) -> None:
        """Set its description."""
        self._description = description

    def getValue(self) -> Any:
        """Return its value."""
        return self._value

    def setValue(self, value: Any) -> None:
        """Set its value."""
        self._value = value

    def getType(self) -> PropertyType:
        """Return the type of its value."""
        return PropertyType.getType(self._value)

    def getPropertyValue(self) -> Property:
        """Return the property itself, which has the methods of RobWork's PropertyValue."""
        return self

    def clone(self) -> Property:
        """Return a copy."""
        return Property(self._identifier, self._description, self._value)


class StdVector(list[Any]):
    """A list with the methods of a C++ vector: `FrameVector(8)` has eight empty entries."""

    def __init__(self, values: int | Iterable[Any] = (), value: Any = None) -> None:
        super().__init__([value] * values if isinstance(values, int) else values)

    def push_back(self, value: Any) -> None:
        """Append a value."""
        self.append(value)

    def size(self) -> int:
        """Return the number of values."""
        return len(self)

    def empty(self) -> bool:
        """Return whether there are no values."""
        return not self

    def elem(self, idx: int) -> Any:
        """Return a value."""
        return self[idx]

    def front(self) -> Any:
        """Return the first value."""
        return self[0]

    def back(self) -> Any:
        """Return the last value."""
        return self[-1]


class Transform3DdVector(StdVector):
    """A list of poses."""


class QVector(StdVector):
    """A list of configurations."""


class StateVector(StdVector):
    """A list of states."""


class FrameVector(StdVector):
    """A list of frames."""


class FramePairVector(StdVector):
    """A list of pairs of frames, which `CollisionDetector.inCollision` fills."""


class ParallelLegs(StdVector):
    """A list of legs."""


class PathQ(QVector):
    """A path: a list of configurations."""


class TimedState:
    """A state at a time."""

    def __init__(self, time: float, value: Any) -> None:
        self._time, self._value = float(time), value

    def getTime(self) -> float:
        """Return the time [s]."""
        return self._time

    def getValue(self) -> Any:
        """Return the state."""
        return self._value


class TimedStateVector(StdVector):
    """A list of states at times."""


class PathTimedState(TimedStateVector):
    """A path: a list of states at times."""
