"""HTTP: the inspector of a memory (extra `server`)."""
