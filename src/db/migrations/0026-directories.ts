/** Each change by a directory counts up `scim_version`, so that of two at once the later one reads again. */
export const directoriesMigration: readonly string[] = [
  'ALTER TABLE accounts ADD COLUMN scim_version INTEGER NOT NULL DEFAULT 0',
]
