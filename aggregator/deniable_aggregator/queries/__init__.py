"""What the service answers when it is read: frozen documents from the store, without Flask."""
