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
