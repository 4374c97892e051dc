/** What operators manage beside the configuration file, with the signal that tells all nodes to load it. */
export const MANAGED_TABLES = `
CREATE TABLE managed_entries (
  row bigint PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('upstream', 'model', 'plan', 'price')),
  name text COLLATE "C" NOT NULL,
  entry text,
  ring_key text,
  sealed bytea,
  effective_from bigint NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  CHECK ((ring_key IS NULL) = (sealed IS NULL))
);
CREATE INDEX managed_entries_by_name ON managed_entries (kind, name, row);
CREATE TRIGGER managed_entry_added AFTER INSERT ON managed_entries
  FOR EACH STATEMENT EXECUTE FUNCTION signal_change('managed');
`
