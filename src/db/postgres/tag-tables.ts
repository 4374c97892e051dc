/**
 * The tags of requests: see 0020-tags of the SQLite file. A node of the version before ends a request with tags too, so a trigger adds
 * its rows. Series of usage by tag have levels of their own.
 */
export const TAG_TABLES = `
ALTER TABLE receipts ADD COLUMN tags text;
-- See 0024-asked-values of the SQLite file.
ALTER TABLE receipts ADD COLUMN asked text;
CREATE TABLE receipt_tags (
  account bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  movement bigint NOT NULL,
  PRIMARY KEY (account, tag, movement)
);
CREATE FUNCTION tags_of_receipt() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO receipt_tags (account, tag, movement)
    SELECT NEW.account, value, NEW.movement FROM jsonb_array_elements_text(NEW.tags::jsonb) AS each (value)
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER tags_of_receipt AFTER INSERT OR UPDATE ON receipts FOR EACH ROW
  WHEN (NEW.tags IS NOT NULL AND NEW.movement IS NOT NULL) EXECUTE FUNCTION tags_of_receipt();
ALTER TABLE usage_series DROP CONSTRAINT usage_series_level_check;
ALTER TABLE usage_series ADD CONSTRAINT usage_series_level_check
  CHECK (level IN ('all', 'kind', 'model', 'kind+model', 'key', 'key+model', 'tag', 'kind+tag', 'key+tag'));
`
