import type { Migration } from '../sqlite/migrate.ts'

/**
 * Stored responses. Nothing of what was said stands here in clear, and no id: ids and items are known by digests that are
 * keyed by their account. What must always hold is held by the tables themselves: deleting a response is one statement,
 * and its links, its events, the items that nobody else refers to, the count of its parent and the key of an account that
 * has nothing left follow.
 */
export const responsesMigration: Migration = {
  name: '0002-responses',
  statements: [
    `CREATE TABLE account_keys (
      account INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      ring_key TEXT NOT NULL,
      wrapped BLOB NOT NULL
    ) STRICT`,
    // `children`: how many were built on it. Large things are in tables of their own, so that a chain is followed quickly.
    `CREATE TABLE responses (
      response INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      id TEXT NOT NULL,
      request_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      status TEXT NOT NULL CHECK (status IN ('in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
      parent INTEGER REFERENCES responses (response),
      children INTEGER NOT NULL DEFAULT 0 CHECK (children >= 0),
      items INTEGER NOT NULL CHECK (items >= 0),
      item_bytes INTEGER NOT NULL CHECK (item_bytes >= 0),
      log TEXT NOT NULL CHECK (log IN ('none', 'kept', 'too-large')),
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      facts TEXT,
      UNIQUE (account, id)
    ) STRICT`,
    `CREATE INDEX responses_to_go ON responses (expires_at) WHERE children = 0 AND status <> 'in_progress'`,
    `CREATE INDEX responses_running ON responses (status) WHERE status = 'in_progress'`,
    `CREATE INDEX responses_by_request ON responses (request_id) WHERE facts IS NOT NULL`,
    'CREATE INDEX responses_by_parent ON responses (parent) WHERE parent IS NOT NULL',
    `CREATE TABLE response_objects (
      response INTEGER PRIMARY KEY REFERENCES responses (response) ON DELETE CASCADE,
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      sealed BLOB NOT NULL
    ) STRICT`,
    `CREATE TABLE items (
      item INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      digest TEXT NOT NULL,
      id TEXT,
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      sealed BLOB NOT NULL,
      UNIQUE (account, digest)
    ) STRICT`,
    'CREATE INDEX items_by_id ON items (account, id) WHERE id IS NOT NULL',
    // side: 0 what was sent, 1 what was answered.
    `CREATE TABLE response_items (
      response INTEGER NOT NULL REFERENCES responses (response) ON DELETE CASCADE,
      side INTEGER NOT NULL CHECK (side IN (0, 1)),
      position INTEGER NOT NULL,
      item INTEGER NOT NULL REFERENCES items (item),
      PRIMARY KEY (response, side, position)
    ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX response_items_by_item ON response_items (item)',
    `CREATE TABLE events (
      event INTEGER PRIMARY KEY,
      response INTEGER NOT NULL REFERENCES responses (response) ON DELETE CASCADE,
      from_sequence INTEGER NOT NULL,
      to_sequence INTEGER NOT NULL CHECK (to_sequence >= from_sequence),
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      sealed BLOB NOT NULL,
      UNIQUE (response, to_sequence)
    ) STRICT`,
    `CREATE TABLE state_size (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL CHECK (bytes >= 0)) STRICT`,
    'INSERT INTO state_size (one, bytes) VALUES (1, 0)',
    ...counted('responses'),
    ...counted('items'),
    ...counted('events'),
    `CREATE TRIGGER response_changed AFTER UPDATE OF bytes ON responses BEGIN
      UPDATE state_size SET bytes = bytes + NEW.bytes - OLD.bytes;
    END`,
    `CREATE TRIGGER child_came AFTER INSERT ON responses WHEN NEW.parent IS NOT NULL BEGIN
      UPDATE responses SET children = children + 1 WHERE response = NEW.parent;
    END`,
    `CREATE TRIGGER child_went AFTER DELETE ON responses WHEN OLD.parent IS NOT NULL BEGIN
      UPDATE responses SET children = children - 1 WHERE response = OLD.parent;
    END`,
    `CREATE TRIGGER account_emptied AFTER DELETE ON responses
      WHEN NOT EXISTS (SELECT 1 FROM responses WHERE account = OLD.account) BEGIN
      DELETE FROM account_keys WHERE account = OLD.account;
    END`,
    `CREATE TRIGGER link_went AFTER DELETE ON response_items
      WHEN NOT EXISTS (SELECT 1 FROM response_items WHERE item = OLD.item) BEGIN
      DELETE FROM items WHERE item = OLD.item;
    END`,
  ],
}

/** What a row takes is in one sum, which changes with it. */
function counted(table: 'responses' | 'items' | 'events'): string[] {
  return [
    `CREATE TRIGGER ${table}_came AFTER INSERT ON ${table} BEGIN
      UPDATE state_size SET bytes = bytes + NEW.bytes;
    END`,
    `CREATE TRIGGER ${table}_went AFTER DELETE ON ${table} BEGIN
      UPDATE state_size SET bytes = bytes - OLD.bytes;
    END`,
  ]
}
