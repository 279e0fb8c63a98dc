-- Row-level security for callers with conditions; see docs/postgres.md. Owners of the tables and superusers are not
-- restricted. Any other role sees the documents that fulfil the conditions of its transaction; without conditions, none.
CREATE POLICY of_caller ON document_versions USING (NOT EXISTS (SELECT FROM jsonb_each(CAST(coalesce(nullif(current_setting('elt_llm.conditions', true), ''), '{"": []}') AS jsonb)) AS one WHERE NOT jsonb_exists(one.value, coalesce(CAST(metadata AS jsonb) ->> one.key, ''))));
ALTER TABLE document_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_caller ON generation_documents USING (EXISTS (SELECT FROM document_versions v WHERE v.id = version));
ALTER TABLE generation_documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_caller ON nodes USING (EXISTS (SELECT FROM document_versions v WHERE v.id = version));
ALTER TABLE nodes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_caller ON texts USING (EXISTS (SELECT FROM document_versions v WHERE v.text = texts.id));
ALTER TABLE texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_caller ON artefacts USING (EXISTS (SELECT FROM document_versions v WHERE v.id = version));
ALTER TABLE artefacts ENABLE ROW LEVEL SECURITY;
-- Folders of uploads have the names of their owners. So a caller sees its uploads that could not be read, too.
CREATE POLICY of_caller ON roots USING (NOT EXISTS (SELECT FROM jsonb_each(CAST(coalesce(nullif(current_setting('elt_llm.folders', true), ''), '{"": []}') AS jsonb)) AS one WHERE NOT jsonb_exists_any(one.value, string_to_array(path, '/'))));
ALTER TABLE roots ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_caller ON files USING (EXISTS (SELECT FROM document_versions v WHERE v.collection = files.collection AND v.document_id = files.document_id) OR EXISTS (SELECT FROM roots r WHERE r.collection = files.collection AND r.name = files.root));
ALTER TABLE files ENABLE ROW LEVEL SECURITY;
