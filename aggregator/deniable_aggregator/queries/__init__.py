"""What the reports say: frozen documents from a store, a collection and a question.

Nothing here changes anything or knows the web framework.
"""
