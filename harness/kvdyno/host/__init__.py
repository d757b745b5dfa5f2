"""What several stages ask of this machine: its Docker Engine, who owns what on it, what is built on it."""
