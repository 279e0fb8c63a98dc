"""What a trace needs besides figures to be read by people; made only where it is asked for."""
