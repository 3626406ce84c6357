"""Networks as tensors only: embeddings, positions, Transformers, losses, decoding."""
