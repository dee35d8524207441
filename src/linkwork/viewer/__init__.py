"""Robots and workcells on a web page. Needs the extra `viewer`."""

from linkwork.viewer.view import view as view
from linkwork.viewer.viewer import Viewer as Viewer
