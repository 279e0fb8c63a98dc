"""A language model in a GGUF file is located and loaded in this process, and failures are reported."""

from pathlib import Path

import pytest
from elt_llm_core.errors import ModelBroken, ModelMissing
from elt_llm_core.models.completion import complete
from elt_llm_core.models.llama_cpp import LlamaCppLlm, create_llama_cpp_llm
from llama_index.core.llms import ChatMessage
from model_servers.settings import settings_of
from model_servers.smollm import smollm_file

QUESTION = [ChatMessage(role="user", content="Say yes.")]


def test_a_gguf_file_is_located_by_its_path_or_by_its_name_in_the_model_directory(tmp_path: Path) -> None:
    smollm_file()
    (tmp_path / "small.gguf").write_bytes(b"")
    by_path = create_llama_cpp_llm(settings_of("llama_cpp", gguf=tmp_path / "small.gguf"))
    named = settings_of("llama_cpp", llm={"model": "small"}, storage={"models_dir": tmp_path})
    assert by_path.metadata.model_name == create_llama_cpp_llm(named).metadata.model_name == "small.gguf"


@pytest.mark.parametrize("model", [None, "absent"])
def test_a_missing_gguf_file_is_reported_with_the_searched_paths(tmp_path: Path, model: str | None) -> None:
    smollm_file()
    settings = settings_of("llama_cpp", llm={"model": model}, storage={"models_dir": tmp_path})
    with pytest.raises(ModelMissing) as caught:
        create_llama_cpp_llm(settings)
    assert (str(tmp_path / "absent.gguf") if model else "llama_cpp.model_path and llm.model") in str(caught.value)


def test_an_invalid_gguf_file_is_reported_at_first_use(tmp_path: Path) -> None:
    smollm_file()
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 64)
    with pytest.raises(ModelBroken, match="cannot load"):
        complete(create_llama_cpp_llm(settings_of("llama_cpp", gguf=path)), QUESTION)


def test_the_loopback_port_of_the_llama_cpp_server_requires_a_key() -> None:
    import httpx

    llm = LlamaCppLlm(settings_of("llama_cpp", gguf=smollm_file(), llama_cpp={"num_predict": 1}), smollm_file())
    assert complete(llm, QUESTION).answer_tokens == 1
    address = str(llm._engine.listening_address)
    assert address.startswith("http://127.0.0.1:")
    with httpx.Client(base_url=address, trust_env=False) as client:
        assert client.post("/tokenize", json={"content": "x"}).status_code == 401
        assert client.post("/v1/chat/completions", json={"messages": []}).status_code == 401
        assert client.get("/slots").status_code in {401, 501}
    llm.close()
