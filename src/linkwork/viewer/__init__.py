"""Robots and workcells on a web page. Needs the extra `viewer`."""

from linkwork.viewer.viewer import Viewer as Viewer
from linkwork.viewer.viewer import view as view
