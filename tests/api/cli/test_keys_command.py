"""`elt-llm keys`: create, list and revoke; the secret is shown once and not stored."""

import stat

import pytest
from processes.command_line import CommandLine


def test_keys_are_created_listed_and_revoked_and_secrets_are_not_stored(elt_llm: CommandLine) -> None:
    made = elt_llm.done("keys", "add", "wiki", "--read", "hr_*", "--read", "faq", "--write", "notes")
    secret = made.out.strip()
    assert secret.startswith("elt_")
    assert len(secret) > 40
    [listed] = elt_llm.done("keys", "list", "--json").json
    assert (listed["name"], listed["read"], listed["write"]) == ("wiki", ["hr_*", "faq"], ["notes"])
    assert listed["administers"] is False
    files = [path for path in (elt_llm.folder / ".elt_llm").rglob("*") if path.is_file()]
    assert files
    assert not any(secret.encode() in path.read_bytes() for path in files)
    table = elt_llm.done("keys", "list").out
    assert "hr_*, faq" in table
    assert secret not in table
    revoked = elt_llm.done("keys", "revoke", "wiki")
    assert "No key is left" in revoked.err
    assert elt_llm.done("keys", "list", "--json").json == []


def test_with_the_json_option_the_keys_command_prints_one_json_document(elt_llm: CommandLine) -> None:
    made = elt_llm.done("keys", "add", "admin", "--admin", "--json").json
    assert (made["administers"], made["secret"][:4]) == (True, "elt_")


def test_the_where_option_sets_the_conditions_of_a_key_and_the_key_list_shows_them(elt_llm: CommandLine) -> None:
    elt_llm.done("keys", "add", "acme", "--where", "tenant_id=acme", "--where", "doc_type in policy, guide")
    [listed] = elt_llm.done("keys", "list", "--json").json
    assert (listed["read"], listed["where"]) == (["*"], ["tenant_id=acme", "doc_type in policy,guide"])
    assert "tenant_id=acme and doc_type in policy,guide" in elt_llm.done("keys", "list").out


@pytest.mark.parametrize("where", ["tenant_id!=acme", "year=2024", "tenant_id", "tenant_id="])
def test_a_key_condition_with_an_invalid_field_operator_or_value_is_refused(where: str, elt_llm: CommandLine) -> None:
    refused = elt_llm("keys", "add", "acme", "--where", where)
    assert refused.code == 2
    assert "tenant_id" in refused.err or "field=value" in refused.err
    assert elt_llm.done("keys", "list", "--json").json == []


def test_a_key_with_conditions_cannot_administer_the_server(elt_llm: CommandLine) -> None:
    assert "cannot administer" in elt_llm("keys", "add", "acme", "--admin", "--where", "tenant_id=acme").err


@pytest.mark.parametrize("name", ["local", "LOCAL", "", " ", "a b", "a/b", "-a", "a\n", "é", "x" * 64])
def test_an_invalid_key_name_is_refused(name: str, elt_llm: CommandLine) -> None:
    refused = elt_llm("keys", "add", "--read", "*", "--", name)
    assert refused.code == 2
    assert "is not a valid key name" in refused.err


def test_errors_of_the_keys_command_have_hints(elt_llm: CommandLine) -> None:
    assert "allow nothing" in elt_llm("keys", "add", "wiki").err
    assert "elt-llm keys list" in elt_llm("keys", "revoke", "wiki").err
    elt_llm.done("keys", "add", "wiki", "--read", "*")
    assert "elt-llm keys revoke wiki" in elt_llm("keys", "add", "wiki", "--read", "*").err
    assert "There are no keys" in elt_llm.done("--data-dir", "other", "keys", "list").out


def test_the_data_directory_with_the_keys_is_accessible_only_to_its_owner(elt_llm: CommandLine) -> None:
    elt_llm.done("keys", "add", "wiki", "--read", "*")
    assert stat.S_IMODE((elt_llm.folder / ".elt_llm").stat().st_mode) == 0o700
