"""What the model is asked for, and what that costs: scripted answers to every prompt, over conversations made up here."""
