"""Reports: numbers become tables, figures and files."""
