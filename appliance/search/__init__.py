"""The one search grammar: text to tree to SQL, and selections made of it."""
