"""USD files with the schema UsdPhysics."""
