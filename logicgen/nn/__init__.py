"""Networks, without files or recipes: embeddings, positions, Transformers, losses, decoding."""
