"""Reflect step by step: a model that looks things up with tools until it can answer, or has to."""
