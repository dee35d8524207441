"""A small robot with a valid file, and functions that damage it and collect the messages."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from linkwork import LinkworkWarning, Model, ParseError, load
from linkwork.io.load import read

GOOD = """\
<robot name="lamp">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.5"/>
      <mass value="2"/>
      <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.4" iyz="0" izz="0.5"/>
    </inertial>
    <visual>
      <geometry><box size="1 2 3"/></geometry>
    </visual>
  </link>
  <joint name="hinge" type="revolute">
    <origin xyz="1 0 0" rpy="0 0 0"/>
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/>
  </joint>
</robot>
"""


def changed(*pairs: str, text: str = GOOD) -> str:
    """The valid file with pieces replaced: old, new, old, new, ...; each old occurs once."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text"
        text = text.replace(old, new)
    return text


def before_end(*lines: str, text: str = GOOD) -> str:
    """The valid file with lines inserted before its last; the first of them is line 20."""
    return changed("</robot>", "".join(f"{line}\n" for line in lines) + "</robot>", text=text)


def chained(name: str, parent: str, extra: str = "", kind: str = "continuous") -> str:
    """One line with a link and the joint `name_joint` that attaches it to its parent."""
    body = MASS + "</link>"
    joint = f'<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/>'
    return f'<link name="{name}">{body}{joint}<child link="{name}"/>{extra}</joint>'


BASE = '<link name="base"/>'

MASS = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def loaded(source: Any, **options: Any) -> tuple[Model, list[str]]:
    """The model of a source, and the findings of the warning of `load`, as strings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(source, **options)
    assert [type(warning.message) for warning in caught] in ([], [LinkworkWarning])
    findings = [
        f for w in caught if isinstance(w.message, LinkworkWarning) for f in w.message.findings
    ]
    assert {finding.severity for finding in findings} <= {"warning"}
    return model, [str(finding) for finding in findings]


def error_lines(source: Any, **options: Any) -> list[str]:
    """The findings of the error that `load` raises, as strings."""
    with pytest.raises(ParseError) as caught:
        load(source, **options)
    if len(caught.value.findings) == 1:
        only = caught.value.findings[0]
        assert str(caught.value) == only.line(label=only.severity != "error")
    return [f"{finding.severity}: {finding}" for finding in caught.value.findings]


def error_message(source: Any, **options: Any) -> str:
    """The only finding of the error that `load` raises, as a string."""
    reasons = error_lines(source, **options)
    assert len(reasons) == 1, reasons
    return reasons[0].removeprefix("error: ")


def notes(source: Any, **options: Any) -> list[str]:
    """The notes about a source, which `load` does not report."""
    return [str(f) for f in read(source, **options).findings if f.severity == "note"]
