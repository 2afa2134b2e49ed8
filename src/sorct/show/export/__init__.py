"""Exports: trees and forests as SQL, ONNX, Python, JavaScript; the schema of files."""

from sorct.show.export.javascript import to_javascript
from sorct.show.export.onnx import to_onnx
from sorct.show.export.python import to_python
from sorct.show.export.schema import json_schema
from sorct.show.export.sql import to_sql

__all__ = ["json_schema", "to_javascript", "to_onnx", "to_python", "to_sql"]
