"""HTTP: `serve`, one process that owns a memory, for clients; and the inspector of a memory in the browser."""
