/** Notices, where they are sent, and what is still to be sent. */
export const NOTICE_TABLES = `
CREATE TABLE notices (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  once text COLLATE "C" NOT NULL UNIQUE,
  event text NOT NULL,
  account bigint REFERENCES accounts (row),
  person bigint REFERENCES people (row),
  facts text NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX notices_of_account ON notices (account, row) WHERE account IS NOT NULL;
CREATE INDEX notices_of_person ON notices (person, row) WHERE person IS NOT NULL;
CREATE INDEX notices_of_operators ON notices (row) WHERE account IS NULL;
CREATE INDEX notices_by_age ON notices (at);

CREATE TABLE notice_reads (
  person bigint NOT NULL REFERENCES people (row),
  notice bigint NOT NULL REFERENCES notices (row),
  PRIMARY KEY (person, notice)
);
CREATE INDEX reads_of_notice ON notice_reads (notice);

CREATE TABLE notice_settings (
  account bigint PRIMARY KEY REFERENCES accounts (row),
  low_balance_nano bigint CHECK (low_balance_nano > 0)
);

CREATE TABLE notice_preferences (
  person bigint PRIMARY KEY REFERENCES people (row),
  mail bigint NOT NULL CHECK (mail IN (0, 1)),
  language text NOT NULL
);

CREATE TABLE webhooks (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  account bigint REFERENCES accounts (row),
  url text NOT NULL,
  events text NOT NULL,
  ring_key text NOT NULL,
  secret bytea NOT NULL,
  former_ring_key text,
  former_secret bytea,
  former_until bigint,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  failing_since bigint,
  state text NOT NULL CHECK (state IN ('on', 'off', 'failed'))
);
CREATE INDEX webhooks_of_account ON webhooks (account, row);

CREATE TABLE notice_deliveries (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  event text NOT NULL,
  notice bigint REFERENCES notices (row),
  webhook bigint REFERENCES webhooks (row),
  recipient text COLLATE "C",
  mail_account bigint,
  language text,
  ring_key text,
  sealed bytea,
  state text NOT NULL CHECK (state IN ('waiting', 'sent', 'failed')),
  attempts bigint NOT NULL,
  next_at bigint NOT NULL,
  status bigint,
  error text,
  created_at bigint NOT NULL,
  ended_at bigint,
  CHECK ((webhook IS NULL) <> (recipient IS NULL))
);
CREATE INDEX deliveries_to_send ON notice_deliveries (next_at) WHERE state = 'waiting';
CREATE INDEX deliveries_of_webhook ON notice_deliveries (webhook, row) WHERE webhook IS NOT NULL;
CREATE INDEX deliveries_to_recipient ON notice_deliveries (recipient, created_at) WHERE recipient IS NOT NULL;
CREATE INDEX deliveries_of_notice ON notice_deliveries (notice) WHERE notice IS NOT NULL;
CREATE INDEX deliveries_by_age ON notice_deliveries (created_at);
CREATE INDEX invitations_of_account ON notice_deliveries (mail_account, created_at) WHERE event = 'invitation';

CREATE INDEX live_keys_by_expiry ON keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX subscriptions_by_end ON subscriptions (ends_at) WHERE ends_at IS NOT NULL;
CREATE INDEX receipts_with_shortfall ON receipts (row) WHERE shortfall_nano > 0;
`
