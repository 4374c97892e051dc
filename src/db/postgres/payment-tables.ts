/** Payments by card: see the migration of SQLite with the same tables (db/migrations/ledger-migrations.ts). */
export const PAYMENT_TABLES = `
CREATE TABLE payments (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  account bigint NOT NULL REFERENCES accounts (row),
  kind text NOT NULL CHECK (kind IN ('top_up', 'automatic', 'plan')),
  state text NOT NULL CHECK (state IN ('open', 'failed', 'expired', 'paid')),
  amount_nano bigint NOT NULL CHECK (amount_nano >= 0),
  received_nano bigint,
  refunded_nano bigint NOT NULL DEFAULT 0,
  disputed_nano bigint NOT NULL DEFAULT 0,
  dispute text,
  dispute_at bigint NOT NULL DEFAULT 0,
  owed_nano bigint NOT NULL DEFAULT 0,
  plan text,
  session text,
  intent text,
  invoice text UNIQUE,
  receipt_url text,
  failure text,
  created_at bigint NOT NULL,
  paid_at bigint,
  saves_card smallint NOT NULL DEFAULT 0,
  settled smallint NOT NULL DEFAULT 1,
  version bigint NOT NULL DEFAULT 1,
  purchase bigint,
  period_end bigint
);
CREATE INDEX payments_of_purchase ON payments (purchase) WHERE purchase IS NOT NULL;
CREATE INDEX payments_of_account ON payments (account, row);
CREATE INDEX payments_by_intent ON payments (intent) WHERE intent IS NOT NULL;
CREATE INDEX open_payments ON payments (row) WHERE state = 'open';
CREATE INDEX unsettled_payments ON payments (row) WHERE settled = 0;
CREATE INDEX owed_payments ON payments (row) WHERE owed_nano > 0;
CREATE INDEX automatic_payments ON payments (account, created_at) WHERE kind = 'automatic';
CREATE UNIQUE INDEX one_automatic_payment ON payments (account) WHERE kind = 'automatic' AND state = 'open';
CREATE TABLE payment_steps (
  payment bigint NOT NULL REFERENCES payments (row),
  step bigint NOT NULL,
  delta_nano bigint NOT NULL,
  at bigint NOT NULL,
  done_at bigint,
  PRIMARY KEY (payment, step)
);
CREATE TABLE payment_events (
  id text COLLATE "C" PRIMARY KEY,
  type text NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX payment_events_by_time ON payment_events (at);
CREATE TABLE payers (
  account bigint PRIMARY KEY REFERENCES accounts (row),
  customer text,
  method text,
  card text,
  automatic smallint NOT NULL DEFAULT 0,
  below_nano bigint NOT NULL DEFAULT 0,
  add_nano bigint NOT NULL DEFAULT 0,
  month_nano bigint NOT NULL DEFAULT 0,
  failures bigint NOT NULL DEFAULT 0,
  failure text,
  failed_at bigint,
  next_at bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1
);
CREATE INDEX automatic_payers ON payers (account) WHERE automatic = 1;
CREATE TABLE plan_purchases (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subscription text NOT NULL UNIQUE,
  account bigint NOT NULL REFERENCES accounts (row),
  plan text NOT NULL,
  status text,
  cancels smallint NOT NULL DEFAULT 0,
  status_at bigint NOT NULL DEFAULT 0,
  paid_until bigint NOT NULL DEFAULT 0,
  assigned_until bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  version bigint NOT NULL DEFAULT 1
);
CREATE INDEX plan_purchases_of_account ON plan_purchases (account, row);
`
