"""What runs the service: the work of the maintenance threads and of start and end."""
