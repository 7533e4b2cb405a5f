"""From what a person wrote to what is registered, and to what an app imports."""
