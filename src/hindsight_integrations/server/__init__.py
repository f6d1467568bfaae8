"""HTTP: `serve`, a process that owns a memory and serves it to clients, and the inspector, which shows it in a browser."""
