"""What the engine needs of the world: one small Protocol a file. Local ports are sync, batch in and batch out."""
