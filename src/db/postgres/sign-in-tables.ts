/** Identities of single sign-on, and the users and groups of SCIM. No node keeps them in memory, so a change needs no signal. */
export const SIGN_ON_TABLES = `
ALTER TABLE admin_keys ADD COLUMN account bigint REFERENCES accounts (row);

CREATE TABLE identities (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person bigint NOT NULL REFERENCES people (row),
  issuer text NOT NULL,
  subject text NOT NULL,
  created_at bigint NOT NULL,
  UNIQUE (issuer, subject),
  UNIQUE (person, issuer)
);

CREATE TABLE sign_on_uses (
  digest bytea PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX sign_on_uses_by_expiry ON sign_on_uses (expires_at);

ALTER TABLE accounts ADD COLUMN scim_version bigint NOT NULL DEFAULT 0;

CREATE TABLE scim_users (
  person bigint PRIMARY KEY REFERENCES people (row),
  account bigint NOT NULL REFERENCES accounts (row),
  external_id text,
  given_name text,
  family_name text,
  display_name text,
  deleted_at bigint,
  deactivated_at bigint
);
CREATE INDEX scim_users_by_external_id ON scim_users (account, external_id) WHERE external_id IS NOT NULL;

CREATE TABLE scim_groups (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  account bigint NOT NULL REFERENCES accounts (row),
  name text NOT NULL,
  external_id text,
  team bigint REFERENCES teams (row),
  created_at bigint NOT NULL,
  UNIQUE (account, name)
);
CREATE INDEX scim_groups_of_account ON scim_groups (account, row);

CREATE TABLE scim_members (
  of_group bigint NOT NULL REFERENCES scim_groups (row),
  person bigint NOT NULL REFERENCES people (row),
  PRIMARY KEY (of_group, person)
);
CREATE INDEX scim_members_by_person ON scim_members (person, of_group);
`

/** Second factors of people, passkeys, how each session signed in, and the addresses from which a key may be used. */
export const SECOND_FACTOR_TABLES = `
ALTER TABLE keys ADD COLUMN addresses text;
ALTER TABLE sessions ADD COLUMN means text NOT NULL DEFAULT 'password';
ALTER TABLE sessions ADD COLUMN strong integer NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN second_factor integer NOT NULL DEFAULT 0;

CREATE TABLE totp_secrets (
  person bigint PRIMARY KEY REFERENCES people (row),
  ring_key text NOT NULL,
  sealed bytea NOT NULL,
  created_at bigint NOT NULL,
  confirmed_at bigint,
  last_step bigint NOT NULL,
  tries_until bigint NOT NULL
);
CREATE TABLE recovery_codes (
  person bigint NOT NULL REFERENCES people (row),
  digest text COLLATE "C" NOT NULL,
  used_at bigint,
  PRIMARY KEY (person, digest)
);
CREATE TABLE passkeys (
  row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  person bigint NOT NULL REFERENCES people (row),
  name text NOT NULL,
  credential bytea NOT NULL UNIQUE,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint
);
CREATE INDEX passkeys_of_person ON passkeys (person, row);
CREATE TABLE used_challenges (
  digest text COLLATE "C" PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX used_challenges_by_expiry ON used_challenges (expires_at);

-- A session knows which factors its person has.
CREATE TRIGGER totp_changed AFTER INSERT OR DELETE OR UPDATE OF confirmed_at ON totp_secrets
  FOR EACH STATEMENT EXECUTE FUNCTION signal_change('people');
-- A confirmation in a session counts on every node.
CREATE TRIGGER session_confirmed AFTER UPDATE OF confirmed_at, strong ON sessions
  FOR EACH STATEMENT EXECUTE FUNCTION signal_change('people');
CREATE TRIGGER passkeys_changed AFTER INSERT OR DELETE ON passkeys
  FOR EACH STATEMENT EXECUTE FUNCTION signal_change('people');
`
