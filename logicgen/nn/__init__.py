"""Tensors only: embeddings, positions, the Transformer, losses, decoding."""
