"""Write results as tables, figures and HTML pages."""
