"""Where files are parsed and chunks embedded: in processes of this machine, or on a Ray cluster."""
