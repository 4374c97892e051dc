/**
 * Each change by a directory counts up `scim_version`, so that of two at once the later one reads again. `deactivated_at`: when the
 * directory has disabled the person, whom only then it may enable.
 */
export const directoriesMigration: readonly string[] = [
  'ALTER TABLE accounts ADD COLUMN scim_version INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE scim_users ADD COLUMN deactivated_at INTEGER',
]
